"""lightkube, the typed client of the Juju world."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from clients.conftest import Running

lightkube = pytest.importorskip("lightkube", reason="the lightkube package is not installed (group clients)")
from lightkube import ApiError, Client, KubeConfig  # noqa: E402
from lightkube.generic_resource import create_namespaced_resource  # noqa: E402
from lightkube.models.apps_v1 import DeploymentSpec  # noqa: E402
from lightkube.models.core_v1 import Container, PodSpec, PodTemplateSpec  # noqa: E402
from lightkube.models.meta_v1 import LabelSelector, ObjectMeta  # noqa: E402
from lightkube.resources.apps_v1 import Deployment  # noqa: E402
from lightkube.resources.core_v1 import ConfigMap, Namespace  # noqa: E402
from lightkube.types import CascadeType, PatchType  # noqa: E402

pytestmark = pytest.mark.filterwarnings("default")
Garden = create_namespaced_resource("clients.kontend.dev", "v1", "Garden", "gardens")


@pytest.fixture
def api(server: Running, namespace: str) -> Iterator[Any]:
    with Client(KubeConfig.from_file(str(server.kubeconfig)), namespace=namespace, field_manager="tests") as made:
        yield made


def deployment() -> Any:
    labels = {"app": "web"}
    pod = PodTemplateSpec(metadata=ObjectMeta(labels=labels), spec=PodSpec(containers=[Container(name="c", image="i")]))
    spec = DeploymentSpec(replicas=1, selector=LabelSelector(matchLabels=labels), template=pod)
    return Deployment(metadata=ObjectMeta(name="web"), spec=spec)


def test_objects_are_created_changed_and_deleted(api: Any) -> None:
    made = api.create(deployment())
    assert made.metadata.generation == 1
    made.spec.replicas = 3
    assert api.replace(made).metadata.generation == 2
    with pytest.raises(ApiError) as refused:
        api.replace(made)
    assert (refused.value.status.code, refused.value.status.reason) == (409, "Conflict")
    patch = {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "j"}]}}}}
    changed = api.patch(Deployment, "web", patch, patch_type=PatchType.STRATEGIC)
    assert changed.spec.template.spec.containers[0].image == "j"
    assert api.get(Deployment.Scale, name="web").spec.replicas == 3
    api.delete(Deployment, "web", cascade=CascadeType.BACKGROUND)
    assert list(api.list(Deployment)) == []


def test_apply_and_set_of_labels(api: Any) -> None:
    applied = api.apply(ConfigMap(metadata=ObjectMeta(name="cm"), data={"a": "b"}))
    assert applied.metadata.managedFields[0].manager == "tests"
    api.set(ConfigMap, "cm", labels={"x": "y"})
    assert [obj.metadata.name for obj in api.list(ConfigMap, labels={"x": "y"})] == ["cm"]
    assert "default" in [obj.metadata.name for obj in api.list(Namespace, chunk_size=2)]


def test_generic_resources_and_their_status(api: Any) -> None:
    api.create(Garden(metadata=ObjectMeta(name="rose"), spec={"plant": "rose"}))
    api.patch(Garden.Status, "rose", {"status": {"phase": "Blooming"}}, patch_type=PatchType.MERGE)
    assert api.get(Garden, "rose").status == {"phase": "Blooming"}


def test_watch_sees_changes_in_order(api: Any) -> None:
    api.create(ConfigMap(metadata=ObjectMeta(name="cm"), data={"n": "0"}))
    seen = []
    for action, obj in api.watch(ConfigMap, server_timeout=20):
        number = int(obj.data["n"])
        seen.append((action, number))
        if number == 3:
            break
        api.patch(ConfigMap, "cm", {"data": {"n": str(number + 1)}})
    assert seen == [("ADDED", 0), ("MODIFIED", 1), ("MODIFIED", 2), ("MODIFIED", 3)]
