"""knative: a route wakes itself up.

Link: https://github.com/knative/serving/issues/1181
Archetype: A10

Setting a condition always replaced its transition time, also when the condition was as before. A controller
that stores its conditions at the end of every reconcile changed the object each time, and was triggered by
that.

Interleaving: Ready=True at time 1 -> the event triggers a reconcile -> Ready=True at time 2 -> ...

Fix: the transition time changes with the status of the condition only.
"""

from dataclasses import replace

from kontend import Api, Controller, Guards, Request, is_true, new_object
from kontend.explore import Scenario
from kontend.testing import permissive_crd

ROUTE = "Route.serving.knative.dev/v1"


class Routes(Controller):
    """Marks a route as ready."""

    kind = ROUTE
    keeps_time = False

    async def reconcile(self, request: Request, api: Api) -> None:
        route = await api.get(ROUTE, request)
        if self.keeps_time and is_true(route, "Ready"):
            return
        ready = {"type": "Ready", "status": "True", "lastTransitionTime": api.now()}
        route["status"] = {"conditions": [ready], "domain": "web.example.com"}
        await api.status.update(route)


class Fixed(Routes):
    name = "routes"
    keeps_time = True


buggy = Scenario(
    controllers=[Routes()],
    crds=[permissive_crd(ROUTE)],
    objects=[new_object(ROUTE, "web", spec={})],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed()])
