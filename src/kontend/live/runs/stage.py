"""The stage of a run: the server and its gate, the instances, the user, and what the gate has done so far.

The gate calls back at once for what cannot wait: a process that is killed after a write must not see the answer, and a
user who acts right after a write must have acted before it. Everything else it only leaves here, for the run to deal
with when it looks next (:mod:`kontend.live.runs.moves`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from kontend.live.gate.decisions import Decisions
from kontend.live.gate.gate import LiveGate
from kontend.live.gate.perturbation import Fail, LoseResponse
from kontend.live.gate.plan import Plan
from kontend.live.gate.records import Request
from kontend.live.pods.pods import Pods
from kontend.live.runs.holds import Holds
from kontend.live.runs.instances import Instances
from kontend.live.runs.setting import PRIMARY, InsideCluster, Setting
from kontend.live.runs.user import User
from kontend.live.runs.webhooks import SECRETS
from kontend.serve.server import Server

#: The times that the cluster's own controllers try again before a rest: some fail for ever.
_RETRIES: Final = 2


class Stage:
    """Everything that takes part in one run; the conductor of its gate."""

    def __init__(self, setting: Setting, plan: Plan) -> None:
        self.setting = setting
        self.plan = plan
        self.decisions = Decisions(plan.perturbations)
        self.pods = Pods(setting.pod_answers)
        self.gate = LiveGate(self.decisions, self, primary=PRIMARY, background=setting.background, pods=self.pods)
        self.server = Server(setting.workload.state, gate=self.gate, services=self._webhook_address)
        self.gate.server = self.server
        self.user = User(self.server, self.gate, setting.workload.actions[: plan.actions], setting.refused)
        self.holds = Holds(self.gate, plan, setting.most_writes)
        self.outputs: dict[str, str] = {}
        self.instances = Instances(setting, self.server, self.gate, self.outputs)
        #: What runs inside of the server, and how often it was asked to try again what has failed since the last rest.
        self.inside: InsideCluster | None = None
        self.retries = 0
        #: The instance that the run waits for.
        self.current = PRIMARY
        #: It has been started and has not been idle yet.
        self.fresh = False
        #: It has ended while it started, and was started again.
        self.started_again = False
        #: The gate has killed the primary instance.
        self.killed = False
        #: The primary instance was asked for its stacks.
        self.asked = False
        #: Lets a write arrive that waits until another instance has taken over.
        self.late_write: Callable[[], None] | None = None
        #: Let writes arrive that wait until the process is idle.
        self.slow_writes: list[Callable[[], None]] = []

    # The conductor of the gate

    def crash(self) -> None:
        """Kill the primary instance, now."""
        self.instances[PRIMARY].kill_now()
        self.killed = True

    def ask(self) -> None:
        """Ask the primary instance for its stacks, now."""
        self.instances[PRIMARY].ask()
        self.asked = True

    def act(self, *, unseen: bool) -> None:
        """Take the next action of the user, now."""
        if self.user.is_done:
            return
        number = self.gate.action + 1
        resource = self.user.resource(number) if unseen else ""
        if resource:
            self.holds.hide(resource)
        self.user.act_until(number)

    def written(self, request: Request) -> None:
        """Count a write of the primary instance: holds may end with it. A mounted Secret may have changed."""
        if request.process == PRIMARY:
            self.holds.count_write()
        if any(change.resource == SECRETS for change in request.changes):
            self.instances.show_certificates()

    def _webhook_address(self, service: str) -> str | None:
        """Return where the webhooks of a Service are: whichever it is, the current instance serves them."""
        del service
        return self.instances.webhook_address(self.current)

    def delayed(self, release: Callable[[], None], *, hand_over: bool) -> None:
        """Note that a write of the primary instance waits: for another instance, or until this one is idle."""
        if hand_over:
            self.late_write = release
        else:
            self.slow_writes.append(release)

    # The cluster

    @property
    def fails_inside(self) -> bool:
        """Return whether the cluster's own controllers have something to try again, and have not done so in vain.

        A webhook of the process may have been down when they asked it. Their backoff goes on for minutes, in which a
        process that has nothing to do looks idle.
        """
        return self.inside is not None and self.retries < _RETRIES and self.inside.fails

    def retry_inside(self) -> None:
        """Let the cluster's own controllers try again what has failed."""
        self.retries += 1
        if self.inside is not None:
            self.inside.retry()

    # Processes

    async def start(self, name: str) -> None:
        """Start an instance."""
        self.fresh = True
        await self.instances.start(name)

    async def stop(self) -> None:
        """Kill the primary instance."""
        self.slow_writes.clear()  # they die with their process
        self.killed = False
        await self.instances.kill(PRIMARY)

    async def restart(self) -> None:
        """Kill the primary instance and start it again."""
        await self.stop()
        await self.start(PRIMARY)

    async def start_again(self) -> None:
        """Start an instance that has ended while it started."""
        name, self.started_again = self.current, True
        code = self.instances[name].code
        self.instances.note(name, "exit", f"{name} ends while it starts (code {code}), and is started again")
        await self.instances.kill(name)
        await self.start(name)

    @property
    def gives_up_its_start(self) -> bool:
        """Return whether the process, as it ends now, does so for the first time, early, and for an injected failure.

        Commands are written so: whatever supervises them starts them again. What they do then is judged.
        """
        injected = any(
            isinstance(request.perturbation, Fail | LoseResponse)
            for request in self.gate.log.requests()
            if request.process == self.current
        )
        return self.fresh and injected and not self.started_again
