"""Logs that kontend serve records while an operator runs: the buggy one is found, its fixed twin is not."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from typing import Any

import pytest

from definitions import definition
from kontend import Api, Cluster, Controller, Guards, Manager, Request, Result, merge_from
from kontend.kube.errors import Conflict
from kontend.race.analysis import Options, analyse
from kontend.race.documents import documents_of
from kontend.race.log.log_files import Reading, events_of
from kontend.report.document import Document
from kontend.report.text import render
from kontend.serve.audit_log import AuditLog
from kontend.serve.background import BackgroundServer

WIDGET = "Widget.example.com/v1"
TARGET: dict[str, Any] = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {}}
#: The buggy operators show their bugs with guards switched off.
NO_GUARDS = Guards(read_your_writes=False, locked_status=False, fencing=False, delete_preconditions=False)


class Meeting:
    """Lets two reconciles go on only when both have read."""

    def __init__(self) -> None:
        self.met = asyncio.Event()
        self._here = 0

    async def wait(self) -> None:
        """Wait for the other one; later reconciles do not wait."""
        self._here += 1
        if self._here == 2:
            self.met.set()
        await asyncio.wait_for(self.met.wait(), 10)


class Claims(Controller):
    """Claims a widget that nobody has claimed."""

    kind = WIDGET
    name = "claims"

    def __init__(self, owner: str, meeting: Meeting, done: asyncio.Event, *, lock: bool) -> None:
        self.owner, self.meeting, self.done, self.lock = owner, meeting, done, lock

    async def reconcile(self, request: Request, api: Api) -> Result | None:
        """Read live, and write the own name if there is none."""
        widget = await api.live.get(self.kind, request)
        if (widget.get("status") or {}).get("owner"):
            return None
        await self.meeting.wait()
        base = {**widget}
        widget["status"] = {"owner": self.owner}
        try:
            await api.status.patch(widget, merge_from(base, lock=self.lock))
        except Conflict:
            return Result(requeue=True)
        finally:
            if self.owner == "second":
                self.done.set()
        return None


class Stamps(Controller):
    """Writes a new number into the status in every reconcile, unless it is fixed."""

    kind = WIDGET
    name = "stamps"

    def __init__(self, done: asyncio.Event, *, fixed: bool) -> None:
        self.done, self.fixed, self.count = done, fixed, 0

    async def reconcile(self, request: Request, api: Api) -> None:
        """Its own write wakes it up."""
        widget = await api.live.get(self.kind, request)
        self.count += 1
        if self.count > 30 or (self.fixed and widget.get("status")):
            self.done.set()
            return
        base = {**widget}
        widget["status"] = {"seen": self.count}
        await api.status.patch(widget, merge_from(base, lock=True))


def record(path: Path, scenario: Any) -> list[Document]:
    """The findings in the log of a server, while ``scenario(url)`` runs."""
    server = BackgroundServer(Cluster(crds=[definition()], objects=[TARGET]).state, audit_log=AuditLog(path))
    try:
        asyncio.run(asyncio.wait_for(scenario(server.url), 30))
    finally:
        server.stop()
    reading = Reading()
    result = analyse(events_of([str(path)], reading), Options())
    assert reading.bad == 0
    assert result.judged > 0
    return documents_of(result.findings, [str(path)])


async def _run(url: str, controllers: list[Controller], done: asyncio.Event) -> None:
    managers = [
        Manager(controller, config=url, guards=NO_GUARDS, status_address=None, grace=1.0) for controller in controllers
    ]
    async with contextlib.AsyncExitStack() as stack:
        for manager in managers:
            stack.push_async_callback(manager.stop)
        await asyncio.gather(*(manager.start() for manager in managers))
        await done.wait()


def claim(*, lock: bool) -> Any:
    """Two replicas of one operator."""

    async def scenario(url: str) -> None:
        meeting, done = Meeting(), asyncio.Event()
        await _run(url, [Claims(owner, meeting, done, lock=lock) for owner in ("first", "second")], done)

    return scenario


def stamp(*, fixed: bool) -> Any:
    """One operator that triggers itself."""

    async def scenario(url: str) -> None:
        done = asyncio.Event()
        await _run(url, [Stamps(done, fixed=fixed)], done)

    return scenario


def test_two_replicas_with_a_blind_patch_lose_an_update(tmp_path: Path) -> None:
    """The explanation names both writes, and the fix."""
    (document,) = record(tmp_path / "audit.log", claim(lock=False))
    assert document.violation.property == "lost update"
    assert len(document.violation.culprits) == 2
    text = render(document)
    assert "claims#1" in text
    assert "claims#2" in text
    assert "status.owner" in text
    assert "Fix: send metadata.resourceVersion" in text
    assert "[audit.log:" in text
    assert Document.load(document.dump()) == document


def test_the_same_with_a_lock_is_silent(tmp_path: Path) -> None:
    """The second write is refused, and the reconcile reads again."""
    assert record(tmp_path / "audit.log", claim(lock=True)) == []
    assert b'"code":409' in (tmp_path / "audit.log").read_bytes()


def test_an_operator_that_wakes_itself_up_is_a_hot_loop(tmp_path: Path) -> None:
    """It never rests, although nothing happens."""
    (document,) = record(tmp_path / "audit.log", stamp(fixed=False))
    assert document.violation.property == "hot loop"
    assert document.violation.cycle is not None
    assert "status.seen" in document.violation.sentence


def test_the_same_operator_fixed_is_silent(tmp_path: Path) -> None:
    """It writes once."""
    assert record(tmp_path / "audit.log", stamp(fixed=True)) == []


@pytest.mark.parametrize("lock", [False, True])
def test_a_log_gives_the_same_report_each_time(tmp_path: Path, lock: bool) -> None:
    """Byte for byte."""
    documents = record(tmp_path / "audit.log", claim(lock=lock))
    again = analyse(events_of([str(tmp_path / "audit.log")], Reading()), Options())
    dumps = [document.dump() for document in documents_of(again.findings, [str(tmp_path / "audit.log")])]
    assert dumps == [document.dump() for document in documents]
