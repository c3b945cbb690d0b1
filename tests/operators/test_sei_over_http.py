"""``kontend run examples/sei`` against ``kontend serve --controllers --pods``, as a user sees it with kubectl."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from operators.stack import Stack, sei

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
