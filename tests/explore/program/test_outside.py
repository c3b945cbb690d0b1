"""Input and output, threads, sleeping and endless loops in a reconcile are refused with the line."""

from __future__ import annotations

import ctypes
import fcntl
import importlib
import logging
import os
import select
import signal
import socket
import sqlite3
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from kontend import Api, Controller, Request
from kontend.explore import BadScenario, Bounds, Nondeterminism, Scenario, check
from kontend.explore.program import outside
from kontend.explore.sources.action_documents import read_actions
from kontend.runtime.controller import BadController
from kontend.testing import permissive_crd

WIDGET = "Widget.example.com/v1"
OBJECT = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w", "namespace": "default"}}


def scenario(do: Callable[[], Any]) -> Scenario:
    class Widgets(Controller):
        kind = WIDGET

        async def reconcile(self, request: Request, api: Api) -> Any:
            await api.get(self.kind, request)
            return do()

    return Scenario([Widgets()], crds=[permissive_crd(WIDGET)], objects=[OBJECT], bounds=Bounds(lag=0, faults=0))


def thread() -> None:
    threading.Thread(target=int).start()


def process() -> None:
    subprocess.run(["true"], check=True)


def connection() -> None:
    socket.create_connection(("127.0.0.1", 1))


def written() -> None:
    Path(os.devnull).write_text("x")


def environment() -> None:
    os.environ["KONTEND_TEST"] = "1"


def database() -> None:
    sqlite3.connect(":memory:")


def native_code() -> None:
    ctypes.CDLL(None)


def locked() -> None:
    with Path(__file__).open() as file:
        fcntl.flock(file, fcntl.LOCK_UN)


def ended() -> None:
    os._exit(3)


def aborted() -> None:
    os.abort()


def signalled() -> None:
    signal.raise_signal(signal.SIGTERM)


def asked() -> None:
    input()


def caught() -> None:
    with suppress(BaseException):
        os.mkdir("/nowhere/at/all")


@pytest.mark.parametrize(
    "do", [process, connection, written, environment, database, native_code, locked, asked, caught]
)
def test_input_output_and_threads_are_refused_with_the_line(do: Callable[[], None]) -> None:
    with pytest.raises(BadScenario, match=r"test_outside.py:\d+: widgets: the reconcile (leads to|opens) .*explored"):
        check(scenario(do))


@pytest.mark.parametrize("do", [ended, aborted, signalled])
def test_the_end_of_the_process_is_refused_with_the_line(do: Callable[[], None]) -> None:
    with pytest.raises(BadScenario, match=r"test_outside.py:\d+: widgets: the reconcile calls .*ends the process"):
        check(scenario(do))


def alarm() -> None:
    signal.alarm(60)


def handler() -> None:
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)


def duplicate() -> None:
    os.close(os.dup(1))


def descriptor_written() -> None:
    os.write(2, b"")


def open_file_written() -> None:
    _OPENED.write("x")


def polled() -> None:
    select.select([], [], [], 0)


def waited() -> None:
    threading.Event().wait(0)


_OPENED = open(os.devnull, "w")  # noqa: SIM115


@pytest.mark.parametrize("do", [alarm, handler, duplicate, descriptor_written, open_file_written, polled, waited])
def test_calls_of_the_system_without_audit_events_are_refused_with_the_line(do: Callable[[], None]) -> None:
    with pytest.raises(Nondeterminism, match=r"test_outside.py:\d+ (calls|leads to)"):
        check(scenario(do))


def test_a_search_in_a_module_that_is_being_imported_refuses_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "searches_when_imported.py").write_text(
        """
import subprocess
from kontend import Controller
from kontend.explore import Bounds, Scenario, check

class Runs(Controller):
    kind = "ConfigMap/v1"
    async def reconcile(self, request, api):
        subprocess.run(["true"])

OBJECT = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}}
check(Scenario([Runs()], objects=[OBJECT], bounds=Bounds(lag=0, faults=0)))
"""
    )
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(BadScenario, match=r"searches_when_imported.py:9: runs: the reconcile leads to subprocess"):
        importlib.import_module("searches_when_imported")


def test_threads_are_refused_with_the_line() -> None:
    with pytest.raises((BadScenario, Nondeterminism), match=r"test_outside.py:\d+.*start_new_thread"):
        check(scenario(thread))


def test_sleeping_is_refused_with_the_remedy() -> None:
    with pytest.raises((BadScenario, Nondeterminism), match=r"test_outside.py:\d+.*time.sleep.*requeue_after"):
        check(scenario(lambda: time.sleep(0)))


def test_a_loop_without_end_is_stopped_with_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outside, "LONGEST", 0.05)

    def forever() -> None:
        while True:
            pass

    with pytest.raises(BadScenario, match=r"test_outside.py:\d+: widgets: .*seconds of processor time"):
        check(scenario(forever))


def test_an_interruption_of_a_long_computation_names_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outside, "IMPATIENT", 0.0)

    def interrupted() -> None:
        raise KeyboardInterrupt

    with pytest.raises(BadScenario, match=r"test_outside.py:\d+: widgets: the reconcile was interrupted while it"):
        check(scenario(interrupted))


def test_a_wait_without_end_is_stopped_with_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outside, "LONGEST_WAIT", 0.05)
    monkeypatch.setattr(outside, "_BUSY", 1.0)
    with pytest.raises(BadScenario, match=r"test_outside.py:\d+: widgets: the reconcile waited for .*lock or a queue"):
        check(scenario(lambda: threading.Event().wait()))


@pytest.mark.parametrize("value", [5, {"requeue_after": 5}, "", False])
def test_a_reconcile_returns_none_or_a_result(value: object) -> None:
    with pytest.raises(BadController, match="expected None or a Result"):
        check(scenario(lambda: value))


def test_reading_importing_and_logging_are_allowed() -> None:
    def harmless() -> None:
        Path(__file__).read_text()
        import this_is_not_there_before  # type: ignore[import-not-found]  # noqa: F401

    def quiet() -> None:
        try:
            harmless()
        except ImportError:
            logging.getLogger(__name__).info("not there")

    assert check(scenario(quiet)).ok


def test_a_file_without_actions_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "none.yaml").write_text("[]\n")
    with pytest.raises(BadScenario, match="no actions"):
        read_actions([tmp_path / "none.yaml"])
