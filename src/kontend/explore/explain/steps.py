"""Steps of a trail, and the versions of objects that they read and write, as parts of a trace document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import orjson

from kontend.cluster.state import Change, Version
from kontend.explore.explain.exchanges import exchange_of, main_part
from kontend.explore.explain.fields import content_of, field_changes, named, number_of, object_name
from kontend.explore.explain.lines import SourceLines
from kontend.explore.explain.trail import Part, Reconcile, Seen, Taken, Trail
from kontend.explore.model.state.process import NOT_STARTED
from kontend.explore.model.state.world import World
from kontend.explore.model.views.cached_reads import viewed
from kontend.kube.meta.accessors import controller_of
from kontend.kube.meta.names import Key
from kontend.report.document import Delivered, FieldChange, Read, Step, Write, hash_of
from kontend.runtime.client.call import Call, kind_of_view

#: Objects of a list that are kept with a read.
_MOST_READS: Final = 25


class StepWriter:
    """Turns trails into steps of a document. Objects of all of them are kept once."""

    def __init__(self, lines: SourceLines) -> None:
        self._lines = lines
        self.objects: dict[str, Any] = {}
        self._hashes: dict[int, tuple[Version, str]] = {}

    def steps(self, trail: Trail) -> tuple[Step, ...]:
        """The steps of a trail."""
        quiet = _quiet_steps(trail)
        return tuple(self._step(trail, taken, quiet=taken.number in quiet) for taken in trail.steps)

    def initial(self, trail: Trail) -> dict[str, str]:
        """The objects before the first step, of the kinds that are watched, read or written."""
        resources = {resource for resources in trail.layout.resources for resource in resources}
        for taken in trail.steps:
            resources.update(change.resource for change in taken.transition.changes)
        bodies = {}
        for resource in sorted(resources):
            for _, version in sorted(trail.initial.state.objects(resource).items()):
                bodies[object_name(content_of(version))] = self._kept(version)
        return bodies

    def _step(self, trail: Trail, taken: Taken, *, quiet: bool) -> Step:
        step, transition = taken.step, taken.transition
        main = main_part(taken.parts)
        exchange = exchange_of(main)
        reads = [seen for seen in (taken.reconcile.reads if taken.reconcile else ()) if seen.step == taken.number]
        shown = [read for seen in reads for read in self._reads(trail, taken, seen)]
        shown.sort(key=lambda read: read.version == read.latest)
        return Step(
            taken.number,
            trail.actor(taken),
            step.action,
            transition.text,
            exchange.call,
            exchange.response,
            tuple(shown[:_MOST_READS]),
            max(0, len(shown) - _MOST_READS),
            tuple(self._writes(taken)),
            tuple(self._delivered(trail, taken.before, taken.after)),
            self._line(trail, taken, main),
            str(taken.reconcile.request) if taken.reconcile is not None else _request(taken),
            quiet,
            transition.cost,
            transition.failure.text if transition.failure is not None else None,
        )

    def _line(self, trail: Trail, taken: Taken, part: Part) -> Any:
        if taken.step.action == "act":
            return self._lines.line(trail.action(taken).line)
        return self._lines.line(part.line)

    # Objects

    def _kept(self, version: Version) -> str:
        """Keep a version of an object; returns its hash."""
        known = self._hashes.get(id(version))
        if known is None:
            content = content_of(version)
            number = str(number_of(version.resource_version))
            obj = {**content, "metadata": {**content["metadata"], "resourceVersion": number}}
            known = self._hashes[id(version)] = (version, hash_of(obj))
            self.objects[known[1]] = obj
        return known[1]

    def _reads(self, trail: Trail, taken: Taken, seen: Seen) -> Iterator[Read]:
        """The objects that a read returned, and those that it would have returned from an up-to-date cache."""
        fresh = trail.would_see(seen, taken.before, taken.step.instance) if seen.call.verb == "list" else {}
        for key in (*seen.versions, *(key for key in fresh if key not in seen.versions)):
            version = seen.versions.get(key)
            latest = taken.before.state.find(seen.resource, key)
            yield Read(
                named(seen.call.kind, key),
                number_of(version.resource_version) if version is not None else None,
                number_of(latest.resource_version) if latest is not None else None,
                self._kept(version) if version is not None else None,
            )

    def _writes(self, taken: Taken) -> Iterator[Write]:
        for part in taken.parts:
            for change in part.transition.changes:
                yield self._write(taken, part, change)

    def _write(self, taken: Taken, part: Part, change: Change) -> Write:
        old, new = change.old, change.new
        one = new or old
        assert one is not None
        base, base_step = _base(taken, change)
        fields = field_changes(content_of(old) if old else None, content_of(new)) if new is not None else ()
        owner, defaults = "", 0
        if old is None and new is not None:
            reference = controller_of(content_of(new))
            owner = f"{reference.get('kind')} {reference.get('name')}" if reference is not None else ""
            fields, defaults = _given_first(fields, part.call)
        return Write(
            object_name(content_of(one)),
            number_of(change.resource_version),
            self._kept(old) if old is not None else None,
            self._kept(new) if new is not None else None,
            fields,
            base,
            base_step,
            owner,
            defaults,
        )

    def _delivered(self, trail: Trail, before: World, after: World) -> Iterator[Delivered]:
        """The events that reached a cache in a step."""
        for place, process in enumerate(after.processes):
            layout = trail.layout.processes[place]
            for at, kind in enumerate(layout.kinds[: len(process.views)]):
                old, new = before.processes[place].view(at), process.view(at)
                if old == new:
                    continue
                for key, version, number in _moved(before, after, layout.indexes[0], at, layout.resources[at]):
                    yield Delivered(
                        layout.name,
                        named(kind_of_view(kind), key) + kind.removeprefix(kind_of_view(kind)),
                        number_of(number),
                        self._kept(version) if version is not None else None,
                    )


def _given_first(fields: tuple[FieldChange, ...], call: Call | None) -> tuple[tuple[FieldChange, ...], int]:
    """The fields of a new object, those that the request had first, and the number of the others."""
    body = orjson.loads(call.body) if call is not None and call.body else None
    if not isinstance(body, Mapping):
        return fields, 0
    given = {change.path for change in field_changes(None, body)}
    ordered = sorted(fields, key=lambda change: change.path not in given)
    return tuple(ordered), sum(change.path not in given for change in fields)


def _quiet_steps(trail: Trail) -> set[int]:
    """The numbers of steps without effect: of no-op reconciles, and deliveries that only they see."""
    quiet: set[int] = set()
    awaited: set[int] = set()
    places = trail.layout.places
    for taken in reversed(trail.steps):
        index = taken.step.instance
        if taken.reconcile is not None:
            if taken.number in quiet:
                continue
            if _is_no_op(trail, taken.reconcile):
                quiet.update(taken.reconcile.steps)
            else:
                awaited.add(places[index][0])
        elif taken.step.action == "deliver" and places[index][0] not in awaited and not taken.transition.cost:
            quiet.add(taken.number)
    return quiet


def _is_no_op(trail: Trail, reconcile: Reconcile) -> bool:
    """A reconcile without effect that came to its end, and what it had read was still true then.

    One that is still in flight may write, and a read that another write overtakes is often what goes wrong.
    """
    last = trail.steps[reconcile.steps[-1] - 1]
    running = last.after.instances[reconcile.instance].running
    return not (
        reconcile.matters
        or any(in_flight.request == reconcile.request for in_flight in running)
        or any(_is_refused(part) for number in reconcile.steps for part in trail.steps[number - 1].parts)
        or any(_is_overtaken(trail, seen, last.number) for seen in reconcile.reads)
    )


def _is_refused(part: Part) -> bool:
    """The server refused a write."""
    return part.call is not None and part.call.writes and part.transition.answer.refusal is not None


def _is_overtaken(trail: Trail, seen: Seen, end: int) -> bool:
    """Something that a read has shown, or a list may show, changed between the read and the step ``end``."""
    return any(
        change.resource == seen.resource and (seen.call.verb == "list" or change.key in seen.versions)
        for taken in trail.steps[seen.step : end]
        for change in taken.transition.changes
    )


def _moved(
    before: World, after: World, index: int, at: int, resource: str
) -> Iterator[tuple[Key, Version | None, int]]:
    """The objects that a view shows otherwise than before, with the resourceVersion of the change."""
    old, new = before.process(index).view(at), after.process(index).view(at)
    if old != NOT_STARTED and new > old:
        for change in after.state.changes_since(old, resource):
            if change.resource_version <= new:
                yield Key(*change.key), change.new, change.resource_version
        return
    there = viewed(after, index, at, resource) if new != NOT_STARTED else {}
    gone = viewed(before, index, at, resource) if old != NOT_STARTED else {}
    for key in sorted({*there, *gone}):
        version, known = there.get(key), gone.get(key)
        if version is not known:
            yield Key(*key), version, version.resource_version if version is not None else max(new, 0)


def _base(taken: Taken, change: Change) -> tuple[int | None, int | None]:
    """The newest version of an object that the writer had read before a write, and the step of that read."""
    if taken.reconcile is None:
        return None, None
    met = [
        (number_of(number), step)
        for (resource, key, number), step in taken.reconcile.met.items()
        if resource == change.resource and key == change.key and number < change.resource_version
    ]
    return max(met, default=(None, None), key=lambda version: version[0] or 0)


def _request(taken: Taken) -> str:
    return str(taken.step.subject) if isinstance(taken.step.subject, Key) else ""
