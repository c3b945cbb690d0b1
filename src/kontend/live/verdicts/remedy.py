"""Remedies: the lock, the precondition or the retry that a run has shown to be missing.

They come from the records of the run alone: a write that names no version, a deletion without a precondition, a call
whose failure is followed by no second attempt. The source of the controller is not needed for that.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kontend.explanation.fix import Fix, Language
from kontend.explanation.remedies import Remedy
from kontend.explanation.wording import sentence
from kontend.live.gate.perturbation import Delay, Fail, HandOver, LoseResponse
from kontend.live.gate.records import Request
from kontend.live.properties.findings import Finding
from kontend.live.runs.outcome import Run

#: The remedy that makes a write conditional, by verb.
_LOCKS: Final = {
    "update": Remedy.LOCK_UPDATE,
    "patch": Remedy.LOCK_PATCH,
    "delete": Remedy.READ_BEFORE_DELETE,
}


def remedies(finding: Finding, run: Run) -> Iterator[str]:
    """Return what is missing, in words; nothing where the run does not show it."""
    if finding.fault is not None:
        for number in finding.culprits:
            record = run.log.records[number - 1]
            if isinstance(record, Request) and not record.locked and record.call.verb in _LOCKS:
                yield f"step {number} names no version: {_worded(_LOCKS[record.call.verb])}"
        return
    for number, record in enumerate(run.log.records, start=1):
        if not isinstance(record, Request):
            continue
        what = record.perturbation
        if isinstance(what, Fail | LoseResponse) and not _is_repeated(run, number, record):
            yield (f"step {number} has failed and {record.call} was never tried again: {_worded(Remedy.END_ON_ERROR)}")
        if isinstance(what, Delay | HandOver) and record.changed and not record.locked and record.call.verb in _LOCKS:
            yield f"step {number} was late and names no version: {_worded(_LOCKS[record.call.verb])}"


def _worded(remedy: Remedy) -> str:
    return sentence(Fix(remedy, spoken=Language.ANY))


def _is_repeated(run: Run, number: int, request: Request) -> bool:
    """Return whether a process has made a call again, with success or not, before the user acted again."""
    later = (record for record in run.log.records[number:] if isinstance(record, Request))
    return any(record.call == request.call and record.action == request.action for record in later)
