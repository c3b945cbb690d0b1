"""``kontend race``: reports, files, filters and exit codes."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest

from kontend.cli import main
from race.log.test_log_files import lossy
from race.logs import CONFIG_MAPS, WIDGETS, Log

DATA = Path(__file__).parent.parent / "race" / "data"
C = f"{CONFIG_MAPS}/c"


@pytest.fixture(autouse=True)
def _in_tmp_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def race(*arguments: str) -> int:
    """Run ``kontend race``."""
    return main(["race", *arguments])


def test_a_lost_update_is_explained_and_saved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With a zip, a page, and the fix."""
    lossy().write(tmp_path / "audit.log")
    assert race("audit.log") == 1
    out = capsys.readouterr().out
    assert "lost update: shown by 4 steps (recorded)" in out
    assert 'two wrote data.next = "2" to ConfigMap default/c from resourceVersion' in out
    assert "► 3  one  patch ConfigMap default/c" in out
    assert "► 4  two  patch ConfigMap default/c" in out
    assert "[audit.log:5]" in out
    assert "Fix: send metadata.resourceVersion" in out
    assert "1 finding in 3 judged writes between 2026-11-16T00:00:00Z and 2026-11-16T00:00:00Z" in out
    (archive,) = (tmp_path / "failures").glob("lost-update-*.zip")
    assert "lost update" in archive.with_suffix(".html").read_text()


def test_the_trace_answers_questions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """inspect and report read it; replay says that there is nothing to run."""
    lossy().write(tmp_path / "audit.log")
    race("audit.log")
    (archive,) = (tmp_path / "failures").glob("*.zip")
    capsys.readouterr()
    assert main(["inspect", str(archive), "who", "data.next"]) == 0
    out = capsys.readouterr().out
    assert "(read in step 2)" in out
    assert "None" not in out
    assert main(["inspect", str(archive), "object", "c", "at", "3"]) == 0
    out = capsys.readouterr().out
    assert "next: '1'" in out
    assert "cache" not in out
    assert main(["report", str(archive), "--markdown"]) == 0
    assert "Recorded in audit.log" in capsys.readouterr().out
    assert main(["replay", str(archive)]) == 2
    assert "there is nothing to run; see kontend inspect" in capsys.readouterr().err


def test_nothing_found_is_exit_code_0(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The summary says how much was judged."""
    log = Log()
    log.user().create(CONFIG_MAPS, "c")
    log.write(tmp_path / "audit.log")
    assert race("audit.log") == 0
    assert capsys.readouterr().out.startswith("nothing found in 1 judged write between")
    assert not (tmp_path / "failures").exists()


@pytest.mark.parametrize(("level", "has"), [("Metadata", "neither request nor response"), ("Request", "the request")])
def test_a_lower_level_is_undecided(tmp_path: Path, capsys: pytest.CaptureFixture[str], level: str, has: str) -> None:
    """It says what is missing, and what to do."""
    lossy(Log(level=level)).write(tmp_path / "audit.log")
    assert race("audit.log") == 3
    out = capsys.readouterr().out
    assert f"not judged: 3 writes at the level {level}, which has {has}" in out
    assert "Log these resources at RequestResponse" in out


def test_bad_lines_are_named_and_leave_it_undecided(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A finding stays a finding."""
    log = Log()
    log.user().create(CONFIG_MAPS, "c")
    path = log.write(tmp_path / "audit.log")
    path.write_text(path.read_text() + "{oops\n")
    assert race("audit.log") == 3
    captured = capsys.readouterr()
    assert "kontend race: audit.log:2: not JSON" in captured.err
    assert "not read: 1 of 2 lines" in captured.out
    path.write_text(lossy().text() + "{oops\n")
    assert race("audit.log") == 1


@pytest.mark.parametrize("content", ["", "hello\n", '{"kind": "Event", "apiVersion": "v1"}\n'])
def test_what_is_no_audit_log_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str) -> None:
    """With what was expected."""
    (tmp_path / "x").write_text(content)
    assert race("x") == 2
    assert "expected JSON lines of audit.k8s.io/v1" in capsys.readouterr().err


def test_wrong_arguments_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """Each with the option's name."""
    for arguments, message in (
        (["none.log"], "none.log: No such file or directory"),
        (["x", "--since", "soon"], "expected a time such as 2026-11-16T10:00:00Z or 15m, found soon"),
        (["x", "--since", "2026-11-16", "--until", "2026-11-15"], "--since: expected a time before --until"),
        (["x", "--lag", "fast"], "expected a time such as 50ms, 2s or 5m, found fast"),
        (["-", "-"], "the standard input can be read only once"),
    ):
        assert race(*arguments) == 2
        assert message in capsys.readouterr().err


def two_losses() -> Log:
    """A loss in each of two namespaces, ten minutes apart, of different kinds."""
    log = Log()
    log.cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}})
    one, two, user = log.client("one"), log.client("two"), log.user()
    widgets = WIDGETS.replace("default", "other")
    user.create(CONFIG_MAPS, "c", data={"next": "0"})
    user.create(widgets, "w", spec={"size": 0})
    for path, patches in (
        (C, [{"data": {"next": "1"}}, {"data": {"next": "2"}}]),
        (f"{widgets}/w", [{"spec": {"size": 1}}, {"spec": {"size": 2}}]),
    ):
        one.get(path)
        two.get(path)
        one.patch(path, patches[0])
        two.patch(path, patches[1])
        log.wait(600)
    return log


@pytest.mark.parametrize(
    ("arguments", "objects"),
    [
        ([], ["ConfigMap/v1 default/c", "Widget.example.com/v1 other/w"]),
        (["-n", "other"], ["Widget.example.com/v1 other/w"]),
        (["--kind", "ConfigMap"], ["ConfigMap/v1 default/c"]),
        (["--kind", "widgets.example.com"], ["Widget.example.com/v1 other/w"]),
        (["--kind", "widget", "--kind", "configmaps"], ["ConfigMap/v1 default/c", "Widget.example.com/v1 other/w"]),
        (["--since", "2026-11-16T00:05:00Z"], ["Widget.example.com/v1 other/w"]),
        (["--until", "2026-11-16T00:05:00"], ["ConfigMap/v1 default/c"]),
        (["--namespace", "default", "--kind", "Widget"], []),
    ],
)
def test_the_log_can_be_narrowed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], objects: list[str]
) -> None:
    """By namespace, kind and time."""
    two_losses().write(tmp_path / "audit.log")
    assert race("audit.log", *arguments, "--output-format", "json") == (1 if objects else 0)
    assert [finding["object"] for finding in json.loads(capsys.readouterr().out)["findings"]] == objects


def test_json_has_all_of_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """For other programs."""
    lossy().write(tmp_path / "audit.log")
    assert race("audit.log", "--output-format", "json") == 1
    document = json.loads(capsys.readouterr().out)
    (finding,) = document["findings"]
    assert finding["property"] == "lost update"
    assert finding["line"] == "audit.log:5"
    assert finding["culprits"] == [3, 4]
    assert Path(finding["file"]).exists()
    assert document["judgedWrites"] == 3
    assert document["writesByLevel"] == {"RequestResponse": 3}


def test_one_page_shows_all_findings(tmp_path: Path) -> None:
    """And one without findings says so."""
    two_losses().write(tmp_path / "audit.log")
    assert race("audit.log", "--html", "page.html") == 1
    page = (tmp_path / "page.html").read_text()
    assert page.count("<b>lost update</b>") == 2
    assert race("audit.log", "-n", "none", "--html", "empty.html") == 0
    assert "nothing found" in (tmp_path / "empty.html").read_text()


def test_the_standard_input_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Also compressed."""
    path = tmp_path / "in"
    path.write_bytes(gzip.compress(lossy().text().encode()))
    descriptor = os.open(path, os.O_RDONLY)
    try:
        with open(descriptor, closefd=False) as stdin:
            monkeypatch.setattr("sys.stdin", stdin)
            assert race("-") == 1
    finally:
        os.close(descriptor)


def test_the_log_of_a_real_cluster(capsys: pytest.CaptureFixture[str]) -> None:
    """In the format of kube-apiserver 1.35: pods by name, watches, heartbeats, leases, a table, a secret's metadata."""
    assert race(str(DATA / "cluster.jsonl"), "--output-format", "json") == 1
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert document["unreadableLines"] == 0
    assert [finding["property"] for finding in document["findings"]] == ["lost update", "fight"]
    findings = {finding["property"]: finding for finding in document["findings"]}
    assert "shop-operator-7d9f-x2x4k wrote status.leader" in findings["lost update"]["sentence"]
    assert "shop-operator-7d9f-p8q1z had changed it" in findings["lost update"]["sentence"]
    assert "spec.replicas of Deployment shop/web in turns" in findings["fight"]["sentence"]
    assert document["writesByLevel"]["Metadata"] == 1


def test_suspected_writes_are_no_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Both clients watch, so the second may have seen the first one's change: exit 3, with the option to pass."""
    log = Log()
    one, two = log.client("provision"), log.client("start")
    log.user().create(WIDGETS, "w", spec={"size": 1})
    log.wait(60)
    for client in (one, two):
        client.list(WIDGETS)
        client.watch(WIDGETS)
    one.patch(f"{WIDGETS}/w/status", {"status": {"phase": "Provisioned"}})
    log.wait(0.02)
    two.patch(f"{WIDGETS}/w/status", {"status": {"phase": "Started"}})
    log.write(tmp_path / "audit.log")
    assert race("audit.log") == 3
    out = capsys.readouterr().out
    assert "suspected: 1 write without a resourceVersion" in out
    assert "--lag 50ms" in out
    assert race("audit.log", "--lag", "50ms") == 1
