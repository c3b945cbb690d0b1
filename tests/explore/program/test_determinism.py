"""A reconcile that depends on more than its responses is refused, with the cause."""

from __future__ import annotations

import itertools
import re
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

from explore.program.writers import Writes, explored, nondeterminism
from explore.widgets import KIND
from kontend.explore import Nondeterminism
from kontend.explore.program.driven import Start
from kontend.explore.program.tree import Program
from kontend.kube.meta.names import Key
from kontend.runtime.client.api import Api
from kontend.runtime.controller import Controller, Request
from kontend.runtime.guards import Guards

HERE = Path(__file__).name


def test_a_difference_comes_with_its_path_and_its_cause() -> None:
    message = nondeterminism(Writes(lambda: {"kept": list(range(100)), "id": uuid.uuid4().hex}))
    first, second, third = message.split("\n  ")
    assert first == "writes default/w: nondeterministic: identical responses led to different requests"
    assert re.fullmatch(
        rf"writers\.py:\d+: patch {KIND} default/w/status: "
        r'status\.value\.id is "[0-9a-f]{32}" in one run and "[0-9a-f]{32}" in another',
        second,
    )
    assert re.fullmatch(rf"{HERE}:\d+ calls uuid\.uuid4\(\); use api\.uuid\(\)", third)


class Strays(Controller):
    """Makes another call after some runs, because of an iterator that it keeps."""

    kind = KIND

    def __init__(self, after: int) -> None:
        self.runs = itertools.count(1)
        self.after = after

    async def reconcile(self, request: Request, api: Api) -> None:
        """Read twice."""
        number = next(self.runs)
        await api.get(self.kind, "default/a" if number <= self.after else "default/b")
        await api.get(self.kind, request)


def _program(controller: Controller) -> Program:
    return Program(controller, Guards(), lambda _: True, 0)


@pytest.mark.parametrize("after", [1, 2, 3, 4, 5])
def test_a_hidden_cause_is_asked_for(after: int) -> None:
    """The difference may show in a second run of the same path, or on the way to a later one."""
    start = Start(Key("default", "w"), b"{}", "")
    program = _program(Strays(after))
    with pytest.raises(Nondeterminism) as caught:
        program.next(program.root(start), 0, 1, lambda: b"={}", start)
    lines = str(caught.value).split("\n  ")
    assert lines[0] == "strays default/w: nondeterministic: identical responses led to different requests"
    assert f"calls cached get {KIND} default/a in one run and calls cached get {KIND} default/b in another" in lines[1]
    assert lines[1].startswith(f"{HERE}:{_line('default/a')}: it ")
    assert lines[2] == (
        "no call is known that differs from run to run: does the controller keep something from one run to the next in "
        "an object or in a cache of functools? Name it in `memory`, as plain data"
    )


def _line(text: str) -> int:
    lines = Path(__file__).read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


class Notifies(Controller):
    """Calls a function in every run."""

    kind = KIND

    def __init__(self, notify: Callable[[], object]) -> None:
        self.notify = notify

    async def reconcile(self, request: Request, api: Api) -> None:
        """Notify, and read."""
        self.notify()
        await api.get(self.kind, request)


def test_every_path_is_compared_with_a_mirrored_run_and_some_are_watched() -> None:
    runs: list[int] = []
    program = _program(Notifies(lambda: runs.append(1)))
    for number in range(82):
        program.root(Start(Key("default", f"w{number}"), b"{}", ""))
    assert program.runs == 82
    # Watched are the first three, and the one with the number 64.
    assert len(runs) == 2 * 82 + 4


class Finally(Controller):
    """Makes a call in a finally block."""

    kind = KIND

    async def reconcile(self, request: Request, api: Api) -> None:
        """Read, and read again."""
        try:
            await api.get(self.kind, request)
        finally:
            await api.live.get(self.kind, request)


def test_a_reconcile_that_makes_calls_while_it_is_closed_can_be_explored() -> None:
    assert explored(Finally()).ok


class Raises(Controller):
    """Raises an error that shows an address."""

    kind = KIND

    async def reconcile(self, request: Request, api: Api) -> None:
        """Read, and raise."""
        await api.get(self.kind, request)
        raise ValueError(f"{object()}")


def test_addresses_in_errors_are_no_difference() -> None:
    verdict = explored(Raises())
    assert [violation.property for violation in verdict.violations] == ["fails forever"]
    assert "ValueError: <object object>" in str(verdict)
