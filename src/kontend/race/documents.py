"""Findings as trace documents: the same text, archive and page as the explorer's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib import metadata
from pathlib import PurePath
from typing import Any, Final

import orjson

from kontend.explanation.wording import sentence
from kontend.explore.explain.fields import field_changes
from kontend.race.finding import RaceFinding
from kontend.race.log.actor import Actor
from kontend.race.moment import UNKNOWN, Moment, Version
from kontend.report.document import (
    Actor as DocumentActor,
)
from kontend.report.document import (
    CallRecord,
    Cycle,
    Document,
    Explanation,
    FieldChange,
    Fix,
    Line,
    Read,
    Source,
    Step,
    Write,
    hash_of,
)

#: The key of ``bounds`` under which a document says that it comes from a log.
RACE: Final = "race"
#: The way in which a trace was found.
RECORDED: Final = "recorded"


def documents_of(findings: Sequence[RaceFinding], files: Iterable[str]) -> list[Document]:
    """Return the documents of the findings of a log."""
    names = _names(findings)
    source = Source("", ", ".join(PurePath(file).name for file in files))
    return [_Document(finding, names, source).document() for finding in findings]


def _names(findings: Sequence[RaceFinding]) -> dict[Actor, str]:
    """Return a name for each client; those who share one are numbered in the order in which they appear."""
    actors = dict.fromkeys(moment.actor for finding in findings for moment in finding.moments)
    actors.update(dict.fromkeys(actor for finding in findings for actor in finding.actors))
    shared: dict[str, list[Actor]] = {}
    for actor in actors:
        shared.setdefault(actor.name, []).append(actor)
    return {
        actor: f"{name}#{number}" if len(same) > 1 else name
        for name, same in shared.items()
        for number, actor in enumerate(same, 1)
    }


class _Document:
    """Makes the document of one finding."""

    def __init__(self, finding: RaceFinding, names: Mapping[Actor, str], source: Source) -> None:
        self._finding = finding
        self._names = names
        self._source = source
        self._objects: dict[str, Any] = {}
        self._numbers = {id(moment): number for number, moment in enumerate(finding.moments, 1)}

    def document(self) -> Document:
        """Return the document."""
        finding, last = self._finding, self._finding.last
        moments = finding.moments
        steps = tuple(self._step(moment) for moment in moments)
        explanation = Explanation(
            finding.name,
            "".join(part if isinstance(part, str) else self._names[part] for part in finding.sentence),
            culprits=tuple(self._numbers[id(moment)] for moment in finding.culprits if id(moment) in self._numbers),
            fix=Fix(sentence(finding.fix), remedy=finding.fix.remedy.value),
            cycle=Cycle(1, len(steps), _written(steps)) if finding.repeats else None,
            count=finding.count,
            how=RECORDED,
        )
        first = moments[0].before or (moments[0].version if moments[0].verb in ("get", "list") else None)
        return Document(
            source=self._source,
            violation=explanation,
            steps=steps,
            actors=tuple(
                DocumentActor(self._names[actor], "user" if actor.is_user else "instance")
                for actor in dict.fromkeys(moment.actor for moment in moments)
            ),
            initial={_object(last): self._keep(first)} if first is not None and first.body is not None else {},
            objects=self._objects,
            bounds={RACE: {"object": _object(last), "line": f"{last.file}:{last.line}"}},
            versions={"kontend": metadata.version("kontend")},
        )

    def _step(self, moment: Moment) -> Step:
        name, actor = _object(moment), self._names[moment.actor]
        status = f"{moment.code} {moment.message}".strip()
        reads: tuple[Read, ...] = ()
        if moment.verb in ("get", "list") and moment.version is not None:
            kept = self._keep(moment.version) if moment.version.body is not None else None
            reads = (Read(name, moment.version.number, moment.latest, kept),)
        key = moment.key
        seen = moment.actor is UNKNOWN
        call = CallRecord(moment.verb, moment.kind, key.namespace, key.name, moment.subresource)
        text = f"{actor} {moment.verb} {name}{'/' if moment.subresource else ''}{moment.subresource}: {status}"
        return Step(
            self._numbers[id(moment)],
            actor,
            "change" if seen else "call",
            f"{actor} had changed {name} by then; the log does not show the request" if seen else text,
            call=None if seen else call,
            response=None if seen else status,
            reads=reads,
            writes=(self._write(moment),) if moment.changes else (),
            line=Line(moment.file, moment.line),
            time=round(moment.completed - self._finding.moments[0].completed, 6),
        )

    def _write(self, moment: Moment) -> Write:
        before, after = moment.before, None if moment.deleted else moment.version
        fields = field_changes(
            before.content() if before is not None else None, after.content() if after is not None else None
        )
        number = moment.version.number if moment.version is not None else before.number if before is not None else 0
        return Write(
            _object(moment),
            number,
            self._keep(before) if before is not None and before.body is not None else None,
            self._keep(after) if after is not None and after.body is not None else None,
            fields if before is not None or moment.verb == "create" else (),
            moment.base,
            self._read_in(moment),
        )

    def _read_in(self, writer: Moment) -> int | None:
        """Return the step in which a writer was sent the version that it wrote from."""
        for moment in reversed(self._finding.moments):
            if moment.completed <= writer.received and moment.actor == writer.actor and moment.version is not None:
                return self._numbers[id(moment)] if moment.version.number == writer.base else None
        return None

    def _keep(self, version: Version) -> str:
        content = orjson.loads(version.body or b"{}")
        at = hash_of(content)
        self._objects[at] = content
        return at


def _written(steps: Sequence[Step]) -> tuple[FieldChange, ...]:
    """Return the fields that the last writes of a cycle change."""
    return tuple(change for step in steps[-2:] for write in step.writes for change in write.fields)


def _object(moment: Moment) -> str:
    key = moment.key
    return f"{moment.kind} {key.namespace}/{key.name}" if key.namespace else f"{moment.kind} {key.name}"
