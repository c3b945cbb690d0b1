"""Six planted bugs in an operator on controller-runtime and in one on kopf: each is found, and each twin is clean.

KONTEND_LIVE_ROUNDS says how often each verdict must come out the same (make live: three times), KONTEND_LIVE_RECORD
where they are written to. Without rounds, the slowest campaigns are left out; without KONTEND_LIVE=1, which CI sets,
all that take more than a few seconds.
"""

from __future__ import annotations

import importlib.util
import os

import pytest

from kontend.live.runs.setting import Setting
from kontend.live.verdicts.verdict import Verdict
from live.conftest import SUBJECTS, explore, fitter, python, setting

ROUNDS = int(os.environ.get("KONTEND_LIVE_ROUNDS", "0"))
RECORD = os.environ.get("KONTEND_LIVE_RECORD")
#: Runs at the same time: most of a run is silence. Python takes half a second of processor time to start.
JOBS = {"controller-runtime": 8, "kopf": 4}
IS_CI = os.environ.get("KONTEND_LIVE") == "1"
#: The properties that each bug violates, a part of the name of a plan that shows it, and of the cause that is reported.
BUGS = {
    "tls": (
        {"diverged"},
        "create secrets default/w-ca",
        "no step has made secrets default/w-keystore; in unperturbed runs controller create secrets default/w-keystore",
    ),
    "worker": (
        {"leak"},
        "create secrets default/w-worker-*",
        "(controller create secrets default/w-worker-*) made secrets default/w-worker-*",
    ),
    "size": (
        {"leak"},
        "actions 2 to 3",
        "made configmaps default/w-2; in unperturbed runs controller delete configmaps default/w-2 removes it",
    ),
    "settings": (
        {"lost update", "diverged"},
        "delayed until another instance has taken over",
        '(controller-2 patch secrets default/w-settings) wrote .data.settings = "ZmFzdA==", then step',
    ),
    "ready": (
        {"vanished element", "diverged"},
        "next user action right after",
        "removed .status.conditions[type=Approved]",
    ),
    "part": (
        {"diverged"},
        "cache of widgets.live.kontend.dev stale from action 1",
        "(user creates ConfigMap default/wheel) created the object, then step",
    ),
}


def go_operator(feature: str, bug: str) -> Setting:
    return setting([str(fitter()), f"--bug={bug}"], f"{feature}.yaml")


def kopf_operator(feature: str, bug: str) -> Setting:
    if importlib.util.find_spec("kopf") is None:
        pytest.skip("the kopf package is not installed (group clients)")
    command = python("lean_kopf.py", "run", "--standalone", "--namespace", "default", str(SUBJECTS / "fitter.py"))
    return setting(command, f"{feature}.yaml", BUG=bug)


#: Campaigns with many plans, by operator and feature.
SLOW = {("controller-runtime", "size"), *(("kopf", feature) for feature in ("worker", "size", "settings", "ready"))}
QUICK = {("controller-runtime", feature) for feature in ("tls", "worker", "part")}
OPERATORS = {"controller-runtime": go_operator, "kopf": kopf_operator}


def verdicts(operator: str, feature: str, bug: str) -> list[Verdict]:
    if not ROUNDS and (operator, feature) in SLOW:
        pytest.skip("takes a minute or more: set KONTEND_LIVE_ROUNDS")
    if not ROUNDS and not IS_CI and (operator, feature) not in QUICK:
        pytest.skip("takes half a minute: set KONTEND_LIVE=1")
    given = OPERATORS[operator](feature, bug)
    verdicts = []
    for number in range(max(1, ROUNDS)):
        verdict = explore(given, jobs=JOBS[operator], confirmations=1, shrinks=0)
        properties = sorted({violation.finding.property for violation in verdict.violations}) or ["no violation"]
        shown = [f"{operator} {feature}{'' if bug else ' (twin)'}, round {number + 1}: {', '.join(properties)}"]
        shown += [f"    {line}" for line in verdict.lines()]
        if RECORD:
            with open(RECORD, "a", encoding="utf-8") as file:
                file.write("\n".join([*shown, ""]))
        verdicts.append(verdict)
    return verdicts


@pytest.mark.parametrize("feature", BUGS)
@pytest.mark.parametrize("operator", OPERATORS)
def test_a_planted_bug_is_found_without_hints(operator: str, feature: str) -> None:
    properties, plan, cause = BUGS[feature]
    for verdict in verdicts(operator, feature, feature):
        lines = "\n".join(verdict.lines())
        assert {violation.finding.property for violation in verdict.violations} == properties, lines
        assert any(plan in violation.plan.name for violation in verdict.violations), lines
        assert cause in lines
        assert not verdict.baseline.findings, lines


@pytest.mark.parametrize("feature", BUGS)
@pytest.mark.parametrize("operator", OPERATORS)
def test_the_twin_without_the_bug_is_clean(operator: str, feature: str) -> None:
    for verdict in verdicts(operator, feature, ""):
        lines = "\n".join(verdict.lines())
        assert not verdict.violated, lines
        # One that rightly never writes shows nothing: the verdict says so, and is no success.
        assert verdict.undecided == verdict.baseline.vacuous, lines
        assert bool(verdict.baseline.vacuous) == ((operator, feature) == ("controller-runtime", "part")), lines
        assert verdict.executed >= 5, lines


@pytest.mark.parametrize(("bug", "expected"), [("part", {"diverged"}), ("", set())])
def test_an_operator_that_lists_may_be_restarted_onto_an_older_list(bug: str, expected: set[str]) -> None:
    """Without its feature of consistent watches, client-go lists what may be old."""
    given = setting([str(fitter()), f"--bug={bug}"], "part.yaml", KUBE_FEATURE_WatchListClient="false")
    older = "restart after action 2 onto a list of widgets.live.kontend.dev that is 1 change old"
    verdict = explore(given, only=older, confirmations=1, shrinks=0)
    lines = "\n".join(verdict.lines())
    assert verdict.executed == 1, lines
    assert {violation.finding.property for violation in verdict.violations} == expected, lines


def test_leader_election_may_stay_on() -> None:
    """The lease of the paused leader expires at once, the other instance takes over, and the late write arrives."""
    given = setting([str(fitter()), "--leader-elect", "--bug=settings"], "settings.yaml")
    verdict = explore(given, only="taken over", jobs=JOBS["controller-runtime"], confirmations=1, shrinks=0)
    properties, _, cause = BUGS["settings"]
    lines = "\n".join(verdict.lines())
    assert {violation.finding.property for violation in verdict.violations} == properties, lines
    assert cause in lines
    assert "comes from features.go:" in lines
    assert "(main.(*Fitter).settings)" in lines
