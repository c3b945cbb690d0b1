"""State that a reconcile keeps without declaring it is reported by name."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import pytest

from explore.program.writers import explored, nondeterminism
from explore.widgets import KIND, Widgets
from kontend.runtime.client.api import Api
from kontend.runtime.client.patches import merge_patch
from kontend.runtime.controller import Controller, Request

HERE = Path(__file__).name
LOG = logging.getLogger(__name__)
FLAGS: dict[str, bool] = {}


@dataclass
class Memo:
    """An object of the user's own, which remembers."""

    seen: list[str] = field(default_factory=list)


class Slotted:
    """The same with slots."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0


class Counts(Controller):
    """Remembers something, in a way that the test chooses."""

    kind = KIND
    memory: ClassVar[tuple[str, ...]] = ("known",)
    known = 0
    shared: ClassVar[list[str]] = []

    def __init__(self, remember: Callable[[Counts], object]) -> None:
        self.remember = remember
        self.count = 0
        self.seen: dict[str, list[str]] = {"names": []}
        self.client: object = None
        self.pool: object = object()
        self.flag = False
        self.memo = Memo()
        self.nested = {"memos": [Memo()]}
        self.slotted = Slotted()
        self.many = ["a name that is long"] * 1_000
        self.buffer = bytearray()
        self.circle: list[Any] = []
        self.circle.append(self.circle)
        self.data = [0] * 6_000
        self.same: object = 1

    @functools.cached_property
    def labels(self) -> dict[str, str]:
        """A value that is computed once."""
        return {"a": "b"}

    @functools.lru_cache(maxsize=8)  # noqa: B019, the cache is what is tested
    def doubled(self, value: int) -> int:
        """A pure function, cached."""
        return 2 * value

    async def reconcile(self, request: Request, api: Api) -> None:
        """Read, and remember."""
        await api.get(self.kind, request)
        self.remember(self)


def _counted(counts: Counts) -> None:
    counts.count += 1


def _toggled(counts: Counts) -> None:
    counts.flag = not counts.flag


def _added(counts: Counts) -> None:
    counts.fresh = 1  # type: ignore[attr-defined]


def _retyped(counts: Counts) -> None:
    counts.same = bool(counts.same)


def _slotted(counts: Counts) -> None:
    counts.slotted.count += 1


@pytest.mark.parametrize(
    ("remember", "name"),
    [
        (_counted, "count"),
        (_added, "fresh"),
        (_toggled, "flag"),
        (lambda counts: counts.seen["names"].append("w"), "seen"),
        (lambda counts: counts.memo.seen.append("w"), "memo"),
        (lambda counts: counts.nested["memos"][0].seen.append("w"), "nested"),
        (_slotted, "slotted"),
        (_retyped, "same"),
        (lambda counts: counts.many.append("w"), "many"),
        (lambda counts: counts.buffer.append(1), "buffer"),
        (lambda counts: counts.circle.append("w"), "circle"),
    ],
)
def test_attributes_that_are_not_declared_are_named(remember: Callable[[Counts], object], name: str) -> None:
    assert (
        f"{HERE}: the reconcile changes self.{name}, which is not in `memory`; name it there, as plain data: "
        f'memory = ("known", "{name}")'
    ) in nondeterminism(Counts(remember))


def test_attributes_of_the_class_are_named() -> None:
    assert (
        f"{HERE}: the reconcile changes Counts.shared, which all instances share; change self.shared"
        in nondeterminism(Counts(lambda counts: counts.shared.append("w")))
    )


def test_global_variables_are_named() -> None:
    message = nondeterminism(Counts(lambda _: FLAGS.setdefault(str(len(FLAGS)), True)))
    assert f"{HERE}: the reconcile changes the global variable FLAGS; make it an attribute of the controller" in message
    assert 'memory = ("known", "flags")' in message


def _made(counts: Counts) -> None:
    counts.client = counts.client or object()


def _same(counts: Counts) -> None:
    """Makes equal values anew."""
    counts.seen = {"names": list(counts.seen["names"])}
    counts.flag = not bool(1)


def _dropped(counts: Counts) -> None:
    counts.pool = None


def _remembered(counts: Counts) -> None:
    counts.known = min(counts.known + 1, 3)


@pytest.mark.parametrize(
    "remember",
    [
        _remembered,
        _made,
        _dropped,
        _same,
        lambda counts: counts.data.append(1),
        lambda counts: counts.labels,
        lambda counts: counts.doubled(2),
        lambda _: LOG.warning("reconciled"),
    ],
)
def test_declared_memory_caches_of_pure_functions_and_clients_are_fine(remember: Callable[[Counts], object]) -> None:
    assert explored(Counts(remember)).ok


def test_a_search_leaves_the_memory_of_the_controller_as_it_was() -> None:
    controller = Counts(_remembered)
    first, second = explored(controller), explored(controller)
    assert controller.known == 0
    assert first.states == second.states


class Cached(Controller):
    """Caches a function of the state, by a key that does not change with it."""

    kind = KIND
    current: ClassVar[dict[str, Any]] = {}

    async def reconcile(self, request: Request, api: Api) -> None:
        """Write the size as the cache has it."""
        widget = await api.get(self.kind, request)
        phase = _phase(request.name, Box(str(widget.get("status"))))
        if (widget.get("status") or {}).get("phase") != phase:
            await api.status.patch(widget, merge_patch({"status": {"phase": phase}}))


class Box:
    """Compares equal to every other box, so that a cache takes one for the other."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Box)

    def __hash__(self) -> int:
        return 1


@functools.lru_cache(maxsize=8)
def _phase(name: str, box: Box) -> str:
    return f"{name} {len(box.text)}"


def test_a_functools_cache_over_state_is_reported() -> None:
    message = nondeterminism(Cached())
    assert "or in a cache of functools?" in message


def test_a_controller_without_state_is_fine() -> None:
    assert explored(Widgets()).ok
