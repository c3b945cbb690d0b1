"""The transition function of the oracle: every step that is possible in a state, with nothing left out."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import orjson

from explore.oracle.identifiers import empty, numbered, used
from explore.oracle.model import Answer, FaultsLeft, InFlight, Instance, LateWrite, Step, World
from explore.oracle.reconcile_run import Outside, Ran, remembered, run
from explore.oracle.users import Users, users_of
from kontend.cluster.cluster import Cluster
from kontend.cluster.startup.seed import seed, seed_order
from kontend.cluster.state import Change, State
from kontend.cluster.times import rfc3339
from kontend.explore import Scenario
from kontend.explore.preflight import resolved_controllers
from kontend.kube.errors import (
    ApiError,
    Conflict,
    InternalError,
    ServiceUnavailable,
    too_many_requests,
)
from kontend.kube.meta.names import Key
from kontend.runtime.client.call import AnswerLost, Call
from kontend.runtime.predicates import Event

USER = "user"
#: The clock stops after so many periods of a timer: no deadline of the cases is further away.
_PERIODS = 6
#: Nor is one of retries, in seconds, whose delays double.
_LONGEST_DEADLINE = 60


class Model(Users):
    """A scenario as a transition system."""

    def __init__(self, scenario: Scenario, *, ticks: bool = False) -> None:
        """``ticks``: a clock advances by a second when a reconcile that has asked for the time changes something."""
        #: A process with monotonic views starts with a consistent read.
        self.rewind = 0 if scenario.guards.monotonic_views else scenario.bounds.rewind
        self.scenario = scenario
        self.users = users_of(scenario)
        self.ticks = ticks
        #: Some reconcile has asked for the time.
        self.asked_for_time = False
        self.lag = scenario.bounds.lag
        self.atomic = scenario.bounds.atomic
        self.guards = scenario.guards
        state, issued = empty()
        for obj in sorted((*scenario.crds, *scenario.objects), key=seed_order):
            state = seed(numbered(state, issued), obj, manager=USER)
            issued += used(state, issued)
        self.controllers = resolved_controllers(scenario, Cluster(state=state, manager=USER))
        by_name: dict[str, list[int]] = {}
        chosen = {name: process for process, names in scenario.processes.items() for name in names}
        for index, controller in enumerate(self.controllers):
            by_name.setdefault(chosen.get(controller.name, controller.runs_in), []).append(index)
        self.homes = list(by_name.values())
        copies = [home for home in self.homes for _ in range(self.instances_of(home[0]))]
        instances = tuple(self._first(state, index, process) for process, home in enumerate(copies) for index in home)
        bounds = scenario.bounds
        left = FaultsLeft()
        if bounds.faults:
            left = FaultsLeft(bounds.faults, bounds.crashes, bounds.failed, bounds.lost, bounds.handovers)
        self.initial = World(state, instances, tuple(0 for _ in self.users), issued=issued, faults=left)

    def _kinds(self, index: int) -> list[str]:
        """The kinds that the process of a controller follows."""
        home = next(members for members in self.homes if index in members)
        return list(dict.fromkeys(kind for member in home for kind in self.controllers[member].kinds))

    def _started_again(self, world: World, process: int, position: int | None = None) -> World:
        """The world after all controllers of a process have started anew."""
        for index in world.members(process):
            fresh = self._first(world.state, world.instances[index].controller, process, position)
            world = world.with_instance(index, fresh)
        return world

    def _first(self, state: State, index: int, process: int, position: int | None = None) -> Instance:
        """An instance that has just listed everything, as it is or as it was at a version."""
        controller = self.controllers[index]
        position = state.resource_version if position is None else position
        positions = tuple((kind, position) for kind in self._kinds(index))
        instance = Instance(index, process, positions, frozenset(), frozenset(), remembered(controller))
        queue = {
            request
            for kind in controller.kinds
            for obj in self._objects(state, kind, position)
            for request in self._requests(state, instance, Event(kind, None, obj))
        }
        return replace(instance, queue=frozenset(queue))

    # Steps

    def steps(self, world: World) -> Iterator[Step]:
        """All that can happen next."""
        busy = any(instance.running for instance in world.instances)
        for index, instance in enumerate(world.instances):
            controller = self.controllers[instance.controller]
            name = f"{controller.name}[{index}]"
            if len(instance.running) < controller.max_concurrent:
                for request in sorted(instance.queue - {reconcile.request for reconcile in instance.running}):
                    yield self._start(world, index, request, f"{name} starts {request}", busy)
            for in_flight in instance.running:
                for number, call in in_flight.calls:
                    if not self._waits(world.state, instance, call):
                        yield self._call(world, index, in_flight.request, number, f"{name}: {call}")
            for request in sorted(instance.delayed):
                yield Step(f"{name}: retry of {request}", self._retried(world, index, request))
            for timer in sorted(instance.timers):
                yield self._fire(world, index, timer, f"{name}: timer of {timer[1]} after {timer[0]} s")
            for kind, position in instance.positions if index == world.members(instance.process)[0] else ():
                for change in self.pending(world.state, kind, position)[:1]:
                    text = f"{name}: cache sees {change.type} {kind} {change.key}"
                    yield Step(text, self._informed(world, instance.process, kind, change))
                if len(self.pending(world.state, kind, position)) > 1:
                    informed = world
                    for member in world.members(instance.process):
                        moved = self._relisted(world.state, world.instances[member], kind, position)
                        informed = informed.with_instance(member, moved)
                    yield Step(f"{name}: cache lists {kind} again", informed, perturbs=True)
            if world.faults.total:
                yield from self._faults(world, index, name)
        yield from self._actions(world, busy)
        for late in world.late:
            rest = replace(world, late=tuple(write for write in world.late if write is not late))
            name = self.controllers[late.controller].name
            text = f"{name}: late {late.call}"
            yield self._ask_server(rest, late.controller, late.in_flight, late.call, text, late=True)[0]

    def _retried(self, world: World, index: int, request: Key) -> World:
        """The world after the delay of a retry. The clock moves if the reconcile asks for the time and does nothing."""
        instance = world.instances[index]
        ready = replace(instance, delayed=instance.delayed - {request}, queue=instance.queue | {request})
        after = world.with_instance(index, ready)
        passed = dict(world.clocks).get((instance.controller, request), 0)
        if passed > _LONGEST_DEADLINE or len(instance.running) >= self.controllers[instance.controller].max_concurrent:
            return after
        before, self.asked_for_time = self.asked_for_time, False
        is_idle = self._leads_back(world, after, index, request, fails=True)
        asked, self.asked_for_time = self.asked_for_time, before or self.asked_for_time
        return after.advanced(instance.controller, request, max(passed, 1)) if asked and is_idle else after

    def _fire(self, world: World, index: int, timer: tuple[float, Key], text: str) -> Step:
        """A timer fires, and moves the clock by its seconds, unless that has moved by enough of them before."""
        instance = world.instances[index]
        ready = replace(instance, timers=instance.timers - {timer}, queue=instance.queue | {timer[1]})
        after = world.with_instance(index, ready)
        seconds = math.ceil(timer[0])
        due = self._is_due(world, timer[0])
        if dict(world.clocks).get((instance.controller, timer[1]), 0) < (_PERIODS if due else 1) * seconds:
            after = after.advanced(instance.controller, timer[1], seconds)
        return Step(text, after, perturbs=not due, fires=True)

    def _is_due(self, world: World, seconds: float) -> bool:
        """Nobody has anything to do before a timer of so many seconds fires, but to look again."""
        for instance in world.instances:
            if instance.running or instance.queue:
                return False
            declared = self.controllers[instance.controller].kinds
            if any(self.pending(world.state, kind, at) for kind, at in instance.positions if kind in declared):
                return False
        for index, instance in enumerate(world.instances):
            for request in instance.delayed:
                ready = replace(instance, delayed=instance.delayed - {request}, queue=instance.queue | {request})
                if not self._leads_back(world, world.with_instance(index, ready), index, request):
                    return False
            for timer in instance.timers:
                if timer[0] < seconds:
                    fired = self._fire(world, index, timer, "").world
                    if not self._leads_back(world, fired, index, timer[1]):
                        return False
        return True

    def _leads_back(self, world: World, ready: World, index: int, request: Key, *, fails: bool = False) -> bool:
        """The reconcile of a request that is ready writes nothing, fails in nothing, and the world is as before.

        With ``fails`` it may fail in the end.
        """
        step = self._start(ready, index, request, "", busy=False)
        while True:
            if step.wrote or (step.failed and not fails):
                return False
            reconciles = step.world.instances[index].running
            under_way = next((reconcile for reconcile in reconciles if reconcile.request == request), None)
            if under_way is None:
                return replace(step.world, issued=world.issued) == world
            number, call = under_way.calls[0]
            if self._waits(step.world.state, step.world.instances[index], call):
                return False
            step = self._call(step.world, index, request, number, "")

    # Faults

    def old_lists(self, state: State, index: int) -> list[tuple[int, Change]]:
        """The changes that the lists of a restart may be the first not to have, each with how many those lists lack."""
        resources = {self._resource(state, kind).key for kind in self._kinds(index)}
        home = next(members for members in self.homes if index in members)
        reconciled = {self._resource(state, self.controllers[member].kind).key for member in home}
        since = state.changes_since(self.initial.state.resource_version)
        lacking = [change for change in reversed(since) if change.resource in resources]
        found = []
        ended: set[tuple[str, Key]] = set()
        for many, change in enumerate(lacking, 1):
            thing = (change.resource, change.key)
            own = change.resource in reconciled
            ends_former = change.new is None and state.find(*thing) is not None
            is_first = ends_former and (not ended or (own and thing not in ended))
            if ends_former:
                ended.add(thing)
            if many <= self.rewind or (is_first and self.rewind):
                found.append((many, change))
        return found

    def recent(self, state: State, index: int) -> list[Change]:
        """All changes that the oldest lists of a restart lack."""
        old = self.old_lists(state, index)
        if not old:
            return []
        resources = {self._resource(state, kind).key for kind in self._kinds(index)}
        return [
            change for change in state.changes_since(old[-1][1].resource_version - 1) if change.resource in resources
        ]

    def _faults(self, world: World, index: int, name: str) -> Iterator[Step]:
        """A crash of an instance with a restart, failures of its calls, and another process in its place."""
        instance = world.instances[index]
        if world.faults.crashes and index == world.members(instance.process)[0]:
            after = replace(world, faults=world.faults.spent("crashes"))
            yield Step(f"{name} crashes", self._started_again(after, instance.process), perturbs=True, optional=True)
            for age, change in self.old_lists(world.state, instance.controller):
                old = self._started_again(after, instance.process, change.resource_version - 1)
                text = f"{name} crashes and lists what was there {age} changes ago"
                yield Step(text, old, perturbs=True, optional=True)
        if not self.atomic:
            for in_flight in instance.running:
                for number, call in in_flight.calls:
                    if not call.cached or call.subresource:
                        yield from self._faults_of_call(world, index, in_flight, number, call, f"{name}: {call}")

    def _faults_of_call(
        self, world: World, index: int, in_flight: InFlight, number: int, call: Call, text: str
    ) -> Iterator[Step]:
        instance, request = world.instances[index], in_flight.request
        if world.faults.handovers and call.writes:
            late = LateWrite(instance.controller, in_flight, call)
            after = replace(world, faults=world.faults.spent("handovers"), late=(*world.late, late))
            fresh = self._started_again(after, instance.process)
            yield Step(f"{text} is late", fresh, perturbs=True, optional=True)
        if world.faults.failed:
            after = replace(world, faults=world.faults.spent("failed"))
            errors: list[tuple[str, ApiError]] = [
                ("fails", InternalError("no")),
                ("is too many", too_many_requests("no", retry_after=1)),
                ("finds no server", ServiceUnavailable("no")),
                ("times out", AnswerLost("late")),
            ]
            if call.verb in ("update", "patch", "apply"):
                errors.append(("gets a conflict", Conflict("no")))
            for what, error in errors:
                step = Step(f"{text} {what}", after, perturbs=True, optional=True)
                yield self._answered(step, index, request, number, call, Answer(0, b"", error))
        if world.faults.lost:
            done, unseen = self._ask_server(world, instance.controller, in_flight, call, text)
            if done.wrote:
                after = replace(done.world, faults=world.faults.spent("lost"))
                step = replace(done, text=f"{text}, no answer", world=after, perturbs=True, optional=True)
                lost = Answer(0, unseen.body, AnswerLost("late"))
                yield self._answered(step, index, request, number, call, lost)

    def _start(self, world: World, index: int, request: Key, text: str, busy: bool) -> Step:
        instance = world.instances[index]
        followed = tuple(kind for kind, _ in instance.positions)
        now = rfc3339(world.state.now + dict(world.clocks).get((instance.controller, request), 0))
        in_flight = InFlight(request, instance.memory, instance.versions, instance.deleted, followed, now)
        taken = replace(instance, queue=instance.queue - {request}, running=(*instance.running, in_flight))
        step = self._continue(Step(text, world.with_instance(index, taken), perturbs=busy), index, request)
        while self.atomic and (ran := step.world.instances[index]).running:
            number, call = ran.reconcile(request).calls[0]
            before = self._awaited(step.world, index, call)
            step = step.then(self._call(before, index, request, number, text, begun=world.state.resource_version))
        return step

    def _awaited(self, world: World, index: int, call: Call) -> World:
        """The world in which a read need not wait any more, for a reconcile that nothing may interrupt."""
        while self._waits(world.state, world.instances[index], call):
            instance = world.instances[index]
            change = self.pending(world.state, call.kind, dict(instance.positions)[call.kind])[0]
            world = self._informed(world, instance.process, call.kind, change)
        return world

    def _waits(self, state: State, instance: Instance, call: Call) -> bool:
        """A read must wait for the cache to see the instance's own write."""
        position = dict(instance.positions).get(call.kind)
        if not call.cached or call.subresource or position is None or not call.at_least:
            return False
        return any(change.resource_version <= call.at_least for change in self.pending(state, call.kind, position))

    # Reconciles

    def _continue(self, step: Step, index: int, request: Key) -> Step:
        """Run the user's code up to its next calls, or to its end."""
        world = step.world
        instance = world.instances[index]
        in_flight = instance.reconcile(request)
        controller = self.controllers[instance.controller]
        generated_uuids = [world.issued]

        def fresh_uuid() -> str:
            _, uuid = numbered(world.state, generated_uuids[0]).next_uid()
            generated_uuids[0] += 1
            return uuid

        def is_namespaced(kind: str) -> bool:
            return self._resource(world.state, kind).namespaced

        ran = run(controller, self.guards, in_flight, Outside(fresh_uuid, is_namespaced))
        world = replace(world, issued=generated_uuids[0])
        self.asked_for_time = self.asked_for_time or ran.asked
        if not ran.ended:
            now = replace(in_flight, calls=ran.calls, local=ran.local, asked=ran.asked)
            return replace(step, world=world.with_instance(index, instance.going_on(now)))
        ended = self._ended(world.state, instance, in_flight.request, ran)
        if self.ticks and ran.asked and ran.memory != in_flight.memory:
            world = world.advanced(instance.controller, in_flight.request, 1)
        return replace(step, world=world.with_instance(index, ended), failed=ran.error is not None)

    def _ended(self, state: State, instance: Instance, request: Key, ran: Ran) -> Instance:
        """An instance after a reconcile: its memory, its own writes, and the request again if it asked for that."""
        if ran.error is not None and not isinstance(ran.error, Exception):
            raise ran.error
        assert ran.writes is not None
        positions = dict(instance.positions)
        versions: tuple[tuple[tuple[str, Key], int], ...] = ()
        deleted: tuple[str, ...] = ()
        if self.guards.read_your_writes:  # nobody asks otherwise
            versions = tuple(
                (entry, version)
                for entry, version in sorted(ran.writes.versions.items())
                if any(
                    change.resource_version <= version
                    for change in self.pending(state, entry[0], positions.get(entry[0], state.resource_version))
                )
            )
            shown = {
                obj["metadata"]["uid"]
                for kind, position in instance.positions
                if ran.writes.deleted and self.pending(state, kind, position)
                for obj in self._objects(state, kind, position)
            }
            deleted = tuple(uid for uid in ran.writes.deleted if uid in shown)
        queue, delayed, timers = instance.queue, instance.delayed, instance.timers
        if ran.error is not None:
            delayed |= {request}
        elif ran.result is not None and ran.result.requeue_after is not None:
            if ran.result.requeue_after > 0:
                both = [timer for timer in timers if timer[1] == request] + [(ran.result.requeue_after, request)]
                timers = timers - set(both) | {min(both)}
            else:
                queue |= {request}
        elif ran.result is not None and ran.result.requeue:
            delayed |= {request}
        return replace(
            instance.without(request),
            memory=ran.memory,
            versions=versions,
            deleted=deleted,
            queue=queue,
            delayed=delayed,
            timers=timers,
        )

    def _call(self, world: World, index: int, request: Key, number: int, text: str, begun: int | None = None) -> Step:
        """Carry out one call of a reconcile and run its code up to the next one."""
        instance = world.instances[index]
        in_flight = instance.reconcile(request)
        call = dict(in_flight.calls)[number]
        if call.cached and not call.subresource:
            step, answer = self._read_cache(world, index, call, text, begun)
        else:
            step, answer = self._ask_server(world, instance.controller, in_flight, call, text)
        return self._answered(step, index, request, number, call, answer)

    def _answered(self, step: Step, index: int, request: Key, number: int, call: Call, answer: Answer) -> Step:
        """Run the code of a reconcile from an answer up to its next call."""
        instance = step.world.instances[index]
        in_flight = instance.reconcile(request)
        met = (*in_flight.met, *_shown(call, answer, self, step.world.state))
        in_flight = replace(
            in_flight,
            answers=(*in_flight.answers, replace(answer, number=number)),
            met=met,
            made=(*in_flight.made, (call, len(met))),
        )
        return self._continue(
            replace(step, world=step.world.with_instance(index, instance.going_on(in_flight))), index, request
        )


def _shown(call: Call, answer: Answer, model: Model, state: State) -> list[tuple[str, Key, int]]:
    """The versions of objects that an answer shows."""
    if answer.error is not None:
        return []
    body = orjson.loads(answer.body)
    items = body.get("items") if isinstance(body.get("items"), list) else [body]
    resource = model._resource(state, call.kind)
    found = []
    for item in items or ():
        metadata = item.get("metadata") or {}
        version, name = metadata.get("resourceVersion"), metadata.get("name")
        if version and name:
            namespace = (metadata.get("namespace") or "") if resource.namespaced else ""
            found.append((resource.key, Key(namespace, name), int(version)))
    return found
