"""A scheduler: each pod goes to a node that fits and has the fewest pods.

It respects node selectors, required node affinity, taints, requests and the number of pods. It ignores preferences,
affinity between pods and volumes, and it is deterministic: of equal nodes it takes the first by name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Final

from kontend.controllers.built_in import BuiltIn
from kontend.controllers.nodes.node_fit import NODES, fits
from kontend.controllers.workloads.pods import PODS, is_finished
from kontend.kube.errors import Conflict, NotFound
from kontend.kube.meta.accessors import is_deleting
from kontend.kube.meta.names import Key, key_of
from kontend.kube.quantity import Quantity, parse
from kontend.runtime.cache.views import Cache
from kontend.runtime.client.api import Api
from kontend.runtime.client.patches import Object, strategic_merge_patch
from kontend.runtime.controller import Indexer, Mapper, Request, Result

_OURS: Final = "default-scheduler"
#: The index of the node that a pod is on; empty for a pod that waits.
_BY_NODE: Final = "node"


def _node_of(pod: Object) -> Iterator[str]:
    yield str((pod.get("spec") or {}).get("nodeName") or "")


def _waiting(_changed: Object, cache: Cache) -> Iterator[Key]:
    """Yield the pods that wait for a node: a node or a finished pod may have made room."""
    for pod in cache.list(PODS, index=(_BY_NODE, "")):
        if _is_waiting(pod):
            yield key_of(pod)


def _made_room(pod: Object, cache: Cache) -> Iterator[Key]:
    gone = key_of(pod) not in cache.view(PODS)
    if (pod.get("spec") or {}).get("nodeName") and (gone or is_finished(pod)):
        yield from _waiting(pod, cache)


def _is_waiting(pod: Mapping[str, Any]) -> bool:
    spec = pod.get("spec") or {}
    if spec.get("nodeName") or spec.get("schedulingGates") or is_deleting(pod) or is_finished(pod):
        return False
    return (spec.get("schedulerName") or _OURS) == _OURS


class Scheduler(BuiltIn):
    """Gives pods their nodes."""

    manager = "kube-scheduler"
    kind = PODS
    watches: ClassVar[Mapping[str, Mapper]] = {NODES: _waiting, PODS: _made_room}
    indexes: ClassVar[Mapping[str, Mapping[str, Indexer]]] = {PODS: {_BY_NODE: _node_of}}

    async def sync(self, request: Request, api: Api) -> Result | None:
        """Binds a pod, or reports that there is no node for it."""
        try:
            pod = await api.get(PODS, request)
        except NotFound:
            return None
        if not _is_waiting(pod):
            return None
        nodes = await api.list(NODES)
        others = [other for other in await api.list(PODS) if not is_finished(other)]
        node = _choose(pod, nodes, others)
        if node is None:
            await self._say_unschedulable(api, pod, len(nodes))
            return None
        metadata = pod["metadata"]
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": metadata["name"], "namespace": metadata["namespace"], "uid": metadata["uid"]},
            "target": {"kind": "Node", "name": node},
        }
        try:
            await api.create_subresource(pod, "binding", binding)
        except (NotFound, Conflict):
            return None  # it is gone, or it has a node: either way it waits no more
        return None

    async def _say_unschedulable(self, api: Api, pod: Object, nodes: int) -> None:
        status = pod.get("status") or {}
        old = next(
            (condition for condition in status.get("conditions") or () if condition["type"] == "PodScheduled"), None
        )
        text = f"0/{nodes} nodes are available." if nodes else "no nodes available to schedule pods"
        if old is not None and (old.get("reason"), old.get("message")) == ("Unschedulable", text):
            return
        new = {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": text,
            "lastTransitionTime": api.now(),
            "lastProbeTime": None,
        }
        await api.status.patch(pod, strategic_merge_patch({"status": {"conditions": [new]}}))


def _choose(pod: Object, nodes: list[Object], others: list[Object]) -> str | None:
    """Return the node for a pod."""
    on_node: dict[str, list[Object]] = {}
    for other in others:
        on_node.setdefault((other.get("spec") or {}).get("nodeName") or "", []).append(other)
    spec = {**pod["spec"], "tolerations": pod["spec"].get("tolerations") or []}
    good = [
        node
        for node in nodes
        if not (node.get("spec") or {}).get("unschedulable") or _tolerates_unschedulable(spec)
        if fits(spec, node) and _has_room(pod, node, on_node.get(node["metadata"]["name"], []))
    ]
    names = [node["metadata"]["name"] for node in good]
    return min(names, key=lambda name: (len(on_node.get(name, [])), name), default=None)


def _tolerates_unschedulable(spec: Mapping[str, Any]) -> bool:
    taint = {"metadata": {}, "spec": {"taints": [{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}]}}
    return fits({"tolerations": spec["tolerations"]}, taint)


def requests_of(pod: Mapping[str, Any]) -> dict[str, Quantity]:
    """Return the requests of a pod: the sum of its containers, or one init container where that is more."""
    spec = pod.get("spec") or {}
    total: dict[str, Quantity] = {}
    for container in spec.get("containers") or ():
        for name, amount in ((container.get("resources") or {}).get("requests") or {}).items():
            total[name] = total[name] + parse(str(amount)) if name in total else parse(str(amount))
    for container in spec.get("initContainers") or ():
        for name, amount in ((container.get("resources") or {}).get("requests") or {}).items():
            if name not in total or total[name] < parse(str(amount)):
                total[name] = parse(str(amount))
    return total


def _has_room(pod: Object, node: Object, placed: list[Object]) -> bool:
    """Report whether a node has room for a pod; a node without declared resources has enough."""
    allocatable = (node.get("status") or {}).get("allocatable") or {}
    if "pods" in allocatable and parse(str(len(placed) + 1)) > parse(str(allocatable["pods"])):
        return False
    for name, amount in requests_of(pod).items():
        if name not in allocatable:
            if "/" in name:
                return False  # a resource that a node must offer
            continue
        used = amount
        for other in placed:
            more = requests_of(other).get(name)
            used = used + more if more is not None else used
        if parse(str(allocatable[name])) < used:
            return False
    return True
