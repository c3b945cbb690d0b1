"""Causes of differences in final states."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kontend import Cluster
from kontend.cli import main
from kontend.cluster.state import State
from kontend.live.baseline import Baseline
from kontend.live.campaign import Campaign
from kontend.live.gate.plan import Plan
from kontend.live.gate.records import Happening, Log
from kontend.live.process.quiescence import Rest
from kontend.live.properties.findings import Expected, Finding, findings
from kontend.live.properties.masking import Mask, comparable
from kontend.live.runs.outcome import Run
from kontend.live.verdicts import explanation
from kontend.live.verdicts.explanation import Cause, cause_of, explain
from kontend.live.verdicts.verdict import Verdict, Violation
from kontend.report.archive import read_archive
from live.conftest import setting

INITIAL = Cluster().state


def ended(*contents: dict[str, Any], initial: State = INITIAL) -> Run:
    """A run with one write for each content of a ConfigMap, which the first one creates if it is not there."""
    cluster, log = Cluster(state=initial), Log()
    for number, content in enumerate(contents):
        before = cluster.state
        if number or initial is not INITIAL:
            cluster.patch("ConfigMap/v1", "c", content, namespace="default")
        else:
            cluster.create(
                {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "default"}, **content}
            )
        log.add(Happening("controller", "act", f"write {number + 1}", 0.0, before=before, after=cluster.state))
    return Run(Plan(()), log, Rest.IDLE, initial, cluster.state)


def cause(run: Run, good: Run) -> str:
    expected = Expected([comparable(good.initial, good.final)], Mask())
    (finding,) = findings(run, expected)
    return explain(finding, run, Baseline((good, good), setting(["true"]), expected, (), ())).sentence


def test_a_field_that_no_step_has_written_is_not_blamed_on_the_write_of_its_neighbour() -> None:
    good = ended({}, {"data": {"phase": "Ready"}}, {"data": {"url": "there"}})
    assert cause(ended({}, {"data": {"phase": "Ready"}}), good) == (
        "no step has written configmaps default/c .data.url; in unperturbed runs write 3 does"
    )


def test_a_field_that_was_written_and_removed_names_both_steps() -> None:
    good = ended({"data": {"phase": "Ready", "url": "there"}})
    gone = ended({"data": {"phase": "Ready", "url": "there"}}, {"data": {"url": None}})
    assert cause(gone, good) == (
        'step 2 (write 2) removed .data.url over step 1 (write 1), which wrote .data = {"phase":"Ready","url":"there"}'
    )


def test_an_element_that_no_step_has_written_is_not_blamed_on_the_write_of_another_one() -> None:
    good = ended({"metadata": {"name": "c", "namespace": "default"}}, {"metadata": {"finalizers": ["a/b", "c/d"]}})
    short = ended({"metadata": {"name": "c", "namespace": "default"}}, {"metadata": {"finalizers": ["a/b"]}})
    assert cause(short, good) == (
        'no step has written configmaps default/c .metadata.finalizers["c/d"]; in unperturbed runs write 2 does'
    )


def test_a_field_with_an_early_value_has_the_write_that_has_not_come() -> None:
    good = ended({"data": {"mode": "calm"}}, {"data": {"mode": "loud"}})
    assert cause(ended({"data": {"mode": "calm"}}), good) == (
        'step 1 (write 1) wrote .data = {"mode":"calm"}; in unperturbed runs write 2 wrote .data.mode = "loud"'
    )


def test_a_field_that_only_unperturbed_runs_have_changed() -> None:
    initial = ended({"data": {"mode": "calm"}}).final
    late = ended({"data": {"other": "x"}}, initial=initial)
    good = ended({"data": {"other": "x"}}, {"data": {"mode": "loud"}}, initial=initial)
    assert cause(late, good) == "no step changed configmaps default/c .data.mode; in unperturbed runs write 2 does"


def test_an_error_in_one_explanation_costs_neither_the_text_nor_the_traces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    good = ended({"data": {"mode": "calm"}}, {"data": {"mode": "loud"}})
    expected = Expected([comparable(INITIAL, good.final)], Mask())
    baseline = Baseline((good, good), setting(["true"]), expected, (), ())
    calls = []

    def broken(finding: Finding, run: Run, baseline: Baseline) -> Cause:
        calls.append(run.plan.name)
        if len(calls) == 1:
            raise LookupError("no such write")
        return explain(finding, run, baseline)

    monkeypatch.setattr(explanation, "explain", broken)
    violations = []
    for actions in (1, 2):
        run = replace(ended({"data": {"mode": "calm"}}), plan=Plan((), actions=actions))
        (finding,) = findings(run, expected)
        violations.append(Violation(finding, run.plan, run, 4, 4, cause=cause_of(finding, run, baseline)))

    async def explored(_: Campaign) -> Verdict:
        return Verdict(baseline, 2, 2, tuple(violations), (), (), (), 1.0)

    monkeypatch.setattr(Campaign, "explore", explored)
    assert main(["live", "--failures", str(tmp_path), "--", "true"]) == 1
    out, err = capsys.readouterr()
    causes = [line for line in out.splitlines() if line.startswith("  cause: ")]
    assert causes[0].startswith("  cause: not known: internal error: LookupError: no such write (test_explanation.py, ")
    assert causes[1].startswith("  cause: step 1 (write 1) wrote ")
    replays = [line.removeprefix("Replay: kontend replay ") for line in out.splitlines() if line.startswith("Replay: ")]
    assert [read_archive(Path(path)).schedule[0]["actions"] for path in replays] == [1, 2]
    assert f"{replays[0]} has all steps of the run" in err
    assert replays[1] not in err


def test_what_unperturbed_runs_do_after_the_user_has_stopped_explains_nothing() -> None:
    cluster, log = Cluster(state=INITIAL), Log()
    phases: list[State] = []
    for text in ("write 1", "the user deletes it"):
        before = cluster.state
        if phases:
            cluster.delete("ConfigMap/v1", "c", namespace="default")
        else:
            cluster.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "default"}})
        log.add(Happening("controller", "act", text, 0.0, before=before, after=cluster.state))
        phases.append(cluster.state)
    good = Run(Plan(()), log, Rest.IDLE, INITIAL, cluster.state, phases=phases)
    expected = Expected([comparable(INITIAL, good.final)], Mask())
    baseline = Baseline((good, good), setting(["true"], "plain.yaml"), expected, (), ())
    run = Run(Plan((), actions=0), Log(), Rest.IDLE, INITIAL, INITIAL)
    (finding,) = findings(run, baseline.expected_after(0))
    assert explain(finding, run, baseline).sentence == (
        "no step has made configmaps default/c; in unperturbed runs write 1 does"
    )
