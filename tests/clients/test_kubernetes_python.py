"""The official Python client: typed, dynamic, its watch, its informer and its leader election."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from clients.conftest import Running

kubernetes = pytest.importorskip("kubernetes", reason="the kubernetes package is not installed (group clients)")
from kubernetes import client, config, watch  # noqa: E402
from kubernetes.client.exceptions import ApiException  # noqa: E402
from kubernetes.dynamic import DynamicClient  # noqa: E402

pytestmark = pytest.mark.filterwarnings("default")
LABELS = {"app": "web"}
GARDENS = ("clients.kontend.dev", "v1")


@pytest.fixture
def api(server: Running) -> Iterator[Any]:
    with config.new_client_from_config(str(server.kubeconfig)) as made:
        yield made


def deployment(name: str = "web", image: str = "nginx:1") -> Any:
    container = client.V1Container(name="app", image=image, resources={"limits": {"cpu": "500m"}})
    template = client.V1PodTemplateSpec(
        metadata=client.V1ObjectMeta(labels=LABELS), spec=client.V1PodSpec(containers=[container])
    )
    spec = client.V1DeploymentSpec(replicas=2, selector={"matchLabels": LABELS}, template=template)
    return client.V1Deployment(metadata=client.V1ObjectMeta(name=name, labels=LABELS), spec=spec)


def garden(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "clients.kontend.dev/v1",
        "kind": "Garden",
        "metadata": {"name": name},
        "spec": {"plant": "rose"},
    }


def test_typed_objects_are_created_read_changed_and_deleted(api: Any, namespace: str) -> None:
    apps = client.AppsV1Api(api)
    made = apps.create_namespaced_deployment(namespace, deployment())
    assert (made.metadata.generation, made.spec.strategy.type) == (1, "RollingUpdate")
    assert made.metadata.creation_timestamp.tzinfo is not None
    made.spec.template.spec.containers[0].image = "nginx:2"
    changed = apps.replace_namespaced_deployment("web", namespace, made)
    assert changed.metadata.generation == 2
    with pytest.raises(ApiException) as refused:
        apps.replace_namespaced_deployment("web", namespace, made)
    assert (refused.value.status, refused.value.reason) == (409, "Conflict")
    patched = apps.patch_namespaced_deployment_scale("web", namespace, {"spec": {"replicas": 5}})
    assert patched.spec.replicas == 5
    done = {"status": {"replicas": 5, "observedGeneration": 3}}
    assert apps.patch_namespaced_deployment_status("web", namespace, done).status.replicas == 5
    assert [item.metadata.name for item in apps.list_deployment_for_all_namespaces(label_selector="app=web").items]
    apps.delete_namespaced_deployment("web", namespace, body=client.V1DeleteOptions(propagation_policy="Background"))
    with pytest.raises(ApiException) as missing:
        apps.read_namespaced_deployment("web", namespace)
    assert missing.value.status == 404


def test_lists_come_in_pages(api: Any, namespace: str) -> None:
    core = client.CoreV1Api(api)
    for number in range(5):
        core.create_namespaced_config_map(namespace, client.V1ConfigMap(metadata={"name": f"cm-{number}"}))
    first = core.list_namespaced_config_map(namespace, limit=2)
    names = [item.metadata.name for item in first.items]
    token = first.metadata._continue
    while token:
        page = core.list_namespaced_config_map(namespace, limit=2, _continue=token)
        names += [item.metadata.name for item in page.items]
        token = page.metadata._continue
    assert names == [f"cm-{number}" for number in range(5)]


def test_a_watch_tells_what_happens_from_a_version_on(api: Any, namespace: str) -> None:
    core = client.CoreV1Api(api)
    version = core.list_namespaced_config_map(namespace).metadata.resource_version
    core.create_namespaced_config_map(namespace, client.V1ConfigMap(metadata={"name": "a"}, data={"x": "1"}))
    core.patch_namespaced_config_map("a", namespace, {"data": {"x": "2"}})
    core.delete_namespaced_config_map("a", namespace)
    seen = []
    stream = watch.Watch()
    for event in stream.stream(
        core.list_namespaced_config_map, namespace, resource_version=version, timeout_seconds=20
    ):
        seen.append((event["type"], event["object"].data["x"]))
        if event["type"] == "DELETED":
            stream.stop()
    assert seen == [("ADDED", "1"), ("MODIFIED", "2"), ("DELETED", "2")]


def test_custom_objects(api: Any, namespace: str) -> None:
    custom = client.CustomObjectsApi(api)
    custom.create_namespaced_custom_object(*GARDENS, namespace, "gardens", garden("rose"))
    status = {"status": {"phase": "Blooming"}}
    custom.patch_namespaced_custom_object_status(*GARDENS, namespace, "gardens", "rose", status)
    read = custom.get_namespaced_custom_object(*GARDENS, namespace, "gardens", "rose")
    assert (read["status"], read["spec"]) == ({"phase": "Blooming"}, {"plant": "rose", "replicas": 1})
    with pytest.raises(ApiException) as refused:
        custom.create_namespaced_custom_object(*GARDENS, namespace, "gardens", {**garden("bad"), "spec": {}})
    assert refused.value.status == 422
    assert "spec.plant: Required value" in refused.value.body


def test_the_dynamic_client_discovers_applies_and_watches(api: Any, namespace: str) -> None:
    dynamic = DynamicClient(api)
    gardens = dynamic.resources.get(api_version="clients.kontend.dev/v1", kind="Garden")
    assert (gardens.namespaced, gardens.name, gardens.short_names) == (True, "gardens", ["gd"])
    config_maps = dynamic.resources.get(api_version="v1", kind="ConfigMap")
    applied = gardens.server_side_apply(garden("oak"), name="oak", namespace=namespace, field_manager="gardener")
    assert applied.metadata.managedFields[0].manager == "gardener"
    gardens.patch(
        {"spec": {"replicas": 3}}, name="oak", namespace=namespace, content_type="application/merge-patch+json"
    )
    assert gardens.get(name="oak", namespace=namespace).spec.replicas == 3
    gardens.status.patch(
        {"status": {"phase": "Old"}}, name="oak", namespace=namespace, content_type="application/merge-patch+json"
    )
    for event in gardens.watch(namespace=namespace, timeout=20):
        assert (event["type"], event["object"].status.phase) == ("ADDED", "Old")
        break
    config_maps.create({"metadata": {"name": "a"}}, namespace=namespace)
    assert [item.metadata.name for item in config_maps.get(namespace=namespace).items] == ["a"]
    gardens.delete(name="oak", namespace=namespace)


def test_the_informer_keeps_a_cache(api: Any, namespace: str) -> None:
    informer = pytest.importorskip("kubernetes.informer", reason="this kubernetes package has no informer")
    core = client.CoreV1Api(api)
    core.create_namespaced_config_map(namespace, client.V1ConfigMap(metadata={"name": "before"}))
    events: queue.Queue[tuple[str, str]] = queue.Queue()
    shared = informer.SharedInformer(core.list_namespaced_config_map, namespace=namespace)
    for kind in ("ADDED", "MODIFIED", "DELETED"):
        shared.add_event_handler(kind, lambda obj, kind=kind: events.put((kind, obj.metadata.name)))
    shared.start()
    try:
        assert events.get(timeout=20) == ("ADDED", "before")
        core.create_namespaced_config_map(namespace, client.V1ConfigMap(metadata={"name": "after"}))
        assert events.get(timeout=20) == ("ADDED", "after")
        core.patch_namespaced_config_map("after", namespace, {"data": {"x": "1"}})
        assert events.get(timeout=20) == ("MODIFIED", "after")
        assert shared.cache.get_by_key(f"{namespace}/after").data == {"x": "1"}
        core.delete_namespaced_config_map("before", namespace)
        assert events.get(timeout=20) == ("DELETED", "before")
        assert shared.cache.list_keys() == [f"{namespace}/after"]
    finally:
        shared.stop()


def test_leader_election_has_one_leader_at_a_time(server: Running, namespace: str) -> None:
    leases = pytest.importorskip(
        "kubernetes.leaderelection.resourcelock.leaselock", reason="this kubernetes package has no lease lock"
    )
    from kubernetes.leaderelection import electionconfig, leaderelection

    config.load_kube_config(str(server.kubeconfig))
    led: queue.Queue[str] = queue.Queue()
    give_up = threading.Event()

    def lead(name: str) -> None:
        led.put(name)
        give_up.wait(20)
        raise RuntimeError("done leading")

    def candidate(name: str) -> Any:
        lock = leases.LeaseLock("boss", namespace, name)
        settings = electionconfig.Config(lock, 3, 2, 1, lambda: lead(name), lambda: None)
        return leaderelection.LeaderElection(settings)

    threading.Thread(target=candidate("first").run, daemon=True).start()
    assert led.get(timeout=20) == "first"
    second = candidate("second")
    assert second.try_acquire_or_renew() is False
    give_up.set()
    threading.Thread(target=second.run, daemon=True).start()
    assert led.get(timeout=20) == "second"
    lease = client.CoordinationV1Api().read_namespaced_lease("boss", namespace)
    assert lease.spec.holder_identity == "second"
