"""The lock or the retry that a run has shown to be missing."""

from __future__ import annotations

from kontend import Cluster
from kontend.kube.meta.names import Key
from kontend.live.gate.call import Call, Point
from kontend.live.gate.perturbation import Fail, HandOver, Perturbation
from kontend.live.gate.plan import Plan
from kontend.live.gate.records import Log, Request
from kontend.live.process.quiescence import Rest
from kontend.live.properties.findings import Finding
from kontend.live.runs.outcome import Run
from kontend.live.verdicts.remedy import remedies

CALL = Call("patch", "configmaps", "default", "c")
FINDING = Finding("diverged", "the final state differs", final=True)


def told(perturbation: Perturbation, *more: Request, locked: bool = False) -> list[str]:
    """The remedies of a run with one perturbed request and those after it."""
    cluster = Cluster()
    before = cluster.state
    cluster.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}})
    first = Request(1, "controller", CALL, 0.0, 1, Key("default", "c"), perturbation=perturbation, locked=locked)
    first.before, first.after = before, cluster.state
    run = Run(Plan((perturbation,)), Log([first, *more]), Rest.IDLE, before, cluster.state)
    return list(remedies(FINDING, run))


def test_a_failed_call_that_is_never_tried_again_has_a_dropped_error() -> None:
    (text,) = told(Fail(Point(CALL), "500"))
    assert text.startswith("step 1 has failed and patch configmaps default/c was never tried again: return its error")


def test_a_failed_call_that_is_tried_again_is_not_at_fault() -> None:
    assert told(Fail(Point(CALL), "500"), Request(2, "controller", CALL, 1.0, 1, Key("default", "c"))) == []


def test_a_call_that_only_the_next_action_of_the_user_brings_back_was_dropped() -> None:
    assert len(told(Fail(Point(CALL), "500"), Request(2, "controller", CALL, 1.0, 2, Key("default", "c")))) == 1


def test_a_late_write_without_a_version_needs_a_lock_and_a_locked_one_does_not() -> None:
    (text,) = told(HandOver(Point(CALL)))
    assert text.startswith("step 1 was late and names no version: put metadata.resourceVersion")
    assert told(HandOver(Point(CALL)), locked=True) == []
