"""toolhive: the annotations of a Service are replaced forever.

Link: https://github.com/stacklok/toolhive/issues/5730
Archetype: A10

On GKE a controller stores the status of network endpoint groups in an annotation of each Service. The operator
compares the annotations with those it wants, finds one too many, and replaces all of them; the other controller
writes it again. Conflicts between the two fill the logs.

Interleaving: neg writes {neg-status} -> operator writes {} -> neg writes {neg-status} -> ...

Fix: the own annotations must be among those that are there; others do not count.
"""

from copy import deepcopy
from dataclasses import replace

from kontend import Api, Controller, Guards, Request, merge_from, new_object
from kontend.explore import Scenario
from kontend.testing import permissive_crd

SERVER = "MCPServer.toolhive.stacklok.dev/v1"
SERVICE = "Service/v1"
NEG = "cloud.google.com/neg-status"


class Operator(Controller):
    """Keeps the Service of a server without annotations."""

    kind = SERVER
    watches = {SERVICE: lambda service, cache: ["default/s"]}
    subset = False

    async def reconcile(self, request: Request, api: Api) -> None:
        service = await api.get(SERVICE, "default/s")
        if service["metadata"].get("annotations") and not self.subset:
            service["metadata"]["annotations"] = {}
            await api.update(service)


class Neg(Controller):
    """Stores the status of the endpoint group."""

    kind = SERVICE

    async def reconcile(self, request: Request, api: Api) -> None:
        service = await api.get(SERVICE, request)
        if NEG not in (service["metadata"].get("annotations") or {}):
            base = deepcopy(service)
            service["metadata"].setdefault("annotations", {})[NEG] = "{}"
            await api.patch(service, merge_from(base))


class Fixed(Operator):
    name = "operator"
    subset = True


buggy = Scenario(
    controllers=[Operator(), Neg()],
    crds=[permissive_crd(SERVER)],
    objects=[new_object(SERVER, "s", spec={}), new_object(SERVICE, "s", spec={"ports": [{"port": 80}]})],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed(), Neg()])
