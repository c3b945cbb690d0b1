"""A controller on plain HTTP, explored from end to end."""

from __future__ import annotations

import asyncio
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from kontend.cli import main
from kontend.live import campaign
from kontend.live.baseline import Unusable
from kontend.live.gate.call import Call, Point
from kontend.live.gate.perturbation import Fail
from kontend.live.gate.plan import Plan
from kontend.live.gate.records import Happening
from kontend.live.plans.derivation import derive
from kontend.live.runs.run import carry_out
from kontend.live.runs.workload import UserAction
from kontend.live.verdicts.verdict import Verdict
from kontend.report.archive import read_archive
from live.conftest import HERE, SUBJECTS, explore, python, setting

STATUS = "crash after update widgets.live.kontend.dev default/w status"
QUICK = ["--patience", "0.5", "--observe", "0.1", "--heal", "0.1", "--jobs", "4"]
OPTIONS = ["--crds", str(HERE / "crds.yaml"), "--actions", str(SUBJECTS / "plain.yaml"), *QUICK]


def test_a_crash_between_status_and_child_is_found() -> None:
    verdict = explore(
        setting(python("plain.py"), "plain.yaml", BUG="crash"), only="crash after", confirmations=1, jobs=4
    )
    assert [(violation.finding.property, violation.plan.name, violation.seen) for violation in verdict.violations] == [
        ("diverged", f"{STATUS}; no user action after number 1", 2)
    ]
    assert "configmaps default/w-config: missing" in verdict.violations[0].finding.sentence
    assert next(line for line in verdict.lines() if line.startswith("  cause: ")).endswith(
        "no step has made configmaps default/w-config; in unperturbed runs controller create configmaps "
        "default/w-config does"
    )


def test_the_twin_without_the_bug_survives_crashes_and_lost_responses() -> None:
    for only, count in (("crash after", 8), ("lost response", 4)):
        verdict = explore(setting(python("plain.py"), "plain.yaml"), only=only, jobs=4)
        assert verdict.ok, list(verdict.lines())
        assert verdict.executed == count


def test_an_ignored_conflict_is_found_although_events_of_the_process_and_of_the_user_make_up_for_it() -> None:
    label = {"apiVersion": "live.kontend.dev/v1", "kind": "Widget", "metadata": {"name": "w", "labels": {"a": "b"}}}

    def verdict_on(bug: str) -> Verdict:
        given = setting(python("plain.py"), "plain.yaml", BUG=bug)
        actions = (*given.workload.actions, UserAction("patch", label))
        given = replace(given, workload=replace(given.workload, actions=actions))
        only = "409 3 times for update configmaps"
        return explore(given, only=only, confirmations=1, shrinks=0, heal=0.1, jobs=4)

    verdict = verdict_on("ignored")
    assert [(violation.finding.property, violation.plan.name) for violation in verdict.violations] == [
        ("diverged", "409 3 times for update configmaps default/w-config; no user action after number 2")
    ]
    assert 'configmaps default/w-config .data.size: "1" instead of "2"' in verdict.violations[0].finding.sentence
    assert not verdict.healing
    assert any(", 1 again with fewer user actions carried out in " in line for line in verdict.lines())
    twin = verdict_on("")
    assert twin.ok, list(twin.lines())


def test_a_late_retry_heals_the_final_state_and_is_listed_not_reported() -> None:
    given = setting(python("plain.py"), "plain.yaml", RETRY="2.5")
    only = "409 3 times for update configmaps"
    verdict = explore(given, only=only, confirmations=1, shrinks=0, heal=20.0)
    assert verdict.ok, list(verdict.lines())
    (healing,) = verdict.healing
    assert healing.healed is not None
    assert healing.healed < 2.5
    assert any(line.startswith("heals by itself after ") and only in line for line in verdict.lines())


def test_a_violation_is_saved_shown_and_replayed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    chosen = ["--only", "crash after", "--env", "BUG=crash"]
    assert main(["live", *OPTIONS, *chosen, "--", *python("plain.py")]) == 1
    out = capsys.readouterr().out
    assert "VIOLATION diverged" in out
    (trace,) = Path("failures").glob("*.zip")
    assert f"Replay: kontend replay {trace}" in out
    assert trace.with_suffix(".html").exists()
    document = read_archive(trace)
    assert document.violation.perturbations == (STATUS,)
    assert [step.action for step in document.steps if step.action in ("start", "act", "crash")] == [
        "start", "act", "crash", "start"
    ]  # fmt: skip
    assert document.bounds["occurred"] == "4 of 4 runs"
    assert f"{STATUS} (step " in document.violation.sentence
    assert "no step has made configmaps default/w-config" in document.violation.sentence
    assert document.violation.culprits

    assert main(["replay", str(trace)]) == 2
    assert "run it with --yes" in capsys.readouterr().err
    assert main(["replay", "--yes", str(trace)]) == 1
    assert "reproduced: diverged" in capsys.readouterr().out


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A directory with everything that a command line with relative paths names."""
    made = tmp_path / "project"
    (made / "bin").mkdir(parents=True)
    for path in (HERE / "crds.yaml", SUBJECTS / "plain.yaml", SUBJECTS / "plain.py"):
        shutil.copy(path, made)
    manager = made / "bin" / "manager"
    manager.write_text(f'#!/bin/sh\nBUG=crash exec {sys.executable} "$1"\n')
    manager.chmod(0o755)
    return made


def test_a_trace_is_replayed_from_another_directory(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(project)
    options = ["--crds", "crds.yaml", "--actions", "plain.yaml", *QUICK]
    assert main(["live", *options, "--only", "crash after update", "--", "./bin/manager", "plain.py"]) == 1
    (trace,) = (project / "failures").glob("*.zip")
    assert read_archive(trace).bounds["live"]["command"] == ["./bin/manager", "plain.py"]
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    assert main(["replay", "--yes", str(trace)]) == 1
    captured = capsys.readouterr()
    assert "reproduced: diverged" in captured.out
    assert f"runs {project}/bin/manager plain.py" in captured.err
    shutil.move(trace, elsewhere / "trace.zip")
    assert main(["replay", "--yes", "trace.zip"]) == 2
    message = "trace.zip: crds.yaml, plain.yaml, bin/manager, plain.py: neither here nor beside the trace"
    assert message in capsys.readouterr().err


def test_plans_are_listed_with_their_reasons(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["live", *OPTIONS, "--list-plans", "--", *python("plain.py")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "crash after create configmaps default/w-config: what follows this write may never happen" in lines[0]
    assert len(lines) == len(set(lines)) > 20


def test_a_plan_from_a_file_and_wrong_ones(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = tmp_path / "plan.yaml"
    call = "{verb: create, resource: configmaps, namespace: default, name: w-config}"
    plan.write_text(f"perturbations:\n- {{do: lose, at: {call}}}\n")
    assert main(["live", *OPTIONS, "--plan", str(plan), "--", *python("plain.py")]) == 0
    assert "no violation in 1 plan\n" in capsys.readouterr().out
    plan.write_text("perturbations:\n- {do: explode}\n")
    assert main(["live", *OPTIONS, "--plan", str(plan), "--", *python("plain.py")]) == 2
    assert "perturbations[0].do: expected one of crash, lose" in capsys.readouterr().err


def test_a_time_limit_that_ends_before_the_baseline_is_an_error_that_says_so() -> None:
    with pytest.raises(Unusable, match="the unperturbed runs were not over after"):
        explore(setting(python("plain.py"), "plain.yaml"), only="crash after", seconds=0.001)


def test_a_time_limit_leaves_the_verdict_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(campaign, "_PLANS", 0.0)  # the time to begin plans is over when the baseline is
    verdict = explore(setting(python("plain.py"), "plain.yaml"), only="crash after", seconds=3600.0)
    assert verdict.executed < verdict.plans == 8
    assert not verdict.ok
    assert list(verdict.lines())[-1] == "undecided: not all plans were carried out"


def test_properties_of_the_user(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "properties.py"
    source.write_text(
        "from kontend.explore import always, eventually\n"
        "small = always(lambda c: all(m['data'] == {'size': '1'} for m in c.list('ConfigMap/v1')), name='small')\n"
        "there = eventually(lambda c: bool(c.list('ConfigMap/v1')), name='there')\n"
    )
    chosen = ["--only", "none", "--properties", str(source)]
    assert main(["live", *OPTIONS, *chosen, "--", *python("plain.py")]) == 1
    out = capsys.readouterr().out
    assert "small is broken by controller update configmaps default/w-config" in out
    assert "there" not in out


def test_properties_in_cel(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "properties.yaml"
    source.write_text(
        "- {always: 'object.data.size == \"1\"', kind: ConfigMap/v1, name: small}\n"
        "- {eventually: 'objects[\"ConfigMap/v1\"].size() == 1', name: one}\n"
        "- {never: 'object.spec.size > 1', kind: Widget.live.kontend.dev/v1, name: grown by the user}\n"
        "- {sometimes: 'objects[\"Secret/v1\"].size() > 0', name: secrets}\n"
    )
    chosen = ["--only", "none", "--properties", str(source)]
    assert main(["live", *OPTIONS, *chosen, "--", *python("plain.py")]) == 1
    out = capsys.readouterr().out
    assert "small is broken by controller update configmaps default/w-config" in out
    assert "grown by the user is broken by user changes Widget default/w: spec" in out
    assert "VIOLATION secrets: it holds in no state of any run" in out
    assert "one" not in [line.partition(":")[0].removeprefix("VIOLATION ") for line in out.splitlines()]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("p.yaml", "- {always: 'object.'}", "properties[0]: object.:"),
        ("p.yaml", "- {alwys: 'true'}", "properties[0]: expected always, never, eventually or sometimes"),
        ("p.yaml", "a: [", "not YAML"),
        ("p.yaml", "[]", "it defines none, such as - {always: 'CEL', name: NAME}"),
        ("p.yaml", "- {always: 'true', name: a}\n- {never: 'false', name: a}", "two properties are called a"),
        ("p.py", "x = 1", "it defines none, such as ready = eventually(lambda cluster: ...)"),
    ],
)
def test_properties_that_cannot_be_used(
    name: str, content: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / name
    source.write_text(content)
    assert main(["live", *OPTIONS, "--properties", str(source), "--", "true"]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    "name",
    [
        "next user action right after create configmaps default/installing",
        "create configmaps default/installing takes long",
    ],
)
def test_a_controller_may_install_the_definition_of_its_kind(name: str) -> None:
    """A user who acts before the definition is there tries again; a process that waits for a write watches later."""
    verdict = explore(setting(python("defining.py"), "gadget.yaml"), only=name, jobs=2)
    assert verdict.ok, list(verdict.lines())
    assert name in {plan.name for plan in derive(verdict.baseline)}


def test_a_kind_that_nothing_defines_is_named() -> None:
    with pytest.raises(
        Unusable, match=r"action 1 \(create default/g\): neither does --crds name the definition of Gadget"
    ):
        explore(setting(python("plain.py"), "gadget.yaml"))


def test_an_object_that_comes_and_goes_unseen_is_no_plan() -> None:
    """The ConfigMap of a Widget stays when the Widget is deleted; a process that never saw the Widget makes none."""
    verdict = explore(setting(python("plain.py"), "delete.yaml"), only="during action", jobs=4, shrinks=0)
    assert verdict.ok, list(verdict.lines())
    names = {plan.name for plan in derive(verdict.baseline)}
    assert {"down during action 1", "down during action 2"} <= names
    assert not any("actions 1 to 2" in name or "from action 1 until" in name for name in names)


@pytest.mark.parametrize(("bug", "expected"), [("late", ["diverged"]), ("", [])])
def test_a_user_may_act_and_be_seen_before_the_answer_to_a_write_arrives(bug: str, expected: list[str]) -> None:
    given = setting(python("plain.py"), "plain.yaml", BUG=bug)
    only = "next user action right after update widgets.live.kontend.dev default/w status"
    verdict = explore(given, only=only, confirmations=1, shrinks=0, heal=0.1, jobs=2)
    lines = "\n".join(verdict.lines())
    assert [violation.finding.property for violation in verdict.violations] == expected, lines
    assert all(violation.plan.name == only for violation in verdict.violations), lines
    if bug:
        assert 'configmaps default/w-config .data.size: "1" instead of "2"' in lines


def test_a_process_that_runs_alone_may_overwrite_what_it_has_written_before_a_restart() -> None:
    """From an older list it draws its conclusion once more, and again when it has caught up."""
    given = setting(python("plain.py"), "plain.yaml", BUG="unlocked", OLD="1")
    verdict = explore(given, only="restart after action 2 onto a list", shrinks=0, jobs=4)
    assert verdict.ok, list(verdict.lines())
    assert verdict.executed == 4


def test_a_conflict_on_a_watched_object_comes_from_another_writer_whose_event_arrives() -> None:
    """An answer that the server has not made would bring no event, on which a process may rely."""
    given = setting(python("plain.py"), "plain.yaml")
    call = Call("update", "widgets.live.kontend.dev", "default", "w", "status")
    plan = Plan((Fail(Point(call), "409"),))
    run = asyncio.run(carry_out(given, plan))
    texts = [record.text for record in run.log.records if isinstance(record, Happening)]
    assert "another writer changes Widget default/w" in texts
    refused = next(request for request in run.log.requests() if request.perturbed)
    assert (refused.code, "the object has been modified" in refused.message) == (409, True)
    verdict = explore(given, plans=(plan,))
    assert verdict.ok, list(verdict.lines())
