"""Campaigns that are killed, interrupted, or that cannot write: they go on with the same command."""

from __future__ import annotations

import json
import os
import pty
import random
import re
import resource
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from campaign import scenario_files as files
from campaign.scenario_files import write_files
from kontend.campaign.journal import BadJournal, Journal
from kontend.campaign.unit import FoundViolation, UnitOutcome, Unusable
from kontend.cli import main

UNIT = Unusable("f.py", "refused", "why")
OUTCOME = UnitOutcome("violated", "one", 3, 4, (FoundViolation("p", "s"),), "details")
#: The number of times that a campaign is killed.
ROUNDS = int(os.environ.get("KONTEND_KILLS", "2"))
SLOW = files.LIMITED.replace("Bounds(states=2)", "Bounds(lag=1, concurrent=2)")


@pytest.fixture(autouse=True)
def _in_a_directory_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def campaign(*arguments: str) -> int:
    return main(["campaign", "--one-process", *arguments])


def start(*arguments: str, **options: object) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "kontend.cli", "campaign", "--one-process", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)  # type: ignore[call-overload,no-any-return]


def children(process: int) -> list[int]:
    """The processes that belong to the group of a process that has its own session."""
    processes = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[2]) == process and fields[0] != "Z":
                processes.append(int(entry.name))
    return processes


def until(condition: object, seconds: float = 60) -> None:
    """Wait for a condition."""
    deadline = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < deadline
        select.select([], [], [], 0.02)


def test_a_campaign_that_is_killed_at_random_ends_with_the_same_outcomes() -> None:
    write_files(Path("all"), a=files.HOLDS, b=files.VIOLATED, c=SLOW, d=files.LIMITED)
    options = ["all", "--bounds", "lag=0", "--bounds", "lag=1", "--jobs", "2"]
    assert campaign(*options, "--directory", "whole", "--json", "whole.json") == 1
    chance = random.Random(ROUNDS)
    sizes = [0]
    for _ in range(ROUNDS):
        process = start(*options, "--directory", "killed", start_new_session=True)
        known, more = sizes[-1], chance.randrange(1, 900)

        def is_due(process: subprocess.Popen[bytes] = process, least: int = known + more) -> bool:
            journal = Path("killed/journal")
            return process.poll() is not None or (journal.exists() and journal.stat().st_size > least)

        until(is_due)
        process.kill()
        process.communicate()
        until(lambda process=process: not children(process.pid))  # nothing is left behind
        sizes.append(Path("killed/journal").stat().st_size)
    assert sizes[1] > 0
    assert campaign(*options, "--directory", "killed", "--json", "killed.json") == 1
    assert Path("killed.json").read_text().replace("killed", "whole") == Path("whole.json").read_text()
    assert not list(Path("killed/checkpoints").glob("*"))


def test_known_outcomes_are_printed_again_and_errors_run_again(capsys: pytest.CaptureFixture[str]) -> None:
    write_files(Path("all"), a=files.HOLDS, b=files.CRASHES)
    assert campaign("all") == 2
    first = capsys.readouterr()
    write_files(Path("all"), b=files.CRASHES.replace("faulthandler._sigsegv()", "pass"))
    assert campaign("all") == 0
    second = capsys.readouterr()
    assert first.out.splitlines()[0] == second.out.splitlines()[0]
    assert "1 of 2 results are from kontend-campaign/journal; --fresh runs everything again" in second.err


def test_other_code_runs_again(capsys: pytest.CaptureFixture[str]) -> None:
    write_files(Path(), f=files.HOLDS)
    assert campaign("f.py") == 0
    write_files(Path(), f=files.VIOLATED.replace("raises =", "holds ="))
    assert campaign("f.py") == 1
    assert "results are from" not in capsys.readouterr().err


def test_damaged_records_are_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    write_files(Path("all"), a=files.HOLDS, b=files.VIOLATED)
    assert campaign("all") == 1
    whole = capsys.readouterr().out
    journal = Path("kontend-campaign/journal")
    damaged = bytearray(journal.read_bytes()[:-20])
    damaged[damaged.index(b'"title"')] ^= 1
    journal.write_bytes(damaged)
    assert campaign("all") == 1
    shown = capsys.readouterr()
    assert shown.out == whole
    assert "1 of its records are damaged; their units run again" in shown.err
    assert "results are from" not in shown.err


@pytest.mark.parametrize("content", [b"something else\n", b"\x00\xff" * 100])
def test_another_file_in_place_of_the_journal_is_not_touched(
    content: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    write_files(Path(), f=files.HOLDS)
    Path("d").mkdir()
    Path("d/journal").write_bytes(content)
    assert campaign("f.py", "--directory", "d") == 2
    assert "d/journal: not the journal of a campaign" in capsys.readouterr().err
    assert Path("d/journal").read_bytes() == content


def test_a_journal_survives_every_cut(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j")
    journal.record(UNIT, OUTCOME)
    journal.close()
    content = journal.path.read_bytes()
    for size in range(len(content) + 1):
        journal.path.write_bytes(content[:size])
        again = Journal(tmp_path / "j")
        assert again.known(UNIT) == (OUTCOME if size == len(content) else None)
        again.record(UNIT, OUTCOME)
        again.close()
        after = Journal(tmp_path / "j")
        assert after.known(UNIT) == OUTCOME
        assert not after.damaged
        after.close()


def test_two_campaigns_do_not_share_a_directory(capsys: pytest.CaptureFixture[str]) -> None:
    write_files(Path(), f=files.HOLDS)
    journal = Journal(Path("d"))
    with pytest.raises(BadJournal):
        Journal(Path("d"))
    assert campaign("f.py", "--directory", "d") == 2
    assert "d: another campaign runs in it" in capsys.readouterr().err
    journal.close()
    assert campaign("f.py", "--directory", "d") == 0


def test_a_full_disk_ends_a_campaign_that_goes_on_when_there_is_room() -> None:
    write_files(Path("all"), a=files.VIOLATED, b=files.VIOLATED, c=files.HOLDS)
    options = ["all", "--jobs", "1", "--directory", "d"]

    def little_room() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (900, resource.RLIM_INFINITY))

    # Bytecode that does not fit would be cut off and kept, and no process could import these modules any more.
    process = start(*options, preexec_fn=little_room, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
    _, errors = process.communicate()
    assert process.returncode == 2
    assert b"d/journal: File too large; what was recorded before is kept: run the same command again" in errors
    assert b"Traceback" not in errors
    again = start(*options)
    output, _ = again.communicate()
    assert again.returncode == 1
    assert output.endswith(b"3 runs: 1 hold, 2 violated\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_campaign_in_an_orderly_way(number: signal.Signals) -> None:
    endless = files.HOLDS.replace("await api.get(self.kind, request)", "\n        while True: pass")
    write_files(Path("all"), a=files.HOLDS, b=endless)
    process = start("all", "--jobs", "2", "--json", "report.json", start_new_session=True)
    assert process.stdout is not None
    assert process.stdout.readline().startswith(b"holds: all/a.py:holds: ")
    os.killpg(process.pid, number) if number == signal.SIGINT else process.send_signal(number)
    _, errors = process.communicate()
    assert process.returncode == 130
    assert b"interrupted; 1 of 2 runs are left: the same command goes on" in errors
    assert b"Traceback" not in errors
    assert not children(process.pid)
    assert json.loads(Path("report.json").read_text())["summary"]["holds"] == 1


def test_the_table_on_a_terminal() -> None:
    endless = files.HOLDS.replace("await api.get(self.kind, request)", "\n        while True: pass")
    write_files(Path("all"), a=files.HOLDS, b=endless)
    terminal, slave = pty.openpty()
    command = [sys.executable, "-m", "kontend.cli", "campaign", "--one-process", "all", "--jobs", "2", "--timeout", "4"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=slave, env={**os.environ, "TERM": "xterm"}, start_new_session=True
    )
    os.close(slave)
    shown = ""
    try:
        while True:
            try:
                data = os.read(terminal, 1 << 16)
            except OSError:  # the program has ended
                break
            if not data:
                break
            shown += data.decode()
    finally:
        output, _ = process.communicate()
        os.close(terminal)
    assert process.returncode == 2
    assert re.search(r"1 run: 1 hold; 1 to go, \d+ s\r\n  all/b.py:holds  \d+ s\r\n", shown)
    assert shown.endswith("\r\x1b[J")  # the table is gone at the end
    assert output.count(b"\n") == 3
    assert b"\x1b" not in output
