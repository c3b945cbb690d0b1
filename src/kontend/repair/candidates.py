"""Candidates for the repair of a violation: changes at the places of its trace, the likeliest and smallest first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Final

from kontend.explanation.change import Change
from kontend.explanation.edits import Edit, Overlapping, applied, changed_lines
from kontend.explanation.go.changes import changes_of as go_changes_of
from kontend.explanation.go.source import GoSource
from kontend.explanation.python.changes import changes_of
from kontend.explanation.python.source import Source
from kontend.explanation.remedies import Remedy
from kontend.repair.trial import Violated, is_go
from kontend.report.document import Hunk
from kontend.runtime.user_sources import UserSource

#: Single changes that are combined in pairs.
_PAIRED: Final = 14
#: Remedies of a cause, and the changes that carry them out under another name.
_MEANT: Final[Mapping[Remedy, tuple[Remedy, ...]]] = {
    Remedy.KEEP_LOCK: (Remedy.LOCK_PATCH,),
    Remedy.DELETE_WITH_UID: (Remedy.READ_BEFORE_DELETE,),
    Remedy.COMPARE_OWNER: (Remedy.DELETE_WITH_UID, Remedy.READ_LIVE),
    Remedy.READ_BEFORE_WRITE: (Remedy.READ_LIVE,),
    Remedy.READ_OWN_WRITES: (Remedy.READ_LIVE, Remedy.DERIVE_NAME),
    Remedy.READ_BEFORE_DELETE: (Remedy.READ_LIVE,),
    Remedy.MAKE_REPEATABLE: (Remedy.DERIVE_NAME, Remedy.RECORD_FIRST, Remedy.END_AFTER_WRITE),
    Remedy.DERIVE_NAME: (Remedy.READ_LIVE,),
    Remedy.RECOMPUTE_AFTER_CONFLICT: (Remedy.END_ON_CONFLICT, Remedy.END_ON_ERROR),
    Remedy.END_ON_CONFLICT: (Remedy.END_ON_ERROR,),
    Remedy.END_ON_ERROR_OR_JOIN: (Remedy.END_ON_ERROR, Remedy.END_ON_CONFLICT, Remedy.RECORD_FIRST),
    Remedy.TREAT_AS_FOUND: (Remedy.END_ON_ERROR, Remedy.MAKE_REPEATABLE),
    Remedy.HANDLE_ERROR: (Remedy.HANDLE_ABSENCE,),
    Remedy.JOIN_WRITES: (Remedy.RECORD_FIRST,),
    Remedy.LOOK_AT_RESULT: (Remedy.RECORD_FIRST, Remedy.DO_ALWAYS, Remedy.JOIN_WRITES, Remedy.READ_LIVE),
    Remedy.ONE_WRITER: (Remedy.APPLY_OWN_FIELDS, Remedy.COMPARE_BEFORE_WRITE, Remedy.JOIN_WRITES),
    Remedy.IGNORE_TIME: (Remedy.COMPARE_BEFORE_WRITE,),
    Remedy.COMPUTE_FROM_WANTED: (Remedy.JOIN_WRITES, Remedy.COMPARE_BEFORE_WRITE),
    Remedy.BASE_ON_RETURNED: (Remedy.JOIN_WRITES,),
    Remedy.REPEATABLE_VALUE: (Remedy.JOIN_WRITES, Remedy.RECORD_FIRST),
    Remedy.REPORT_WHEN_DONE: (Remedy.COMPARE_GENERATION, Remedy.END_AFTER_WRITE),
    Remedy.RECORD_FIRST: (Remedy.END_AFTER_WRITE,),
    Remedy.CHECK_PREDICATE: (Remedy.WATCH_KIND, Remedy.RUN_AGAIN),
    Remedy.NOTICE_THE_REST: (Remedy.RUN_AGAIN,),
}


#: Causes in which something is made a second time, and the changes that find the first together.
_MADE_TWICE: Final = frozenset({Remedy.MAKE_REPEATABLE, Remedy.DERIVE_NAME})
_ADOPTED: Final = (Remedy.DERIVE_NAME, Remedy.MAKE_REPEATABLE)


@dataclass(frozen=True)
class Candidate:
    """One or more changes of one file."""

    source: UserSource
    changes: tuple[Change, ...]

    @cached_property
    def edits(self) -> tuple[Edit, ...]:
        """The edits of all changes, in the order of the file."""
        return tuple(sorted({edit for change in self.changes for edit in change.edits}))

    @cached_property
    def text(self) -> str:
        """The changed file."""
        return applied(self.source.text.encode(), self.edits).decode()

    @property
    def changed(self) -> UserSource:
        """The changed file, to be imported in place of the other."""
        return self.source._replace(text=self.text)

    @property
    def lines(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The lines before and after."""
        return changed_lines(self.source.text.encode(), self.edits)

    @property
    def hunks(self) -> tuple[Hunk, ...]:
        """The lines that change, group by group."""
        before, after = self.source.text.splitlines(), self.text.splitlines()
        return tuple(
            Hunk(start + 1, tuple(before[start:end]), tuple(after[new_start:new_end]))
            for tag, start, end, new_start, new_end in SequenceMatcher(None, before, after, False).get_opcodes()
            if tag != "equal"
        )

    @property
    def line(self) -> int:
        """The first line that changes."""
        return min(change.line for change in self.changes)

    @property
    def remedies(self) -> tuple[Remedy, ...]:
        """The remedies, in the order of their changes."""
        return tuple(dict.fromkeys(change.remedy for change in self.changes))

    def is_valid(self) -> bool:
        """It is code still, and differs from what was there."""
        try:
            if is_go(self.source):
                GoSource(self.text)
            else:
                compile(self.text, self.source.file, "exec", dont_inherit=True)
        except (SyntaxError, ValueError, Overlapping):
            return False
        return self.text != self.source.text


def candidates_of(violated: Violated, sources: Sequence[UserSource], root: Path) -> list[Candidate]:
    """Single changes for a violation, the likeliest first. Files outside of the project are left alone."""
    found: list[tuple[tuple[int, ...], Candidate]] = []
    for source in sources:
        file = Path(source.file) if source.file else None
        lines = frozenset(line for name, line in violated.lines if name == source.file)
        place = violated.place[1] if violated.place is not None and violated.place[0] == source.file else 0
        if file is None or not file.is_relative_to(root) or not (lines or place or is_go(source)):
            continue
        culprits = {line for name, line in violated.culprits if name == source.file}
        for change in _changes(source, lines | ({place} if place else frozenset())):
            candidate = Candidate(source, (change,))
            if candidate.is_valid():
                found.append((_rank(change, violated.remedy, place, culprits, lines), candidate))
    found.sort(key=lambda pair: pair[0])
    singles = [candidate for _, candidate in found]
    return [*_adoptions(singles), *singles] if violated.remedy in _MADE_TWICE else singles


def _changes(source: UserSource, lines: frozenset[int]) -> list[Change]:
    try:
        return go_changes_of(GoSource(source.text), lines) if is_go(source) else changes_of(Source(source.text), lines)
    except SyntaxError:
        return []


def _adoptions(singles: Sequence[Candidate]) -> Iterator[Candidate]:
    """A name that is derived, and an apply that finds the object under it: neither helps without the other."""
    named, applied_ = ([each for each in singles if each.remedies == (remedy,)] for remedy in _ADOPTED)
    for one in named[:1]:
        for other in applied_[:1]:
            pair = Candidate(one.source, (*one.changes, *other.changes))
            if other.source == one.source and pair.is_valid():
                yield pair


def _rank(change: Change, remedy: str, place: int, culprits: set[int], lines: frozenset[int]) -> tuple[int, ...]:
    """Put first the remedy that the cause calls for, then places near it, then small changes."""
    meant = (remedy, *_MEANT.get(Remedy(remedy), ())) if remedy else ()
    wanted = meant.index(change.remedy) if change.remedy in meant else len(meant) + 1
    near = 0 if change.line == place else 1 if change.line in culprits else 2 if change.line in lines else 3
    is_last = change.remedy in (Remedy.RUN_AGAIN, Remedy.HANDLE_ABSENCE, Remedy.READ_WITH_DEFAULT)
    return (int(is_last and change.remedy not in meant), wanted, near, change.size, change.line)


def pairs_of(candidates: Sequence[Candidate], helpful: Sequence[Candidate]) -> Iterator[Candidate]:
    """Pairs of changes of one file: first with those that have changed what goes wrong."""
    tried: set[tuple[Edit, ...]] = set()
    first = [(one, other) for one in helpful for other in candidates if other is not one]
    for one, other in (*first, *combinations(candidates[:_PAIRED], 2)):
        if one.source.file != other.source.file:
            continue
        pair = Candidate(one.source, (*one.changes, *other.changes))
        if pair.edits in tried or pair.edits in (one.edits, other.edits):
            continue
        tried.add(pair.edits)
        try:
            if pair.is_valid():
                yield pair
        except Overlapping:
            continue
