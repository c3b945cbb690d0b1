"""kratix: a promise is updated forever.

Link: https://github.com/syntasso/kratix/issues/743
Archetype: A10

The status of a promise holds the time of its last reconcile. Each reconcile stores another one, which triggers
the next.

Interleaving: lastReconciled=1 -> the event triggers a reconcile -> lastReconciled=2 -> ...

Fix: changes of the status do not trigger the controller; its interval does.
"""

from dataclasses import replace

from kontend import Api, Controller, Guards, Request, new_object
from kontend.explore import Scenario
from kontend.predicates import GenerationChanged
from kontend.testing import permissive_crd

PROMISE = "Promise.platform.kratix.io/v1"


class Promises(Controller):
    """Stores when it looked last."""

    kind = PROMISE

    async def reconcile(self, request: Request, api: Api) -> None:
        promise = await api.get(PROMISE, request)
        promise["status"] = {"lastReconciled": api.now()}
        await api.status.update(promise)


class Fixed(Promises):
    name = "promises"
    predicates = {PROMISE: GenerationChanged()}


buggy = Scenario(
    controllers=[Promises()],
    crds=[permissive_crd(PROMISE)],
    objects=[new_object(PROMISE, "p", spec={})],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed()])
