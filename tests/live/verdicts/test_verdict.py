"""Verdicts as text."""

from __future__ import annotations

from kontend import Cluster
from kontend.live.baseline import Baseline
from kontend.live.gate.perturbation import Down
from kontend.live.gate.plan import Plan
from kontend.live.gate.records import Log
from kontend.live.process.quiescence import Rest
from kontend.live.properties.findings import Expected, Finding
from kontend.live.properties.masking import Mask
from kontend.live.runs.outcome import Run
from kontend.live.verdicts.verdict import Verdict, Violation, lines_of
from live.conftest import setting

STATE = Cluster().state
RUN = Run(Plan((Down(1, 0),)), Log(), Rest.IDLE, STATE, STATE)
FOUND = Finding("diverged", "the final state differs", final=True)


def test_what_may_still_heal_is_no_violation_and_says_how_often_it_was_seen() -> None:
    baseline = Baseline((RUN, RUN), setting(["true"]), Expected([], Mask()), (), ())
    pending = Violation(FOUND, RUN.plan, RUN, 4, 4, may_heal=True)
    verdict = Verdict(baseline, 1, 1, (), (), (pending,), (), 1.0, stopped="the time was up (--seconds 1)")
    (line,) = (line for line in verdict.rest() if line.startswith("not confirmed"))
    assert "(4 of 4 runs; the time was up before it could heal by itself)" in line
    assert not verdict.violated


def test_the_code_of_a_violation_is_named_before_the_fix() -> None:
    shown = list(lines_of(Violation(FOUND, RUN.plan, RUN, 4, 4, code=("step 3 (x) comes from a.go:7 (main.a)",))))
    assert "  code: step 3 (x) comes from a.go:7 (main.a)" in shown
