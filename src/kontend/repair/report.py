"""Repairs as text and as JSON."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from kontend.repair.candidates import Candidate
from kontend.repair.repairing import Rejected, Repair, Repairs, Verified

#: Rejected candidates that a text lists; JSON has all.
_LISTED: Final = 5
_WIDEST: Final = 110


def text_of(repairs: Repairs, *, verbose: bool = False) -> Iterator[str]:
    """Yield the lines of the result."""
    if not repairs.repairs:
        states = sum(explored.states for explored in repairs.explored)
        undecided = [explored for explored in repairs.explored if not explored.exhausted]
        if undecided:
            yield f"nothing found to fix, and undecided: {undecided[0].name}: {undecided[0].stopped}"
        else:
            many = len(repairs.explored)
            yield f"nothing to fix: {many} scenario{'s'[: many != 1]} hold{'s'[: many == 1]} in all {states:,} states"
        return
    for at, repair in enumerate(repairs.repairs):
        if at:
            yield ""
        yield from _repair(repairs, repair, verbose=verbose)
    if repairs.interrupted:
        yield "interrupted: candidates that come later were not tried"


def _repair(repairs: Repairs, repair: Repair, *, verbose: bool) -> Iterator[str]:
    many, title = len(repair.verified), f'"{repair.violated.property}" of {repair.scenario}'
    for number, verified in enumerate(repair.verified, 1):
        yield f"fix {number} of {many} for {title} ({proof(verified)})"
        yield from diff(verified.candidate, repairs.root)
    if not many:
        tried = len(repair.rejected)
        why = f", because {repair.stopped}" if repair.stopped else ""
        left = f"; {repair.untried} left{why}" if repair.untried else f"; stopped{why}" if why else ""
        yield f"no verified fix for {title}: {tried} candidate{'s'[: tried != 1]} tried{left}"
        if repair.violated.text:
            yield f"  the explanation says: {repair.violated.text}"
    shown = repair.rejected if verbose else repair.rejected[:_LISTED]
    for rejected in shown:
        yield f"  failed: {_title(rejected.candidate, repairs.root)}: {_cut(rejected.why)}"
    if len(repair.rejected) > len(shown):
        yield f"  and {len(repair.rejected) - len(shown)} more that failed (--verbose lists them)"


def proof(verified: Verified) -> str:
    """Return the statement of what was explored."""
    others = ""
    repaired = len(verified.repaired_elsewhere)
    unchanged = verified.others - repaired
    if unchanged:
        others = f"; {unchanged} other scenario{'s'[: unchanged != 1]} unchanged"
    if repaired:
        others += f"; {repaired} other{'s'[: repaired != 1]} repaired as well"
    space = f"all {verified.states:,} states, same bounds"
    if verified.certain is not None:
        most = f"{verified.certain} perturbation{'s'[: verified.certain != 1]}"
        space = f"all runs with at most {most}, {verified.states:,} states seen, undecided beyond"
    if verified.remaining:
        left = ", ".join(verified.remaining)
        return f"verified in {space}; {left} is violated still{others}"
    return f"verified: holds in {space}{others}"


def _title(candidate: Candidate, root: Path) -> str:
    """Return a candidate in a few words."""
    name = relative(candidate, root)
    return f"{' and '.join(remedy.value for remedy in candidate.remedies)} at {name}:{candidate.line}"


def _cut(text: str) -> str:
    one = " ".join(text.split())
    return one if len(one) <= _WIDEST else f"{one[: _WIDEST - 1]}…"


def relative(candidate: Candidate, root: Path) -> str:
    """Return the path of the changed file below the root of the project."""
    return Path(candidate.source.file).relative_to(root).as_posix()


def diff(candidate: Candidate, root: Path) -> Iterator[str]:
    """Yield the lines that change, without context, below the place of each group."""
    for hunk in candidate.hunks:
        yield f"--- {relative(candidate, root)}:{hunk.line}"
        yield from (f"-{line}" for line in hunk.before)
        yield from (f"+{line}" for line in hunk.after)


def _unified(candidate: Candidate, root: Path, context: int) -> list[str]:
    name = relative(candidate, root)
    before, after = candidate.source.text.splitlines(), candidate.text.splitlines()
    return list(difflib.unified_diff(before, after, f"a/{name}", f"b/{name}", n=context, lineterm=""))


def document_of(repairs: Repairs) -> dict[str, Any]:
    """Return the result as JSON."""
    return {
        "file": str(repairs.file),
        "interrupted": repairs.interrupted,
        "scenarios": [
            {"name": each.name, "states": each.states, "exhausted": each.exhausted, "violated": sorted(each.broken)}
            for each in repairs.explored
        ],
        "violations": [
            {
                "scenario": repair.scenario,
                "property": repair.violated.property,
                "sentence": repair.violated.sentence,
                "fixes": [_verified(verified, repairs.root) for verified in repair.verified],
                "failed": [_rejected(rejected, repairs.root) for rejected in repair.rejected],
                "untried": repair.untried,
                "stopped": repair.stopped,
            }
            for repair in repairs.repairs
        ],
    }


def _verified(verified: Verified, root: Path) -> dict[str, Any]:
    return {
        **_candidate(verified.candidate, root),
        "states": verified.states,
        "certainUpTo": verified.certain,
        "otherScenarios": verified.others,
        "repairs": [{"scenario": scenario, "property": name} for scenario, name in sorted(verified.repairs)],
        "remaining": list(verified.remaining),
        "diff": "\n".join(_unified(verified.candidate, root, 3)) + "\n",
    }


def _rejected(rejected: Rejected, root: Path) -> dict[str, Any]:
    return {**_candidate(rejected.candidate, root), "why": rejected.why}


def _candidate(candidate: Candidate, root: Path) -> dict[str, Any]:
    before, after = candidate.lines
    return {
        "file": relative(candidate, root),
        "line": candidate.line,
        "remedies": [remedy.value for remedy in candidate.remedies],
        "before": list(before),
        "after": list(after),
    }
