"""Final states compared: the fields in which two of them differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import orjson

from kontend.explore.properties.overwrites import Path, changed, path_text
from kontend.live.properties.masking import Objects


class Place(NamedTuple):
    """A field of an object, by the object's title; without a path, the object itself."""

    title: str
    path: Path = ()

    def __str__(self) -> str:
        return f"{self.title} {path_text(self.path)}".rstrip()

    def is_beside(self, other: Place) -> bool:
        """Return whether one of two places is part of the other.

        >>> whole, part = Place("pods a", ("status",)), Place("pods a", ("status", "phase"))
        >>> whole.is_beside(part), part.is_beside(whole), part.is_beside(Place("pods a", ("spec",)))
        (True, True, False)
        """
        common = min(len(self.path), len(other.path))
        return self.title == other.title and self.path[:common] == other.path[:common]


class Difference(NamedTuple):
    """One field in which two final states differ; None is nothing."""

    place: Place
    got: Any
    expected: Any
    #: The number of objects with the same title.
    of: int = 1

    def __str__(self) -> str:
        many = f" ({self.of} of them)" if self.of > 1 else ""
        place = f"{self.place}{many}"
        if self.expected is None:
            return f"{place}: {short(self.got)}, which no unperturbed run has"
        if self.got is None:
            return f"{place}: missing; expected {short(self.expected)}"
        return f"{place}: {short(self.got)} instead of {short(self.expected)}"


def differences(got: Objects, expected: Objects) -> list[Difference]:
    """Return the fields in which two comparable states differ."""
    return list(_differences(got, expected))


def same(one: Objects, other: Objects) -> bool:
    """Return whether two comparable states agree; the order of named elements in a list does not count."""
    return one == other or not differences(one, other)


def unstable_fields(finals: Sequence[Objects]) -> frozenset[Place]:
    """Return the fields in which any two of some comparable states differ."""
    pairs = combinations(finals, 2)
    return frozenset(each.place for one, other in pairs if one != other for each in differences(one, other))


def _differences(got: Objects, expected: Objects) -> Iterator[Difference]:
    for key in sorted({*got, *expected}):
        title = f"{key[0]} {key[1]}"
        mine, theirs = apart(got.get(key, []), expected.get(key, []))
        if len(mine) > len(theirs) and key in expected.derived:
            mine, theirs = _with(expected.derived[key], mine, theirs)
        elif len(theirs) > len(mine) and key in got.derived:
            theirs, mine = _with(got.derived[key], theirs, mine)
        for left, right in zip(mine, theirs, strict=False):
            for path in changed(right, left):
                yield Difference(Place(title, path), value_at(left, path), value_at(right, path))
        for left in mine[len(theirs) :]:
            yield Difference(Place(title), left, None, len(got.get(key, [])))
        for right in theirs[len(mine) :]:
            yield Difference(Place(title), None, right)


def _with(derived: list[dict[str, Any]], more: list[Any], fewer: list[Any]) -> tuple[list[Any], list[Any]]:
    """Return two lists, the shorter one with derived objects in the place of those that it lacks."""
    more, left = apart(more, derived)
    return more, fewer + left[: max(0, len(more) - len(fewer))]


def apart(mine: list[dict[str, Any]], theirs: list[dict[str, Any]]) -> tuple[list[Any], list[Any]]:
    """Drop what two lists have in common."""
    rest = list(theirs)
    left = []
    for obj in mine:
        if obj in rest:
            rest.remove(obj)
        else:
            left.append(obj)
    return left, rest


def value_at(obj: Any, path: Path) -> Any:
    """Return the field at a path; None where there is none."""
    for step in path:
        if isinstance(obj, dict):
            obj = obj.get(str(step))
        elif isinstance(obj, list) and not isinstance(step, str):
            obj = next((item for item in obj if step.value == (item.get(step.key) if step.key else item)), None)
        else:
            return None
    return obj


def short(value: Any) -> str:
    """Return a value as JSON, cut off where it is long."""
    text = orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
    return text if len(text) <= 120 else text[:117] + "..."
