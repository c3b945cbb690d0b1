"""Violations as trace documents: the same zip and page as the explorer's, with the plan in place of a schedule."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import metadata
from typing import Any

from kontend.cluster.state import Change, State, Version
from kontend.explore.properties.overwrites import changed, path_text
from kontend.kube.meta.names import Key, kind_of
from kontend.live.baseline import Baseline
from kontend.live.gate.call import UNJUDGED
from kontend.live.gate.records import Delivery, Happening, Record, Request
from kontend.live.properties.final_state import value_at
from kontend.live.runs.outcome import Run
from kontend.live.runs.setting import PRIMARY
from kontend.live.runs.workload import USER
from kontend.live.verdicts.verdict import Violation
from kontend.report.document import (
    Actor,
    CallRecord,
    Delivered,
    Difference,
    Document,
    Explanation,
    FieldChange,
    Read,
    Source,
    Step,
    Write,
    hash_of,
)

#: The key of ``bounds`` under which a document says that it comes from ``kontend live``.
LIVE = "live"


def document_of(violation: Violation, baseline: Baseline, invocation: Mapping[str, Any]) -> Document:
    """Return the document of a violation; ``invocation`` is what a replay needs to know of the command line."""
    objects: dict[str, Any] = {}
    steps = tuple(_Steps(violation.run, objects).steps())
    finding, numbers = violation.finding, {step.number for step in steps}
    cause = violation.cause
    explanation = Explanation(
        finding.property,
        "; ".join(filter(None, [finding.sentence, cause.sentence, *violation.code])),
        culprits=tuple(number for number in cause.culprits if number in numbers),
        perturbations=tuple(map(str, violation.plan.perturbations)),
        difference=tuple(
            Difference(each.place.title, path_text(each.place.path), each.got, each.expected)
            for each in finding.difference
        ),
        count=violation.others + 1,
    )
    actors = (Actor(PRIMARY, "instance"), Actor(USER, "user"))
    others = sorted({step.actor for step in steps} - {actor.name for actor in actors})
    return Document(
        source=Source("", " ".join(invocation.get("command", ()))),
        violation=explanation,
        steps=steps,
        schedule=(violation.plan.to_json(),),
        actors=(*actors, *(Actor(name, "instance") for name in others)),
        objects=objects,
        baseline=tuple(_Steps(baseline.runs[0], objects).steps()),
        bounds={LIVE: dict(invocation), "occurred": violation.rate},
        versions={"kontend": metadata.version("kontend")},
    )


class _Steps:
    """Turns the records of a run into steps."""

    def __init__(self, run: Run, objects: dict[str, Any]) -> None:
        self._run = run
        self._objects = objects
        floor = run.initial.resource_version
        self._changes = {change.resource_version: change for change in run.final.changes_since(floor)}

    def steps(self) -> Iterator[Step]:
        """The steps, numbered as the records are."""
        for number, record in enumerate(self._run.log.records, start=1):
            step = self._step(number, record)
            if step is not None:
                yield step

    def _step(self, number: int, record: Record) -> Step | None:
        if isinstance(record, Happening):
            writes = self._writes(record.before, record.after)
            return Step(
                number, record.process, record.action, record.text, writes=writes, time=_rounded(record.arrived)
            )
        if isinstance(record, Delivery):
            return self._delivery(number, record)
        if record.call.resource in UNJUDGED or record.call.verb == "watch":
            return None
        return self._request(number, record)

    def _request(self, number: int, request: Request) -> Step:
        call = request.call
        writes = self._writes(request.before, request.after)
        status = f"{request.code} {request.message}".strip() if request.code else "no response"
        perturbed = f" [{request.perturbed}]" if request.perturbed else ""
        return Step(
            number,
            request.process,
            "call",
            f"{request.process} {call}: {status}{perturbed}",
            call=CallRecord(call.verb, call.resource, call.namespace, call.name, call.subresource),
            response=status,
            reads=() if call.writes else tuple(self._reads(request)),
            writes=writes,
            changes_nothing=not writes and not request.perturbed and request.code < 400,
            cost=int(bool(request.perturbed)),
            time=_rounded(request.arrived),
        )

    def _reads(self, request: Request) -> Iterator[Read]:
        for resource, key, version in request.shown[:20]:
            change = self._changes.get(version)
            if change is not None and change.new is not None:
                yield Read(_name(change, key), version, version, self._keep(change.new))
            else:
                yield Read(f"{resource} {key}", version, version)

    def _delivery(self, number: int, delivery: Delivery) -> Step:
        events = []
        for resource, key, version in delivery.versions:
            change = self._changes.get(version)
            new = change.new if change is not None else None
            name = _name(change, key) if change is not None else f"{resource} {key}"
            events.append(Delivered(delivery.process, name, version, self._keep(new) if new is not None else None))
        text = f"{delivery.process} receives {len(events)} events of {delivery.resource}"
        return Step(
            number,
            delivery.process,
            "deliver",
            text,
            delivered=tuple(events),
            changes_nothing=True,
            time=_rounded(delivery.arrived),
        )

    def _writes(self, before: State | None, after: State | None) -> tuple[Write, ...]:
        if before is None or after is None:
            return ()
        return tuple(self._write(change) for change in after.changes_since(before.resource_version))

    def _write(self, change: Change) -> Write:
        old = change.old.content() if change.old is not None else None
        new = change.new.content() if change.new is not None else None
        fields = tuple(
            FieldChange(path_text(path), value_at(old, path), value_at(new, path))
            for path in (changed(old, new) if old is not None and new is not None else ())
        )
        return Write(
            _name(change, change.key),
            change.resource_version,
            self._keep(change.old) if change.old is not None else None,
            self._keep(change.new) if change.new is not None else None,
            fields,
        )

    def _keep(self, version: Version) -> str:
        content = version.content()
        at = hash_of(content)
        self._objects[at] = content
        return at


def _name(change: Change, key: Key) -> str:
    version = change.new or change.old
    return f"{kind_of(version.content())} {key}" if version is not None else f"{change.resource} {key}"


def _rounded(seconds: float) -> float:
    return round(seconds, 3)
