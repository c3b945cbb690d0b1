"""Remedies: the lock, the precondition or the retry that a run has shown to be missing.

They come from the records of the run alone: a write that names no version, a deletion without a precondition, a call
whose failure is followed by no second attempt. The source of the controller is not needed for that.
"""

from __future__ import annotations

from collections.abc import Iterator

from kontend.live.gate.perturbation import Delay, Fail, HandOver, LoseResponse
from kontend.live.gate.records import Request
from kontend.live.properties.findings import Finding
from kontend.live.runs.outcome import Run

#: How a write is made conditional, by verb.
_LOCKS = {
    "update": "send metadata.resourceVersion of what was read, so that the server answers 409",
    "patch": "put metadata.resourceVersion of what was read into the patch (in controller-runtime "
    "MergeFromWithOptimisticLock), so that the server answers 409",
    "delete": "delete with preconditions: the uid and the resourceVersion of what was read",
}


def remedies(finding: Finding, run: Run) -> Iterator[str]:
    """Return what is missing, in words; nothing where the run does not show it."""
    if finding.fault is not None:
        for number in finding.culprits:
            record = run.log.records[number - 1]
            if isinstance(record, Request) and not record.locked and record.call.verb in _LOCKS:
                yield f"step {number} names no version: {_LOCKS[record.call.verb]}"
        return
    for number, record in enumerate(run.log.records, start=1):
        if not isinstance(record, Request) or not record.perturbed:
            continue
        kinds = {type(each) for each in run.plan.perturbations if str(each) == record.perturbed}
        if kinds & {Fail, LoseResponse} and not _is_repeated(run, number, record):
            yield (
                f"step {number} has failed and {record.call} was never tried again: return its error, so that the "
                "object is reconciled again"
            )
        if kinds & {Delay, HandOver} and record.changed and not record.locked and record.call.verb in _LOCKS:
            yield f"step {number} was late and names no version: {_LOCKS[record.call.verb]}"


def _is_repeated(run: Run, number: int, request: Request) -> bool:
    """Return whether a process has made a call again, with success or not, before the user acted again."""
    later = (record for record in run.log.records[number:] if isinstance(record, Request))
    return any(record.call == request.call and record.action == request.action for record in later)
