"""The status of jobs, which controllers other than the server's own may write."""

from __future__ import annotations

from typing import Any, Final

from kontend.kube.builtin.validation.checks import non_negative
from kontend.kube.builtin.validation.workloads.index_intervals import IntervalError, count_indexes, overlap
from kontend.kube.field_errors import OMITTED, FieldError, duplicate, invalid, required
from kontend.kube.json_types import Json

_CONDITIONS: Final = "status.conditions"


def _true(status: Json, kind: str) -> bool:
    return any(c.get("type") == kind and c.get("status") == "True" for c in status.get("conditions") or [])


def _false(status: Json, kind: str) -> bool:
    return any(c.get("type") == kind and c.get("status") == "False" for c in status.get("conditions") or [])


def _finished(status: Json) -> bool:
    return _true(status, "Complete") or _true(status, "Failed")


def validate_job_status_update(new: Json, old: Json) -> list[FieldError]:
    """Validate a changed status; what was wrong before and did not change is let pass."""
    spec, status, before = new.get("spec") or {}, new.get("status") or {}, old.get("status") or {}

    def changed(*fields: str) -> bool:
        return any(status.get(field) != before.get(field) for field in fields)

    def turned(kind: str) -> bool:
        return _true(status, kind) != _true(before, kind)

    errors = _counts(status) + _uncounted(status)
    complete, failed, finished = _true(status, "Complete"), _true(status, "Failed"), _finished(status)
    target, criteria = _true(status, "FailureTarget"), _true(status, "SuccessCriteriaMet")
    finished_changed = finished != _finished(before)
    completed_at, started_at = status.get("completionTime"), status.get("startTime")
    uncounted = status.get("uncountedTerminatedPods") or {}

    def conditions(wrong: bool, why: str) -> None:
        if wrong:
            errors.append(invalid(_CONDITIONS, OMITTED, why))

    conditions(
        (turned("Complete") or turned("Failed")) and complete and failed,
        "cannot set Complete=True and Failed=true conditions",
    )
    conditions(
        (turned("Complete") or turned("FailureTarget")) and complete and target,
        "cannot set Complete=True and FailureTarget=true conditions",
    )
    if (turned("Complete") or changed("completionTime")) and completed_at is not None and not complete:
        why = "cannot set completionTime when there is no Complete=True condition"
        errors.append(invalid("status.completionTime", completed_at, why))
    if (turned("Complete") or changed("completionTime")) and completed_at is None and complete:
        errors.append(required("status.completionTime", "completionTime is required for Complete jobs"))
    if changed("startTime", "completionTime") and started_at and completed_at and completed_at < started_at:
        errors.append(invalid("status.completionTime", completed_at, "must be equal to or after `startTime`"))
    conditions(
        (turned("Failed") or changed("failedIndexes")) and failed and not target,
        "cannot set Failed=True condition without the FailureTarget=true condition",
    )
    conditions(
        (turned("Complete") or turned("SuccessCriteriaMet")) and complete and not criteria,
        "cannot set Complete=True condition without the SuccessCriteriaMet=true condition",
    )
    active = status.get("active") or 0
    if (finished_changed or changed("active")) and active > 0 and finished:
        errors.append(invalid("status.active", active, "active>0 is invalid for finished job"))
    nothing_to_do = spec.get("suspend") is True and spec.get("completions") == 0
    if (finished_changed or changed("startTime")) and not nothing_to_do and started_at is None and finished:
        errors.append(required("status.startTime", "startTime is required for finished job"))
    if (finished_changed or changed("uncountedTerminatedPods")) and finished and any(uncounted.values()):
        shown = {"Succeeded": uncounted.get("succeeded"), "Failed": uncounted.get("failed")}
        errors.append(invalid("status.uncountedTerminatedPods", shown, "must be empty for finished job"))
    errors += _indexes(spec, status, before)
    terminating, ready = status.get("terminating"), status.get("ready")
    if (finished_changed or changed("terminating")) and (terminating or 0) > 0 and finished:
        errors.append(invalid("status.terminating", terminating, "terminating>0 is invalid for finished job"))
    if changed("ready", "active") and ready is not None and ready > active:
        errors.append(invalid("status.ready", ready, "cannot set more ready pods than active"))
    conditions(criteria and failed, "cannot set SuccessCriteriaMet=True and Failed=true conditions")
    conditions(criteria and target, "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions")
    conditions(
        spec.get("successPolicy") is not None and not criteria and complete,
        "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True",
    )
    for kind in ("Failed", "Complete", "FailureTarget"):
        conditions(
            _true(before, kind) and not _true(status, kind), f"cannot disable the terminal {kind}=True condition"
        )
    return errors + _never_back(spec, status, before, criteria=criteria)


def _never_back(spec: Json, status: Json, before: Json, *, criteria: bool) -> list[FieldError]:
    """Validate that counters and index sets never shrink."""
    errors = []
    if (status.get("failed") or 0) < (before.get("failed") or 0):
        errors.append(invalid("status.failed", status.get("failed") or 0, "cannot decrease the failed counter"))
    # An indexed job that is as wide as it is long can be made smaller.
    scalable = spec.get("completionMode") == "Indexed" and spec.get("completions") == spec.get("parallelism")
    if not scalable and (status.get("succeeded") or 0) < (before.get("succeeded") or 0):
        why = "cannot decrease the succeeded counter"
        errors.append(invalid("status.succeeded", status.get("succeeded") or 0, why))
    time, time_before = status.get("completionTime"), before.get("completionTime")
    if time is not None and time_before is not None and time != time_before:
        errors.append(invalid("status.completionTime", time, "field is immutable"))
    started, started_before = status.get("startTime"), before.get("startTime")
    resuming = _true(before, "Suspended") and _false(status, "Suspended")
    if started_before is not None and started != started_before and not resuming and not spec.get("suspend"):
        errors.append(required("status.startTime", "startTime cannot be removed for unsuspended job"))
    met_before = _true(before, "SuccessCriteriaMet")
    if met_before and not criteria:
        why = "cannot disable the SuccessCriteriaMet=True condition"
        errors.append(invalid(_CONDITIONS, OMITTED, why))
    if _true(before, "Complete") and not met_before and criteria:
        why = "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions"
        errors.append(invalid(_CONDITIONS, OMITTED, why))
    return errors


def _counts(status: Json) -> list[FieldError]:
    errors: list[FieldError] = []
    for field in ("active", "succeeded", "failed", "ready", "terminating"):
        errors += non_negative(status.get(field), f"status.{field}")
    return errors


def _uncounted(status: Json) -> list[FieldError]:
    errors = []
    seen: set[str] = set()
    uncounted: Any = status.get("uncountedTerminatedPods") or {}
    for field in ("succeeded", "failed"):
        for index, uid in enumerate(uncounted.get(field) or []):
            path = f"status.uncountedTerminatedPods.{field}[{index}]"
            if not uid:
                errors.append(invalid(path, uid, "must not be empty"))
            elif uid in seen:
                errors.append(duplicate(path, uid))
            seen.add(uid)
    return errors


def _indexes(spec: Json, status: Json, before: Json) -> list[FieldError]:
    errors = []
    completions, limit = spec.get("completions"), spec.get("backoffLimitPerIndex")
    done, failed = status.get("completedIndexes", ""), status.get("failedIndexes")
    done_changed, failed_changed = done != before.get("completedIndexes", ""), failed != before.get("failedIndexes")
    if done_changed and completions is not None:
        errors += _parsed("completedIndexes", done, completions)
    if failed_changed and completions is not None and limit is not None and failed is not None:
        errors += _parsed("failedIndexes", failed, completions)
    if done_changed and done and spec.get("completionMode") != "Indexed":
        why = "cannot set non-empty completedIndexes when non-indexed completion mode"
        errors.append(invalid("status.completedIndexes", done, why))
    if failed_changed and limit is None and failed is not None:
        why = "cannot set non-null failedIndexes when backoffLimitPerIndex is null"
        errors.append(invalid("status.failedIndexes", failed, why))
    if (done_changed or failed_changed) and completions is not None and failed is not None:
        both = overlap(done, failed, completions)
        if both is not None:
            why = f"failedIndexes and completedIndexes overlap at index: {both}"
            errors.append(invalid("status.failedIndexes", failed, why))
    return errors


def _parsed(field: str, text: str, completions: int) -> list[FieldError]:
    try:
        count_indexes(text, completions)
    except IntervalError as error:
        return [invalid(f"status.{field}", text, f"error parsing {field}: {error}")]
    return []
