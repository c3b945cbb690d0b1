"""Causes of differences in final states."""

from __future__ import annotations

from typing import Any

from kontend import Cluster
from kontend.live.baseline import Baseline
from kontend.live.gate.plan import Plan
from kontend.live.gate.records import Happening, Log
from kontend.live.process.quiescence import Rest
from kontend.live.properties.final_state import Mask, comparable
from kontend.live.properties.findings import Expected, findings
from kontend.live.runs.outcome import Run
from kontend.live.verdicts.explanation import explain
from live.conftest import setting

INITIAL = Cluster().state


def ended(*contents: dict[str, Any]) -> Run:
    """A run with one write for each content of a ConfigMap."""
    cluster, log = Cluster(state=INITIAL), Log()
    for number, content in enumerate(contents):
        before = cluster.state
        if number:
            cluster.patch("ConfigMap/v1", "c", content, namespace="default")
        else:
            cluster.create(
                {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "default"}, **content}
            )
        log.add(Happening("controller", "act", f"write {number + 1}", 0.0, before=before, after=cluster.state))
    return Run(Plan(()), log, Rest.IDLE, INITIAL, cluster.state)


def cause(run: Run, good: Run) -> str:
    expected = Expected([comparable(INITIAL, good.final)], Mask())
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
