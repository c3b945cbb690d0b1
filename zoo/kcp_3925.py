"""kcp: an endpoint slice stays empty.

Link: https://github.com/kcp-dev/kcp/issues/3925
Archetype: A13

Two controllers work on an endpoint slice: one marks its export as valid, the other adds the endpoint URLs of
exports that are valid. The second one is triggered by changes of the spec only. If it runs before the first
one, it finds nothing to add, and it is not called again when the export becomes valid.

Interleaving: urls runs: not valid, nothing to add -> primary marks the export as valid -> urls is not triggered

Fix: trigger on changes of the status too.
"""

from dataclasses import replace

from kontend import Api, Cluster, Controller, Guards, Request, new_object
from kontend.explore import Scenario, eventually
from kontend.predicates import GenerationChanged
from kontend.testing import permissive_crd

SLICE = "APIExportEndpointSlice.apis.kcp.io/v1"


class Primary(Controller):
    """Marks the export of a slice as valid."""

    kind = SLICE

    async def reconcile(self, request: Request, api: Api) -> None:
        endpoints = await api.live.get(SLICE, request)
        status = endpoints.setdefault("status", {})
        if not status.get("valid"):
            status["valid"] = True
            await api.status.update(endpoints)


class Urls(Controller):
    """Adds the URLs of a valid export."""

    kind = SLICE
    predicates = {SLICE: GenerationChanged()}

    async def reconcile(self, request: Request, api: Api) -> None:
        endpoints = await api.live.get(SLICE, request)
        status = endpoints.get("status") or {}
        if status.get("valid") and not status.get("endpoints"):
            endpoints["status"]["endpoints"] = ["https://shard"]
            await api.status.update(endpoints)


class Fixed(Urls):
    name = "urls"
    predicates = {}


def has_endpoints(cluster: Cluster) -> bool:
    return bool((cluster.get(SLICE, "s").get("status") or {}).get("endpoints"))


buggy = Scenario(
    controllers=[Primary(), Urls()],
    crds=[permissive_crd(SLICE)],
    objects=[new_object(SLICE, "s", spec={})],
    properties=[eventually(has_endpoints)],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Primary(), Fixed()])
