"""Three versions of an object, and what was changed twice on the way."""

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


def _told(read: Any, old: Any, new: Any) -> list[str]:
    return [path_text(each.path) + " vanished" * each.vanished for each in overwritten(read, old, new)]


@given(OBJECTS, OBJECTS)
def test_what_only_one_side_changed_is_nobodys_loss(one: dict[str, Any], two: dict[str, Any]) -> None:
    assert _told(one, one, two) == []
    assert _told(one, two, two) == []


@given(OBJECTS, OBJECTS)
def test_writing_back_what_was_read_overwrites_something_exactly_if_something_had_changed(
    one: dict[str, Any], two: dict[str, Any]
) -> None:
    assert bool(_told(one, two, one)) == bool(list(changed(one, two)))


@given(OBJECTS, OBJECTS, OBJECTS)
def test_only_what_the_write_changed_can_be_overwritten(
    read: dict[str, Any], old: dict[str, Any], new: dict[str, Any]
) -> None:
    written = list(changed(old, new))
    for each in overwritten(read, old, new):
        assert any(each.path[: len(path)] == path or path[: len(each.path)] == each.path for path in written)


READY = {"type": "Ready", "status": "True"}
NOT_READY = {"type": "Ready", "status": "False"}
SYNCED = {"type": "Synced", "status": "True"}


@pytest.mark.parametrize(
    ("read", "old", "new", "told"),
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
def test_a_field_is_overwritten_when_two_changed_it(read: Any, old: Any, new: Any, told: list[str]) -> None:
    assert _told(read, old, new) == told


def test_an_overwrite_says_whether_it_put_back_what_had_been_removed() -> None:
    (back,) = overwritten({"f": ["a"]}, {"f": []}, {"f": ["a", "b"]})
    (again,) = overwritten({"x": 1}, {"x": 2}, {"x": 3})
    assert (back.removed, again.removed) == (True, False)
