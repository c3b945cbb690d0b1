"""Objects that the cluster's own controllers derive are not compared while what they derive from is there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kontend import Cluster
from kontend.cluster.state import State
from kontend.controllers import controllers, pod_controllers
from kontend.controllers.process import ControllerProcess
from kontend.kube.meta.names import Key
from kontend.live.properties.final_state import differences
from kontend.live.properties.masking import comparable

DEPLOYMENTS = "Deployment.apps/v1"


def deployment(image: str) -> dict[str, Any]:
    labels = {"app": "web"}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": image}]}}
    spec = {"selector": {"matchLabels": labels}, "template": pod}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}


def rolled_out(*images: str, then: Callable[[Cluster], object] | None = None) -> State:
    """A Deployment that has had some images, one after the other."""
    cluster = Cluster()
    process = ControllerProcess(cluster, [*controllers(), *pod_controllers()], clock=None)
    cluster.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node"}})
    cluster.create(deployment(images[0]))
    process.settle(seconds=5)
    for image in images[1:]:
        cluster.apply(deployment(image), manager="operator", force=True)
        process.settle(seconds=5)
    if then is not None:
        then(cluster)
        process.settle(seconds=5)
    return cluster.state


def found(one: State, other: State) -> list[str]:
    initial = Cluster().state
    return [str(each.place) for each in differences(comparable(initial, one), comparable(initial, other))]


def test_a_template_that_a_deployment_never_had_is_no_difference() -> None:
    assert found(rolled_out("app:1", "app:2"), rolled_out("app:2")) == []


def test_the_template_itself_is_one() -> None:
    assert "deployments.apps default/web .spec.template.spec.containers[name=c].image" in found(
        rolled_out("app:1"), rolled_out("app:2")
    )


def test_what_the_operator_has_touched_is_compared() -> None:
    def label(cluster: Cluster) -> None:
        (pod,) = cluster.list("Pod/v1")
        change = {"metadata": {"labels": {"role": "leader"}}}
        cluster.patch("Pod/v1", pod["metadata"]["name"], change, manager="operator")

    (place,) = found(rolled_out("app:1", then=label), rolled_out("app:1"))
    assert place.startswith("pods default/web-")


def test_what_has_lost_its_owner_is_compared() -> None:
    def orphan(cluster: Cluster) -> None:
        cluster.delete(DEPLOYMENTS, "web", propagation="Orphan")

    places = found(rolled_out("app:1", then=orphan), rolled_out("app:1"))
    assert any(place.startswith("replicasets.apps default/web-") for place in places)


def test_what_the_operator_has_touched_in_one_run_only_is_compared_with_what_it_is_in_another() -> None:
    """A user who enlarges a claim before the operator has looked leaves it nothing to write."""

    def annotate(cluster: Cluster) -> None:
        (replica_set,) = cluster.list("ReplicaSet.apps/v1")
        name = replica_set["metadata"]["name"]
        for note in ({"note": "x"}, {"note": None}):
            change = {"metadata": {"annotations": note}}
            cluster.patch("ReplicaSet.apps/v1", name, change, manager="operator")
        cluster.patch("ReplicaSet.apps/v1", name, {"metadata": {"labels": {"app": "web"}}}, manager="operator")
        cluster.apply(
            {**replica_set, "metadata": {"name": name, "labels": {"app": "web"}}, "spec": {"replicas": 1}},
            manager="operator",
            force=True,
        )

    touched, derived = rolled_out("app:1", then=annotate), rolled_out("app:1")
    assert any(resource == "replicasets.apps" for resource, _ in comparable(Cluster().state, touched))
    assert found(touched, derived) == []
    assert found(derived, touched) == []


def test_a_client_that_knows_no_subresources_in_managed_fields_makes_no_difference() -> None:
    """Of two entries of one manager one is left, and the annotation of the revision is nobody's."""

    def updated(*, old_client: bool) -> Callable[[Cluster], object]:
        def update(cluster: Cluster) -> None:
            obj = cluster.get(DEPLOYMENTS, "web")
            if old_client:
                entries = obj["metadata"]["managedFields"]
                obj["metadata"]["managedFields"] = [entry for entry in entries if "subresource" not in entry]
            obj["spec"]["minReadySeconds"] = 1
            cluster.update(obj, manager="operator")

        return update

    old, new = (rolled_out("app:1", then=updated(old_client=each)) for each in (True, False))
    key = ("deployments.apps", Key("default", "web"))
    owned = [b"deployment.kubernetes.io/revision" in b"".join(entry.fields.json for entry in version.managed)
             for version in (old.find(*key), new.find(*key)) if version is not None]  # fmt: skip
    assert owned == [False, True]
    assert found(old, new) == []
