"""Final states compared: the fields in which two of them differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import orjson

from kontend.explore.properties.overwrites import Path, changed, path_text
from kontend.live.properties.masking import Objects


class Difference(NamedTuple):
    """One field in which two final states differ; None is nothing."""

    object: str
    path: str
    got: Any
    expected: Any

    @property
    def place(self) -> tuple[str, str]:
        """The object, without the number of its equals, and the path."""
        return self.object.partition(" (")[0], self.path

    def __str__(self) -> str:
        place = f"{self.object} {self.path}".rstrip()
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


def unstable_fields(finals: Sequence[Objects]) -> frozenset[tuple[str, str]]:
    """Return the fields in which any two of some comparable states differ, as object and path."""
    pairs = combinations(finals, 2)
    return frozenset(each.place for one, other in pairs if one != other for each in differences(one, other))


def _differences(got: Objects, expected: Objects) -> Iterator[Difference]:
    for key in sorted({*got, *expected}):
        title = f"{key[0]} {key[1]}"
        mine, theirs = apart(got.get(key, []), expected.get(key, []))
        for left, right in zip(mine, theirs, strict=False):
            for path in changed(right, left):
                yield Difference(title, path_text(path), value_at(left, path), value_at(right, path))
        many = f" ({len(got.get(key, []))} of them)" if len(got.get(key, [])) > 1 else ""
        for left in mine[len(theirs) :]:
            yield Difference(title + many, "", left, None)
        for right in theirs[len(mine) :]:
            yield Difference(title, "", None, right)


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
