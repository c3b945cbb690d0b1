"""Edits of source files by byte ranges: whatever they do not touch stays as it is, comments and formatting included."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


class Overlapping(ValueError):
    """Two edits change the same bytes."""


@dataclass(frozen=True, slots=True, order=True)
class Edit:
    """Bytes of a file that are replaced by a text; none for an insertion."""

    start: int
    end: int
    text: str


def applied(source: bytes, edits: Iterable[Edit]) -> bytes:
    """Return a file after edits; equal edits count once. Raises :class:`Overlapping`.

    >>> applied(b"a b c", [Edit(2, 3, "B"), Edit(2, 3, "B"), Edit(5, 5, "!")])
    b'a B c!'
    """
    done, at = [], 0
    for edit in sorted(set(edits)):
        if edit.start < at:
            raise Overlapping(f"two edits change the bytes from {edit.start} on")
        done += [source[at : edit.start], edit.text.encode()]
        at = edit.end
    return b"".join([*done, source[at:]])


def changed_lines(source: bytes, edits: Iterable[Edit]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the lines that edits take away, and those that come in their place.

    >>> changed_lines(b"a = 1\\nb = 2\\n", [Edit(10, 11, "3")])
    (('b = 2',), ('b = 3',))
    """
    chosen = sorted(set(edits))
    if not chosen:
        return (), ()
    before: list[str] = []
    after: list[str] = []
    for group in _by_line(source, chosen):
        first = source.rfind(b"\n", 0, group[0].start) + 1
        end = source.find(b"\n", group[-1].end)
        last = len(source) if end < 0 else end
        moved = [Edit(edit.start - first, edit.end - first, edit.text) for edit in group]
        old = source[first:last]
        old_lines, new_lines = old.decode().split("\n"), applied(old, moved).decode().split("\n")
        while old_lines and new_lines and old_lines[0] == new_lines[0]:
            old_lines, new_lines = old_lines[1:], new_lines[1:]
        while old_lines and new_lines and old_lines[-1] == new_lines[-1]:
            old_lines, new_lines = old_lines[:-1], new_lines[:-1]
        before += old_lines
        after += new_lines
    return tuple(before), tuple(after)


def _by_line(source: bytes, edits: list[Edit]) -> list[list[Edit]]:
    """Edits of the same lines together."""
    groups: list[list[Edit]] = []
    for edit in edits:
        if groups and b"\n" not in source[groups[-1][-1].end : edit.start]:
            groups[-1].append(edit)
        else:
            groups.append([edit])
    return groups
