"""Code that depends on the order of a set is reported with its line."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from explore.program.writers import explored, nondeterminism
from explore.widgets import KIND
from kontend.explore.program.set_order import iterated_sets
from kontend.explore.program.user_code import UserCode
from kontend.runtime.client.api import Api
from kontend.runtime.client.patches import merge_patch
from kontend.runtime.controller import Controller, Request

HERE = Path(__file__).name
NAMES = ("red", "green", "blue")
COLORS = {"red", "green", "blue"}


class Palette:
    """Has a set."""

    colors = frozenset(NAMES)


def _loop() -> list[str]:
    names = []
    for name in {"red", "green"}:
        names.append(name)
    return names


def _comprehension() -> list[str]:
    return [name.upper() for name in set(NAMES)]


def _converted() -> list[str]:
    return list(frozenset(NAMES))


def _joined() -> str:
    return ",".join({name.upper() for name in NAMES})


def _variable() -> tuple[str, ...]:
    names = set(NAMES) | {"white"}
    return tuple(names)


def _method() -> list[str]:
    return list(set(NAMES).union({"white"}))


def _starred() -> list[str]:
    return [*{"red", "green"}]


def _popped() -> str:
    names = {"red", "green"}
    return names.pop()


def _next() -> str:
    return next(iter({"red", "green"}))


def _generator() -> str:
    return "".join(name[0] for name in {"red", "green"})


def _enumerated() -> dict[str, int]:
    return {name: number for number, name in enumerate({"red", "green"})}


def _of_the_module() -> str:
    return ",".join(COLORS)


def _of_a_class() -> str:
    return ",".join(Palette.colors)


def _mapped() -> str:
    return ",".join(map(str.upper, {"red", "green"}))


def _keys() -> str:
    return ",".join(dict.fromkeys(NAMES).keys() - {"red"})


def _extended() -> list[str]:
    names = ["white"]
    names.extend(COLORS)
    return names


def _members() -> bool:
    return "red" in COLORS and sum(map(len, COLORS)) > 3 and "red" in Palette.colors


def _shadowed() -> str:
    COLORS = ("red", "green")
    return ",".join(COLORS)


def _sorted() -> list[str]:
    return sorted(set(NAMES))


def _counted() -> int:
    return len({name.upper() for name in NAMES}) + sum(len(name) for name in set(NAMES))


def _contained() -> bool:
    return "red" in {"red", "green"} and any(name == "red" for name in set(NAMES))


def _smallest() -> str:
    return min(set(NAMES))


def _sorted_comprehension() -> list[str]:
    return sorted(name.upper() for name in {"red", "green"})


def _reassigned() -> list[str]:
    names: Any = set(NAMES)
    names = sorted(names)
    return list(names)


def _unchanged(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapped(*arguments: Any) -> Any:
        return function(*arguments)

    return wrapped


@_unchanged
def _decorated() -> list[str]:
    return list(set(NAMES))


def _parameter(names: Any = NAMES) -> list[str]:
    return list(names)


class Calls(Controller):
    """Writes the result of a function of this module."""

    kind = KIND
    function: Callable[[], Any]

    async def reconcile(self, request: Request, api: Api) -> None:
        """Write the result."""
        widget = await api.get(self.kind, request)
        if not widget.get("status"):
            await api.status.patch(widget, merge_patch({"status": {"value": type(self).function()}}))


def _calling(function: Callable[..., Any]) -> Controller:
    """A controller with the function as a method."""
    named: Controller = type("Named", (Calls,), {"function": function})()
    return named


ORDERED = [
    _loop, _comprehension, _converted, _joined, _variable, _method, _starred, _popped, _next, _generator, _enumerated,
    _decorated, _of_the_module, _of_a_class, _mapped, _keys, _extended,
]  # fmt: skip
ORDERLESS = [
    _members,
    _shadowed,
    _sorted,
    _counted,
    _contained,
    _smallest,
    _sorted_comprehension,
    _reassigned,
    _parameter,
]


@pytest.mark.parametrize("function", ORDERED)
def test_a_dependence_on_the_order_of_a_set_is_reported(function: Callable[..., Any]) -> None:
    controller = _calling(function)
    lines = iterated_sets(controller, UserCode(controller))
    first = inspect.unwrap(function).__code__.co_firstlineno
    assert len(lines) == 1
    match = re.fullmatch(rf"{HERE}:(\d+) depends on the order of a set, which differs from .*", lines[0])
    assert match
    assert first < int(match[1]) <= first + 3
    assert re.search(
        rf"{HERE}:{match[1]} depends on the order of a set.*; use sorted\(\.\.\.\)", nondeterminism(controller)
    )


@pytest.mark.parametrize("function", ORDERLESS)
def test_code_that_does_not_depend_on_the_order_is_fine(function: Callable[..., Any]) -> None:
    assert explored(_calling(function)).ok


class Indirect(Controller):
    """Reaches the set by a function that a function calls."""

    kind = KIND

    async def reconcile(self, request: Request, api: Api) -> None:
        """Call a function."""
        await api.get(self.kind, request)
        _helper()


def _helper() -> list[str]:
    return _loop()


class Labels(Controller):
    """Joins a set of its own."""

    kind = KIND
    labels = frozenset(NAMES)

    async def reconcile(self, request: Request, api: Api) -> None:
        """Join it."""
        await api.get(self.kind, request)
        ",".join(self.labels)


def test_a_set_of_the_controller_is_looked_at() -> None:
    assert "depends on the order of a set" in nondeterminism(Labels())


def test_functions_that_the_controller_calls_are_read_too() -> None:
    assert "depends on the order of a set" in nondeterminism(Indirect())
