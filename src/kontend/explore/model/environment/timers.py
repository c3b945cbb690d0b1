"""Timers and clocks: when ``requeue_after`` fires, and what time reconciles see.

Time passes when nothing else is left to do: then the shortest timer fires. A timer that fires earlier is a
perturbation. A controller that looks again every second and finds nothing to do does not keep a longer timer from
firing: what it does changes nothing, so it has nothing to do. Nothing else measures time, so a timer of a second and
one of a day differ only in which comes first.

A reconcile sees the same time from its start to its end. Each controller and request has a clock of its own, so that
the time does not depend on the order of independent steps. It advances by the seconds of a timer that fires, the first
few times, and then as long as the reconcile would do something else at a later time: a controller that looks again
every minute would make the space infinite, and one that gives up after an hour would never do so if the clock stopped
before. The later times are each twice as far away as the one before, and one is years away. A clock that is still
needed after :data:`MOST_PERIODS` periods stops the search of what follows. A timer that fires early advances the clock
only the first time, so that time is left for those that fire later. A retry takes no time, unless the reconcile would
come to nothing once more, and not at a later time: one that raises until a deadline has passed does not fail forever.
The delays double then, as those of the runtime do. Where stamps of the time keep a run from settling
(:mod:`kontend.explore.stamps`), it also advances by a second when a reconcile that has asked for the time writes
something; elsewhere that would only keep states apart.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Final

from kontend.cluster.times import rfc3339
from kontend.explore.model.environment.courses import Course, Next, course
from kontend.explore.model.environment.futile import Futile
from kontend.explore.model.layout import Layout
from kontend.explore.model.state.key import issued_after
from kontend.explore.model.state.process import ENOUGH_BUGS, Instance, Timer
from kontend.explore.model.state.world import World
from kontend.explore.model.step import Step
from kontend.explore.program.identities import CLOCK
from kontend.explore.program.symbols import Assumption, Refuted
from kontend.kube.meta.names import Key

#: The number of times that the clock advances by the seconds of a timer, and of one that fires early.
_FEWEST_PERIODS: Final = 2
_MOST_EARLY_PERIODS: Final = 1
#: The periods of a timer after which its clock goes no further: what depends on a later time is not explored.
MOST_PERIODS: Final = 200
#: The periods after which a reconcile is compared with itself; and the seconds, more than any deadline has.
_LATER: Final = tuple(2**power for power in range(1, 11))
_AT_LAST: Final = 10 * 365 * 86_400
#: The same for code that may act in a window of time, as during a night: each of the next periods, each minute of the
#: next hour where they end before, each hour of the next week, and the days and months after that.
_NEXT: Final = 40
_MINUTE: Final = 60
_HOUR: Final = 3_600
_WEEK: Final = 7 * 24
_HOURS: Final = (*range(1, _WEEK + 1), *(24 * day for day in (*range(8, 32), *range(61, 366, 30))))
#: The situations of a request in which it is compared at all of these: so many that differ in the calls that are made
#: and in which code asks for the time; others only if that has made a difference.
_MOST_CLOSELY: Final = 2
#: Results of comparisons that are kept.
_MOST_KNOWN: Final = 50_000
#: The longest delay between two retries, in seconds, as in the runtime.
_LONGEST_DELAY: Final = 1_000
#: The error of a request whose clock would have to go on; such a state counts as one that nothing follows.
OUT_OF_TIME: Final = "the time goes on"


class Timers:
    """The timers and clocks of a model."""

    def __init__(self, layout: Layout, futile: Futile, following: Next) -> None:
        """``futile`` tells which retries and timers change nothing; ``following`` takes a step."""
        self._following = following
        self._differs: dict[tuple[object, ...], bool] = {}
        self._made: dict[tuple[object, ...], int] = {}
        #: For each request of a controller the shapes of courses that were met, and the requests with windows of time.
        self._closely: dict[tuple[int, Key], set[tuple[tuple[str, str, str], ...]]] = {}
        self._windowed: set[tuple[int, Key]] = set()
        self._layout = layout
        #: The time of the initial state, in seconds.
        self._start = layout.start.now
        self._futile = futile
        self._ticks = Assumption.SETTLED_STAMPS not in layout.assumptions
        self._timeless = Assumption.TIMELESS in layout.assumptions and not self._ticks

    def cost(self, world: World, index: int, seconds: float) -> int:
        """1 for a timer that fires while something else is left to do, else 0."""
        return int(not self.is_idle(world, index, seconds) or not self.others_are_idle(world, index, seconds))

    def is_idle(self, world: World, index: int, seconds: float) -> bool:
        """An instance has nothing to do before a timer of ``seconds`` but to look again."""
        instance = world.instances[index]
        if instance.running or instance.queue:
            return False
        resources = self._layout.resources[index]
        if any(world.undelivered(index, at, resources[at]) for at in self._layout.declared[index]):
            return False
        steps = [Step("retry", index, request) for request in sorted(instance.delayed)]
        steps += [Step("timer", index, request) for other, request in sorted(instance.timers) if other < seconds]
        return all(self._futile.is_futile(world, step) for step in steps)

    def others_are_idle(self, world: World, index: int, seconds: float) -> bool:
        """All other instances have nothing to do before a timer of ``seconds``."""
        return all(self.is_idle(world, other, seconds) for other in range(len(world.instances)) if other != index)

    def other_processes_are_idle(self, world: World, number: int, seconds: float) -> bool:
        """The instances of all other processes have nothing to do before a timer of ``seconds``."""
        return all(
            self.is_idle(world, index, seconds)
            for other, process in enumerate(self._layout.processes)
            if other != number
            for index in process.indexes
        )

    def process_is_idle(self, world: World, number: int, seconds: float) -> bool:
        """The same for all instances of one process."""
        return all(self.is_idle(world, index, seconds) for index in self._layout.processes[number].indexes)

    def seconds(self, world: World, index: int, request: Key) -> float:
        """The seconds of the timer of a request."""
        return next(timer[0] for timer in world.instances[index].timers if timer[1] == request)

    def fired(self, world: World, index: int, request: Key, *, is_early: bool) -> World:
        """The state after a timer has fired, early or not."""
        instance = world.instances[index]
        timer = next(timer for timer in instance.timers if timer[1] == request)
        changed = instance.changed(timers=instance.timers - {timer}, queue=instance.queue | {request})
        world = world.with_instance(index, changed)
        self._layout.noticed.timer_has_fired = True
        seconds = math.ceil(timer[0])
        passed = world.issued.get(self._label(index, request)) or 0
        if passed < (_MOST_EARLY_PERIODS if is_early else _FEWEST_PERIODS) * seconds:
            return self._advanced(world, index, request, seconds)
        if is_early or not self._differs_later(world, index, request, seconds):
            return world
        if passed < MOST_PERIODS * seconds:
            return self._advanced(world, index, request, seconds)
        return _out_of_time(world, index, request)

    def retried(self, world: World, index: int, request: Key) -> World:
        """The state after the delay of a request has ended."""
        instance = world.instances[index]
        changed = instance.changed(delayed=instance.delayed - {request}, queue=instance.queue | {request})
        world = world.with_instance(index, changed)
        passed = world.issued.get(self._label(index, request)) or 0
        seconds = min(max(passed, 1), _LONGEST_DELAY)
        if not self._waits_for_time(world, index, request, seconds):
            return world
        if self._timeless:
            raise Refuted(Assumption.TIMELESS)
        if passed < MOST_PERIODS * _LONGEST_DELAY:
            return self._advanced(world, index, request, seconds)
        return _out_of_time(world, index, request)

    def slept(self, world: World, index: int, request: Key, seconds: int) -> World:
        """The state after a reconcile has ended that saw the time pass while it slept. It advances as with a timer."""
        self._layout.noticed.timer_has_fired = True
        passed = world.issued.get(self._label(index, request)) or 0
        return self._advanced(world, index, request, seconds) if passed < _FEWEST_PERIODS * seconds else world

    def may_end(self, world: World) -> bool:
        """Some reconcile that has something to do would do something else in the end, years later."""
        for index, request, queued in self._pending(world):
            later = self._advanced(queued, index, request, _AT_LAST)
            with self._layout.programs[index].looking():
                soon = course(self._following, queued, index, request)
                if course(self._following, later, index, request).made != soon.made:
                    return True
        return False

    def waits(self, world: World) -> bool:
        """Some reconcile that has something to do would do something else at a later time, or in a window of time."""
        for index, request, queued in self._pending(world):
            soon = self._course_at(queued, index, request, 0)
            timers = world.instances[index].timers
            seconds = next((math.ceil(seconds) for seconds, other in timers if other == request), 1)
            if self._differs_at(queued, index, request, soon, (*(seconds * periods for periods in _LATER), _AT_LAST)):
                return True
            if (index, request) in self._windowed:
                times = self._close_times(queued, index, request, seconds)
                if self._differs_at(queued, index, request, soon, times):
                    return True
        return False

    def _pending(self, world: World) -> Iterator[tuple[int, Key, World]]:
        """The reconciles that have something to do and ask for the time, each with the state in which it is queued."""
        for index, instance in enumerate(world.instances):
            if self._timeless or not self._layout.programs[index].asks_time:
                continue
            requests = {*instance.queue, *instance.delayed, *(request for _, request in instance.timers)}
            for request in sorted(requests | {in_flight.request for in_flight in instance.running}):
                changed = instance.changed(running=(), queue=frozenset({request}))
                yield index, request, world.with_instance(index, changed)

    def _differs_later(self, world: World, index: int, request: Key, seconds: int) -> bool:
        """The time matters to a queued reconcile and those after it, which look again after ``seconds`` each."""
        if self._timeless or not self._can_start(world, index, request):
            return False
        question = self._question(world, index, request, seconds, "timer")
        known = self._differs.get(question)
        if known is None:
            known = self._differs[question] = not self._repeats(world, index, request, seconds)
        return known

    def _waits_for_time(self, world: World, index: int, request: Key, seconds: int) -> bool:
        """A queued reconcile changes nothing and asks for a retry, and would do something else at a later time."""
        if not self._can_start(world, index, request):
            return False
        question = self._question(world, index, request, seconds, "retry")
        known = self._differs.get(question)
        if known is None:
            soon = self._course_at(world, index, request, 0)
            comes_to_nothing = (
                request in soon.after.instances[index].delayed
                and soon.after.objects == world.objects
                and soon.after.instances[index].memory == world.instances[index].memory
            )
            known = self._differs[question] = comes_to_nothing and self._differs_at_some(
                world, index, request, soon, seconds
            )
        return known

    def _can_start(self, world: World, index: int, request: Key) -> bool:
        """A queued reconcile that asks for the time is not kept waiting by others."""
        program, running = self._layout.programs[index], world.instances[index].running
        if not program.asks_time or len(running) >= program.controller.max_concurrent:
            return False
        return not any(in_flight.request == request for in_flight in running)

    def _question(self, world: World, index: int, request: Key, seconds: int, step: str) -> tuple[object, ...]:
        key = self._layout.keys.of_process(world, self._layout.places[index][0])
        return (step, index, request, seconds, key, world.objects, world.issued_sum)

    def _repeats(self, world: World, index: int, request: Key, seconds: int) -> bool:
        """A queued reconcile does the same at all later times, and again after the next period.

        The first alone is not enough: one that gives up next would do so at every later time, too. And it may do
        something else now: a heartbeat is due only after a period.
        """
        course_at = self._course_at
        soon = course_at(world, index, request, seconds)
        if self._differs_at_some(world, index, request, soon, seconds):
            return False
        if course_at(world, index, request, 0).made == soon.made:
            return True
        after, timer = soon.after.instances[index], (seconds, request)
        if timer not in {(math.ceil(other), key) for other, key in after.timers}:
            return False
        due = after.changed(queue=after.queue | {request})
        again = course_at(soon.after.with_instance(index, due), index, request, seconds)
        return again.made == soon.made

    def _differs_at_some(self, world: World, index: int, request: Key, soon: Course, seconds: int) -> bool:
        """A queued reconcile does something else than soon at some later time, for a period of ``seconds``."""
        if not soon.asks_time:
            return False
        if self._differs_at(world, index, request, soon, (*(seconds * periods for periods in _LATER), _AT_LAST)):
            return True
        # Deadlines show at any time after them. Windows do not, and looking for them costs ten times as much.
        who = (self._layout.programs[index].number, request)
        shapes = self._closely.setdefault(who, set())
        is_new = soon.shape not in shapes and len(shapes) < _MOST_CLOSELY
        shapes.add(soon.shape)
        if not is_new and who not in self._windowed:
            return False
        if not self._differs_at(world, index, request, soon, self._close_times(world, index, request, seconds)):
            return False
        self._windowed.add(who)
        return True

    def _close_times(self, world: World, index: int, request: Key, seconds: int) -> Iterator[int]:
        """Seconds from now, for a timer of some seconds."""
        yield from (seconds * periods for periods in range(1, max(_NEXT, _MINUTE // seconds) + 1))
        now = self._start + (world.issued.get(self._label(index, request)) or 0)
        # Of the clock, not from now: then the next situations look at the same times, and their results are known.
        if seconds * _NEXT < _HOUR:
            yield from ((now // _MINUTE + minutes) * _MINUTE - now for minutes in range(1, _HOUR // _MINUTE + 1))
        yield from ((now // _HOUR + hours) * _HOUR - now for hours in _HOURS)

    def _differs_at(self, world: World, index: int, request: Key, soon: Course, times: Iterable[int]) -> bool:
        key = self._layout.keys.of_process(world, self._layout.places[index][0])
        expected = hash(soon.made)
        if len(self._made) > _MOST_KNOWN:
            self._made.clear()
        for passed in times:
            question = (index, request, key, world.objects, self._later(world, index, request, passed).issued_sum)
            made = self._made.get(question)
            if made is None:
                made = self._made[question] = hash(self._course_at(world, index, request, passed).made)
            if made != expected:
                return True
        return False

    def _course_at(self, world: World, index: int, request: Key, passed: int) -> Course:
        # Also while time is taken not to matter: this is how that is found out.
        timeless, self._timeless = self._timeless, False
        try:
            self._layout.noticed.last_has_asked = True
            with self._layout.programs[index].looking():
                made = course(self._following, self._later(world, index, request, passed), index, request)
                return made._replace(asks_time=self._layout.noticed.last_has_asked)
        finally:
            self._timeless = timeless

    def now(self, world: World, index: int, request: Key) -> str:
        """The time that a reconcile sees."""
        if self._timeless and self._layout.noticed.timer_has_fired and self._layout.programs[index].asks_time:
            raise Refuted(Assumption.TIMELESS)
        return rfc3339(self._start + (0 if self._timeless else world.issued.get(self._label(index, request)) or 0))

    def stamped(self, world: World, index: int, request: Key) -> World:
        """The state after a reconcile that knows the time has written something."""
        return self._advanced(world, index, request, 1) if self._ticks else world

    def _advanced(self, world: World, index: int, request: Key, seconds: int) -> World:
        return world if self._timeless else self._later(world, index, request, seconds)

    def _later(self, world: World, index: int, request: Key, seconds: int) -> World:
        label = self._label(index, request)
        before = world.issued.get(label) or 0
        return world.with_issued(
            world.issued.insert(label, before + seconds),
            issued_after(world.issued_sum, label, before, before + seconds),
        )

    def _label(self, index: int, request: Key) -> str:
        return f"{CLOCK}{self._layout.programs[index].controller.name} {request}"


def _out_of_time(world: World, index: int, request: Key) -> World:
    """A state that nothing follows, because a clock would have to go on."""
    instance = world.instances[index]
    bugs = instance.bugs | {(request, OUT_OF_TIME, ENOUGH_BUGS)}
    return world.with_instance(index, instance.changed(bugs=bugs))


def with_timer(instance: Instance, timer: Timer) -> frozenset[Timer]:
    """The timers of an instance with one more; of two for one request the shorter one stays."""
    known = next((other for other in instance.timers if other[1] == timer[1]), None)
    if known is None:
        return instance.timers | {timer}
    return (instance.timers - {known}) | {min(known, timer)}
