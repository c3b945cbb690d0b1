"""Functions of the user beside reconciles: what they may not do, and what they may not depend on."""

from __future__ import annotations

import itertools
import random
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from explore.widgets import CRD, KIND, WIDGET
from kontend import Api, Controller, Request
from kontend.explore import BadScenario, Bounds, Scenario, check, never, update
from kontend.explore.program import outside
from kontend.predicates import Where

MAP = "ConfigMap/v1"
CONFIG: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "c", "namespace": "default"},
    "data": {"v": "0"},
}


def controller(**fields: Any) -> Controller:
    """A controller that only looks, with some fields."""

    async def reconcile(self: Controller, request: Request, api: Api) -> None:
        del request
        await api.list(KIND, namespace="default", index=("size", "1") if self.indexes else None)

    return type("Looks", (Controller,), {"kind": KIND, "reconcile": reconcile, **fields})()  # type: ignore[no-any-return]


def scenario(made: Controller | None = None) -> Scenario:
    """A config map that a user changes."""
    return Scenario(
        [made or controller()],
        crds=[CRD],
        objects=[WIDGET, CONFIG],
        actions=[update(CONFIG, data={"v": "1"})],
        bounds=Bounds(lag=0, faults=0),
    )


def forever() -> Any:
    """Never end."""
    while True:
        pass


def in_a_thread() -> Iterable[str]:
    """Start a thread."""
    threading.Thread(target=int).start()
    return ["default/w"]


def written() -> Iterable[str]:
    """Write a file."""
    Path("/tmp/never-written").write_text("")
    return ["default/w"]


_numbers = itertools.count()


def once() -> Iterable[str]:
    """Request a reconcile the first time only."""
    return [] if next(_numbers) % 2 else ["default/w"]


def by_time() -> Iterable[str]:
    """Request a reconcile at some times."""
    return ["default/w"] if time.time() > 0 else []


def by_chance() -> Iterable[str]:
    """Request a reconcile by chance."""
    return ["default/w"] if random.random() > 0 else []


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (in_a_thread, "_thread.start_new_thread"),
        (written, "opens '/tmp/never-written' for writing"),
        (once, "a second call with the same input has another answer"),
        (by_time, "time.time(); use api.now()"),
        (by_chance, "random.random()"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_mapping_function_may_only_look_at_its_object(function: Callable[[], Iterable[str]], text: str) -> None:
    with pytest.raises(BadScenario) as caught:
        check(scenario(controller(watches={MAP: lambda *_: function()})))
    assert text in str(caught.value)
    assert "looks: a predicate or a mapping function" in str(caught.value)


@pytest.mark.parametrize("place", ["mapping", "predicate", "index", "property", "condition"])
def test_a_function_that_never_ends_is_stopped_with_its_line(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outside, "LONGEST", 0.2)
    made = {
        "mapping": scenario(controller(watches={MAP: lambda *_: forever()})),
        "predicate": scenario(controller(predicates={KIND: Where(lambda _: forever())})),
        "index": scenario(controller(indexes={KIND: {"size": lambda _: forever()}})),
        "property": replace(scenario(), properties=[never(lambda _: forever(), name="p")]),
        "condition": replace(scenario(), actions=[update(CONFIG, data={"v": "1"}, when=lambda _: forever())]),
    }
    with pytest.raises(BadScenario) as caught:
        check(made[place])
    assert "test_pure_functions.py:" in str(caught.value)
    assert "does a loop in it never end?" in str(caught.value)


def test_a_property_that_reads_the_clock_is_refused() -> None:
    with pytest.raises(BadScenario) as caught:
        check(replace(scenario(), properties=[never(lambda _: time.time() < 0, name="timed")]))
    assert "the property never(timed) depends on more than what it is given" in str(caught.value)


def test_functions_that_only_look_change_nothing_about_a_verdict() -> None:
    made = controller(
        watches={MAP: lambda obj, _: ["default/w"] if obj["data"]["v"] == "1" else []},
        indexes={KIND: {"size": lambda obj: [str(obj["spec"].get("size"))]}},
    )
    assert check(replace(scenario(made), properties=[never(lambda cluster: not cluster.list(KIND), name="gone")]))
