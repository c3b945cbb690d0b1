"""The model of a scenario: initial state, enabled steps, next state, key. Searches use nothing else of it.

A step starts a reconcile, responds to one of its calls, delivers the next event of a kind to a view, lists a kind
again, ends the delay of a request, fires a timer, takes the user's next action, or is a fault. Reconciles are enqueued
with the delivery of an event and never dropped. A view that would fall further behind than the bound allows gets its
oldest event in the same step.

The objects that carry the steps out are the model's :class:`~kontend.explore.model.mechanics.Mechanics`. Reductions
look into them, because they must know what one process can do by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property

from rpds import HashTrieMap

from kontend.explore.model.environment.faults import RESPONSES
from kontend.explore.model.knowledge import Knowledge, first_knowledge
from kontend.explore.model.layout import Layout
from kontend.explore.model.mechanics import Mechanics, Variant
from kontend.explore.model.part import Part
from kontend.explore.model.state.budget import Budget
from kontend.explore.model.state.canonical import masked_digest
from kontend.explore.model.state.ignored import NOTHING, Ignored
from kontend.explore.model.state.key import sum_of
from kontend.explore.model.state.process import ENOUGH_BUGS
from kontend.explore.model.state.world import World
from kontend.explore.model.step import Step, Transition, landings
from kontend.explore.preflight import checked_cluster
from kontend.explore.problems import BadScenario
from kontend.explore.scenario import Scenario
from kontend.kube.meta.names import Key


class Model:
    """The transition function of a scenario."""

    def __init__(
        self,
        scenario: Scenario,
        knowledge: Knowledge | None = None,
        *,
        like: Model | None = None,
        variant: Variant | None = None,
        layout: Layout | None = None,
    ) -> None:
        """Make a model; ``like`` is another one of the same controllers, whose programs and outcomes it shares.

        ``layout`` is another one than that of the other model.
        """
        scenario = scenario.within_guards()
        if like is None:
            cluster = checked_cluster(scenario)
            self.layout = Layout(scenario, cluster, knowledge or first_knowledge(scenario, cluster))
        else:
            self.layout = layout or like.layout
        self.scenario = scenario
        self.knowledge = self.layout.knowledge
        #: The fields in which final states may differ.
        self.ignored = Ignored.of(scenario.ignore, scenario.line)
        self.names, self.programs = self.layout.names, self.layout.programs
        self._variant = variant or Variant()
        self.mechanics = Mechanics(self.layout, self._variant, self.next)

    def restricted(self, part: Part) -> Model:
        """The model of a part: nothing happens but the requests and actions that belong to it."""
        model = Model(replace(self.scenario, properties=()), like=self, variant=replace(self._variant, part=part))
        if self.scenario.properties:
            # They are asked of the final states of the whole, where they may see what comparisons leave out.
            model.ignored = NOTHING
        return model

    def with_uuids_by_instance(self) -> Model:
        """The same model for instances that are followed one by one: each generates uuids of its own."""
        model = Model(self.scenario, like=self, variant=replace(self._variant, by_instance=True))
        model.ignored = self.ignored
        return model

    def separated(self, read: Mapping[int, frozenset[str]]) -> Model:
        """The same model for controllers with views of their own: see :meth:`Layout.separated`."""
        layout, variant = self.layout.separated(read), self._variant
        if variant.part is not None:
            start = layout.apart(variant.part.start, self.layout)
            variant = replace(variant, part=replace(variant.part, start=start))
        model = Model(self.scenario, like=self, variant=variant, layout=layout)
        model.ignored = self.ignored
        return model

    @property
    def part(self) -> Part | None:
        """The part of the scenario that is explored; None for all of it."""
        return self._variant.part

    # The interface that searches use

    def initial(self) -> World:
        """The initial state: every view has listed its kind, and every object is enqueued."""
        return self._start if self.part is None else self.part.start

    @cached_property
    def _start(self) -> World:
        state = self.layout.start
        world = World(
            state,
            (),
            self.layout.places,
            (0,) * len(self.layout.users),
            sum_of(state, self.layout.keys.digest),
            sum_of(state, masked_digest),
            HashTrieMap(),
            0,
            Budget.of(self.scenario.bounds),
        )
        return self.mechanics.faults.all_started(world)

    def key(self, world: World) -> bytes:
        """The key of a state."""
        reserve = self.mechanics.faults.reserve(world)
        budget = b"".join([count.to_bytes(4, "big") for count in reserve.budget])
        return self.mechanics.keys.of(world) + budget + reserve.recent

    def steps(self, world: World) -> list[Step]:
        """The enabled steps of a state, in a fixed order."""
        if self.is_stuck(world):
            return []
        steps: list[Step] = []
        for number in range(len(world.processes)):
            self._add_steps(world, number, steps)
        if self.layout.users:
            steps += self.mechanics.users.steps(world)
        steps += landings(world)
        if world.budget.total:
            steps += self.mechanics.faults.steps(world)
        return steps

    def steps_of_process(self, world: World, number: int) -> list[Step]:
        """Those of one process. They depend on no other process."""
        steps: list[Step] = []
        self._add_steps(world, number, steps)
        return steps + self.mechanics.faults.of_process(world, number)

    def _add_steps(self, world: World, number: int, steps: list[Step]) -> None:
        """Add the steps of one process that are no faults. Those of its cache belong to its first instance."""
        layout, can_relist = self.layout.processes[number], self.mechanics.delivery.can_relist
        for at, kind in enumerate(layout.kinds):
            if world.undelivered(layout.indexes[0], at, layout.resources[at]):
                steps.append(Step("deliver", layout.indexes[0], kind))
                if can_relist(world, number, at):
                    steps.append(Step("relist", layout.indexes[0], kind))
        for index in layout.indexes:
            self._add_reconciles(world, index, steps)

    def _add_reconciles(self, world: World, index: int, steps: list[Step]) -> None:
        instance, process = world.instances[index], world.process(index)
        must_wait = self.mechanics.reads.must_wait
        for in_flight in instance.running:
            for at, call in enumerate(in_flight.node.calls):
                if not must_wait(process, index, call):
                    steps.append(Step("call", index, in_flight.request, at))
        if len(instance.running) < self.programs[index].controller.max_concurrent:
            busy = {in_flight.request for in_flight in instance.running}
            steps += [Step("start", index, request) for request in sorted(instance.queue - busy)]
        steps += [Step("retry", index, request) for request in sorted(instance.delayed)]
        if instance.timers:
            steps += [Step("timer", index, request) for _, request in sorted(instance.timers)]

    def next(self, world: World, step: Step) -> Transition:
        """Take a step."""
        action, index, subject, at = step
        mechanics = self.mechanics
        if action in ("call", *RESPONSES) and isinstance(subject, Key):
            for number, in_flight in enumerate(world.instances[index].running):
                if in_flight.request == subject:
                    fault = "" if action == "call" else action
                    return mechanics.reconciles.called(world, index, number, at, fault)
        elif action == "start" and isinstance(subject, Key):
            return mechanics.reconciles.started(world, index, subject)
        elif action in ("deliver", "relist") and isinstance(subject, str):
            return self._seen(world, step, self.layout.kinds[index].index(subject))
        elif action == "retry" and isinstance(subject, Key):
            return self._retried(world, index, subject)
        elif action == "timer" and isinstance(subject, Key):
            return self._fired(world, index, subject)
        elif action == "act":
            return self._acted(world, step)
        elif action == "land":
            return mechanics.reconciles.landed(world, at)
        elif action == "depose":
            number = next(
                at for at, in_flight in enumerate(world.instances[index].running) if in_flight.request == subject
            )
            after, replaced = mechanics.faults.deposed(world, index, number, at)
            return Transition(after, replaced, cost=2)
        elif action == "crash":
            after, text = mechanics.faults.crashed(world, index, at)
            return Transition(after, text, cost=1 + bool(at))
        raise BadScenario(f"the step {tuple(step)} does not exist")

    def is_stuck(self, world: World) -> bool:
        """A reconcile has raised the same programming error again: the search does not go beyond such a state."""
        for instance in world.instances:  # a loop, because this runs for every step
            if instance.bugs and any(count >= ENOUGH_BUGS for _, _, count in instance.bugs):
                return True
        return False

    # What judging asks

    def resource(self, world: World, kind: str) -> str:
        """The resource that serves a kind in a state. Raises ``UnknownKind``."""
        return self.layout.server.resource(world.state, kind).key

    # Steps

    def _seen(self, world: World, step: Step, at: int) -> Transition:
        delivery, number = self.mechanics.delivery, self.layout.places[step.instance][0]
        if step.action == "deliver":
            return Transition(*delivery.delivered(world, number, at))
        return Transition(*delivery.relisted(world, number, at), cost=1)

    def _retried(self, world: World, index: int, request: Key) -> Transition:
        after = self.mechanics.timers.retried(world, index, request)
        return Transition(after, f"{self.names[index]} retries {request}")

    def _fired(self, world: World, index: int, request: Key) -> Transition:
        seconds = self.mechanics.timers.seconds(world, index, request)
        cost = self.mechanics.timers.cost(world, index, seconds)
        after = self.mechanics.timers.fired(world, index, request, is_early=bool(cost))
        early = " early" if cost else ""
        text = f"the timer of {self.names[index]} for {request} fires{early} (after {seconds:g} s)"
        return Transition(after, text, cost=cost)

    def _acted(self, world: World, step: Step) -> Transition:
        user, action = self.mechanics.users.of(world, step)
        outcome, label = self.mechanics.server.act(world, user, action)
        text = f"the {user.name} {action.text}"
        cost = self.mechanics.users.cost(world, step)
        refusal = outcome.answer.refusal
        if refusal is not None:  # nothing has changed, so no view can lack it
            cost = int(not world.is_resting)
        world = world.with_action_taken(step.at)
        if refusal is not None:
            return Transition(world, f"{text}: refused ({refusal.message})", refused=refusal, cost=cost)
        world, forced, changes = self.mechanics.commits.of(world, outcome, label)
        return Transition(world, text, forced=forced, changes=changes, cost=cost)
