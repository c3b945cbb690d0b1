"""Edits of the user that a write takes back unseen: drift that is corrected in every run, or a lost update."""

from __future__ import annotations

import pytest

from kontend import Cluster
from kontend.kube.meta.names import Key
from kontend.live.gate.call import Call
from kontend.live.gate.plan import Plan
from kontend.live.gate.records import Happening, Log, Request
from kontend.live.process.quiescence import Rest
from kontend.live.properties.findings import Expected, findings
from kontend.live.properties.masking import Mask, comparable
from kontend.live.runs.outcome import Run
from kontend.live.runs.setting import PRIMARY, SECOND
from kontend.live.runs.workload import USER

KEY = Key("default", "child")
CONFIG_MAPS = "ConfigMap/v1"


def run_of(author: str, written: str, edit: str = "edited") -> Run:
    """A controller that has read a child writes it when another one has edited it."""
    cluster, log = Cluster(), Log()
    made = cluster.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "child"}, "data": {"a": "1"}})
    initial = before = cluster.state
    cluster.patch(CONFIG_MAPS, "child", {"data": {"a": edit}}, manager=author)
    if author == USER:
        log.add(Happening(USER, "act", "edits", 1.0, 1, before, cluster.state))
    else:
        other = Request(1, author, Call("patch", "configmaps", *KEY), 1.0, 1, KEY, before=before, after=cluster.state)
        log.add(other)
    before = cluster.state
    cluster.patch(CONFIG_MAPS, "child", {"data": {"a": written}}, manager="operator")
    received = frozenset({("configmaps", KEY, int(made["metadata"]["resourceVersion"]))})
    write = Request(2, PRIMARY, Call("patch", "configmaps", *KEY), 2.0, 1, KEY, before=before, after=cluster.state)
    write.received = received
    log.add(write)
    return Run(Plan(()), log, Rest.IDLE, initial, cluster.state)


@pytest.mark.parametrize(
    ("author", "ends_with", "expected"),
    [
        (USER, "2", []),  # unperturbed runs put it back, too
        (USER, "edited", ["lost update", "diverged"]),  # what the user decides stays there
        ("another", "2", ["lost update"]),  # another program does not write it again
        (SECOND, "2", []),  # the instance that has taken over did the same work
        (SECOND, "edited", ["lost update", "diverged"]),
    ],
)
def test_an_edit_that_no_run_keeps_is_drift(author: str, ends_with: str, expected: list[str]) -> None:
    run = run_of(author, "2")
    good = Cluster(state=run.initial)
    good.patch(CONFIG_MAPS, "child", {"data": {"a": ends_with}})
    facts = Expected([comparable(run.initial, good.state)], Mask())
    assert [finding.property for finding in findings(run, facts)] == expected


def test_without_an_expected_end_nothing_is_taken_for_drift() -> None:
    assert [finding.property for finding in findings(run_of(USER, "2"), Expected((), Mask()))] == ["lost update"]


def test_an_identity_is_lost_even_if_another_one_takes_its_place() -> None:
    one, other = (f"{digit}b7bc492-38cd-4a7c-8be6-54a7d4850850" for digit in "01")
    run = run_of(SECOND, one, other)
    facts = Expected([comparable(run.initial, run.final)], Mask())
    assert [finding.property for finding in findings(run, facts)] == ["lost update"]
