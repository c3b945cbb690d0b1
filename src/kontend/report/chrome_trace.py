"""Traces in the Trace Event Format, which Perfetto and chrome://tracing show as a timeline.

Each actor is a thread, and so are each instance's cache and the API server. A reconcile is a slice that contains the
slices of its calls; an arrow leads from a write to its delivery; a counter shows how far each cache is behind. Where
the steps have no time, each takes a millisecond.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from kontend.report.decoding import encode
from kontend.report.document import Document, Step
from kontend.report.inspection import reconciles_of

#: Microseconds that a step takes where it has no time of its own.
_STEP: Final = 1000
_SERVER: Final = "API server"
_Event = dict[str, Any]


def chrome_trace(documents: Sequence[Document]) -> dict[str, Any]:
    """Documents as one trace, each as a process.

    >>> chrome_trace([])["traceEvents"]
    []
    """
    events = [event for number, document in enumerate(documents, 1) for event in _Process(number, document).events()]
    return {"traceEvents": events, "displayTimeUnit": "ms"}


class _Process:
    """The events of one document."""

    def __init__(self, number: int, document: Document) -> None:
        self._process = number
        self._document = document
        self._steps = document.steps
        self._threads: dict[str, int] = {}
        timed = len(self._steps) > 1 and all(step.time is not None for step in self._steps)
        start = self._steps[0].time or 0.0 if timed else 0.0
        self._begins = {
            step.number: round(((step.time or 0.0) - start) * 1e6) if timed else at * _STEP
            for at, step in enumerate(self._steps)
        }
        begins = list(self._begins.values())
        ends = [*begins[1:], begins[-1] + _STEP] if begins else []
        self._ends = {
            step.number: max(end, begin + 1) for step, begin, end in zip(self._steps, begins, ends, strict=True)
        }

    def events(self) -> Iterator[_Event]:
        """All events; the names of the threads come last, when all are known."""
        yield from self._reconciles()
        for step in self._steps:
            yield from self._step(step)
        yield from self._deliveries()
        yield from self._lag()
        violation, source = self._document.violation, self._document.source
        name = f"{source.scenario or source.file}: {violation.property}"
        yield self._named("process_name", 0, name)
        for thread, identity in self._threads.items():
            yield self._named("thread_name", identity, thread)
            yield {**self._base("M", identity), "name": "thread_sort_index", "args": {"sort_index": identity}}

    def _step(self, step: Step) -> Iterator[_Event]:
        details = {
            "text": step.text,
            "response": step.response,
            "reads": encode(step.reads),
            "writes": [{"object": w.object, "version": w.version, "fields": encode(w.fields)} for w in step.writes],
            "line": str(step.line) if step.line is not None else None,
        }
        yield self._slice(step.actor, self._title(step), step.number, step.number, details)
        if step.writes:
            yield self._slice(_SERVER, f"version {step.writes[0].version}", step.number, step.number, details)
        if step.number in self._document.violation.culprits:
            at = {"name": f"at fault: step {step.number}", "cat": "violation", "s": "p", "args": {"text": step.text}}
            yield {**self._base("i", self._thread(step.actor), step.number), **at}

    def _title(self, step: Step) -> str:
        if step.call is None:
            return f"{step.action} {step.request}".strip()
        call = step.call
        cached = "cached " if call.cached else ""
        return f"{cached}{call.verb} {call.kind} {call.name}{'/' if call.subresource else ''}{call.subresource}".strip()

    def _reconciles(self) -> Iterator[_Event]:
        """Yield a slice for each reconcile, from its start to its last call."""
        for start, last in reconciles_of(self._steps):
            yield self._slice(start.actor, f"reconcile {start.request}", start.number, last, {})

    def _deliveries(self) -> Iterator[_Event]:
        """Yield a slice on the thread of a cache for each event, and an arrow to it from the write."""
        written = {(write.object, write.version): step for step in self._steps for write in step.writes}
        identity = self._process * 1_000_000
        for step in self._steps:
            for event in step.delivered:
                cache = f"cache of {event.cache}"
                title = f"sees {event.object} at {event.version}"
                yield self._slice(cache, title, step.number, step.number, {"deleted": event.hash is None})
                origin = written.get((event.object, event.version))
                if origin is None:
                    continue
                identity += 1
                flow = {"name": "event", "cat": "event", "id": identity}
                yield {**self._base("s", self._thread(_SERVER), origin.number), **flow}
                yield {**self._base("f", self._thread(cache), step.number), **flow, "bp": "e"}

    def _lag(self) -> Iterator[_Event]:
        """Counters of the writes that each cache has not seen, of the objects that reach it in this trace."""
        seen = {(event.cache, event.object) for step in self._steps for event in step.delivered}
        latest: dict[str, int] = {}
        held: dict[tuple[str, str], int] = {}
        last: dict[str, int] = {}
        for step in self._steps:
            latest.update({write.object: write.version for write in step.writes})
            held.update({(event.cache, event.object): event.version for event in step.delivered})
            for cache in sorted({cache for cache, _ in seen}):
                behind = sum(
                    held.get((cache, name), -1) < version for name, version in latest.items() if (cache, name) in seen
                )
                if last.get(cache, 0) != behind:
                    last[cache] = behind
                    yield {**self._base("C", 0, step.number), "name": f"{cache} behind", "args": {"objects": behind}}

    # Parts of events

    def _thread(self, name: str) -> int:
        return self._threads.setdefault(name, len(self._threads) + 1)

    def _base(self, phase: str, thread: int, step: int | None = None) -> _Event:
        event: _Event = {"ph": phase, "pid": self._process, "tid": thread}
        if step is not None:
            event["ts"] = self._begins[step]
        return event

    def _slice(self, thread: str, name: str, first: int, last: int, details: dict[str, Any]) -> _Event:
        duration = self._ends[last] - self._begins[first]
        base = self._base("X", self._thread(thread), first)
        return {**base, "name": name, "cat": "step", "dur": duration, "args": {"step": first, **details}}

    def _named(self, what: str, thread: int, name: str) -> _Event:
        return {**self._base("M", thread), "name": what, "args": {"name": name}}
