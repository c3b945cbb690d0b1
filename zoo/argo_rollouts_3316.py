"""argo-rollouts: the number of replicas in the informer is older than the one on the server.

Link: https://github.com/argoproj/argo-rollouts/issues/3316
Archetype: A9

The controller scales a ReplicaSet and writes the response into its informer. A scale-up by somebody else
arrives between the request and the write-back, and the older response replaces it in the informer. The rollout
waits for a number of replicas that it has long had, until its deadline.

Interleaving: controller labels the set, v2 -> autoscaler scales it to 3, v3 -> write-back of v2 with 1 replica
-> the rollout reports 1 replica for good

Fix: write back only when the informer does not have a newer version.
"""

from copy import deepcopy
from dataclasses import replace
from typing import Any

from kontend import Api, Controller, Guards, Request, merge_from, new_object
from kontend.explore import Scenario, update
from kontend.testing import permissive_crd

ROLLOUT = "Rollout.argoproj.io/v1"
SET = "Set.argoproj.io/v1"  # stands for the ReplicaSet


class Rollouts(Controller):
    """Labels the set of a rollout once, and reports the replicas of the set."""

    kind = ROLLOUT
    watches = {SET: lambda replica_set, cache: ["default/r"]}
    memory = ("written",)
    compares = False

    def __init__(self) -> None:
        self.written: dict[str, Any] = {}

    async def reconcile(self, request: Request, api: Api) -> None:
        rollout = await api.get(ROLLOUT, request)
        replica_set = self.informer(await api.get(SET, "default/s"))
        if not replica_set["metadata"].get("labels"):
            base = deepcopy(replica_set)
            replica_set["metadata"]["labels"] = {"rollout": "r"}
            await api.patch(replica_set, merge_from(base))
            present = (await api.get(SET, "default/s"))["metadata"]["resourceVersion"]
            if not self.compares or int(present) < int(replica_set["metadata"]["resourceVersion"]):
                self.written = {"over": present, "object": replica_set}
        wanted = {"replicas": replica_set["spec"]["replicas"]}
        if rollout.get("status") != wanted:
            rollout["status"] = wanted
            await api.status.update(rollout)

    def informer(self, watched: dict[str, Any]) -> dict[str, Any]:
        if self.written and self.written["over"] == watched["metadata"]["resourceVersion"]:
            return deepcopy(self.written["object"])
        return watched


class Fixed(Rollouts):
    name = "rollouts"
    compares = True


replica_set = new_object(SET, "s", spec={"replicas": 1})
buggy = Scenario(
    controllers=[Rollouts()],
    crds=[permissive_crd(ROLLOUT), permissive_crd(SET)],
    objects=[new_object(ROLLOUT, "r", spec={}), replica_set],
    actions=[update(replica_set, spec={"replicas": 3})],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed()])
