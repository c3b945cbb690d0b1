"""The rules for the status of a Job: one case for each, and mistakes that did not change."""

from __future__ import annotations

from typing import Any

import pytest

from kontend.kube.builtin.validation.workloads.job_status import validate_job_status_update
from kontend.kube.json_types import Json

T1, T2 = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"


def _status(*true: str, false: tuple[str, ...] = (), **fields: Any) -> Json:
    conditions = [{"type": kind, "status": "True"} for kind in true] + [
        {"type": kind, "status": "False"} for kind in false
    ]
    return {"conditions": conditions, **fields}


def _errors(before: Json, after: Json, **spec: Any) -> list[str]:
    errors = validate_job_status_update({"spec": spec, "status": after}, {"spec": spec, "status": before})
    return [str(error) for error in errors]


COMPLETE = _status("SuccessCriteriaMet", "Complete", startTime=T1, completionTime=T2)
FAILED = _status("FailureTarget", "Failed", startTime=T1)
RUNNING = _status(startTime=T1)


@pytest.mark.parametrize(
    ("before", "after", "spec"),
    [
        ({}, RUNNING, {}),
        (RUNNING, {**RUNNING, "active": 2, "ready": 2, "failed": 1}, {}),
        (RUNNING, COMPLETE, {}),
        (RUNNING, {**COMPLETE, "completionTime": T1}, {}),
        (RUNNING, FAILED, {}),
        ({}, _status("SuccessCriteriaMet", "Complete", completionTime=T1), {"suspend": True, "completions": 0}),
        (RUNNING, {**RUNNING, "completedIndexes": "0,2-3"}, {"completions": 5, "completionMode": "Indexed"}),
        (RUNNING, {**RUNNING, "failedIndexes": "1"}, {"completions": 5, "backoffLimitPerIndex": 1}),
        (RUNNING, {**RUNNING, "uncountedTerminatedPods": {"succeeded": ["a"], "failed": ["b"]}}, {}),
        (_status(startTime=T1, succeeded=3), _status(startTime=T1, succeeded=2),
         {"completionMode": "Indexed", "completions": 2, "parallelism": 2}),
        (_status("Suspended", startTime=T1), _status(false=("Suspended",), startTime=T2), {}),
        (RUNNING, _status(), {"suspend": True}),
        (_status(startTime=T1), _status(startTime=T1, completedIndexes=""), {}),
    ],
)  # fmt: skip
def test_a_valid_change_has_no_errors(before: Json, after: Json, spec: Json) -> None:
    assert _errors(before, after, **spec) == []


@pytest.mark.parametrize(
    ("before", "after", "spec", "expected"),
    [
        (RUNNING, {**RUNNING, "active": -1}, {}, "status.active: Invalid value: -1"),
        (RUNNING, {**RUNNING, "succeeded": -1}, {}, "status.succeeded: Invalid value: -1"),
        (RUNNING, {**RUNNING, "failed": -1}, {}, "status.failed: Invalid value: -1"),
        (RUNNING, {**RUNNING, "ready": -1}, {}, "status.ready: Invalid value: -1"),
        (RUNNING, {**RUNNING, "terminating": -1}, {}, "status.terminating: Invalid value: -1"),
        (RUNNING, {**RUNNING, "uncountedTerminatedPods": {"succeeded": [""]}}, {}, "succeeded[0]: Invalid value"),
        (RUNNING, {**RUNNING, "uncountedTerminatedPods": {"succeeded": ["a"], "failed": ["a"]}}, {},
         'failed[0]: Duplicate value: "a"'),
        (RUNNING, {**COMPLETE, "conditions": [*COMPLETE["conditions"], *FAILED["conditions"]]}, {},
         "cannot set Complete=True and Failed=true conditions"),
        (RUNNING, {**COMPLETE, "conditions": [*COMPLETE["conditions"], *FAILED["conditions"]]}, {},
         "cannot set Complete=True and FailureTarget=true conditions"),
        (RUNNING, {**RUNNING, "completionTime": T2}, {}, "cannot set completionTime when there is no Complete=True"),
        (RUNNING, _status("SuccessCriteriaMet", "Complete", startTime=T1), {}, "completionTime is required"),
        (RUNNING, {**COMPLETE, "startTime": T2, "completionTime": T1}, {}, "must be equal to or after `startTime`"),
        (RUNNING, _status("Failed", startTime=T1), {}, "cannot set Failed=True condition without the"),
        (RUNNING, _status("Complete", startTime=T1, completionTime=T2), {},
         "cannot set Complete=True condition without the SuccessCriteriaMet=true"),
        (RUNNING, {**COMPLETE, "active": 1}, {}, "active>0 is invalid for finished job"),
        (RUNNING, {**FAILED, "active": 1}, {}, "active>0 is invalid for finished job"),
        ({}, _status("SuccessCriteriaMet", "Complete", completionTime=T2), {}, "startTime is required"),
        ({}, _status("SuccessCriteriaMet", "Complete", completionTime=T2), {"suspend": True, "completions": 1},
         "startTime is required for finished job"),
        ({}, _status("SuccessCriteriaMet", "Complete", completionTime=T2), {"completions": 0},
         "startTime is required for finished job"),
        (RUNNING, {**COMPLETE, "uncountedTerminatedPods": {"failed": ["a"]}}, {}, "must be empty for finished job"),
        (RUNNING, {**COMPLETE, "terminating": 1}, {}, "terminating>0 is invalid for finished job"),
        (RUNNING, {**RUNNING, "active": 1, "ready": 2}, {}, "cannot set more ready pods than active"),
        (RUNNING, _status("SuccessCriteriaMet", "FailureTarget", "Failed", startTime=T1), {},
         "cannot set SuccessCriteriaMet=True and Failed=true"),
        (RUNNING, _status("SuccessCriteriaMet", "FailureTarget", startTime=T1), {},
         "cannot set SuccessCriteriaMet=True and FailureTarget=true"),
        (RUNNING, _status("Complete", startTime=T1, completionTime=T2), {"successPolicy": {}},
         "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True"),
        (FAILED, _status("FailureTarget", startTime=T1), {}, "cannot disable the terminal Failed=True condition"),
        (COMPLETE, _status("SuccessCriteriaMet", startTime=T1), {}, "cannot disable the terminal Complete=True"),
        (FAILED, _status("Failed", startTime=T1), {}, "cannot disable the terminal FailureTarget=True condition"),
        (_status("SuccessCriteriaMet"), _status(), {}, "cannot disable the SuccessCriteriaMet=True condition"),
        (_status("Complete", startTime=T1, completionTime=T2), COMPLETE, {},
         "cannot set SuccessCriteriaMet=True for Job already has Complete=true"),
        (_status(failed=2), _status(failed=1), {}, "cannot decrease the failed counter"),
        (_status(succeeded=2), _status(succeeded=1), {}, "cannot decrease the succeeded counter"),
        (_status(succeeded=2), _status(), {"completionMode": "Indexed", "completions": 3, "parallelism": 2},
         "cannot decrease the succeeded counter"),
        (COMPLETE, {**COMPLETE, "completionTime": "2026-01-03T00:00:00Z"}, {}, "field is immutable"),
        (RUNNING, _status(startTime=T2), {}, "startTime cannot be removed for unsuspended job"),
        (RUNNING, _status(), {}, "startTime cannot be removed for unsuspended job"),
        (RUNNING, {**RUNNING, "completedIndexes": "x"}, {"completions": 5, "completionMode": "Indexed"},
         "error parsing completedIndexes"),
        (RUNNING, {**RUNNING, "failedIndexes": "x"}, {"completions": 5, "backoffLimitPerIndex": 1},
         "error parsing failedIndexes"),
        (RUNNING, {**RUNNING, "completedIndexes": "1"}, {"completions": 5},
         "cannot set non-empty completedIndexes when non-indexed completion mode"),
        (RUNNING, {**RUNNING, "failedIndexes": "1"}, {"completions": 5},
         "cannot set non-null failedIndexes when backoffLimitPerIndex is null"),
        (RUNNING, {**RUNNING, "failedIndexes": "1-2", "completedIndexes": "2"},
         {"completions": 5, "completionMode": "Indexed", "backoffLimitPerIndex": 1},
         "failedIndexes and completedIndexes overlap at index: 2"),
    ],
)  # fmt: skip
def test_each_rule_has_its_error(before: Json, after: Json, spec: Json, expected: str) -> None:
    assert any(expected in error for error in _errors(before, after, **spec)), _errors(before, after, **spec)


@pytest.mark.parametrize(
    ("wrong", "spec"),
    [
        (_status("Complete", "Failed", "FailureTarget", startTime=T1, completionTime=T2, active=1, terminating=1), {}),
        (_status("Complete"), {}),
        (_status("Failed", active=1, uncountedTerminatedPods={"failed": ["a"]}), {}),
        (_status(completionTime=T1, startTime=T2), {}),
        (_status(active=1, ready=2), {}),
        (_status(completedIndexes="x", failedIndexes="y"), {"completions": 5}),
        (_status(completedIndexes="x", failedIndexes="y"), {"completions": 5, "backoffLimitPerIndex": 1}),
        (_status(completedIndexes="1", failedIndexes="1"), {"completions": 5, "backoffLimitPerIndex": 1}),
    ],
)
def test_a_mistake_that_did_not_change_is_tolerated(wrong: Json, spec: Json) -> None:
    assert _errors(wrong, {**wrong, "failed": 1}, **spec) == []
