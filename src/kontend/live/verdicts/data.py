"""A verdict as JSON, for programs: the same facts as its text, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from kontend.live.baseline import Baseline
from kontend.live.verdicts.remedy import remedies
from kontend.live.verdicts.verdict import Verdict, Violation


class Saved(NamedTuple):
    """The files of a violation; empty where they could not be written."""

    trace: str = ""
    page: str = ""


def data_of(verdict: Verdict, saved: Callable[[Violation], Saved], logs: str) -> dict[str, Any]:
    """Return a verdict as JSON; ``saved`` knows the files of its violations."""
    return {
        "ok": verdict.ok,
        "undecided": "" if verdict.violated else verdict.undecided,
        "stopped": verdict.stopped,
        "seconds": round(verdict.seconds, 1),
        "baseline": _baseline(verdict.baseline),
        "plans": {
            "derived": verdict.plans,
            "carriedOut": verdict.executed,
            "notReached": [plan.name for plan in verdict.unreached],
            "pairs": verdict.pairs,
            "pairsCarriedOut": verdict.executed_pairs,
        },
        "violations": [_violation(violation) | saved(violation)._asdict() for violation in verdict.violations],
        "healing": [_violation(violation) for violation in verdict.healing],
        "notConfirmed": [_violation(violation) for violation in verdict.unconfirmed],
        "notJudged": [_violation(violation) for violation in verdict.unjudged],
        "untested": list(verdict.untested),
        "notes": list(verdict.notes),
        "logs": logs,
        "text": "\n".join(verdict.lines()),
    }


def _baseline(baseline: Baseline) -> dict[str, Any]:
    first = baseline.runs[0]
    return {
        "runs": len(baseline.runs),
        "writes": len(first.log.writes()),
        "watches": sorted(first.caches),
        "violations": [{"property": found.property, "sentence": found.sentence} for found in baseline.findings],
        "disagreement": baseline.disagreement,
        "waiting": baseline.waiting,
        "vacuous": baseline.vacuous,
        "notes": list(baseline.notes),
    }


def _violation(violation: Violation) -> dict[str, Any]:
    return {
        "property": violation.finding.property,
        "sentence": violation.finding.sentence,
        "cause": violation.cause.sentence,
        "code": list(violation.code),
        "fixes": list(remedies(violation.finding, violation.run)),
        "plan": {"name": violation.plan.name, "reason": violation.plan.reason, **violation.plan.to_json()},
        "seen": violation.seen,
        "runs": violation.runs,
        "otherPlans": violation.others,
        "healedAfter": violation.healed,
        "watched": round(violation.watched, 1),
        "fields": list(dict.fromkeys(str(each.place) for each in violation.finding.difference)),
    }
