"""Traces as OpenTelemetry spans.

A document is one trace: the root span is the violation, a reconcile is a span, each of its calls a child span, and a
delivery is an event of the root, with its resourceVersion. Spans carry names and versions, not objects. Where the steps
have no time, each takes a millisecond. Ids are derived from the document, so the same document gives the same spans.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags

from kontend.report.archive import slug
from kontend.report.document import Document, Step
from kontend.report.inspection import reconciles_of

#: Nanoseconds that a step takes where it has no time of its own.
_STEP: Final = 1_000_000
#: The time at which a trace begins: the SDK takes 0 for no time at all.
_START: Final = 1_000_000_000
_Value = str | int | bool | float


def spans(documents: Sequence[Document]) -> list[ReadableSpan]:
    """Return the spans of documents, parents before their children."""
    return [span for document in documents for span in _Trace(document).spans()]


def otel_json(documents: Sequence[Document]) -> str:
    """Return the spans as JSON, one in a line, as the console exporter of the SDK writes them."""
    return "".join(f"{span.to_json(indent=None)}\n" for span in spans(documents))


class _Trace:
    """The spans of one document."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._steps = document.steps
        self._name = slug(document)
        self._trace = int.from_bytes(hashlib.sha256(self._name.encode()).digest()[:16], "big") or 1
        timed = bool(self._steps) and all(step.time is not None for step in self._steps)
        begins = [
            _START + (round((step.time or 0.0) * 1e9) if timed else at * _STEP) for at, step in enumerate(self._steps)
        ]
        ends = [*begins[1:], begins[-1] + _STEP] if begins else []
        self._begins = {step.number: begin for step, begin in zip(self._steps, begins, strict=True)}
        self._ends = {
            step.number: max(end, begin + 1) for step, begin, end in zip(self._steps, begins, ends, strict=True)
        }
        service = document.source.scenario or document.source.file or "trace"
        self._resource = Resource(
            {"service.name": service, **{f"{k}.version": v for k, v in document.versions.items()}}
        )

    def spans(self) -> Iterator[ReadableSpan]:
        """All spans of the document."""
        violation = self._document.violation
        root = self._context("violation")
        events = [
            self._delivery(step, event.cache, event.object, event.version)
            for step in self._steps
            for event in step.delivered
        ]
        yield self._span(
            violation.property,
            root,
            None,
            (min(self._begins.values(), default=_START), max(self._ends.values(), default=_START + 1)),
            {"kontend.sentence": violation.sentence, "kontend.count": violation.count},
            events=events,
            error=violation.sentence,
        )
        parents = {}
        for first, last in reconciles_of(self._steps):
            context = self._context(f"reconcile {first.number}")
            for step in self._steps:
                if first.number <= step.number <= last and (step.actor, step.request) == (first.actor, first.request):
                    parents[step.number] = context
            yield self._span(
                f"reconcile {first.request}",
                context,
                root,
                (self._begins[first.number], self._ends[last]),
                {"kontend.actor": first.actor, "kontend.request": first.request},
            )
        for step in self._steps:
            if step.action != "start":
                yield self._call(step, parents.get(step.number, root))

    def _call(self, step: Step, parent: SpanContext) -> ReadableSpan:
        attributes: dict[str, _Value] = {
            "kontend.step": step.number,
            "kontend.actor": step.actor,
            "kontend.action": step.action,
            "kontend.text": step.text,
            "kontend.at_fault": step.number in self._document.violation.culprits,
        }
        if step.call is not None:
            call = {"verb": step.call.verb, "kind": step.call.kind, "namespace": step.call.namespace}
            call |= {"name": step.call.name, "subresource": step.call.subresource}
            attributes |= {f"k8s.{name}": value for name, value in call.items() if value}
            attributes["kontend.cached"] = step.call.cached
        if step.response is not None:
            attributes["kontend.response"] = step.response
        for read in step.reads[:1]:
            attributes |= _present({"kontend.read.version": read.version, "kontend.read.latest": read.latest})
        for write in step.writes[:1]:
            attributes |= _present({"kontend.write.version": write.version, "kontend.write.base": write.base})
            attributes["kontend.write.fields"] = ", ".join(change.path for change in write.fields)
        if step.line is not None:
            attributes |= {"code.file.path": step.line.file, "code.line.number": step.line.line}
        failed = step.failure or ""
        if step.response is not None and step.response[:1] in ("4", "5"):
            failed = failed or step.response
        name = f"{step.call.verb} {step.call.kind}" if step.call is not None else step.action
        times = (self._begins[step.number], self._ends[step.number])
        return self._span(name, self._context(f"step {step.number}"), parent, times, attributes, error=failed)

    def _delivery(self, step: Step, cache: str, name: str, version: int) -> Event:
        attributes: dict[str, _Value] = {"kontend.cache": cache, "kontend.object": name, "kontend.version": version}
        return Event("delivery", attributes=attributes, timestamp=self._begins[step.number])

    def _context(self, what: str) -> SpanContext:
        digest = hashlib.sha256(f"{self._name} {what}".encode()).digest()
        return SpanContext(self._trace, int.from_bytes(digest[:8], "big") or 1, False, TraceFlags(1))

    def _span(
        self,
        name: str,
        context: SpanContext,
        parent: SpanContext | None,
        times: tuple[int, int],
        attributes: Mapping[str, _Value],
        *,
        events: Sequence[Event] = (),
        error: str = "",
    ) -> ReadableSpan:
        return ReadableSpan(
            name,
            context=context,
            parent=parent,
            resource=self._resource,
            attributes=attributes,
            events=events,
            kind=SpanKind.INTERNAL,
            status=Status(StatusCode.ERROR, error) if error else Status(StatusCode.OK),
            start_time=times[0],
            end_time=times[1],
        )


def _present(values: Mapping[str, int | None]) -> dict[str, _Value]:
    return {name: value for name, value in values.items() if value is not None}
