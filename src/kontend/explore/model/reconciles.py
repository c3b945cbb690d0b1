"""The steps of reconciles: starts, responses to calls, returns.

A response leads an in-flight reconcile to the next node of its program tree. One that returns leaves the state in the
same step; its result says when the request is tried again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from kontend.explore.model.answer import Answer
from kontend.explore.model.commits import Commits
from kontend.explore.model.environment.faults import RESPONSES
from kontend.explore.model.environment.timers import Timers, with_timer
from kontend.explore.model.layout import Layout
from kontend.explore.model.part import Coupled, Part
from kontend.explore.model.state.process import InFlight, MetVersion, Process
from kontend.explore.model.state.world import World
from kontend.explore.model.step import Transition
from kontend.explore.model.uuids import Uuids
from kontend.explore.model.views.reads import Reads
from kontend.explore.problems import BadScenario
from kontend.explore.program.driven import Start
from kontend.explore.program.progress import Failure
from kontend.explore.program.symbols import bind, bind_call
from kontend.explore.program.tree import Node
from kontend.kube.meta.names import Key
from kontend.runtime.client.call import Call

#: An atomic reconcile that makes more calls than these does not come to an end.
_MOST_CALLS: Final = 10_000
#: Processes after calls that are kept.
_MOST_PROCESSES: Final = 2_000


class Reconciles:
    """Starts reconciles and responds to their calls."""

    def __init__(
        self,
        layout: Layout,
        reads: Reads,
        commits: Commits,
        uuids: Uuids,
        timers: Timers,
        part: Part | None = None,
        *,
        shares: bool = True,
    ) -> None:
        """``part`` records the requests, where only a part of a scenario is explored.

        ``shares`` makes equal processes one, which saves time where many states have them.
        """
        self._layout = layout
        self._names, self._programs, self._server = layout.names, layout.programs, layout.server
        self._is_atomic = layout.scenario.bounds.atomic
        self._reads = reads
        self._commits = commits
        self._uuids = uuids
        self._timers = timers
        self._part = part
        self._shares = shares
        self._processes: dict[tuple[object, ...], Process] = {}
        self._places = layout.places

    def forget(self) -> None:
        """Forget the processes after calls."""
        self._processes.clear()

    # Steps

    def started(self, world: World, index: int, request: Key) -> Transition:
        """Start a queued reconcile."""
        instance = world.instances[index]
        if self._part is not None:
            self._part.requests.add((self._programs[index].number, request))
        # An unperturbed run never starts a reconcile while another one is in flight.
        cost = int(not world.is_resting)
        program = self._programs[index]
        now = self._timers.now(world, index, request)
        start = Start(request, instance.memory, now, self._uuids.first_of(world, index, request))
        in_flight = InFlight(start, program.root(start), (), ())
        running = (*instance.running, in_flight)
        world = world.with_instance(index, instance.changed(queue=instance.queue - {request}, running=running))
        world = self._with_enqueued(world, index, in_flight.node)
        text = f"{self._names[index]} starts {request}"
        if self._is_atomic:
            return self._whole(world, index, len(running) - 1, text, cost)
        world, failure = self._ended(world, index, len(running) - 1)
        return Transition(world, text, failure=failure, cost=cost)

    def called(self, world: World, index: int, number: int, at: int, fault: str = "") -> Transition:
        """Respond to the call ``at`` of the in-flight reconcile ``number`` of an instance, possibly with a fault."""
        world = self._uuids.assigned(world, index, number)
        in_flight = world.instances[index].running[number]
        call = in_flight.node.calls[at]
        if in_flight.uuids:
            call = bind_call(call, in_flight.uuids)

        def described(answer: Answer) -> Callable[[], str]:
            text = call if in_flight.uuids else in_flight.node.text[at]
            return lambda: f"{self._names[index]}: {text}{answer.suffix}"

        if call.cached and not call.subresource:
            read, world = self._reads.read(world, index, in_flight, call)
            world = self._responded(world, index, number, at, read.key, read.response, read.versions)
            world, failure = self._ended(world, index, number)
            return Transition(
                world,
                described(read.answer),
                in_flight=in_flight,
                at=at,
                answer=read.answer,
                failure=failure,
                cost=int(read.answer.is_stale),
            )
        if fault and fault != "lose":
            world = world.with_budget(world.budget.without("failed"))
            world = self._responded(world, index, number, at, fault, lambda: RESPONSES[fault], in_flight.versions)
            world, failure = self._ended(world, index, number)
            answer = Answer(fault=fault)
            return Transition(
                world, described(answer), in_flight=in_flight, at=at, answer=answer, failure=failure, cost=1
            )
        outcome, label = self._server.call(world, self._programs[index], in_flight, at, call)
        if fault:
            world = world.with_budget(world.budget.without("lost"))
            world = self._responded(world, index, number, at, fault, lambda: RESPONSES[fault], in_flight.versions)
            world, forced, changes = self._commits.of(world, outcome, label, index=index, call=call)
        else:
            after = self._commits.written(world, outcome).state if outcome.writes else world.state
            versions = outcome.versions_after(in_flight.versions, after)
            world = self._responded(world, index, number, at, outcome.key, lambda: outcome.response, versions)
            world = self._shared(world, index)
            world, forced, changes = self._commits.of(world, outcome, label, index=index, call=call)
        if changes:
            world = self._uuids.stored(world, index, number, in_flight, changes)
            if in_flight.node.asks_time:
                world = self._timers.stamped(world, index, in_flight.request)
        world, failure = self._ended(world, index, number)
        answer = Answer(fault=fault) if fault else outcome.answer
        return Transition(
            self._shared(world, index),
            described(answer),
            forced=forced,
            changes=changes,
            in_flight=in_flight,
            at=at,
            answer=answer,
            failure=failure,
            cost=int(bool(fault)),
        )

    def landed(self, world: World, number: int) -> Transition:
        """Let a late write arrive at the server."""
        late = world.late[number]
        in_flight = late.in_flight
        call = in_flight.node.calls[late.at]
        if in_flight.uuids:
            call = bind_call(call, in_flight.uuids)
        program = self._programs[late.instance]
        outcome, label = self._server.call(world, program, in_flight, late.at, call)
        world = world.with_late((*world.late[:number], *world.late[number + 1 :]))
        world, forced, changes = self._commits.of(world, outcome, label)
        if changes:
            world = self._uuids.landed(world, late, changes)
        text = f"{self._names[late.instance]}: the late {call} arrives{outcome.answer.suffix}"
        return Transition(
            world, text, forced=forced, changes=changes, in_flight=in_flight, at=late.at, answer=outcome.answer
        )

    def _whole(self, world: World, index: int, number: int, text: str, cost: int) -> Transition:
        """Take a reconcile from its first call to its last.

        Its own writes cannot reach its views meanwhile, so a read that misses nothing else is no perturbation.
        """
        begun = world.state.resource_version
        calls: list[tuple[World, Transition]] = []
        failure: Failure | None = None
        before = world.instances[index].running[:number]
        while len(world.instances[index].running) > len(before):
            in_flight = world.instances[index].running[number]
            if in_flight.node.done is not None:
                world, failure = self._ended(world, index, number)
                continue
            if len(calls) > _MOST_CALLS:
                raise BadScenario(
                    f"{self._names[index]}: a reconcile of {in_flight.request} made {_MOST_CALLS:,} calls"
                )
            world = self._reads.caught_up(world, index, in_flight.node.calls[0])
            part = self.called(world, index, number, 0)
            calls.append((world, part))
            if part.cost and self._reads.misses(world, index, _bound(part), begun):
                cost += part.cost
            world, failure = part.world, part.failure
        writes = [str(_bound(part)) for _, part in calls if part.changes]
        wrote = f" and writes: {'; '.join(writes)}" if writes else ""
        changes = tuple(change for _, part in calls for change in part.changes)
        return Transition(world, f"{text}{wrote}", changes=changes, failure=failure, calls=tuple(calls), cost=cost)

    def _shared(self, world: World, index: int) -> World:
        """The same state, with an equal process that other states have, too: it knows what follows."""
        if world.late or not self._shares:  # a late write is told from others by its reconcile
            return world
        number = self._places[index][0]
        process = world.processes[number]
        question = (world.state, number, process.content)
        known = self._processes.get(question)
        if known is not None:
            return world.with_process(number, known)
        if len(self._processes) >= _MOST_PROCESSES:
            self._processes.clear()
        self._processes[question] = process
        return world

    # Responses

    def response(self, world: World, index: int, in_flight: InFlight, at: int) -> bytes:
        """The response that a read of an in-flight reconcile gets in a state, with tokens for versions."""
        call = in_flight.node.calls[at]
        if in_flight.uuids:
            call = bind_call(call, in_flight.uuids)
        if call.cached and not call.subresource:
            return self._reads.read(world, index, in_flight, call)[0].response()
        return self._server.call(world, self._programs[index], in_flight, at, call)[0].response

    def _responded(
        self,
        world: World,
        index: int,
        number: int,
        at: int,
        key: object,
        response: Callable[[], bytes],
        versions: tuple[MetVersion, ...],
    ) -> World:
        """The state after a reconcile got a response."""
        instance = world.instances[index]
        in_flight = instance.running[number]
        node = in_flight.node.children.get((at, key))
        if node is None:
            node = self._programs[index].next(in_flight.node, at, key, response, in_flight.start)
        world = world.with_instance(
            index, instance.replaced(number, InFlight(in_flight.start, node, versions, in_flight.uuids))
        )
        return self._with_enqueued(world, index, node)

    def _with_enqueued(self, world: World, index: int, node: Node) -> World:
        """The state with the requests that a reconcile has added to queues of its process."""
        for controller, request in node.enqueued:
            for other in self._layout.processes[self._places[index][0]].indexes:
                if self._programs[other].controller.name != controller:
                    continue
                if self._part is not None and request in self._part.foreign[other]:
                    raise Coupled(self._programs[other].number, request)
                instance = world.instances[other]
                world = world.with_instance(other, instance.changed(queue=instance.queue | {request}))
        return world

    def _ended(self, world: World, index: int, number: int) -> tuple[World, Failure | None]:
        """Remove an in-flight reconcile that has returned."""
        done = world.instances[index].running[number].node.done
        if done is None:
            return world, None
        world = self._uuids.assigned(world, index, number)
        instance = world.instances[index]
        in_flight = instance.running[number]
        world = self._uuids.remembered(world, index, in_flight)
        memory = bind(done.memory, (), in_flight.uuids) if in_flight.uuids else done.memory
        self._layout.noticed.last_has_asked = in_flight.node.asks_time
        if done.slept:
            world = self._timers.slept(world, index, in_flight.request, done.slept)
        if in_flight.node.asks_time and done.memory != in_flight.start.memory:
            world = self._timers.stamped(world, index, in_flight.request)
        delayed, timers = instance.delayed, instance.timers
        if done.after:
            timers = with_timer(instance, (done.after, in_flight.request))
        elif done.again:
            delayed = instance.delayed | {in_flight.request}
        bugs = frozenset(bug for bug in instance.bugs if bug[0] != in_flight.request)
        failure = done.failure
        if failure is not None and failure.is_bug:
            error = f"{failure.type} {failure.line}"
            known = next(
                (count for request, text, count in instance.bugs if (request, text) == (in_flight.request, error)), 0
            )
            bugs |= {(in_flight.request, error, known + 1)}
        running = (*instance.running[:number], *instance.running[number + 1 :])
        return (
            world.with_instance(
                index,
                instance.changed(running=running, delayed=delayed, timers=timers, memory=memory, bugs=bugs),
            ),
            failure,
        )


def _bound(transition: Transition) -> Call:
    """The call that was made, with its uuids."""
    in_flight = transition.in_flight
    assert in_flight is not None
    call = in_flight.node.calls[transition.at]
    return bind_call(call, in_flight.uuids) if in_flight.uuids else call
