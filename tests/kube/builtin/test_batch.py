"""Jobs, cron jobs and schedules."""

from __future__ import annotations

from typing import Any

import pytest

from kontend.kube.builtin import strategy_for
from kontend.kube.builtin.cron_schedule import ScheduleError, parse_schedule
from kontend.kube.builtin.validation.workloads.index_intervals import IntervalError, count_indexes, overlap

JOBS = strategy_for("batch", "Job")


def test_a_job_selects_the_pods_that_carry_its_uid() -> None:
    job: dict[str, Any] = {"metadata": {"name": "j", "uid": "u"}, "spec": {"template": {"spec": {}}}}
    JOBS.prepare_for_create(job)

    assert job["spec"]["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": "u"}}
    assert job["spec"]["template"]["metadata"]["labels"] == {
        "job-name": "j",
        "batch.kubernetes.io/job-name": "j",
        "controller-uid": "u",
        "batch.kubernetes.io/controller-uid": "u",
    }


def test_a_manual_selector_is_left_alone() -> None:
    job: dict[str, Any] = {"metadata": {"name": "j"}, "spec": {"manualSelector": True, "template": {}}}
    JOBS.prepare_for_create(job)

    assert "selector" not in job["spec"]


@pytest.mark.parametrize("text", ["* * * * *", "*/5 0-23/2 1,15 JAN-mar sun", "@daily", "@every 1h30m", "? * * * 0"])
def test_schedules_that_are_fine(text: str) -> None:
    parse_schedule(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("often", "expected exactly 5 fields, found 1: [often]"),
        ("60 * * * *", "end of range (60) above maximum (59): 60"),
        ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
        ("5-1 * * * *", "beginning of range (5) beyond end of range (1): 5-1"),
        ("*/0 * * * *", "step of range should be a positive number: */0"),
        ("1-2-3 * * * *", "too many hyphens: 1-2-3"),
        ("1/2/3 * * * *", "too many slashes: 1/2/3"),
        ("a * * * *", 'failed to parse int from a: strconv.Atoi: parsing "a": invalid syntax'),
        ("@never", "unrecognized descriptor: @never"),
        ("@every x", 'failed to parse duration @every x: time: invalid duration "x"'),
    ],
)
def test_schedules_that_are_not(text: str, message: str) -> None:
    with pytest.raises(ScheduleError) as caught:
        parse_schedule(text)

    assert str(caught.value) == message


def test_sets_of_indexes_are_counted_and_compared() -> None:
    assert count_indexes("0,2-4", 5) == 4
    assert overlap("0,2-4", "3", 5) == 3
    assert overlap("0", "1", 5) is None
    with pytest.raises(IntervalError, match="non-increasing order, previous: 3, current: 2"):
        count_indexes("3,2", 5)


def test_a_changed_template_is_shown_in_full() -> None:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "1"}]}}
    old: dict[str, Any] = {"metadata": {"name": "j"}, "spec": {"template": template}}
    new = {**old, "spec": {"template": {**template, "spec": {"containers": [{"name": "c", "image": "2"}]}}}}

    (error,) = [error for error in JOBS.validate_update(new, old) if error.field == "spec.template"]
    assert str(error).startswith('spec.template: Invalid value: {"labels":{"a":"b"},"Spec":{"Volumes":null,')
    assert str(error).endswith(": field is immutable")
