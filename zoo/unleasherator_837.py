"""unleasherator: a retry stores an old success for a newer generation.

Link: https://github.com/nais/unleasherator/issues/837
Archetype: A8

A reconcile connects to the server that the spec names and then stores the result. When the status update
conflicts, it reads the object again and stores the same result in it, with the generation of the new copy. If
the conflict came from a change of the spec, the status claims that the new spec was handled, and the next
reconcile has nothing to do.

Interleaving: reconcile reads generation 1 -> user changes the url, generation 2 -> status update: 409 -> read
again, store observedGeneration 2 with the result of 1 -> reconcile of generation 2: nothing to do

Fix: give up when the generation has changed since the work was done.
"""

from dataclasses import replace

from kontend import Api, Conflict, Controller, Guards, Request, new_object
from kontend.explore import Scenario, update
from kontend.testing import permissive_crd

UNLEASH = "RemoteUnleash.unleash.nais.io/v1"


class Unleashes(Controller):
    """Connects to the server of a generation, and stores that it did."""

    kind = UNLEASH
    compares = False

    async def reconcile(self, request: Request, api: Api) -> None:
        unleash = await api.get(UNLEASH, request)
        generation = unleash["metadata"]["generation"]
        if (unleash.get("status") or {}).get("observedGeneration") == generation:
            return
        url = unleash["spec"]["url"]
        try:
            unleash["status"] = {"connected": url, "observedGeneration": generation}
            await api.status.update(unleash)
        except Conflict:
            latest = await api.live.get(UNLEASH, request)
            if self.compares and latest["metadata"]["generation"] != generation:
                return
            latest["status"] = {"connected": url, "observedGeneration": latest["metadata"]["generation"]}
            await api.status.update(latest)


class Fixed(Unleashes):
    name = "unleashes"
    compares = True


unleash = new_object(UNLEASH, "u", spec={"url": "https://one"})
buggy = Scenario(
    controllers=[Unleashes()],
    crds=[permissive_crd(UNLEASH, plural="remoteunleashes")],
    objects=[unleash],
    actions=[update(unleash, spec={"url": "https://two"})],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed()])
