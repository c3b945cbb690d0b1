"""kratix: a Work is never initialised.

Link: https://github.com/syntasso/kratix/issues/741
Archetype: A2

The controller creates a Work and initialises it with a second write. When it crashes in between, the Work
exists and is taken for initialised; the scheduler, which selects Works by a label, never sees it.

Interleaving: create work -> crash -> work exists, nothing to do -> it has no label

Fix: initialise a Work that exists without its label.
"""

from dataclasses import replace

from kontend import AlreadyExists, Api, Controller, Guards, Request, merge_patch, new_object
from kontend.explore import Scenario
from kontend.testing import permissive_crd

PROMISE = "Promise.platform.kratix.io/v1"
WORK = "Work.platform.kratix.io/v1"


class Promises(Controller):
    """Creates the Work of a promise and labels it for the scheduler."""

    kind = PROMISE
    always_initialises = False

    async def reconcile(self, request: Request, api: Api) -> None:
        work = new_object(WORK, request.name, namespace="default", spec={})
        try:
            await api.create(work)
        except AlreadyExists:
            if not self.always_initialises:
                return
        await api.patch(work, merge_patch({"metadata": {"labels": {"kratix.io/scheduled": "false"}}}))


class Fixed(Promises):
    name = "promises"
    always_initialises = True


buggy = Scenario(
    controllers=[Promises()],
    crds=[permissive_crd(PROMISE), permissive_crd(WORK)],
    objects=[new_object(PROMISE, "p", spec={})],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed()])
