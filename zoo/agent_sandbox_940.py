"""agent-sandbox: a status that was computed from an older view replaces a newer one.

Link: https://github.com/kubernetes-sigs/agent-sandbox/issues/940
Archetype: A7

The controller computes the status of a Sandbox from its cached copy and patches it without a resourceVersion.
When the copy is behind, the patch takes back what was stored since: a sandbox that was ready became pending,
and its start-up latency was counted twice.

Interleaving: controller reads ready=false -> the agent reports ready=true -> controller patches ready=false,
latency=0

Fix: send the resourceVersion; a conflict is benign, and the retry reads from the server.
"""

from copy import deepcopy
from dataclasses import replace

from kontend import Api, Controller, Guards, Request, merge_from, new_object
from kontend.explore import Scenario
from kontend.testing import permissive_crd

SANDBOX = "Sandbox.agents.x-k8s.io/v1"


class Sandboxes(Controller):
    """Sums up the state of a sandbox."""

    kind = SANDBOX
    locked: bool | None = None

    async def reconcile(self, request: Request, api: Api) -> None:
        sandbox = await api.get(SANDBOX, request)
        base = deepcopy(sandbox)
        status = sandbox.setdefault("status", {})
        status["size"] = sandbox["spec"]["size"]
        status.setdefault("phase", "Pending")
        if sandbox != base:
            await api.status.patch(sandbox, merge_from(base, lock=self.locked))


class Agent(Controller):
    """Reports that the sandbox is ready."""

    kind = SANDBOX

    async def reconcile(self, request: Request, api: Api) -> None:
        sandbox = await api.live.get(SANDBOX, request)
        if (sandbox.get("status") or {}).get("phase") != "Ready":
            sandbox.setdefault("status", {})["phase"] = "Ready"
            await api.status.update(sandbox)


class Fixed(Sandboxes):
    name = "sandboxes"
    locked = True


sandbox = new_object(SANDBOX, "s", spec={"size": 1})
buggy = Scenario(
    controllers=[Sandboxes(), Agent()],
    crds=[permissive_crd(SANDBOX, plural="sandboxes")],
    objects=[sandbox],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed(), Agent()])
