"""Runs are suspended where they wait, unless other runs could notice."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from explore.widgets import CRD, KIND, WIDGET
from kontend.explore import Scenario
from kontend.explore.model.model import Model
from kontend.explore.program import suspended
from kontend.explore.program.driven import Start
from kontend.explore.program.event_loop import Unsupported
from kontend.explore.program.run import PythonRun
from kontend.explore.program.suspended import SuspendedRuns, Twins
from kontend.explore.program.tree import Node, Program
from kontend.explore.program.undeclared_state import UndeclaredState
from kontend.explore.restarts import restarted
from kontend.kube.meta.names import Key
from kontend.runtime.client.api import Api
from kontend.runtime.controller import Controller, Request
from kontend.runtime.guards import Guards

_CALLS = 6
_REQUESTS = 8
_Tree = list[tuple[str, object]]
_Replay = Callable[[Controller], _Tree]


class Reads(Controller):
    """Reads some objects, one after the other."""

    kind = KIND

    def __init__(self) -> None:
        self.begun: list[Any] = []

    async def reconcile(self, request: Request, api: Api) -> None:
        """Read."""
        await self.read_all(request, api)

    async def read_all(self, request: Request, api: Api) -> None:
        """Read all."""
        for number in range(_CALLS):
            obj = await api.live.get(self.kind, f"default/{request.name}-{number}")
            if obj.get("stop"):
                return


class _Shared:
    """Counts runs where nobody looks."""

    def __init__(self) -> None:
        self.runs = 0


class Counts(Reads):
    """Tells how often it starts."""

    def __init__(self, shared: _Shared) -> None:
        super().__init__()
        self.note: Callable[[], None] = lambda: setattr(shared, "runs", shared.runs + 1)

    async def reconcile(self, request: Request, api: Api) -> None:
        """Count, and read."""
        self.note()
        await self.read_all(request, api)


class Locks(Reads):
    """Does nothing while another run is at work."""

    def __init__(self) -> None:
        super().__init__()
        self.lock = asyncio.Lock()

    async def reconcile(self, request: Request, api: Api) -> None:
        """Read, unless somebody else does."""
        if not self.lock.locked():
            async with self.lock:
                await self.read_all(request, api)


class Marks(Reads):
    """Does nothing for what another run is at work for, and notes that where the explorer can see it."""

    async def reconcile(self, request: Request, api: Api) -> None:
        """Read, unless somebody else does."""
        if request.name in self.begun:
            return
        self.begun.append(request.name)
        try:
            await self.read_all(request, api)
        finally:
            self.begun.remove(request.name)


class Waits(Reads):
    """Waits for a run that is at work; the lock is where nobody looks."""

    def __init__(self) -> None:
        super().__init__()
        lock = asyncio.Lock()
        self.locked: Callable[[], asyncio.Lock] = lambda: lock

    async def reconcile(self, request: Request, api: Api) -> None:
        """Read, after whoever does."""
        async with self.locked():
            await self.read_all(request, api)


class Limits(Reads):
    """Does nothing while two runs are at work; their number is where nobody looks."""

    def __init__(self) -> None:
        super().__init__()
        at_work: list[str] = []
        self.is_busy: Callable[[], bool] = lambda: len(at_work) > 1
        self.begin: Callable[[str], None] = lambda name: at_work.append(name)
        self.end: Callable[[str], None] = lambda name: at_work.remove(name)

    async def reconcile(self, request: Request, api: Api) -> None:
        """Read, unless two others do."""
        if self.is_busy():
            return
        self.begin(request.name)
        try:
            await self.read_all(request, api)
        finally:
            self.end(request.name)


class Remembers(Reads):
    """Has memory."""

    memory = ("count",)

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    async def reconcile(self, request: Request, api: Api) -> None:
        """Count the objects that were read."""
        for number in range(_CALLS):
            obj = await api.live.get(self.kind, f"default/{request.name}-{number}")
            self.count += 1
            if obj.get("stop"):
                return


class Generates(Reads):
    """Keeps a generator."""

    def __init__(self) -> None:
        super().__init__()
        self.endless = (0 for _ in iter(int, 1))


def _tree(program: Program) -> _Tree:
    """All nodes of the runs of some requests with all responses, the runs of all requests side by side."""
    nodes: list[tuple[Start, Node]] = []
    for number in range(_REQUESTS):
        start = Start(Key("default", f"w{number}"), program.initial_memory, "")
        nodes.append((start, program.root(start)))
    shown: _Tree = []
    for start, node in nodes:
        shown.append((node.id.hex(), node.done))
        if node.calls:
            for response in (b"={}", b'={"stop":true}'):
                nodes.append((start, program.next(node, 0, response, partial(bytes, response), start)))
    return shown


def _program(controller: Controller) -> Program:
    return Program(controller, Guards(), lambda _: True, 0)


@pytest.fixture
def replayed(monkeypatch: pytest.MonkeyPatch) -> _Replay:
    """The tree of a controller whose runs are never suspended."""

    def tree(controller: Controller) -> _Tree:
        with monkeypatch.context() as patch:
            patch.setattr(SuspendedRuns, "is_possible", False)
            return _tree(_program(controller))

    return tree


@pytest.mark.parametrize("controller", [Reads, Locks, Marks, Waits, Limits, Remembers, Generates])
def test_a_suspended_run_makes_no_difference(
    controller: type[Controller], replayed: Callable[[Controller], _Tree]
) -> None:
    assert _tree(_program(controller())) == replayed(controller())


@pytest.mark.parametrize(
    ("controller", "possible"),
    [
        (Reads, True),
        (Locks, False),
        (Marks, False),
        (Waits, False),
        (Limits, False),
        (Remembers, False),
        (Generates, False),
    ],
)
def test_runs_that_others_could_notice_are_not_suspended(controller: type[Controller], possible: bool) -> None:
    program = _program(controller())
    _tree(program)
    assert program._suspended.is_possible is possible


def test_a_suspended_run_does_not_start_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(UndeclaredState, "is_hidden_in_closures", lambda _: False)
    shared = _Shared()
    program = _program(Counts(shared))
    start = Start(Key("default", "w"), b"{}", "")
    node = program.root(start)
    for _ in range(_CALLS):
        node = program.next(node, 0, 1, lambda: b"={}", start)
    assert node.done is not None
    # One run and its mirror, and one more for each path that is watched: to the first call, three to others, the end.
    assert shared.runs == 2 + (1 + 3 + 1)


def test_the_oldest_runs_make_room(monkeypatch: pytest.MonkeyPatch, replayed: _Replay) -> None:
    monkeypatch.setattr(suspended, "_MOST", 2)
    assert _tree(_program(Reads())) == replayed(Reads())


class Ends(Reads):
    """Tells when it ends."""

    def __init__(self, ended: list[str]) -> None:
        super().__init__()
        self.end: Callable[[str], None] = lambda name: ended.append(name)

    async def reconcile(self, request: Request, api: Api) -> None:
        """Read, and tell."""
        try:
            await self.read_all(request, api)
        finally:
            self.end(request.name)


def test_suspended_runs_end_when_they_are_told_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(UndeclaredState, "is_hidden_in_closures", lambda _: False)
    ended: list[str] = []
    _program(Ends(ended)).root(Start(Key("default", "w"), b"{}", ""))
    ended.clear()
    suspended.end_suspended_runs()
    assert ended == ["w"] * 2


def test_suspended_runs_end_with_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(UndeclaredState, "is_hidden_in_closures", lambda _: False)
    ended: list[str] = []

    def search(model: Model) -> int:
        model.programs[0].root(Start(Key("default", "other"), b"{}", ""))
        return ended.count("other")

    scenario = Scenario([Ends(ended)], objects=[WIDGET], crds=[CRD])
    watched = restarted(scenario, search)
    assert ended.count("other") == watched + 2


@pytest.mark.parametrize("mirrors", [False, True])
def test_a_run_whose_twin_does_not_start_ends(mirrors: bool) -> None:
    ended: list[str] = []
    controller = Ends(ended)

    def start(mirrored: bool) -> PythonRun:
        if mirrored is mirrors:
            raise KeyboardInterrupt
        return PythonRun(controller, Guards(), lambda _: True, Start(Key("default", "w"), b"{}", ""), mirrors=mirrored)

    with pytest.raises(KeyboardInterrupt):
        Twins.started(start)
    assert ended == ["w"] * mirrors


class Stops(Ends):
    """Exits the process, beside another call."""

    async def reconcile(self, request: Request, api: Api) -> None:
        """Read, and exit."""

        async def leave() -> None:
            raise SystemExit

        await asyncio.gather(super().reconcile(request, api), leave())


def test_a_run_that_cannot_start_ends() -> None:
    ended: list[str] = []
    with pytest.raises(Unsupported):
        PythonRun(Stops(ended), Guards(), lambda _: True, Start(Key("default", "w"), b"{}", ""))
    assert ended == ["w"]
