"""``kontend run examples/sei`` against ``kontend serve --controllers --pods``, as a user sees it with kubectl."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from example_operators.stack import Stack, sei

NODE, GROUP = "SeiNode.sei.io/v1alpha1", "SeiNodeDeployment.sei.io/v1alpha1"
STATEFUL_SET, SERVICE, CLAIM, POD = "StatefulSet.apps/v1", "Service/v1", "PersistentVolumeClaim/v1", "Pod/v1"
Object = dict[str, Any]


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with sei(tmp_path_factory.mktemp("sei")) as running:
        yield running


def node(name: str, **spec: Any) -> Object:
    wanted = {"chainId": "pacific-1", "image": "seid:1", "fullNode": {}, **spec}
    return {"apiVersion": "sei.io/v1alpha1", "kind": "SeiNode", "metadata": {"name": name}, "spec": wanted}


def images(stack: Stack, name: str) -> list[str]:
    """The images of the running pods of a node."""
    return [
        pod["spec"]["containers"][0]["image"]
        for pod in stack.objects(POD)
        if pod["metadata"]["labels"].get("sei.io/node") == name and not pod["metadata"].get("deletionTimestamp")
    ]


def is_running(image: str) -> Any:
    def happened(obj: Object) -> bool:
        status = obj.get("status") or {}
        return status.get("phase") == "Running" and status.get("currentImage") == image and "plan" not in status

    return happened


def test_a_node_comes_up_follows_its_image_pauses_and_leaves_nothing_behind(stack: Stack) -> None:
    assert not stack.client.apply(node("one"))
    running = stack.wait_for(NODE, "one", is_running("seid:1"))
    tracked = stack.get(STATEFUL_SET, "one")
    assert tracked is not None
    assert running["status"]["statefulSet"] == {"name": "one", "uid": tracked["metadata"]["uid"]}
    assert images(stack, "one") == ["seid:1"]
    assert running["status"]["endpoint"] == "one.default.svc:26657"

    assert not stack.client.patch(NODE, "one", {"spec": {"image": "seid:2"}})
    stack.wait_for(NODE, "one", is_running("seid:2"))
    stack.wait_for(POD, "one-0", lambda pod: pod["spec"]["containers"][0]["image"] == "seid:2")
    same = stack.get(STATEFUL_SET, "one")
    assert same is not None
    assert same["metadata"]["uid"] == tracked["metadata"]["uid"]

    assert not stack.client.patch(NODE, "one", {"spec": {"paused": True}})
    stack.wait(POD, lambda pods: not any(pod["metadata"]["name"] == "one-0" for pod in pods))
    paused = stack.get(STATEFUL_SET, "one")
    assert paused is not None
    assert paused["spec"]["replicas"] == 0
    assert not stack.client.patch(NODE, "one", {"spec": {"paused": False}})
    stack.wait(POD, lambda pods: any(pod["metadata"]["name"] == "one-0" for pod in pods))
    stack.wait_for(NODE, "one", is_running("seid:2"))

    stack.client.delete(NODE, "one")
    stack.wait(NODE, lambda nodes: not any(obj["metadata"]["name"] == "one" for obj in nodes))
    stack.wait(POD, lambda pods: not any(pod["metadata"]["name"] == "one-0" for pod in pods))
    assert stack.get(STATEFUL_SET, "one") is None
    assert stack.get(SERVICE, "one") is None
    assert stack.get(CLAIM, "data-one") is None
    executed = {command: count for command, count in stack.executions().items() if command.startswith("default/one ")}
    assert executed == {
        "default/one config-apply": 1,
        "default/one config-patch": 1,
        "default/one config-validate": 2,
        "default/one mark-ready": 2,
    }


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"archive": {}}, "exactly one of fullNode, archive, replayer, validator and seed must be set"),
        ({"chainId": "atlantic-2"}, "chainId is immutable"),
        ({"dataVolume": {"import": {"pvcName": "mine"}}}, "dataVolume cannot be added or removed"),
        ({"image": ""}, "spec.image"),
    ],
)
def test_the_server_refuses_changes_that_break_a_rule(stack: Stack, change: Object, words: str) -> None:
    stack.client.apply(node("rules", paused=True))
    assert words in stack.client.patch(NODE, "rules", {"spec": change})


def group(name: str, strategy: str, **spec: Any) -> Object:
    template = {"spec": {"chainId": "pacific-1", "image": "seid:1", "fullNode": {}}}
    wanted = {"replicas": 3, "updateStrategy": {"type": strategy}, "template": template, **spec}
    return {"apiVersion": "sei.io/v1alpha1", "kind": "SeiNodeDeployment", "metadata": {"name": name}, "spec": wanted}


def set_image(stack: Stack, name: str, image: str) -> None:
    assert not stack.client.patch(GROUP, name, {"spec": {"template": {"spec": {"image": image}}}})


def nodes_of(stack: Stack, name: str) -> dict[str, Object]:
    nodes = (obj for obj in stack.objects(NODE) if obj["metadata"].get("labels", {}).get("sei.io/group") == name)
    return {obj["metadata"]["name"]: obj for obj in nodes}


def is_ready(generation: int) -> Any:
    def happened(obj: Object) -> bool:
        status = obj.get("status") or {}
        return (
            status.get("phase") == "Ready" and status.get("observedGeneration") == generation and "plan" not in status
        )

    return happened


def test_a_group_of_three_rolls_blue_green_and_is_deleted_with_its_nodes(stack: Stack) -> None:
    assert not stack.client.apply(group("blue", "BlueGreen"))
    stack.wait_for(GROUP, "blue", is_ready(1))
    incumbents = nodes_of(stack, "blue")
    assert sorted(incumbents) == ["blue-1-0", "blue-1-1", "blue-1-2"]

    set_image(stack, "blue", "seid:2")
    rolled = stack.wait_for(GROUP, "blue", is_ready(2))
    assert rolled["status"]["revision"] == "2"
    entrants = nodes_of(stack, "blue")
    assert sorted(entrants) == ["blue-2-0", "blue-2-1", "blue-2-2"]
    assert {obj["status"]["currentImage"] for obj in entrants.values()} == {"seid:2"}
    service = stack.get(SERVICE, "blue")
    assert service is not None
    assert service["spec"]["selector"] == {"sei.io/group": "blue", "sei.io/revision": "2"}
    executed = stack.executions()
    assert all(executed[f"default/{name} mark-ready"] == 1 for name in [*incumbents, *entrants])

    stack.client.delete(GROUP, "blue")
    stack.wait(GROUP, lambda groups: not any(obj["metadata"]["name"] == "blue" for obj in groups))
    assert not nodes_of(stack, "blue")


def test_a_rollout_in_place_is_superseded_and_a_retained_node_outlives_its_group(stack: Stack) -> None:
    assert not stack.client.apply(group("green", "InPlace", replicas=1, deletionPolicy="Retain"))
    stack.wait_for(GROUP, "green", is_ready(1))
    first = nodes_of(stack, "green")["green-1-0"]

    set_image(stack, "green", "seid:2")
    set_image(stack, "green", "seid:3")
    stack.wait_for(GROUP, "green", is_ready(3))
    node = nodes_of(stack, "green")["green-1-0"]
    assert node["status"]["currentImage"] == "seid:3"
    assert node["metadata"]["uid"] == first["metadata"]["uid"]

    assert not stack.client.patch(GROUP, "green", {"spec": {"paused": True}})
    stack.wait_for(NODE, "green-1-0", lambda obj: bool(obj["spec"]["paused"]))
    stack.wait(POD, lambda pods: not any(pod["metadata"]["name"] == "green-1-0-0" for pod in pods))

    stack.client.delete(GROUP, "green")
    stack.wait(GROUP, lambda groups: not any(obj["metadata"]["name"] == "green" for obj in groups))
    assert "ownerReferences" not in nodes_of(stack, "green")["green-1-0"]["metadata"]
