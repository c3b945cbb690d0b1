"""Two writers of one status: the operator, and a reporter that runs in the pod that the operator has created.

The operator writes phase, url and the condition Ready, the reporter the backends and the condition BackendsDiscovered.
They share one object and one list of conditions. ``store`` is how they write; here it is the safe form, a patch that
is locked by the version that was read. ``variants.py`` has the others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from kontend import Api, Controller, NotFound, Request, Result, mutate_status, set_condition, sync_child

SERVER: Final = "VirtualMCPServer.toolhive.stacklok.dev/v1alpha1"
BACKEND: Final = "MCPServer.toolhive.stacklok.dev/v1alpha1"
DEPLOYMENT: Final = "Deployment.apps/v1"
Object = dict[str, Any]
Mutate = Callable[[Object], None]


def deployment(server: Object) -> Object:
    """Return the Deployment of a server."""
    name = server["metadata"]["name"]
    labels = {"app": name}
    pod = {"containers": [{"name": "vmcp", "image": server["spec"]["image"]}]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }


class Operator(Controller):
    """Creates the Deployment of a server and reports on it."""

    kind = SERVER
    owns = (DEPLOYMENT,)
    name = "thv-operator"

    async def reconcile(self, request: Request, api: Api) -> Result | None:
        """Synchronise the Deployment, then write the operator's part of the status."""
        try:
            server = await api.get(SERVER, request)
        except NotFound:
            return None
        synced = await sync_child(api, server, deployment(server), field="deployment")
        available = ((synced.child or {}).get("status") or {}).get("availableReplicas", 0) > 0
        generation = server["metadata"]["generation"]

        def report(obj: Object) -> None:
            status = obj["status"]
            status["phase"] = "Ready" if available else "Pending"
            status["url"] = f"http://{request.name}.{request.namespace}.svc:4483"
            status["observedGeneration"] = generation
            reason = "DeploymentReady" if available else "DeploymentNotReady"
            set_condition(obj, "Ready", available, reason, now=api.now(), observed_generation=generation)

        await self.store(api, server, report)
        return synced.result

    async def store(self, api: Api, server: Object, mutate: Mutate) -> None:
        """Write the status."""
        await mutate_status(api, server, mutate)


def _servers_of(backend: Object, cache: Any) -> list[str]:
    group, namespace = backend["spec"]["groupRef"], backend["metadata"]["namespace"]
    return [
        f"{namespace}/{server['metadata']['name']}"
        for server in cache.list(SERVER, namespace=namespace)
        if server["spec"]["groupRef"] == group
    ]


class Reporter(Controller):
    """Runs beside the server that it reports on, and knows the backends."""

    kind = SERVER
    watches = {BACKEND: _servers_of}  # noqa: RUF012
    name = "vmcp-reporter"

    async def reconcile(self, request: Request, api: Api) -> Result | None:
        """Discover the backends, then write the reporter's part of the status."""
        try:
            server = await api.get(SERVER, request)
        except NotFound:
            return None
        group, generation = server["spec"]["groupRef"], server["metadata"]["generation"]
        backends = await api.list(BACKEND, namespace=request.namespace)
        names = sorted(backend["metadata"]["name"] for backend in backends if backend["spec"]["groupRef"] == group)

        def report(obj: Object) -> None:
            obj["status"]["backendCount"] = len(names)
            obj["status"]["discoveredBackends"] = names
            reason = "Discovered" if names else "NoBackends"
            set_condition(obj, "BackendsDiscovered", bool(names), reason, now=api.now(), observed_generation=generation)

        await self.store(api, server, report)
        return None

    async def store(self, api: Api, server: Object, mutate: Mutate) -> None:
        """Write the status."""
        await mutate_status(api, server, mutate)
