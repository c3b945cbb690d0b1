"""Runs that are made again in other orders: state that no list of places would find."""

from __future__ import annotations

import abc
import decimal
import enum
import functools
import itertools
import logging
import mmap
import multiprocessing
import os
import queue
import tempfile
import threading
import types
import weakref
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from kontend import AlreadyExists, Api, Controller, Request
from kontend.explore import Bounds, Nondeterminism, Scenario, check, never, update
from kontend.testing import permissive_crd

WIDGET = "Widget.example.com/v1"
WIDGET_OBJECT = {
    "apiVersion": "example.com/v1",
    "kind": "Widget",
    "metadata": {"name": "w", "namespace": "default"},
    "spec": {"size": 1},
}
UNSEEN = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "unseen", "namespace": "default"}}


def mutable_default() -> Callable[[bool], bool]:
    def seen(store: bool, kept: list[int] = []) -> bool:  # noqa: B006
        if store:
            kept.append(1)
        return bool(kept)

    return seen


def function_attribute() -> Callable[[bool], bool]:
    def seen(store: bool) -> bool:
        if store:
            seen.kept = True  # type: ignore[attr-defined]
        return hasattr(seen, "kept")

    return seen


def namespace() -> Callable[[bool], bool]:
    kept = types.SimpleNamespace()

    def seen(store: bool) -> bool:
        if store:
            kept.value = True
        return hasattr(kept, "value")

    return seen


def thread_local() -> Callable[[bool], bool]:
    kept = threading.local()

    def seen(store: bool) -> bool:
        if store:
            kept.value = True
        return hasattr(kept, "value")

    return seen


def a_queue() -> Callable[[bool], bool]:
    kept: queue.Queue[int] = queue.Queue()

    def seen(store: bool) -> bool:
        if store:
            kept.put(1)
        return not kept.empty()

    return seen


def partial() -> Callable[[bool], bool]:
    kept = functools.partial(dict, {})  # type: ignore[var-annotated]

    def seen(store: bool) -> bool:
        if store:
            kept.args[0]["f"] = 1
        return bool(kept.args[0])

    return seen


def file_position() -> Callable[[bool], bool]:
    kept = os.open(__file__, os.O_RDONLY)

    def seen(store: bool) -> bool:
        if store:
            os.read(kept, 1)
        return os.lseek(kept, 0, os.SEEK_CUR) > 0

    weakref.finalize(seen, os.close, kept)
    return seen


def counter() -> Callable[[bool], bool]:
    kept = itertools.count()
    return lambda _: next(kept) > 0


def number_context() -> Callable[[bool], bool]:
    decimal.getcontext().prec = 28

    def seen(store: bool) -> bool:
        if store:
            decimal.getcontext().prec = 9
        return decimal.getcontext().prec == 9

    return seen


def member_of_an_enumeration() -> Callable[[bool], bool]:
    colors = enum.Enum("colors", "RED")

    def seen(store: bool) -> bool:
        if store:
            colors.RED.seen = True  # type: ignore[attr-defined]
        return hasattr(colors.RED, "seen")

    return seen


def log_level() -> Callable[[bool], bool]:
    log = logging.getLogger("kept")

    def seen(store: bool) -> bool:
        if store:
            log.setLevel(7)
        return log.level == 7

    return seen


def virtual_subclass() -> Callable[[bool], bool]:
    base = abc.ABCMeta("base", (), {})
    other = type("other", (), {})

    def seen(store: bool) -> bool:
        if store:
            base.register(other)
        return issubclass(other, base)

    return seen


def note_of_an_exception() -> Callable[[bool], bool]:
    error = ValueError()

    def seen(store: bool) -> bool:
        if store:
            error.add_note("seen")
        return hasattr(error, "__notes__")

    return seen


def generator() -> Callable[[bool], bool]:
    def numbers() -> Iterator[int]:
        yield from range(1_000_000)

    kept = numbers()
    return lambda _: next(kept) > 0


def shared_memory() -> Callable[[bool], bool]:
    kept = mmap.mmap(-1, mmap.PAGESIZE)

    def seen(store: bool) -> bool:
        if store:
            kept[0] = 1
        return kept[0] == 1

    return seen


def mapped_file() -> Callable[[bool], bool]:
    with tempfile.TemporaryFile() as file:
        file.write(b"\0")
        file.flush()
        kept = mmap.mmap(file.fileno(), 1)

    def seen(store: bool) -> bool:
        if store:
            kept[0] = 1
        return kept[0] == 1

    return seen


def value_of_processes() -> Callable[[bool], bool]:
    kept = multiprocessing.Value("i", 0)

    def seen(store: bool) -> bool:
        if store:
            kept.value = 1
        return bool(kept.value)

    return seen


def event_of_processes() -> Callable[[bool], bool]:
    kept = multiprocessing.Event()

    def seen(store: bool) -> bool:
        if store:
            kept.set()
        return kept.is_set()

    return seen


PLACES = [
    mutable_default,
    function_attribute,
    namespace,
    thread_local,
    a_queue,
    partial,
    file_position,
    counter,
    number_context,
    member_of_an_enumeration,
    log_level,
    virtual_subclass,
    note_of_an_exception,
    generator,
    shared_memory,
    mapped_file,
    value_of_processes,
    event_of_processes,
]


def always_known(_: bool) -> bool:
    return True


def scenario(seen: Callable[[bool], bool]) -> Scenario:
    class Widgets(Controller):
        kind = WIDGET

        async def reconcile(self, request: Request, api: Api) -> None:
            widget = await api.get(self.kind, request)
            if widget["spec"]["size"] == 1:
                seen(True)
            elif not seen(False):
                with suppress(AlreadyExists):
                    await api.create({**UNSEEN})

    def unseen(cluster: Any) -> bool:
        return any(item["metadata"]["name"] == "unseen" for item in cluster.list("ConfigMap/v1"))

    return Scenario(
        controllers=[Widgets()],
        crds=[permissive_crd(WIDGET)],
        objects=[WIDGET_OBJECT],
        actions=[update(WIDGET_OBJECT, spec={"size": 2})],
        properties=[never(unseen)],
        bounds=Bounds(lag=0, faults=0),
    )


@pytest.mark.parametrize("place", PLACES)
def test_state_kept_anywhere_is_an_error_that_names_the_path_and_the_call(
    place: Callable[[], Callable[[bool], bool]],
) -> None:
    with pytest.raises(Nondeterminism) as raised:
        check(scenario(place()))
    message = str(raised.value)
    assert message.startswith("widgets default/w: nondeterministic")
    assert "calls create ConfigMap" in message
    assert "on the path: cached get Widget.example.com/v1 default/w" in message
    assert 'memory = ("NAME",)' in message


def test_runs_without_state_agree_in_every_order() -> None:
    assert check(scenario(always_known)).ok


def children() -> set[str]:
    """The ids of all children of this process, living or dead."""
    own = {thread.name for thread in Path(f"/proc/{os.getpid()}/task").iterdir()}
    return {id for thread in own for id in Path(f"/proc/self/task/{thread}/children").read_text().split()}


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc to list processes")
def test_the_search_leaves_no_process_behind() -> None:
    """Looks at the children by name: other tests of this process may have left some of their own."""
    before = children()
    check(scenario(always_known))
    assert children() <= before  # one of the others may have ended meanwhile


@pytest.mark.parametrize("every", [7, 30])
def test_a_counter_that_matters_once_in_many_runs_is_an_error(every: int) -> None:
    numbers = itertools.count()

    class Counts(Controller):
        kind = WIDGET

        async def reconcile(self, request: Request, api: Api) -> None:
            """Make a config map now and then."""
            await api.get(self.kind, request)
            if next(numbers) % every == every - 1:
                with suppress(AlreadyExists):
                    await api.create(UNSEEN)

    only = Scenario([Counts()], crds=[permissive_crd(WIDGET)], objects=[WIDGET_OBJECT], bounds=Bounds(lag=0, faults=0))
    with pytest.raises(Nondeterminism, match="nondeterministic"):
        check(only)
