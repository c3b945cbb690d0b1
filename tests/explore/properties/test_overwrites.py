"""Fields of an object that two clients changed, from three versions."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kontend.explore.properties.overwrites import changed, overwritten, path_text

SCALARS = st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from(["a", "b"])
NAMES = st.sampled_from(["metadata", "name", "type", "x"])
JSON = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3))
OBJECTS = st.dictionaries(NAMES, JSON, max_size=3)


def _paths(read: Any, old: Any, new: Any) -> list[str]:
    return [path_text(overwrite.path) + " vanished" * overwrite.vanished for overwrite in overwritten(read, old, new)]


@given(OBJECTS, OBJECTS)
def test_a_change_by_one_side_overwrites_nothing(one: dict[str, Any], two: dict[str, Any]) -> None:
    assert _paths(one, one, two) == []
    assert _paths(one, two, two) == []


@given(OBJECTS, OBJECTS)
def test_writing_back_the_version_that_was_read_overwrites_exactly_what_had_changed(
    one: dict[str, Any], two: dict[str, Any]
) -> None:
    assert bool(_paths(one, two, one)) == bool(list(changed(one, two)))


@given(OBJECTS, OBJECTS, OBJECTS)
def test_only_fields_that_the_write_changed_are_overwritten(
    read: dict[str, Any], old: dict[str, Any], new: dict[str, Any]
) -> None:
    written = list(changed(old, new))
    for overwrite in overwritten(read, old, new):
        assert any(
            overwrite.path[: len(path)] == path or path[: len(overwrite.path)] == overwrite.path for path in written
        )


READY = {"type": "Ready", "status": "True"}
NOT_READY = {"type": "Ready", "status": "False"}
SYNCED = {"type": "Synced", "status": "True"}


@pytest.mark.parametrize(
    ("read", "old", "new", "paths"),
    [
        # maps: field by field, also when the map itself is new
        ({}, {"s": {"a": 1}}, {"s": {"a": 1, "b": 1}}, []),
        ({}, {"s": {"a": 1}}, {"s": {"b": 1}}, [".s.a"]),
        ({}, {"s": {"a": 1}}, {}, [".s.a"]),
        ({}, {"s": {}}, {}, [".s"]),
        ({"s": {"a": 1}}, {"s": {}}, {"s": {"b": 1}}, []),
        ({"s": {"a": 1}}, {}, {"s": {"a": 1, "b": 1}}, [".s"]),
        ({"s": 1}, {"s": {"a": 1}}, {"s": 2}, [".s"]),
        ({"metadata": {"generation": 1}}, {"metadata": {"generation": 2}}, {"metadata": {"generation": 3}}, []),
        # lists whose elements have names
        ({}, {"c": [READY]}, {"c": [READY, SYNCED]}, []),
        ({}, {"c": [READY]}, {"c": [SYNCED]}, [".c[type=Ready] vanished"]),
        ({}, {"c": [READY]}, {}, [".c[type=Ready] vanished"]),
        ({"c": [SYNCED]}, {"c": [SYNCED, READY]}, {"c": []}, [".c[type=Ready] vanished"]),
        ({"c": [READY]}, {"c": [NOT_READY]}, {"c": [READY, SYNCED]}, [".c[type=Ready].status"]),
        ({"c": [READY]}, {"c": [NOT_READY]}, {"c": []}, [".c[type=Ready].status"]),
        ({"c": [READY]}, {"c": []}, {"c": [NOT_READY]}, [".c[type=Ready]"]),
        ({"c": []}, {"c": [READY]}, {"c": [NOT_READY]}, [".c[type=Ready].status"]),
        ({"c": [READY]}, {"c": [READY, SYNCED]}, {"c": [SYNCED, READY]}, []),
        ({"f": ["a"]}, {"f": ["a", "b"]}, {"f": ["a", "c"]}, ['.f["b"] vanished']),
        ({"f": ["a", "b"]}, {"f": ["a"]}, {"f": ["a", "b", "c"]}, ['.f["b"]']),
        # the first key that tells all elements of all three apart
        (
            {"o": [{"name": "n", "uid": "1"}]},
            {"o": [{"name": "n", "uid": "1"}, {"name": "n", "uid": "2"}]},
            {"o": [{"name": "n", "uid": "1"}]},
            [".o[uid=2] vanished"],
        ),
        (
            {"o": []},
            {"o": [{"name": "n", "uid": "1"}]},
            {"o": [{"name": "n", "uid": "2"}]},
            [".o[uid=1] vanished"],
        ),
        ({"e": []}, {"e": [{"name": "A", "value": 1}]}, {"e": [{"name": "B", "value": 1}]}, [".e[name=A] vanished"]),
        ({"t": []}, {"t": [{"key": "k", "op": "Exists"}]}, {"t": []}, [".t[key=k] vanished"]),
        # other lists count as a whole
        ({"l": []}, {"l": [{"x": 1}]}, {"l": []}, [".l"]),
        ({"l": []}, {"l": ["a", "a"]}, {"l": ["b"]}, [".l"]),
        ({"l": []}, {"l": [READY, READY]}, {"l": [SYNCED]}, [".l"]),
        ({"l": []}, {"l": [[1]]}, {"l": [[2]]}, [".l"]),
    ],
)
def test_a_field_is_overwritten_when_two_changed_it(read: Any, old: Any, new: Any, paths: list[str]) -> None:
    assert _paths(read, old, new) == paths


def test_an_overwrite_that_puts_back_a_removed_value_is_marked() -> None:
    (back,) = overwritten({"f": ["a"]}, {"f": []}, {"f": ["a", "b"]})
    (again,) = overwritten({"x": 1}, {"x": 2}, {"x": 3})
    assert (back.removed, again.removed) == (True, False)


@pytest.mark.parametrize(
    ("old", "new", "paths"),
    [
        ({"s": {"a": 1}}, {"s": {"a": 1, "b": 2}}, [".s.b"]),
        ({"s": {"a": 1, "b": 2}}, {"s": {"a": 1}}, [".s.b"]),
        ({"c": [READY]}, {"c": [READY, SYNCED]}, [".c[type=Synced]"]),
        ({"c": [READY]}, {"c": [NOT_READY]}, [".c[type=Ready].status"]),
    ],
)
def test_changes_are_listed_by_the_smallest_field_that_differs(old: Any, new: Any, paths: list[str]) -> None:
    assert [path_text(path) for path in changed(old, new)] == paths
