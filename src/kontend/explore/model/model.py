"""The model of a scenario: initial state, enabled steps, next state, key.

A step starts a reconcile, responds to one of its calls, delivers the next event of a kind to a view, lists a kind
again, ends the delay of a request, fires a timer, takes the user's next action, or is a fault. Reconciles are enqueued
with the delivery of an event and never dropped. A view that would fall further behind than the bound allows gets its
oldest event in the same step.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import Final

from rpds import HashTrieMap

from kontend.explore.model.commits import Commits
from kontend.explore.model.environment.faults import RESPONSES, Faults
from kontend.explore.model.environment.timers import Timers
from kontend.explore.model.environment.users import Users
from kontend.explore.model.knowledge import Knowledge, first_knowledge
from kontend.explore.model.layout import Layout
from kontend.explore.model.part import Part
from kontend.explore.model.reconciles import Reconciles
from kontend.explore.model.similarity import Similarity
from kontend.explore.model.state.budget import Budget
from kontend.explore.model.state.canonical import masked_digest
from kontend.explore.model.state.ignored import NOTHING, Ignored
from kontend.explore.model.state.key import sum_of
from kontend.explore.model.state.process import ENOUGH_BUGS, InFlight
from kontend.explore.model.state.world import World
from kontend.explore.model.step import Step, Transition
from kontend.explore.model.uuids import Uuids
from kontend.explore.model.views.delivery import Delivery
from kontend.explore.model.views.reads import Reads
from kontend.explore.preflight import checked_cluster
from kontend.explore.problems import BadScenario
from kontend.explore.program.symbols import bind_call
from kontend.explore.scenario import Scenario
from kontend.kube.meta.names import Key
from kontend.runtime.client.call import Call

#: A reconcile that has made so many calls without a write does not come to an end.
_MOST_CALLS: Final = 10_000


class Model:
    """The transition function of a scenario."""

    def __init__(self, scenario: Scenario, knowledge: Knowledge | None = None) -> None:
        self.scenario = scenario
        cluster = checked_cluster(scenario)
        self._initial = cluster.state
        #: The fields in which final states may differ.
        self.ignored = Ignored.of(scenario.ignore, scenario.line)
        self.knowledge = knowledge or first_knowledge(scenario, cluster)
        self.layout = layout = Layout(scenario, cluster, self.knowledge)
        self.names, self.programs = layout.names, layout.programs
        self.kinds, self.resources = layout.kinds, layout.resources
        self.similarity = Similarity(layout)
        self.delivery = Delivery(layout)
        self._reads = Reads(layout, self.delivery)
        self.uuids = Uuids(layout)
        self.users = Users(layout, self.delivery)
        self._nothing: dict[tuple[object, ...], bool] = {}
        self.timers = Timers(layout, cluster.state.now, self.changes_nothing, self.next)
        self.faults = Faults(layout, self.delivery, self.uuids, cluster.state)
        self._commits = Commits(layout, self.delivery)
        self._reconciles = Reconciles(layout, self._reads, self._commits, self.uuids, self.timers)
        #: The part of the scenario that is explored; None for all of it.
        self.part: Part | None = None

    def restricted(self, part: Part) -> Model:
        """The model of a part: nothing happens but the requests and actions that belong to it."""
        model = copy(self)
        model.scenario = replace(self.scenario, properties=())
        if self.scenario.properties:
            # They are asked of the final states of the whole, where they may see what comparisons leave out.
            model.ignored = NOTHING
        model.delivery = Delivery(self.layout, part.foreign)
        model._reads = Reads(self.layout, model.delivery)
        model.users = Users(self.layout, model.delivery, part.ends)
        model.faults = Faults(self.layout, model.delivery, self.uuids, part.start.state)
        model._commits = Commits(self.layout, model.delivery, part)
        model._reconciles = Reconciles(self.layout, model._reads, model._commits, self.uuids, self.timers, part)
        model.part = part
        return model

    def with_uuids_by_instance(self) -> Model:
        """The same model for instances that are followed one by one: each generates uuids of its own."""
        model = copy(self)
        model.uuids = Uuids(self.layout, by_instance=True)
        model.delivery = self.delivery.unshared()
        start = self.part.start.state if self.part is not None else self._initial
        model.faults = Faults(self.layout, model.delivery, model.uuids, start)
        model._commits = Commits(self.layout, model.delivery, self.part)
        model._reconciles = Reconciles(
            self.layout, self._reads, model._commits, model.uuids, self.timers, self.part, shares=False
        )
        return model

    def forget(self) -> None:
        """Forget what can be computed again: outcomes of requests, and what writes make of clusters and instances."""
        self.layout.server.forget()
        self.delivery.forget()
        self._commits.forget()
        self._reconciles.forget()

    # The interface that searches use

    def initial(self) -> World:
        """The initial state: every view has listed its kind, and every object is enqueued."""
        return self._start if self.part is None else self.part.start

    @cached_property
    def _start(self) -> World:
        state = self._initial
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
        return self.faults.all_started(world)

    def key(self, world: World) -> bytes:
        """The key of a state."""
        reserve = self.faults.reserve(world)
        budget = b"".join([count.to_bytes(4, "big") for count in reserve.budget])
        return self.layout.keys.of(world) + budget + reserve.recent

    def steps(self, world: World) -> list[Step]:
        """The enabled steps of a state, in a fixed order."""
        if self.is_stuck(world):
            return []
        steps: list[Step] = []
        for number in range(len(world.processes)):
            self._add_steps(world, number, steps)
        if self.layout.users:
            steps += self.users.steps(world)
        steps += self.late_steps(world)
        if world.budget.total:
            steps += self.faults.steps(world)
        return steps

    def steps_of_process(self, world: World, number: int) -> list[Step]:
        """Those of one process. They depend on no other process."""
        steps: list[Step] = []
        self._add_steps(world, number, steps)
        return steps + self.faults.of_process(world, number)

    def late_steps(self, world: World) -> list[Step]:
        """The arrivals of writes whose instances were replaced."""
        return [Step("land", late.instance, late.in_flight.request, number) for number, late in enumerate(world.late)]

    def _add_steps(self, world: World, number: int, steps: list[Step]) -> None:
        """Add the steps of one process that are no faults. Those of its cache belong to its first instance."""
        layout = self.layout.processes[number]
        for at, kind in enumerate(layout.kinds):
            if world.undelivered(layout.indexes[0], at, layout.resources[at]):
                steps.append(Step("deliver", layout.indexes[0], kind))
                if self.delivery.can_relist(world, number, at):
                    steps.append(Step("relist", layout.indexes[0], kind))
        for index in layout.indexes:
            self._add_reconciles(world, index, steps)

    def _add_reconciles(self, world: World, index: int, steps: list[Step]) -> None:
        instance = world.instances[index]
        for in_flight in instance.running:
            for at, call in enumerate(in_flight.node.calls):
                if not self.must_wait(world, index, call):
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
        if action in ("call", *RESPONSES) and isinstance(subject, Key):
            for number, in_flight in enumerate(world.instances[index].running):
                if in_flight.request == subject:
                    return self._reconciles.called(world, index, number, at, "" if action == "call" else action)
        elif action == "start" and isinstance(subject, Key):
            return self._reconciles.started(world, index, subject)
        elif action == "deliver" and isinstance(subject, str):
            after, text = self.delivery.delivered(world, self.layout.places[index][0], self.kinds[index].index(subject))
            return Transition(after, text)
        elif action == "relist" and isinstance(subject, str):
            after, text = self.delivery.relisted(world, self.layout.places[index][0], self.kinds[index].index(subject))
            return Transition(after, text, cost=1)
        elif action == "retry" and isinstance(subject, Key):
            return self._retried(world, index, subject)
        elif action == "timer" and isinstance(subject, Key):
            return self._fired(world, index, subject)
        elif action == "act":
            return self._acted(world, step)
        elif action == "land":
            return self._reconciles.landed(world, at)
        elif action == "depose":
            number = next(
                at for at, in_flight in enumerate(world.instances[index].running) if in_flight.request == subject
            )
            after, replaced = self.faults.deposed(world, index, number, at)
            return Transition(after, replaced, cost=2)
        elif action == "crash":
            after, text = self.faults.crashed(world, index, at)
            return Transition(after, text, cost=1 + bool(at))
        raise BadScenario(f"the step {tuple(step)} does not exist")

    def is_stuck(self, world: World) -> bool:
        """A reconcile has raised the same programming error again: the search does not go beyond such a state."""
        for instance in world.instances:  # a loop, because this runs for every step
            if instance.bugs and any(count >= ENOUGH_BUGS for _, _, count in instance.bugs):
                return True
        return False

    def must_wait(self, world: World, index: int, call: Call) -> bool:
        """A cached read must wait for an own write of its instance."""
        return self._reads.must_wait(world.process(index), index, call)

    def is_local(self, world: World, index: int, call: Call) -> bool:
        """A call is answered by a view of its instance, without the server."""
        return self._reads.is_local(world.process(index), index, call)

    def response(self, world: World, index: int, in_flight: InFlight, at: int) -> bytes:
        """The response that a read of an in-flight reconcile gets in a state, with tokens for versions."""
        call = in_flight.node.calls[at]
        if in_flight.uuids:
            call = bind_call(call, in_flight.uuids)
        if call.cached and not call.subresource:
            return self._reads.read(world, index, in_flight, call)[0].response()
        return self.layout.server.call(world, self.programs[index], in_flight, at, call)[0].response

    def changes_nothing(self, world: World, step: Step) -> bool:
        """A retry or a timer, with the reconcile that follows, writes nothing, fails in nothing and leads back."""
        assert isinstance(step.subject, Key)
        question = (step, self._situation(world, step.instance))
        answer = self._nothing.get(question)
        if answer is None:
            answer = self._nothing[question] = self._leads_back(world, step, step.subject)
        return answer

    def _leads_back(self, world: World, step: Step, request: Key) -> bool:
        situation = self._situation(world, step.instance)
        transition = self.next(self.next(world, step).world, Step("start", step.instance, request))
        for _ in range(_MOST_CALLS):
            if transition.changes or transition.failure is not None:
                return False
            if not transition.world.instances[step.instance].running:
                return self._situation(transition.world, step.instance) == situation
            transition = self.next(transition.world, Step("call", step.instance, request))
        return False

    def _situation(self, world: World, index: int) -> tuple[object, ...]:
        """All that a process by itself depends on."""
        return self.layout.keys.of_process(world, self.layout.places[index][0]), world.objects, world.issued_sum

    # Steps

    def _retried(self, world: World, index: int, request: Key) -> Transition:
        instance = world.instances[index]
        changed = instance.changed(delayed=instance.delayed - {request}, queue=instance.queue | {request})
        return Transition(world.with_instance(index, changed), f"{self.names[index]} retries {request}")

    def _fired(self, world: World, index: int, request: Key) -> Transition:
        seconds = self.timers.seconds(world, index, request)
        cost = self.timers.cost(world, index, seconds)
        after = self.timers.fired(world, index, request, is_early=bool(cost))
        early = " early" if cost else ""
        text = f"the timer of {self.names[index]} for {request} fires{early} (after {seconds:g} s)"
        return Transition(after, text, cost=cost)

    def _acted(self, world: World, step: Step) -> Transition:
        user, action = self.users.of(world, step)
        outcome, label = self.layout.server.act(world, user, action)
        text = f"the {user.name} {action.text}"
        cost = self.users.cost(world, step)
        refusal = outcome.answer.refusal
        if refusal is not None:  # nothing has changed, so no view can lack it
            cost = int(not world.is_resting)
        world = world.with_action_taken(step.at)
        if refusal is not None:
            return Transition(world, f"{text}: refused ({refusal.message})", refused=refusal.message, cost=cost)
        world, forced, changes = self._commits.of(world, outcome, label)
        return Transition(world, text, forced=forced, changes=changes, cost=cost)
