"""All controllers together: they come to rest, stay at rest, and follow new kinds."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from controllers.world import (
    DEPLOYMENTS,
    PODS,
    REPLICA_SETS,
    STATEFUL_SETS,
    WIDGETS,
    World,
    config_map,
    job,
    new_image,
    reference_to,
    workload,
)
from kontend import Cluster
from kontend.controllers import controllers, pod_controllers
from kontend.controllers.process import ControllerProcess
from kontend.testing import settle

WIDGET = "Widget.example.com/v1"


def _busy_world() -> World:
    world = World(nodes=2)
    for kind in ("Deployment", "StatefulSet", "DaemonSet"):
        made = workload(kind, kind.lower(), **({"serviceName": "x"} if kind == "StatefulSet" else {}))
        world.create(made, settle=False)
    world.create(job(), settle=False)
    ports = [{"port": 80, "targetPort": "http"}]
    service = {"selector": {"app": "deployment"}, "ports": ports}
    world.create({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": service}, settle=False)
    world.settle()
    return world


def test_nothing_is_written_at_rest_also_not_by_controllers_that_begin_anew() -> None:
    """The same objects, seen again by controllers without a past, are left as they are."""
    world = _busy_world()
    version = world.cluster.state.resource_version
    settle(world.cluster, controllers() + pod_controllers())
    assert world.cluster.state.resource_version == version


def test_the_same_beginning_has_the_same_end() -> None:
    """Names, uids and versions included: nothing here is random."""
    one, two = _busy_world(), _busy_world()
    for kind in (PODS, REPLICA_SETS, STATEFUL_SETS, "EndpointSlice.discovery.k8s.io/v1"):
        assert one.cluster.list(kind) == two.cluster.list(kind)


def test_kinds_that_are_defined_later_are_collected_too() -> None:
    """As owners and as dependents, until their definition goes."""
    world = World()
    world.create(WIDGETS)
    owner = world.create({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "o"}})
    metadata = {"name": "d", "ownerReferences": [reference_to(owner)]}
    world.create({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": metadata})
    world.create(config_map("c", owner))
    world.delete(WIDGET, "o")
    assert world.names(WIDGET) == []
    assert world.names("ConfigMap/v1") == []


def test_a_definition_that_goes_takes_what_its_objects_owned() -> None:
    """And may come back."""
    world = World(crds=[WIDGETS])
    widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "o"}}
    world.create(config_map("c", world.create(widget)))
    world.cluster.delete("CustomResourceDefinition.apiextensions.k8s.io/v1", "widgets.example.com")
    world.settle(seconds=1)
    world.create(WIDGETS, settle=False)
    world.settle(seconds=60)
    assert world.names("ConfigMap/v1") == []
    world.create(widget)
    assert world.names(WIDGET) == ["o"]


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
    world = World(nodes=1)
    world.create(workload("Deployment", replicas=2))
    for what, value in changes:
        if what == "scale":
            world.cluster.patch(DEPLOYMENTS, "web", {"spec": {"replicas": value}})
        elif what == "image":
            world.cluster.patch(DEPLOYMENTS, "web", new_image(value))
        elif what == "pause":
            world.cluster.patch(DEPLOYMENTS, "web", {"spec": {"paused": value}})
        elif names := world.names(PODS):
            world.cluster.delete(PODS, names[value % len(names)], grace_period=0)
        if patient:
            world.settle()
    world.patch(DEPLOYMENTS, "web", {"spec": {"paused": False}})
    spec, status = world.cluster.get(DEPLOYMENTS, "web")["spec"], world.status(DEPLOYMENTS, "web")
    image = spec["template"]["spec"]["containers"][0]["image"]
    pods = world.cluster.list(PODS)
    assert [pod["spec"]["containers"][0]["image"] for pod in pods] == [image] * spec["replicas"]
    assert status.get("availableReplicas", 0) == status.get("updatedReplicas", 0) == spec["replicas"]
    assert status["observedGeneration"] == world.cluster.get(DEPLOYMENTS, "web")["metadata"]["generation"]
