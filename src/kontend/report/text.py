"""A trace document as text for terminals and for the messages of failed tests."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import Any, Final

from kontend.report import WIDTH
from kontend.report.document import (
    CallRecord,
    Difference,
    Document,
    Explanation,
    FieldChange,
    Fix,
    Read,
    Step,
    VerifiedFix,
    Write,
)
from kontend.report.elements import compact, joined, joined_differences, list_of, without_key
from kontend.report.essential import essential_steps
from kontend.report.inspection import overlaps

#: An object and a path in it.
_Field = tuple[str, str]
#: Fields of one write, and differences, that are shown unless everything is asked for.
_FIELDS: Final = 6
_DIFFERENCES: Final = 12
_LONGEST: Final = 60


def render(document: Document, *, verbose: bool = False, width: int = WIDTH) -> str:
    """Return the explanation of a violation, with its steps; ``verbose`` shows all of them, and all fields."""
    violation = document.violation
    parts = [_fitted(heading(document), width), _indented(violation.sentence, width)]
    if violation.perturbations:
        parts.append(_indented(f"Perturbed by {'; '.join(violation.perturbations)}.", width))
    if violation.traceback:
        parts.append(textwrap.indent(violation.traceback, "  "))
    if document.steps:
        lines = trace_lines(document.steps, violation, verbose=verbose)
        parts.append("\n".join(_fitted(line, width) for line in lines))
    if violation.difference:
        lines = difference_lines(violation.difference, verbose=verbose)
        parts.append("\n".join(_fitted(line, width) for line in lines))
    if violation.fix is not None:
        parts.append(_fix(violation, width))
    if violation.verified is not None:
        parts.append(_verified(violation.verified, width, is_shown=_proposes(violation.fix, violation.verified)))
    return "\n".join(parts)


def _fitted(line: str, width: int) -> str:
    """Return a line that is no wider than a narrow terminal; elsewhere long lines stay whole, so that they can be
    searched.

    >>> print(_fitted("   1  ports  patch ConfigMap default/c", 30))
       1  ports  patch ConfigMap
             default/c
    """
    if width >= WIDTH or len(line) <= width:
        return line
    indent = len(line) - len(line.lstrip())
    # Continuation lines begin below the text of a step, as far as there is room.
    return "\n".join(
        textwrap.wrap(
            line.lstrip(),
            width,
            initial_indent=" " * indent,
            subsequent_indent=" " * min(indent + 6, width // 3),
            break_on_hyphens=False,
        )
    )


def heading(document: Document) -> str:
    """Return the first line: the property (with others that the same cause violates), and the size of the trace."""
    violation, steps = document.violation, len(document.steps)
    names = ", ".join((violation.property, *violation.also))
    if not steps:
        return f"{names}: violated"
    many = document.perturbations
    notes = [violation.how] if violation.how else []
    if many or violation.how != "recorded":
        notes.append(f"{many} perturbation{'s' * (many != 1)}" if many else "unperturbed")
    if violation.also:
        notes.append(f"{len(violation.also) + 1} violations with one cause")
    if violation.count > 1:
        notes.append(f"found {violation.count:,} times")
    verb = "violated after" if violation.how != "recorded" else "shown by"
    return f"{names}: {verb} {steps} step{'s' * (steps != 1)} ({', '.join(notes)})"


# Steps


def trace_lines(
    steps: Sequence[Step], violation: Explanation | None = None, *, fold: bool = True, verbose: bool = False
) -> Iterator[str]:
    """Yield the steps, a line or more for each; ``verbose`` with all fields.

    ``fold`` those that change nothing, and those of a long trace that do not explain the violation, unless ``verbose``.
    """
    culprits = violation.culprits if violation is not None else ()
    names = max((len(step.actor) for step in steps), default=0)
    digits = len(str(len(steps)))
    folded: list[Step] = []
    clashing = _clashing(steps, culprits)
    folds = fold and not verbose
    shown = essential_steps(steps, violation) if violation is not None and folds else None
    for step in steps:
        beside = shown is not None and step.number not in shown
        if folds and step.number not in culprits and (beside or step.changes_nothing):
            folded.append(step)
            continue
        yield from _folded(folded, digits)
        folded = []
        mark = "►" if step.number in culprits else " "
        first, *rest = step_lines(step, verbose=verbose, important=clashing if step.number in culprits else frozenset())
        where = f"  [{step.line}]" if step.line is not None else ""
        yield f"  {mark} {step.number:>{digits}}  {step.actor:<{names}}  {first}{where}"
        for line in rest:
            yield f"  {' ' * (digits + names + 8)}{line}"
    yield from _folded(folded, digits)


def _folded(steps: Sequence[Step], digits: int) -> Iterator[str]:
    if not steps:
        return
    many = sum(step.action == "start" for step in steps)
    others = sum(not step.changes_nothing for step in steps)
    first, last = steps[0].number, steps[-1].number
    span = f"step {first}" if first == last else f"steps {first} to {last}"
    if others:
        what = f"{len(steps)} other step{'s' * (len(steps) != 1)}"
    elif many:
        what = f"{many} no-op reconcile{'s' * (many != 1)}"
    elif any(step.call is not None for step in steps):
        # A trace of a real controller does not say which reconcile a call belongs to.
        what = "the rest of a no-op reconcile" if steps[0].request else "reads and events that change nothing"
    else:
        what = "events that change nothing" if len(steps) > 1 else "an event that changes nothing"
    yield f"    {'·' * digits}  {what} ({span})"


def _clashing(steps: Sequence[Step], culprits: Sequence[int]) -> frozenset[_Field]:
    """Return the fields that several steps at fault write: they are what the violation is about."""
    written = [
        {(write.object, change.path) for write in step.writes for change in write.fields}
        for step in steps
        if step.number in culprits
    ]
    return frozenset(
        (name, path)
        for at, fields in enumerate(written)
        for name, path in fields
        for others in (*written[:at], *written[at + 1 :])
        if any(name == other and overlaps(path, another) for other, another in others)
    )


def step_lines(step: Step, *, verbose: bool = False, important: frozenset[_Field] = frozenset()) -> list[str]:
    """One step: its call, then the fields that it changes, ``important`` ones first, and the events it delivers."""
    lines = [_action(step)]
    for write in step.writes:
        lines += _write_lines(write, several=len(step.writes) > 1, verbose=verbose, important=important)
    if step.call is not None or step.action in ("act", "start"):
        lines += _seen_by_others(step)
    if step.failure:
        lines.append(f"raises {step.failure}")
    return lines


def _seen_by_others(step: Step) -> Iterator[str]:
    """Yield the events that reach caches because they must not lag further behind."""
    caches: dict[str, list[str]] = {}
    for event in step.delivered:
        caches.setdefault(f"{_short(event.object)} at version {event.version}", []).append(event.cache)
    for event_text, names in caches.items():
        yield f"and {' and '.join(names)} {'sees' if len(names) == 1 else 'see'} {event_text}"


def _action(step: Step) -> str:
    if step.call is not None:
        return _call_text(step, step.call)
    if step.delivered and step.action in ("deliver", "relist"):
        events = ", ".join(
            f"{_short(event.object)} " + (f"at version {event.version}" if event.hash else "is deleted")
            for event in step.delivered
        )
        return f"{'lists again and sees' if step.action == 'relist' else 'sees'} {events}"
    text = step.text.removeprefix("the ").removeprefix(step.actor).removeprefix(":").strip()
    return text.partition(", and ")[0] if step.delivered else text


def _call_text(step: Step, call: CallRecord) -> str:
    target = f"{_kind(call.kind)} {_key(call)}" if call.name else f"{_kind(call.kind)} in {call.namespace or 'all'}"
    if call.verb == "create" and step.writes and not call.name:
        target = _short(step.writes[0].object)
    subresource = f"/{call.subresource}" if call.subresource else ""
    late = "late " if step.action == "land" else ""
    form = f" as {call.form}" if call.form else ""
    text = f"{late}{'cached ' if call.cached else ''}{call.verb} {target}{subresource}{form}"
    if step.response is not None and not step.response.startswith("2"):
        return f"{text}: {step.response}{_missed(step.reads)}"
    if call.verb == "get" and step.reads:
        return f"{text}: version {step.reads[0].version}{_missed(step.reads)}"
    if call.verb == "list":
        many = sum(read.version is not None for read in step.reads) + step.reads_omitted
        return f"{text}: {many} object{'s' * (many != 1)}{_missed(step.reads)}"
    write = step.writes[0] if step.writes else None
    if write is None:
        return f"{text}: {'no change' if call.verb != 'get' else step.response}"
    version = f"version {write.version}" if write.after else "gone"
    base = f", from version {write.base}" if write.base is not None and write.before else ""
    return f"{text}: {version}{base}"


def _missed(reads: Sequence[Read]) -> str:
    """Says how stale reads are."""
    stale = [read for read in reads if read.version != read.latest]
    if not stale:
        return ""
    one = stale[0]
    if len(reads) == 1 and one.version is not None and one.latest is not None:
        return f", stale: the server has version {one.latest}"
    if one.latest is None:
        return f", stale: the server has no {_short(one.object)} any more"
    return f", stale: the server has {_short(one.object)} at version {one.latest}"


def _write_lines(write: Write, *, several: bool, verbose: bool, important: frozenset[_Field]) -> Iterator[str]:
    name = _short(write.object) if several else ""
    fields = sorted(write.fields, key=lambda change: (write.object, change.path) not in important)
    if write.before is None:
        if verbose:
            yield from _field_lines(fields, f"{name}: created" if several else "", verbose=True)
            return
        defaults = write.fields[len(write.fields) - write.defaults :]
        left_out = {change.path for change in defaults if (write.object, change.path) not in important}
        shown = [change for change in fields if not change.path.startswith("metadata.") and change.path not in left_out]
        yield from _field_lines(shown, f"{name}: created" if several else "", verbose=False)
        if write.owner:
            yield f"its controller is {write.owner}"
    elif write.after is not None:
        yield from _field_lines(fields, name, verbose=verbose)
    elif several:
        yield f"{name}: deleted"


def _field_lines(fields: Sequence[FieldChange], prefix: str, *, verbose: bool) -> Iterator[str]:
    if prefix:
        yield prefix
    lines = [_field(change) for change in (fields if verbose else joined(fields))]
    many = len(lines) if verbose else _FIELDS
    yield from lines[:many]
    if len(lines) > many:
        left = len(lines) - many
        yield f"… and {left} more field{'s' * (left != 1)}"


def _field(change: FieldChange) -> str:
    """One field: its value before and after, or an element of a list that was added or removed."""
    for one, other, word in ((change.after, change.before, "adds"), (change.before, change.after, "removes")):
        if other is None and list_of(change.path, one):
            return f"{list_of(change.path, one)} {word} {value(one)}"
    before, after = values(*(without_key(change.path, content) for content in (change.before, change.after)))
    return f"{change.path}: {before} → {after}"


# Differences, fixes


def difference_lines(differences: Sequence[Difference], *, verbose: bool = False) -> Iterator[str]:
    """Yield the final state as a diff against the expected one."""
    yield "  The final state (+) against that of the nearest good run (-):"
    lines = list(differences if verbose else joined_differences(differences))
    shown = lines if verbose else lines[:_DIFFERENCES]
    last = ""
    for line in shown:
        if line.object != last:
            yield f"    {line.object}"
            last = line.object
        if not line.path:
            sign, content = ("+", line.got) if line.got is not None else ("-", line.expected)
            yield f"    {sign}   the whole object{f': {value(content)}' if content else ''}"
            continue
        pair = values(*(without_key(line.path, content) for content in (line.expected, line.got)))
        for sign, content, text in (("-", line.expected, pair[0]), ("+", line.got, pair[1])):
            if content is not None:
                yield f"    {sign}   {list_of(line.path, content) or line.path}: {text}"
    left = len(lines) - len(shown)
    if left:
        yield f"    … and {left} more difference{'s' * (left != 1)}"


def _fix(violation: Explanation, width: int) -> str:
    fix = violation.fix
    assert fix is not None
    where = f" at {fix.line}" if fix.line is not None else ""
    lines = [_indented(f"Fix{where}: {fix.text}", width)]
    if fix.diff:
        lines += [_fitted(f"      {line}", width) for line in fix.diff]
    elif fix.line is not None and fix.line.text:
        lines.append(_fitted(f"      {fix.line.text}", width))
    return "\n".join(lines)


def _proposes(fix: Fix | None, verified: VerifiedFix) -> bool:
    """Report whether a fix proposes just what was verified."""
    return fix is not None and fix.diff == tuple(line for hunk in verified.hunks for line in hunk.diff)


def _verified(fix: VerifiedFix, width: int, *, is_shown: bool) -> str:
    """Return the lines of a verified fix; where the fix has shown them, only what verifies them."""
    if is_shown:
        return _indented(f"  {fix.proof}", width)
    lines = [_indented(f"Fix ({fix.proof}):", width)]
    for hunk in fix.hunks:
        lines.append(_fitted(f"    --- {fix.file}:{hunk.line}", width))
        lines += [_fitted(f"      {line}", width) for line in hunk.diff]
    return "\n".join(lines)


def _indented(text: str, width: int) -> str:
    narrow = width < WIDTH
    return "\n".join(
        textwrap.fill(line, width, initial_indent="  ", subsequent_indent="    ", break_long_words=narrow)
        for line in text.splitlines()
    )


# Words


def value(content: Any) -> str:
    """Return a value in one line, cut where it is long.

    >>> value(None), value("a"), value({"a": [1]})
    ('absent', '"a"', '{"a":[1]}')
    """
    if content is None:
        return "absent"
    text = compact(content).decode()
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def values(one: Any, other: Any) -> tuple[str, str]:
    """Two values in one line each; long ones are cut so that the first difference between them can be seen.

    >>> values("a" * 100 + "1", "a" * 100 + "2")
    ('…aaaaaaaaaaaaaaaaaaaa1"', '…aaaaaaaaaaaaaaaaaaaa2"')
    >>> values(None, "b")
    ('absent', '"b"')
    """
    texts = [compact(content).decode() for content in (one, other)]
    common = next((at for at, (left, right) in enumerate(zip(*texts, strict=False)) if left != right), 0)
    if one is None or other is None or common < _LONGEST - 10:
        return value(one), value(other)
    start = common - 20
    shown = [f"…{text[start:]}" for text in texts]
    first, second = (text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…" for text in shown)
    return first, second


def _short(name: str) -> str:
    kind, _, key = name.partition(" ")
    return f"{_kind(kind)} {key}"


def _kind(kind: str) -> str:
    return kind.partition("/")[0].partition(".")[0]


def _key(call: CallRecord) -> str:
    return f"{call.namespace}/{call.name}" if call.namespace else call.name
