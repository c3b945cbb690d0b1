"""argo-rollouts: the controller puts its own older copy back into the cache.

Link: https://github.com/argoproj/argo-rollouts/issues/4073
Archetype: A9

After each update the controller writes the response into its informer, so that the next reconcile does not read
an older version. A user changes the rollout, the informer gets that version, and then the write-back of the
older response replaces it. No further event comes: the change of the user is not seen, and every update from
the copy in the informer is refused.

Interleaving: controller updates, v2 -> user changes the image, v3 -> informer has v3 -> write-back of v2 ->
reconcile reads v2

Fix: write back only when the informer does not have a newer version.
"""

from copy import deepcopy
from dataclasses import replace
from typing import Any

from kontend import Api, Controller, Guards, Request, new_object
from kontend.explore import Scenario, update
from kontend.testing import permissive_crd

ROLLOUT = "Rollout.argoproj.io/v1"


class Rollouts(Controller):
    """Copies the image to the status; the informer is the watch, and a response that was written back over it."""

    kind = ROLLOUT
    memory = ("written",)
    compares = False

    def __init__(self) -> None:
        self.written: dict[str, Any] = {}

    async def reconcile(self, request: Request, api: Api) -> None:
        rollout = self.informer(await api.get(ROLLOUT, request))
        if (rollout.get("status") or {}).get("image") == rollout["spec"]["image"]:
            return
        rollout["status"] = {"image": rollout["spec"]["image"]}
        await api.status.update(rollout)
        present = (await api.get(ROLLOUT, request))["metadata"]["resourceVersion"]
        if not self.compares or int(present) < int(rollout["metadata"]["resourceVersion"]):
            self.written = {"over": present, "object": rollout}

    def informer(self, watched: dict[str, Any]) -> dict[str, Any]:
        if self.written and self.written["over"] == watched["metadata"]["resourceVersion"]:
            return deepcopy(self.written["object"])
        return watched


class Fixed(Rollouts):
    name = "rollouts"
    compares = True


rollout = new_object(ROLLOUT, "r", spec={"image": "web:1"})
buggy = Scenario(
    controllers=[Rollouts()],
    crds=[permissive_crd(ROLLOUT)],
    objects=[rollout],
    actions=[update(rollout, spec={"image": "web:2"})],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed()])
