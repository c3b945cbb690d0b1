"""Processes that misbehave: a clear message, no process left behind, no hang."""

from __future__ import annotations

import asyncio
import fcntl
import os
import re
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from kontend.cli import main
from kontend.live.baseline import Unusable
from kontend.live.gate.call import Call, Point
from kontend.live.gate.perturbation import Fail
from kontend.live.gate.plan import Plan
from kontend.live.gate.records import Happening
from kontend.live.process.command import Command, Ports, free_port
from kontend.live.process.process import CannotStart, Output, Process
from kontend.live.process.processes import MARK
from kontend.live.process.quiescence import Rest
from kontend.live.process.ready import BadReady, parse_ready
from kontend.live.runs.run import carry_out
from live.conftest import HERE, explore, python, setting

#: Marks the processes of one test, so that tests which run at the same time do not see each other's.
TOKEN = "KONTEND_TEST_TOKEN"


def left_behind() -> list[str]:
    """The processes that runs of this test have started and not killed."""
    token = os.environ[TOKEN].encode()
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            environment, line = (entry / "environ").read_bytes(), (entry / "cmdline").read_bytes()
        except OSError:
            continue
        if token in line or (line and token in environment and f"{MARK}=".encode() in environment):
            found.append(line.decode())
    return found


@pytest.fixture(autouse=True)
def _nothing_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv(TOKEN, secrets.token_hex(8))
    yield
    assert left_behind() == []


def test_a_command_that_is_not_there() -> None:
    with pytest.raises(CannotStart, match=r"/no/such/manager: No such file or directory"):
        explore(setting(["/no/such/manager"]))


def test_a_process_that_exits_at_once_is_reported_with_its_output() -> None:
    with pytest.raises(Unusable, match=r"exited with code 7 before it was idle(.|\n)*no license"):
        explore(setting(python("hostile.py", "exit")))


def test_the_signal_that_ended_a_process_is_named() -> None:
    with pytest.raises(Unusable, match=r"was killed by SIGKILL before it was idle"):
        explore(setting(["sh", "-c", "kill -9 $$"]))


def test_a_process_that_talks_to_another_server() -> None:
    with pytest.raises(Unusable, match=r"made no request within 2 s. KUBECONFIG is set for it"):
        explore(setting(python("hostile.py", "elsewhere"), limit=2.0))


@pytest.mark.parametrize("way", ["sigterm", "fork", "apart", "flood"])
def test_processes_that_are_hard_to_stop_are_explored_like_others(way: str) -> None:
    verdict = explore(setting(python("hostile.py", way), "plain.yaml"), only="crash after create")
    assert verdict.ok, list(verdict.lines())
    assert verdict.executed == 1


def test_a_process_that_never_stops_writing_never_settles() -> None:
    verdict = explore(setting(python("hostile.py", "write"), limit=2.0))
    assert [finding.property for finding in verdict.baseline.findings] == ["never settles"]
    last_writes = "(create configmaps default/c, )?patch configmaps default/c"
    assert re.search(
        rf"does not stop writing \([\d,]+ writes\); its last writes: {last_writes}$",
        verdict.baseline.findings[0].sentence,
    )


def test_a_process_that_repeats_a_refused_write_never_settles() -> None:
    verdict = explore(setting(python("hostile.py", "refused"), limit=3.0))
    assert [finding.property for finding in verdict.baseline.findings] == ["never settles"]
    assert re.search(
        r"does not become idle: it repeats update configmaps default/c \([\d,]+ times\), which fails: 409 Operation",
        verdict.baseline.findings[0].sentence,
    )


def test_a_process_that_burns_processor_time_never_settles() -> None:
    verdict = explore(setting(python("hostile.py", "spin"), limit=3.0))
    assert [finding.property for finding in verdict.baseline.findings] == ["never settles"]
    sentence = verdict.baseline.findings[0].sentence
    assert "the process does not become idle: it uses processor time all the while; its last requests:" in sentence


def test_a_process_that_exits_by_itself_only_once_is_undecided(tmp_path: Path) -> None:
    """It exits after the crash of the plan; the confirmations show no exit."""
    given = setting(python("hostile.py", "restart"), "plain.yaml", EXITED=str(tmp_path / "exited"))
    verdict = explore(given, only="crash after create")
    lines = list(verdict.lines())
    assert (verdict.ok, verdict.violated) == (False, False)
    assert any(line.startswith("not confirmed: process exit by crash after create") for line in lines)
    assert lines[-1] == "undecided: the process exited by itself in 1 run"


def test_a_process_that_goes_on_in_the_background() -> None:
    message = r"exited with code 0 (.|\n)*does it go on in the background\? It has to stay in the foreground"
    with pytest.raises(Unusable, match=message):
        explore(setting(python("hostile.py", "background")))


def test_timers_beyond_the_patience_are_listed_and_not_part_of_the_runs() -> None:
    given = replace(setting(python("hostile.py", "late"), patience=0.3), observe=6.0)
    verdict = explore(given, only="crash after")
    assert not verdict.violated, list(verdict.lines())
    assert not verdict.plans
    assert list(verdict.lines())[-1].startswith("undecided: the controller has written nothing, so nothing could be")
    (note,) = verdict.baseline.notes
    assert "timer beyond the patience of 0." in note
    assert "create configmaps default/late came " in note
    assert "no run waits for it (--patience)" in note


def test_names_that_no_plan_has_leave_it_undecided() -> None:
    verdict = explore(setting(python("plain.py"), "plain.yaml"), only="no such plan")
    assert not verdict.ok
    assert list(verdict.lines())[-1] == (
        "undecided: no plan was carried out; --list-plans prints the names that --only chooses from"
    )


def test_baselines_that_differ_are_reported_first_and_are_no_violation(tmp_path: Path) -> None:
    verdict = explore(setting(python("hostile.py", "racy"), LAST=str(tmp_path / "last")), only="none")
    assert not verdict.violated
    assert not verdict.ok
    lines = list(verdict.lines())
    assert lines[1].startswith("cannot be judged: unperturbed runs end in different states: configmaps")


@pytest.mark.parametrize("thinking", ["0", "0.8"])
def test_polling_does_not_count_as_work(thinking: str) -> None:
    """Its polling is learned from one phase to the next; a round with work may take longer than the patience."""
    given = setting(python("hostile.py", "poll", thinking), "plain.yaml", limit=2.0)
    verdict = explore(given, only="crash after", jobs=2)
    assert verdict.ok, list(verdict.lines())
    calls = "get widgets.live.kontend.dev default/w, list widgets.live.kontend.dev"
    assert verdict.baseline.notes == (f"polls, which does not count as work: {calls}",)
    assert verdict.executed == 2


def test_a_process_that_polls_may_wait_for_a_slow_write() -> None:
    """It makes no other call meanwhile, and does not come round."""
    given = setting(python("hostile.py", "poll", "0"), "plain.yaml", limit=2.0)
    verdict = explore(given, only="takes long", jobs=2, confirmations=1)
    assert verdict.ok, list(verdict.lines())
    assert verdict.executed == 1


def test_a_fixed_port_is_named_as_the_reason_why_there_is_no_hand_over() -> None:
    port = str(free_port())
    verdict = explore(setting(python("hostile.py", "bind", port), "plain.yaml"), only="taken over")
    assert not verdict.violations
    assert any("binds a fixed port; put {port} in its place" in note for note in verdict.notes)


def test_runs_at_the_same_time_do_not_take_a_fixed_port_from_each_other() -> None:
    given = setting(python("hostile.py", "bind", str(free_port())), "plain.yaml")
    verdict = explore(given, only="crash after update", jobs=4)
    assert verdict.ok, list(verdict.lines())
    assert verdict.executed == 3
    assert any("one run at a time, whatever --jobs says" in note for note in verdict.notes)


def test_a_free_port_for_each_instance() -> None:
    given = setting(python("hostile.py", "bind", "{port}"), "plain.yaml")
    verdict = explore(given, only="create configmaps", jobs=4)
    assert verdict.ok, list(verdict.lines())
    assert not verdict.notes


def test_a_url_is_asked_beside_everything_else_until_it_answers_with_200() -> None:
    given = setting(python("hostile.py", "ready", "{port}"), "plain.yaml")
    verdict = explore(replace(given, ready=parse_ready("http://127.0.0.1:{port}/readyz")), only="crash after create")
    assert verdict.ok, list(verdict.lines())
    assert all("answered three times" in run.outputs["controller"] for run in verdict.baseline.runs)


def test_a_line_of_output_is_waited_for() -> None:
    given = setting(python("hostile.py", "flood"), limit=2.0)
    with pytest.raises(Unusable, match=r"was not ready within 2 s \(--limit\): .* its output matches no such line"):
        explore(replace(given, ready=parse_ready("no such line")))


def test_a_url_that_never_answers_is_named() -> None:
    given = setting(python("plain.py"), limit=2.0)
    with pytest.raises(
        Unusable, match=r"was not ready within 2 s \(--limit\): .* http://127.0.0.1:1/ answers with 200"
    ):
        explore(replace(given, ready=parse_ready("http://127.0.0.1:1/")))


def test_a_silent_listener_does_not_hold_up_the_event_loop() -> None:
    """The process makes its requests while the URL hangs."""
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        given = replace(setting(python("plain.py"), limit=2.0), ready=parse_ready(url))
        run = asyncio.run(carry_out(given, Plan(())))
    assert run.unready
    assert run.rest is Rest.BUSY
    assert [str(request.call) for request in run.log.requests()][:1] == ["list widgets.live.kontend.dev"]


def test_a_port_in_the_url_must_be_in_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["live", "--ready", "http://127.0.0.1:{port2}/", "--", "manager", "--address=:{port}"]) == 2
    assert "--ready http://127.0.0.1:{port2}/: the command does not have its {port}" in capsys.readouterr().err


@pytest.mark.parametrize("url", ["http://", "http://127.0.0.1:x/", "https://127.0.0.1:99999"])
def test_urls_that_cannot_be_asked(url: str) -> None:
    with pytest.raises(BadReady, match="expected a URL such as"):
        parse_ready(url)


def test_each_place_has_a_port_of_its_own_also_in_the_environment() -> None:
    ports = Ports()
    filled = [ports.fill(text) for text in ("--a=:{port}", "--b=:{port2}", "--c=:{port}", "{ports}")]
    assert filled[0][4:] == filled[2][4:] != filled[1][4:]
    assert filled[3] == "{ports}"
    command = Command(("sh", "-c", "echo $WHERE"), environment={"WHERE": "at {port}"})

    async def output() -> str:
        process = await Process.start("controller", command, Path("config"))
        await process.wait(20)
        await process.kill()
        return process.output.text()

    assert re.fullmatch(r"at \d+\n", asyncio.run(output()))


@pytest.mark.skipif(not hasattr(fcntl, "F_GETPIPE_SZ"), reason="pipes have a fixed size here")
def test_a_process_that_writes_much_waits_for_the_reader_a_hundred_times_not_thousands() -> None:
    size = "import fcntl; print(fcntl.fcntl(1, fcntl.F_GETPIPE_SZ))"

    async def output() -> str:
        process = await Process.start("controller", Command((sys.executable, "-c", size)), Path("config"))
        await process.wait(60)
        await process.kill()
        return process.output.text()

    assert int(asyncio.run(output())) >= 1 << 20


def test_the_middle_of_a_long_output_is_left_out() -> None:
    output = Output()
    for number in range(2000):
        output.add(f"line {number} {'x' * 1000}\n".encode())
    text = output.text()
    assert text.startswith("line 0 ")
    assert "bytes left out" in text
    assert "line 1999" in output.last_lines()
    assert len(text) < 1 << 20


def kontend_live(way: str) -> subprocess.Popen[bytes]:
    """A running command, when its controller has been started."""
    command = [sys.executable, "-m", "kontend.cli", "live", "--crds", str(HERE / "crds.yaml"), "--"]
    running = subprocess.Popen(
        [*command, *python("hostile.py", way)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ}
    )
    while not left_behind():
        assert running.poll() is None
    return running


@pytest.mark.parametrize("way", ["write", "fork", "apart"])
def test_a_command_that_is_killed_leaves_nothing_behind(way: str) -> None:
    running = kontend_live(way)
    while way in ("fork", "apart") and len(left_behind()) < 3:
        assert running.poll() is None
    running.kill()
    running.communicate(timeout=20)
    deadline = time.monotonic() + 20
    while left_behind():
        assert time.monotonic() < deadline, left_behind()


JUST_STARTED = """
import os, signal, subprocess, sys
from kontend.live.process import watchdog
from kontend.live.process.processes import MARK

sleeps = [sys.executable, "-c", "import time; print(flush=True); time.sleep(600)", os.environ["KONTEND_TEST_TOKEN"]]
if sys.argv[1:]:
    subprocess.Popen(sleeps, env={}, start_new_session=True).wait()
else:
    watchdog.start()
    environment = {**os.environ, MARK: watchdog.PREFIX + "-1"}
    subprocess.Popen([sys.executable, __file__, "child"], env=environment, start_new_session=True)
    signal.pause()
"""


def test_a_process_that_was_just_started_does_not_outlive_a_command_that_is_killed(tmp_path: Path) -> None:
    """The command is killed after a process was started, and before it could say to which group that belongs."""
    script = tmp_path / "command.py"
    script.write_text(JUST_STARTED)
    running = subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE)
    assert running.stdout is not None
    running.stdout.readline()
    assert len(left_behind()) == 2
    running.stdout.close()  # what is left behind would keep it open
    running.kill()
    running.wait()
    deadline = time.monotonic() + 20
    while left_behind():
        assert time.monotonic() < deadline, left_behind()


def test_an_interrupted_command_leaves_nothing_behind() -> None:
    running = kontend_live("write")
    running.terminate()
    _, errors = running.communicate(timeout=20)
    assert running.returncode == 130
    assert b"Traceback" not in errors


def test_a_process_that_ends_as_it_starts_because_a_call_failed_is_started_again() -> None:
    """A supervisor would do that; an operator that cannot take its lock has nothing else to do."""
    given = setting(python("hostile.py", "lock"), "plain.yaml")
    failed = Plan((Fail(Point(Call("create", "configmaps", "default", "lock")), "500"),))
    verdict = explore(given, plans=(failed,))
    assert verdict.ok, list(verdict.lines())
    run = asyncio.run(carry_out(given, failed))
    ends = [record.text for record in run.log.records if isinstance(record, Happening) and record.action == "exit"]
    assert ends == ["controller ends while it starts (code 1), and is started again"]


@pytest.mark.parametrize("ends", ["", "yes"], ids=["waits", "ends"])
def test_an_instance_that_waits_for_the_lock_of_a_paused_one_is_right(ends: str) -> None:
    """The holder of the lock is there: nothing is known about what happens when another one takes over."""
    given = setting(python("hostile.py", "lock for life"), "plain.yaml", limit=3.0, ENDS=ends)
    verdict = explore(given, only="status delayed until another")
    assert verdict.ok, list(verdict.lines())
    assert verdict.executed == verdict.plans > 1
    (note,) = verdict.notes
    assert note.startswith(f"{verdict.plans} plans could not be carried out: the other instance does not take over")


#: Makes a lock when it starts, and only logs what the user does.
IDLER = """
import json, os, time, urllib.error, urllib.request, yaml
server = yaml.safe_load(open(os.environ["KUBECONFIG"]))["clusters"][0]["cluster"]["server"]
body = json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "lock"}}).encode()
try:
    headers = {"Content-Type": "application/json"}
    urllib.request.urlopen(urllib.request.Request(f"{server}/api/v1/namespaces/default/configmaps", body, headers))
except urllib.error.HTTPError:
    pass
urllib.request.urlopen(f"{server}/apis/live.kontend.dev/v1/widgets").read()
print("error: cannot reconcile", flush=True)
time.sleep(100)
"""


def test_a_controller_that_writes_only_when_it_starts_is_no_success() -> None:
    verdict = explore(setting([sys.executable, "-c", IDLER], "plain.yaml"), only="crash after create")
    assert not verdict.violated
    assert verdict.undecided.startswith("the controller has written nothing after the actions of the user")
    assert "error: cannot reconcile" in "\n".join(verdict.lines())
