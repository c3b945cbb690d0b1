"""Node agents: nodes become ready, pods run, and pods that are deleted stop.

Containers are not run. A pod on a node starts at once and becomes ready; the test or the
user reports containers that end by themselves. These controllers write under the name of the kubelet.
"""

from __future__ import annotations

from typing import Any, Final

import xxhash

from kontend.controllers.built_in import BuiltIn
from kontend.controllers.nodes.containers import Host, advance
from kontend.controllers.nodes.node_fit import NODES
from kontend.controllers.nodes.pod_script import has_script, next_status
from kontend.controllers.workloads.pods import PODS, is_finished, is_ready, phase_of
from kontend.kube.errors import NotFound
from kontend.kube.meta.accessors import is_deleting
from kontend.kube.meta.names import Key
from kontend.runtime.client.api import Api
from kontend.runtime.client.patches import Object, merge_patch, strategic_merge_patch
from kontend.runtime.controller import Request, Result
from kontend.runtime.writes.conditions import get_condition

_NOT_READY: Final = "node.kubernetes.io/not-ready"
_ROOM: Final = {"cpu": "8", "memory": "32Gi", "pods": "110", "ephemeral-storage": "100Gi"}
_MACHINE: Final = {
    "machineID": "",
    "systemUUID": "",
    "bootID": "",
    "kernelVersion": "",
    "osImage": "kontend",
    "containerRuntimeVersion": "kontend://1",
    "kubeletVersion": "v1.35.0",
    "kubeProxyVersion": "",
    "operatingSystem": "linux",
    "architecture": "amd64",
}
_HEALTHY: Final = (
    ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
)


class Nodes(BuiltIn):
    """Makes declared nodes ready."""

    name = "node"
    manager = "kubelet"
    kind = NODES

    async def sync(self, request: Request, api: Api) -> Result | None:
        """Report a new node as ready, and let pods onto it. A node that reports its own status is left alone."""
        try:
            node = await api.get(NODES, request)
        except NotFound:
            return None
        if get_condition(node, "Ready") is None:
            now = api.now()
            status = node.get("status") or {}
            conditions = [
                {
                    "type": kind,
                    "status": value,
                    "reason": reason,
                    "message": message,
                    "lastHeartbeatTime": now,
                    "lastTransitionTime": now,
                }
                for kind, value, reason, message in _HEALTHY
            ]
            room = status.get("capacity") or status.get("allocatable") or _ROOM
            new: dict[str, Any] = {"conditions": conditions, "capacity": room}
            new["allocatable"] = status.get("allocatable") or room
            if not (status.get("nodeInfo") or {}).get("kubeletVersion"):
                new["nodeInfo"] = _MACHINE
            if not status.get("addresses"):
                address = _address("10.0", request.name)
                new["addresses"] = [
                    {"type": "InternalIP", "address": address},
                    {"type": "Hostname", "address": request.name},
                ]
            await api.status.patch(node, strategic_merge_patch({"status": new}))
        elif is_ready(node):
            taints = (node.get("spec") or {}).get("taints") or []
            left = [taint for taint in taints if taint.get("key") != _NOT_READY]
            if len(left) != len(taints):
                # This is the node controller's part: a node that is ready is open.
                version = node["metadata"]["resourceVersion"]
                patch = merge_patch({"metadata": {"resourceVersion": version}, "spec": {"taints": left or None}})
                await api.acting_as("kube-controller-manager").patch(node, patch)
        return None


class PodLifecycle(BuiltIn):
    """Makes pods on nodes run, and lets them go when they are deleted."""

    name = "kubelet"
    manager = "kubelet"
    kind = PODS

    def __init__(self, *, jobs_end: bool = False, commands: bool = False) -> None:
        """With ``jobs_end``, pods of Jobs end by themselves, unless they say how they do.

        With ``commands`` a container ends as its command says, where that can be told without running it.
        """
        super().__init__()
        self._jobs_end = jobs_end
        self.host = Host(commands=commands)

    async def sync(self, request: Request, api: Api) -> Result | None:
        """Take a pod to its next phase."""
        try:
            pod = await api.get(PODS, request)
        except NotFound:
            return None
        if not (pod.get("spec") or {}).get("nodeName"):
            return None
        phase = phase_of(pod)
        if is_deleting(pod):
            await self._stop(api, pod)
        elif phase == "Running" and has_script(pod, jobs_end=self._jobs_end):
            return await self._play(api, pod)
        elif phase in ("", "Pending") or (phase == "Running" and self._looks_after(pod)):
            return await self._advance(api, pod)
        return None

    def _looks_after(self, pod: Object) -> bool:
        """Report whether a running pod changes by itself; what a user reports about any other stays."""
        gates = pod["spec"].get("readinessGates") and is_ready(pod) != _gates_open(pod)
        return bool(gates) or self.host.follows(pod) or self._is_behind(pod)

    def _is_behind(self, pod: Object) -> bool:
        status = pod.get("status") or {}
        return self.host.commands and status.get("observedGeneration", 0) < pod["metadata"].get("generation", 0)

    async def _advance(self, api: Api, pod: Object) -> Result | None:
        """Take the containers of a pod to their states of now."""
        try:
            node = await api.get(NODES, Key("", pod["spec"]["nodeName"]))
        except NotFound:
            return None  # no node runs it
        now, old = api.now(), pod.get("status") or {}
        status, delay = advance(pod, now, self.host)
        changed = {name: value for name, value in status.items() if value != old.get(name)}
        if not changed["conditions"]:
            del changed["conditions"]
        if not old.get("podIP"):
            host = next((address["address"] for address in (node.get("status") or {}).get("addresses") or ()), "")
            changed |= _started(pod, host, now)
        if self._is_behind(pod):
            changed["observedGeneration"] = pod["metadata"]["generation"]
        if changed:
            await api.status.patch(pod, strategic_merge_patch({"status": changed}))
        return None if delay is None else Result(requeue_after=delay)

    async def _play(self, api: Api, pod: Object) -> Result | None:
        """Take a pod that says how it behaves one step further."""
        status, delay = next_status(pod, api.now(), jobs_end=self._jobs_end)
        if status is not None:
            await api.status.patch(pod, strategic_merge_patch({"status": status}))
        return None if delay is None else Result(requeue_after=delay)

    async def _stop(self, api: Api, pod: Object) -> None:
        """Stop a pod at once: its containers do not really run, so there is no grace period."""
        if not is_finished(pod):
            now = api.now()
            ended = {"exitCode": 143, "reason": "Error", "startedAt": now, "finishedAt": now}  # 128 and SIGTERM
            status = {
                "phase": "Failed",
                "conditions": [_condition("Ready", "False", now), _condition("ContainersReady", "False", now)],
                "containerStatuses": [
                    _container(container, {"terminated": ended}) for container in pod["spec"]["containers"]
                ],
            }
            await api.status.patch(pod, strategic_merge_patch({"status": status}))
        try:
            self.host.forget(pod["metadata"]["uid"])
            await api.delete(pod, resource_version="", grace_period=0)
        except NotFound:
            return


def _condition(kind: str, status: str, now: str) -> dict[str, Any]:
    return {"type": kind, "status": status, "lastProbeTime": None, "lastTransitionTime": now}


def _container(container: dict[str, Any], state: dict[str, Any]) -> dict[str, Any]:
    running = "running" in state
    return {
        "name": container["name"],
        "image": container.get("image") or "",
        "imageID": f"kontend://{container.get('image') or ''}",
        "ready": running,
        "started": running,
        "restartCount": 0,
        "state": state,
    }


def _started(pod: Object, host: str, now: str) -> dict[str, Any]:
    """Return the part of the status of a pod that stays as it is from its start on."""
    address = host if pod["spec"].get("hostNetwork") and host else _address("10.244", pod["metadata"]["uid"])
    status: dict[str, Any] = {"podIP": address, "podIPs": [{"ip": address}], "startTime": now}
    if host:
        status["hostIP"] = host
        status["hostIPs"] = [{"ip": host}]
    return status


def _gates_open(pod: Object) -> bool:
    """Report whether all readiness gates of a pod are open."""
    gates = {gate["conditionType"] for gate in pod["spec"].get("readinessGates") or ()}
    met = {
        condition["type"]
        for condition in (pod.get("status") or {}).get("conditions") or ()
        if condition["status"] == "True"
    }
    return gates <= met


def _address(network: str, of: str) -> str:
    """An address that is always the same for the same thing; two things share one hardly ever."""
    number = xxhash.xxh3_64_intdigest(of.encode())
    return f"{network}.{number % 254 + 1}.{number // 254 % 254 + 1}"
