"""The node lifecycle controller: a node whose kubelet never reports is in an unknown condition."""

from __future__ import annotations

from typing import Final

from kontend.cluster.times import seconds
from kontend.controllers.built_in import BuiltIn
from kontend.controllers.nodes.node_fit import NODES
from kontend.kube.errors import NotFound
from kontend.runtime.client.api import Api
from kontend.runtime.client.patches import strategic_merge_patch
from kontend.runtime.controller import Request, Result

_STARTUP: Final = 60
_TYPES: Final = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")


class NodeLifecycle(BuiltIn):
    """Marks nodes that never became ready; for clusters in which no kubelet is simulated."""

    name = "node-lifecycle-controller"
    kind = NODES

    async def sync(self, request: Request, api: Api) -> Result | None:
        """Wait for the first report of a node, and give up after a minute."""
        try:
            node = await api.get(NODES, request)
        except NotFound:
            return None
        known = {condition["type"] for condition in (node.get("status") or {}).get("conditions") or ()}
        missing = [kind for kind in _TYPES if kind not in known]
        if not missing:
            return None
        created = node["metadata"].get("creationTimestamp") or api.now()
        left = seconds(created) + _STARTUP - seconds(api.now())
        if left > 0:
            return Result(requeue_after=float(left))
        unknown = [
            {
                "type": kind,
                "status": "Unknown",
                "reason": "NodeStatusNeverUpdated",
                "message": "Kubelet never posted node status.",
                "lastHeartbeatTime": created,
                "lastTransitionTime": api.now(),
            }
            for kind in missing
        ]
        await api.status.patch(node, strategic_merge_patch({"status": {"conditions": unknown}}))
        return None
