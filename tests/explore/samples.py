"""Controllers and scenarios that several tests explore."""

from __future__ import annotations

import copy
import hashlib
import json
from typing import Any

from explore.widgets import CRD, KIND, UNGUARDED, WIDGET
from kontend.controllers.nodes.node_agent import Nodes, PodLifecycle
from kontend.controllers.nodes.scheduler import Scheduler
from kontend.controllers.workloads.deployment import Deployments
from kontend.controllers.workloads.replica_set import ReplicaSets
from kontend.explore import Bounds, Scenario
from kontend.runtime.client.api import Api
from kontend.runtime.client.patches import merge_from
from kontend.runtime.controller import Controller, Request, Result


class Sums(Controller):
    """Stamps a checksum that covers the last one."""

    kind = KIND

    async def reconcile(self, request: Request, api: Api) -> None:
        """Stamp."""
        widget = await api.get(self.kind, request)
        content = json.dumps([widget["spec"], widget["metadata"].get("annotations")])
        widget["metadata"]["annotations"] = {"sum": hashlib.sha256(content.encode()).hexdigest()[:12]}
        await api.update(widget)


class Toggles(Controller):
    """Reverts its own last write, forever."""

    kind = KIND

    async def reconcile(self, request: Request, api: Api) -> None:
        """Toggle the switch in the status."""
        widget = await api.get(self.kind, request)
        base = copy.deepcopy(widget)
        widget["status"] = {"on": not (widget.get("status") or {}).get("on")}
        await api.status.patch(widget, merge_from(base))


class Fails(Controller):
    """Always fails."""

    kind = KIND

    async def reconcile(self, request: Request, api: Api) -> Result:
        """Raise."""
        raise RuntimeError(f"{request} {api.manager}")


class Signs(Controller):
    """Adds its name to a list once, without a lock."""

    kind = KIND
    memory = ("signed",)
    signed = False

    async def reconcile(self, request: Request, api: Api) -> None:
        """Sign."""
        if not self.signed:
            self.signed = True
            widget = await api.get(self.kind, request)
            base = copy.deepcopy(widget)
            signed = (widget.get("status") or {}).get("signed") or []
            widget["status"] = {"signed": [*signed, self.name]}
            await api.status.patch(widget, merge_from(base))


class First(Signs):
    """One of two signers."""


class Second(Signs):
    """The other signer."""


#: Two writers of one list: a perturbed run can end in a state that no unperturbed run reaches.
SIGNED = Scenario([First(), Second()], crds=[CRD], objects=[WIDGET], bounds=Bounds(faults=0, lag=0), guards=UNGUARDED)

DEPLOYMENT: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {
        "replicas": 1,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        },
    },
}
NODE: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "node-1"},
    "status": {
        "conditions": [{"type": "Ready", "status": "True"}],
        "allocatable": {"cpu": "8", "memory": "32Gi", "pods": "110"},
    },
}


def deployment(bounds: Bounds) -> Scenario:
    """A Deployment and a node, with the built-in controllers that start its pod."""
    controllers = [Deployments(), ReplicaSets(), Nodes(), Scheduler(), PodLifecycle()]
    return Scenario(controllers, objects=[DEPLOYMENT, NODE], bounds=bounds)
