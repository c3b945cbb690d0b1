"""One run of a scenario in virtual time.

The API server, the caches, the queues and the guards are those of the runtime; a seed decides every duration, so the
same seed gives the same run. A run ends when it comes to rest, or at the horizon.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from kontend.cluster.cluster import Cluster
from kontend.cluster.state import State
from kontend.explore.actions import Action, Condition, Writer
from kontend.explore.preflight import checked_cluster, resolved_controllers
from kontend.explore.problems import BadScenario
from kontend.explore.program.event_loop import Unsupported
from kontend.explore.scenario import Scenario
from kontend.explore.timed.clock import VirtualLoop
from kontend.explore.timed.instance import Instance, Reconcile
from kontend.explore.timed.timing import Timing
from kontend.kube.errors import ApiError
from kontend.runtime.controller import Controller

#: ``settles``: at rest, and no reconcile failed. ``heals``: at rest after failures. ``livelocks``: it still writes at
#: the horizon. ``fails``: reconciles still fail at the horizon, and write nothing.
End = Literal["settles", "heals", "livelocks", "fails"]
#: The seconds after which a user looks again whether an action is possible.
_LOOKS_AGAIN: Final = 1.0
#: The longest cycle of reconciles that is recognised.
_LONGEST_CYCLE: Final = 6


@dataclass(frozen=True, slots=True)
class SimulatedRun:
    """The result of one run."""

    seed: int
    end: End
    #: The time of the last write or failure.
    seconds: float
    reconciles: tuple[Reconcile, ...]
    writes: int
    #: Violated properties, each with the time.
    violations: tuple[tuple[str, float], ...]
    cluster: Cluster

    @property
    def is_bad(self) -> bool:
        """The run did not come to rest, or a property was violated."""
        return self.end in ("livelocks", "fails") or bool(self.violations)

    @property
    def cycle(self) -> tuple[Reconcile, ...]:
        """The last reconciles, as many as repeat; empty where none do, or where the run came to rest."""
        if self.end not in ("livelocks", "fails"):
            return ()
        signatures = [reconcile.signature for reconcile in self.reconciles if reconcile.end >= 0]
        for length in range(1, _LONGEST_CYCLE + 1):
            if len(signatures) >= 2 * length and signatures[-length:] == signatures[-2 * length : -length]:
                return self.reconciles[-length:] if self.reconciles[-1].end >= 0 else self.reconciles[-length - 1 : -1]
        return ()


def simulate(scenario: Scenario, timing: Timing, *, seed: int = 0) -> SimulatedRun:
    """Run a scenario once."""
    simulation = _Simulation(scenario, timing, seed)
    try:
        return simulation.run()
    except Unsupported as error:
        raise BadScenario(str(error)) from None
    finally:
        simulation.loop.abandon()


class _Simulation:
    def __init__(self, scenario: Scenario, timing: Timing, seed: int) -> None:
        self._scenario = scenario
        self._timing = timing
        self._seed = seed
        self._cluster = Cluster(state=checked_cluster(scenario).state, manager="user")
        self._began = self._cluster.state.now
        self._announced = self._cluster.state
        self.loop = VirtualLoop()  # type: ignore[abstract]
        self._last_change = 0.0
        self._writes = 0
        self._violations: dict[str, float] = {}
        controllers = resolved_controllers(scenario, self._cluster)
        check_attributes(controllers, timing)
        self._instances: list[Instance] = []
        for given in controllers:
            controller = with_attributes(given, timing)
            instances = scenario.bounds.instances.get(controller.name, scenario.bounds.concurrent)
            for number in range(instances):
                name = controller.name if instances == 1 else f"{controller.name} {number + 1}"
                instance = Instance(
                    name,
                    controller,
                    self._cluster,
                    self.loop,
                    timing,
                    scenario.guards,
                    str(seed),
                    self._tick,
                    self._committed,
                )
                self._instances.append(instance)
        #: The number of users who have something left to do.
        self._acting = 0
        self._user = random.Random(f"{seed} user")

    def run(self) -> SimulatedRun:
        self._judge(None, self._cluster.state)
        for user in self._scenario.everybody():
            self._acting += 1
            self._plan_action(user, list(user.actions), self._timing.action.draw(self._user))
        for instance in self._instances:
            self._plan_crash(instance)
        self.loop.run(self._timing.horizon, finished=self._is_at_rest)
        reconciles = sorted(
            (reconcile for instance in self._instances for reconcile in instance.reconciles),
            key=lambda reconcile: (reconcile.begin, reconcile.instance),
        )
        failed = [reconcile.end for reconcile in reconciles if reconcile.error]
        seconds = max([self._last_change, *failed])
        end = self._end([reconcile for reconcile in reconciles if reconcile.end >= 0])
        if end in ("settles", "heals"):
            for prop in self._scenario.properties:
                if prop.mode == "eventually" and not prop.ask(Cluster(state=self._cluster.state)):
                    self._violations.setdefault(prop.name, seconds)
        violations = tuple(self._violations.items())
        return SimulatedRun(self._seed, end, seconds, tuple(reconciles), self._writes, violations, self._cluster)

    def _end(self, reconciles: Sequence[Reconcile]) -> End:
        unfinished = any(instance.failing or instance.active for instance in self._instances)
        # A controller that only looks again from time to time is at rest.
        if not unfinished and (self._is_at_rest() or self._last_change <= self._timing.horizon / 2):
            return "heals" if any(reconcile.error for reconcile in reconciles) else "settles"
        late = [reconcile for reconcile in reconciles[len(reconciles) // 2 :] if reconcile.commits]
        return "livelocks" if late else "fails"

    def _is_at_rest(self) -> bool:
        return not self._acting and all(instance.is_idle for instance in self._instances)

    # The server

    def _tick(self) -> None:
        now = self._began + int(self.loop.time())
        if now > self._cluster.state.now:
            self._cluster.state = self._cluster.state.replace(now=now)

    def _committed(self) -> None:
        before, after = self._announced, self._cluster.state
        if after.resource_version == before.resource_version:
            return
        changes = after.changes_since(before.resource_version)
        self._announced = after
        self._last_change = self.loop.time()
        self._writes += len(changes)
        try:
            self._judge(before, after)
        except BadScenario as error:  # in the middle of a reconcile, which would take it for a failed call
            self.loop.problem = error
            raise
        for instance in self._instances:
            instance.announce(changes)

    def _judge(self, before: State | None, after: State) -> None:
        """Ask the invariants: about a cluster, and (with a state before) about a write."""
        for prop in self._scenario.properties:
            if not prop.is_invariant or prop.name in self._violations or (prop.arity == 2 and before is None):
                continue
            states = (after,) if prop.arity == 1 or before is None else (before, after)
            if prop.is_broken_by(prop.ask(*(Cluster(state=state) for state in states))):
                self._violations[prop.name] = self.loop.time()

    # Faults

    def _plan_crash(self, instance: Instance) -> None:
        if self._timing.crash.high:
            self.loop.call_later(self._timing.crash.draw(instance.faults), self._crash, instance)

    def _crash(self, instance: Instance) -> None:
        if self._timing.is_faulty(self.loop.time()):
            instance.crash(lambda: self._plan_crash(instance))

    # Users

    def _plan_action(self, user: Writer, remaining: list[Action], after: float) -> None:
        if remaining:
            self.loop.call_later(after, self._act, user, remaining)
        else:
            self._acting -= 1

    def _act(self, user: Writer, remaining: list[Action]) -> None:
        """Take the first of the remaining actions, if its condition holds."""
        action = remaining[0]
        self._tick()
        if action.when is not None and not self._holds(action, action.when):
            self._plan_action(user, remaining, _LOOKS_AGAIN)
            return
        try:
            action.perform(self._cluster, user.name)
        except ApiError:
            if action.retry:
                self._plan_action(user, remaining, _LOOKS_AGAIN)
                return
        self._committed()
        self._plan_action(user, remaining[1:], self._timing.action.draw(self._user))

    def _holds(self, action: Action, when: Condition) -> bool:
        try:
            return bool(when(Cluster(state=self._cluster.state)))
        except Exception as error:
            message = f"the condition of {action.text!r} raised {type(error).__name__}: {error}"
            raise BadScenario(f"{message}; it must handle every cluster", action.line) from error


def with_attributes(controller: Controller, timing: Timing) -> Controller:
    """A controller with the attributes that the timing gives it."""
    changed = copy.deepcopy(controller)
    for path, value in timing.attributes.items():
        owner, _, attribute = path.partition(".")
        if owner == controller.name:
            setattr(changed, attribute, value)
    return changed


def check_attributes(controllers: Sequence[Controller], timing: Timing) -> None:
    """Refuse attributes that no controller has."""
    names = {controller.name: controller for controller in controllers}
    for path in timing.attributes:
        owner, _, attribute = path.partition(".")
        if owner not in names or not hasattr(names[owner], attribute):
            raise BadScenario(f"{path}: no controller has this attribute; the controllers are: {', '.join(names)}")
