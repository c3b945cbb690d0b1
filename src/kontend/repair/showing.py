"""Verified fixes beside the explanations of a verdict, where they are found in a few seconds.

`kontend fix` is the place for a long search. Beside a verdict a fix is worth a short one: most that are found at all
are among the first candidates, and a small scenario is explored again in a fraction of a second.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from kontend.explore.chosen_bounds import ChosenBounds
from kontend.explore.problems import BadScenario
from kontend.explore.sources.inputs import Inputs
from kontend.explore.verdict import Verdict
from kontend.repair.repairing import Options, Repair, repaired
from kontend.repair.report import proof, relative
from kontend.report.document import Document, VerifiedFix

#: Seconds for each violation where fixes are asked for, and for the exploration before.
SHORT: Final = 10.0


def show_fixes(
    verdict: Verdict,
    file: Path,
    scenario: str,
    inputs: Inputs | None = None,
    bounds: ChosenBounds | None = None,
    *,
    seconds: float = SHORT,
) -> bool:
    """Look for a verified fix of each violation, and add it to the explanation; returns whether one was found.

    A search that took longer than ``seconds`` is not tried: each candidate takes about as long.
    """
    if not verdict.documents or verdict.seconds > seconds:
        return False
    options = Options(seconds, fixes=1, scenario=scenario, bounds=bounds or ChosenBounds(), first=seconds)
    try:
        repairs = repaired(file, inputs or Inputs(), options)
    except BadScenario:  # too slow with what is imported and explored before, or another scenario of the file is broken
        return False
    found = [repair for repair in repairs.repairs if repair.verified]
    verdict.amend(lambda document: _amended(document, scenario, found, repairs.root))
    return bool(found)


def _amended(document: Document, scenario: str, found: Sequence[Repair], root: Path) -> Document:
    """Return an explanation with its own fix, or else with one that repairs its violation as well."""
    violation = document.violation
    own = [repair for repair in found if repair.violated.property == violation.property]
    for repair in own or [repair for repair in found if _repairs_too(repair, scenario, violation.property)]:
        return replace(document, violation=replace(violation, verified=_shown(repair, root)))
    return document


def _repairs_too(repair: Repair, scenario: str, name: str) -> bool:
    best = repair.verified[0]
    if repair.scenario != scenario:
        return (scenario, name) in best.repairs
    return best.certain is None and name not in best.remaining


def _shown(repair: Repair, root: Path) -> VerifiedFix:
    best = repair.verified[0]
    return VerifiedFix(relative(best.candidate, root), proof(best), best.candidate.hunks)
