"""All controllers together: they come to rest, stay at rest, and follow new kinds."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from controllers.harness import (
    DEPLOYMENTS,
    PODS,
    REPLICA_SETS,
    STATEFUL_SETS,
    WIDGETS,
    Harness,
    config_map,
    job,
    new_image,
    reference_to,
    workload,
)
from kontend import Api, Cluster, Controller, Request, Result
from kontend.controllers import controllers, pod_controllers
from kontend.controllers.process import ControllerProcess
from kontend.kube.errors import ApiError
from kontend.testing import settle

WIDGET = "Widget.example.com/v1"


def _busy_world() -> Harness:
    harness = Harness(nodes=2)
    for kind in ("Deployment", "StatefulSet", "DaemonSet"):
        made = workload(kind, kind.lower(), **({"serviceName": "x"} if kind == "StatefulSet" else {}))
        harness.create(made, settle=False)
    harness.create(job(), settle=False)
    ports = [{"port": 80, "targetPort": "http"}]
    service = {"selector": {"app": "deployment"}, "ports": ports}
    harness.create({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": service}, settle=False)
    harness.settle()
    return harness


def test_nothing_is_written_at_rest_also_not_by_controllers_that_begin_anew() -> None:
    """The same objects, seen again by controllers without a past, are left as they are."""
    harness = _busy_world()
    version = harness.cluster.state.resource_version
    settle(harness.cluster, controllers() + pod_controllers())
    assert harness.cluster.state.resource_version == version


def test_the_same_beginning_has_the_same_end() -> None:
    """Names, uids and versions included: nothing here is random."""
    one, two = _busy_world(), _busy_world()
    for kind in (PODS, REPLICA_SETS, STATEFUL_SETS, "EndpointSlice.discovery.k8s.io/v1"):
        assert one.cluster.list(kind) == two.cluster.list(kind)


def test_kinds_that_are_defined_later_are_collected_too() -> None:
    """As owners and as dependents, until their definition goes."""
    harness = Harness()
    harness.create(WIDGETS)
    owner = harness.create({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "o"}})
    metadata = {"name": "d", "ownerReferences": [reference_to(owner)]}
    harness.create({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": metadata})
    harness.create(config_map("c", owner))
    harness.delete(WIDGET, "o")
    assert harness.names(WIDGET) == []
    assert harness.names("ConfigMap/v1") == []


def test_a_definition_that_goes_takes_what_its_objects_owned() -> None:
    """And may come back."""
    harness = Harness(crds=[WIDGETS])
    widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "o"}}
    harness.create(config_map("c", harness.create(widget)))
    harness.cluster.delete("CustomResourceDefinition.apiextensions.k8s.io/v1", "widgets.example.com")
    harness.settle(seconds=1)
    harness.create(WIDGETS, settle=False)
    harness.settle(seconds=60)
    assert harness.names("ConfigMap/v1") == []
    harness.create(widget)
    assert harness.names(WIDGET) == ["o"]


def test_work_says_when_to_call_again() -> None:
    """At once while there is more, after a while for a timer, never for nothing."""
    now = [0.0]
    cluster = Cluster()
    process = ControllerProcess(cluster, controllers(), clock=lambda: now[0])
    while process.work() == 0.0:
        pass
    assert process.work() is None
    cluster.create(workload("Deployment", replicas=1, progressDeadlineSeconds=60))
    assert process.work(most=1) == 0.0
    wait: float | None = 0.0
    while wait == 0.0:
        wait = process.work()
    assert wait is not None
    assert 60 <= wait <= 62


class Refused(Controller):
    """Fails as long as something refuses what it writes."""

    kind = "ConfigMap/v1"

    def __init__(self) -> None:
        super().__init__()
        self.attempts = 0
        self.is_refused = True

    async def reconcile(self, request: Request, api: Api) -> Result | None:
        del request, api
        self.attempts += 1
        if self.is_refused:
            raise ApiError("the webhook is down", code=500, reason="InternalError")
        return None


def test_what_has_failed_is_tried_again_on_request_and_not_only_after_its_backoff() -> None:
    cluster, refused = Cluster(), Refused()
    process = ControllerProcess(cluster, [refused], clock=lambda: 0.0)
    cluster.create(config_map("c"))
    process.work()
    assert (process.fails, refused.attempts) == (True, 1)
    refused.is_refused = False
    process.retry()
    process.work()
    assert (process.fails, refused.attempts) == (False, 2)


def _changes() -> st.SearchStrategy[list[tuple[str, Any]]]:
    return st.lists(
        st.one_of(
            st.tuples(st.just("scale"), st.integers(0, 4)),
            st.tuples(st.just("image"), st.sampled_from(["app:1", "app:2", "app:3"])),
            st.tuples(st.just("lose"), st.integers(0, 5)),
            st.tuples(st.just("pause"), st.booleans()),
        ),
        max_size=6,
    )


@settings(derandomize=True, deadline=None, max_examples=25)
@given(_changes(), st.booleans())
def test_whatever_was_done_to_a_deployment_it_ends_as_it_says(changes: list[tuple[str, Any]], patient: bool) -> None:
    """Scaled, updated, paused and robbed of pods in any order, with and without time in between."""
    harness = Harness(nodes=1)
    harness.create(workload("Deployment", replicas=2))
    for what, value in changes:
        if what == "scale":
            harness.cluster.patch(DEPLOYMENTS, "web", {"spec": {"replicas": value}})
        elif what == "image":
            harness.cluster.patch(DEPLOYMENTS, "web", new_image(value))
        elif what == "pause":
            harness.cluster.patch(DEPLOYMENTS, "web", {"spec": {"paused": value}})
        elif names := harness.names(PODS):
            harness.cluster.delete(PODS, names[value % len(names)], grace_period=0)
        if patient:
            harness.settle()
    harness.patch(DEPLOYMENTS, "web", {"spec": {"paused": False}})
    spec, status = harness.cluster.get(DEPLOYMENTS, "web")["spec"], harness.status(DEPLOYMENTS, "web")
    image = spec["template"]["spec"]["containers"][0]["image"]
    pods = harness.cluster.list(PODS)
    assert [pod["spec"]["containers"][0]["image"] for pod in pods] == [image] * spec["replicas"]
    assert status.get("availableReplicas", 0) == status.get("updatedReplicas", 0) == spec["replicas"]
    assert status["observedGeneration"] == harness.cluster.get(DEPLOYMENTS, "web")["metadata"]["generation"]
