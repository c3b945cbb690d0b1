"""The trace document: one violation with its steps and objects, as data.

A document is self-contained. Steps name objects as ``ConfigMap/v1 default/c`` and versions of objects by a hash of
their content; ``objects`` has the content. Paths of source files are relative to the project's root. A value of None in
a field change stands for a field that is absent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import orjson
import xxhash

from kontend.report.decoding import BadDocument, decode, encode

#: The version of the format. A reader refuses documents of another one.
FORMAT: Final = 2


@dataclass(frozen=True, slots=True)
class Line:
    """A line of source code."""

    file: str
    line: int
    text: str = ""
    function: str = ""

    def __str__(self) -> str:
        """Return ``file:line``."""
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class Source:
    """The scenario in which the violation was found."""

    #: The Python file, relative to the project's root; empty for a scenario that is in no file.
    file: str
    scenario: str
    #: sha256 of the file.
    digest: str = ""
    #: Definitions, objects and actions (``crds``, ``objects``, ``actions``) that were given beside the file.
    inputs: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FieldChange:
    """A field that a write changed."""

    path: str
    before: Any = None
    after: Any = None


@dataclass(frozen=True, slots=True)
class Difference:
    """A field of a final state that is not as it should be."""

    object: str
    #: Empty for an object that exists in only one of the two states.
    path: str
    got: Any = None
    expected: Any = None


@dataclass(frozen=True, slots=True)
class Fix:
    """A change of the code that prevents the violation, and the line where it belongs."""

    text: str
    line: Line | None = None
    #: The kind of the change, such as "lock-patch".
    remedy: str = ""
    #: The lines that it takes away and puts in their place; empty where only the sentence is known.
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()

    @property
    def diff(self) -> tuple[str, ...]:
        """The lines with − and + before them, as far to the left as they go together.

        >>> Fix("lock it", before=("    patch(base)",), after=("    patch(base, lock=True)",)).diff
        ('- patch(base)', '+ patch(base, lock=True)')
        """
        return _marked(self.before, self.after)


def _marked(before: tuple[str, ...], after: tuple[str, ...]) -> tuple[str, ...]:
    """Return lines with − and + before them, as far to the left as they go together."""
    indent = min((len(line) - len(line.lstrip()) for line in (*before, *after) if line.strip()), default=0)
    removed = (f"- {line[indent:]}".rstrip() for line in before)
    return (*removed, *(f"+ {line[indent:]}".rstrip() for line in after))


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines of a file that a change takes away, and those that it puts in their place."""

    line: int
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()

    @property
    def diff(self) -> tuple[str, ...]:
        """The lines with − and + before them, as far to the left as they go together."""
        return _marked(self.before, self.after)


@dataclass(frozen=True, slots=True)
class VerifiedFix:
    """A change of one file that was explored with the same bounds, and repairs the violation."""

    #: Relative to the project's root, as in :class:`Line`.
    file: str
    #: The extent of the proof, such as "verified: holds in all 37 states, same bounds".
    proof: str
    hunks: tuple[Hunk, ...] = ()


@dataclass(frozen=True, slots=True)
class Cycle:
    """Steps that repeat forever, and what is written in them."""

    first: int
    last: int
    writes: tuple[FieldChange, ...] = ()


@dataclass(frozen=True, slots=True)
class Explanation:
    """The violation and its cause."""

    property: str
    #: The cause, in one sentence.
    sentence: str
    #: The numbers of the steps at fault: usually the two writes that clash.
    culprits: tuple[int, ...] = ()
    fix: Fix | None = None
    #: Describes each perturbation, such as "stale read in step 5".
    perturbations: tuple[str, ...] = ()
    #: The final state against that of the nearest good run.
    difference: tuple[Difference, ...] = ()
    cycle: Cycle | None = None
    traceback: str | None = None
    #: Other properties that the same cause violates.
    also: tuple[str, ...] = ()
    #: The number of times that the search met this violation.
    count: int = 1
    #: The reason why the trace is as short as it is: shortest, shrunk or given.
    how: str = ""
    verified: VerifiedFix | None = None


@dataclass(frozen=True, slots=True)
class Actor:
    """An instance, a user or the server, as the one who takes steps."""

    name: str
    #: instance, user or server
    type: str


@dataclass(frozen=True, slots=True)
class CallRecord:
    """A request to the API."""

    verb: str
    kind: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    cached: bool = False
    #: The representation that a cached read asks for, where the cache has a view for each.
    form: str = ""


@dataclass(frozen=True, slots=True)
class Read:
    """A version of an object that a call returned."""

    object: str
    #: None for an object that was not found.
    version: int | None
    #: The version that the server had then; None if it had none.
    latest: int | None
    hash: str | None = None


@dataclass(frozen=True, slots=True)
class Write:
    """A change of an object."""

    object: str
    #: The resourceVersion of the write.
    version: int
    #: Hashes of the object before and after; None where there was none.
    before: str | None
    after: str | None
    fields: tuple[FieldChange, ...] = ()
    #: The newest version of the object that the writer had read, and the step in which it had; None if it had not.
    base: int | None = None
    base_step: int | None = None
    #: Of a new object: its controller, such as ``Website example``, and the number of fields that the request did not
    #: have. These are the last of ``fields``.
    owner: str = ""
    defaults: int = 0


@dataclass(frozen=True, slots=True)
class Delivered:
    """An event that reached a cache."""

    #: The instance whose cache it is.
    cache: str
    object: str
    version: int
    #: None where the event says that the object was deleted.
    hash: str | None


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a trace."""

    number: int
    actor: str
    action: str
    text: str
    call: CallRecord | None = None
    #: The status of the response, such as "200" or "409 Conflict"; None where there is no call.
    response: str | None = None
    reads: tuple[Read, ...] = ()
    #: The number of objects of a long list that are left out of ``reads``.
    reads_omitted: int = 0
    writes: tuple[Write, ...] = ()
    delivered: tuple[Delivered, ...] = ()
    line: Line | None = None
    #: The request whose reconcile the step belongs to, such as "default/w"; empty for other steps.
    request: str = ""
    #: Belongs to a reconcile that writes nothing, or has no effect by itself: such steps are folded.
    changes_nothing: bool = False
    #: The number of perturbations in this step.
    cost: int = 0
    #: Type and message of the exception with which a reconcile ended in this step.
    failure: str | None = None
    #: Seconds since the start, in virtual or in recorded time; None where the steps only have an order.
    time: float | None = None


@dataclass(frozen=True, slots=True)
class FinalState:
    """A final state, up to made-up names."""

    #: The number of quiescent states of the search that end in it.
    count: int
    unperturbed: bool
    #: Differences from the first unperturbed one.
    difference: tuple[Difference, ...] = ()


@dataclass(frozen=True, slots=True)
class Exploration:
    """The search in which the violation was found."""

    states: int
    steps: int
    exhausted: bool
    stopped: str = ""
    #: None where it is left out, so that the same search always gives the same document.
    seconds: float | None = None
    coverage: str = ""
    final_states: tuple[FinalState, ...] = ()
    #: The number of states at depth 0, 1, …
    depths: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Document:
    """One violation: what it is, how it happens, and how to make it happen again."""

    source: Source
    violation: Explanation
    steps: tuple[Step, ...]
    #: The steps to replay, as the explorer writes them.
    schedule: tuple[Any, ...] = ()
    actors: tuple[Actor, ...] = ()
    objects: Mapping[str, Any] = field(default_factory=dict)
    #: The objects before the first step: hashes by name.
    initial: Mapping[str, str] = field(default_factory=dict)
    #: The steps of the nearest good run; None where none is known.
    baseline: tuple[Step, ...] | None = None
    bounds: Mapping[str, Any] = field(default_factory=dict)
    #: The guards that are on.
    guards: tuple[str, ...] = ()
    #: Lines of source code around those that the steps name: by file, then by number.
    sources: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    exploration: Exploration | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    #: Reproduces the violation in a test; empty where that is not possible.
    token: str = ""
    format: int = FORMAT

    @property
    def perturbations(self) -> int:
        """The number of perturbations, as bounds count them: a crash with a restart onto old lists is two.

        The steps of a recorded run have no number; its perturbations are described one by one.
        """
        return max(len(self.violation.perturbations), sum(step.cost for step in self.steps))

    def to_json(self) -> dict[str, Any]:
        """Return this document as JSON."""
        document: dict[str, Any] = encode(self)
        return document

    def dump(self) -> bytes:
        """Return this document as bytes; equal documents have equal bytes."""
        return orjson.dumps(self.to_json(), option=orjson.OPT_SORT_KEYS | orjson.OPT_INDENT_2)

    @classmethod
    def from_json(cls, value: Any) -> Document:
        """Return a document from JSON. Raises :class:`~kontend.report.decoding.BadDocument`."""
        if isinstance(value, Mapping) and value.get("format") != FORMAT:
            actual = value.get("format")
            raise BadDocument(f"format: expected {FORMAT}, found {actual!r}: written by another version of kontend")
        document = decode(cls, value)
        document._check()
        return document

    @classmethod
    def load(cls, data: bytes) -> Document:
        """Return a document from bytes. Raises :class:`~kontend.report.decoding.BadDocument`."""
        try:
            return cls.from_json(orjson.loads(data))
        except orjson.JSONDecodeError as error:
            raise BadDocument(f"not JSON: {error}") from None

    def _check(self) -> None:
        """Refuse numbers and hashes that lead nowhere."""
        numbers = {step.number for step in self.steps}
        if len(numbers) != len(self.steps):
            raise BadDocument("steps: two of them have the same number")
        cycle = self.violation.cycle
        for number in (*self.violation.culprits, *((cycle.first, cycle.last) if cycle else ())):
            if number not in numbers:
                raise BadDocument(f"violation: there is no step {number}")
        for name, at in self.initial.items():
            self._check_hash(at, f"initial.{name}")
        for step in (*self.steps, *(self.baseline or ())):
            for read in step.reads:
                self._check_hash(read.hash, f"step {step.number}: {read.object}")
            for write in step.writes:
                self._check_hash(write.before, f"step {step.number}: {write.object}")
                self._check_hash(write.after, f"step {step.number}: {write.object}")
            for event in step.delivered:
                self._check_hash(event.hash, f"step {step.number}: {event.object}")

    def _check_hash(self, at: str | None, where: str) -> None:
        if at is not None and at not in self.objects:
            raise BadDocument(f"{where}: objects has no {at}")


def hash_of(obj: Mapping[str, Any]) -> str:
    """Return the hash under which a document keeps an object.

    >>> hash_of({"kind": "ConfigMap", "data": {}}) == hash_of({"data": {}, "kind": "ConfigMap"})
    True
    """
    return xxhash.xxh3_64_hexdigest(orjson.dumps(obj, option=orjson.OPT_SORT_KEYS))
