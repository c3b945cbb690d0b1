"""Declared memory must be plain JSON, and is a part of every state."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, ClassVar

import pytest

from explore.program.writers import explored
from explore.widgets import KIND
from kontend.explore.program.memory import read_memory, restore_memory
from kontend.runtime.client.api import Api
from kontend.runtime.controller import BadController, Controller, Request


class Colour(enum.StrEnum):
    """An enum that is a text, which JSON would swallow."""

    RED = "red"


class Size(enum.IntEnum):
    """An enum that is a number."""

    BIG = 3


@dataclass
class Plan:
    """A dataclass, which orjson would convert."""

    id: str


class Remembers(Controller):
    """Keeps one value."""

    kind = KIND
    name = "remembers"
    memory: ClassVar[tuple[str, ...]] = ("kept",)
    kept: Any = None

    def __init__(self, value: Any, later: Any = None) -> None:
        self.kept = value
        self.later = later

    async def reconcile(self, request: Request, api: Api) -> None:
        """Read, and remember another value."""
        await api.get(self.kind, request)
        if self.later is not None:
            self.kept = self.later


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (frozenset(), "self.kept is a frozenset"),
        ({"a"}, "self.kept is a set"),
        ((1, 2), "self.kept is a tuple"),
        ([(1, 2)], "self.kept[0] is a tuple"),
        ({"a": {"b": (1,)}}, "self.kept['a']['b'] is a tuple"),
        (Plan("p"), "self.kept is a Plan"),
        (datetime(2026, 1, 1, tzinfo=UTC), "self.kept is a datetime"),
        (Colour.RED, "self.kept is a Colour"),
        (Size.BIG, "self.kept is a Size"),
        (float("nan"), "self.kept is nan"),
        ([float("inf")], "self.kept[0] is inf"),
        ({1: "a"}, "self.kept has the key 1, a int"),
        ({None: "a"}, "self.kept has the key None, a NoneType"),
        (b"bytes", "self.kept is a bytes"),
        (object(), "self.kept is a object"),
    ],
)
def test_memory_that_is_not_plain_json_is_refused_with_the_part(value: Any, problem: str) -> None:
    for controller in (Remembers(value), Remembers(0, value)):
        with pytest.raises(BadController) as caught:
            explored(controller)
        message = str(caught.value)
        assert f"remembers: {problem}; what `memory` names must be plain JSON: " in message
        assert "test_memory.py:" in message


@pytest.mark.parametrize("value", [None, True, 7, 1.5, "text", [1, "a", None], {"a": [{"b": 1}]}, [], {}])
def test_plain_json_is_restored_as_it_was(value: Any) -> None:
    controller = Remembers(value)
    memory = read_memory(controller)
    controller.kept = "something else"
    restore_memory(controller, memory)
    assert controller.kept == value
    assert type(controller.kept) is type(value)
    assert explored(Remembers(0, value)).ok or value is None


def test_integers_beyond_json_are_refused() -> None:
    with pytest.raises(BadController, match="`memory` cannot be written as JSON"):
        read_memory(Remembers(2**70))
