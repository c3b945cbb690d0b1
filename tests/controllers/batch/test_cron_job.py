"""A CronJob starts a Job at each time of its schedule, and never two for one time."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from controllers.harness import JOBS, PODS, Harness, job
from kontend.controllers.batch.cron_schedule import parse_cron
from kontend.kube.builtin.cron_schedule import ScheduleError

CRON_JOBS = "CronJob.batch/v1"


def _cron(schedule: str = "*/5 * * * *", **spec: Any) -> dict[str, Any]:
    body = {"schedule": schedule, "jobTemplate": {"spec": job()["spec"]}, **spec}
    return {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "c"}, "spec": body}


def _at(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp())


@pytest.mark.parametrize(
    ("schedule", "after", "due"),
    [
        ("* * * * *", "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"),
        ("*/5 * * * *", "2026-01-01T00:00:01Z", "2026-01-01T00:05:00Z"),
        ("30 4 1,15 * 5", "2026-01-02T05:00:00Z", "2026-01-09T04:30:00Z"),
        ("0 0 29 2 *", "2026-01-01T00:00:00Z", "2028-02-29T00:00:00Z"),
        ("0 6 * jan mon-fri", "2026-01-02T06:00:00Z", "2026-01-05T06:00:00Z"),
        ("@hourly", "2026-01-01T00:30:00Z", "2026-01-01T01:00:00Z"),
        ("@every 90s", "2026-01-01T00:00:00Z", "2026-01-01T00:01:30Z"),
        ("@every 0s", "2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z"),
        ("0 0 */1 * mon", "2026-01-01T00:00:00Z", "2026-01-05T00:00:00Z"),
        ("0 0 */2 * mon", "2026-01-01T00:00:00Z", "2026-01-03T00:00:00Z"),
        ("TZ=America/New_York 0 12 * * *", "2026-07-01T00:00:00Z", "2026-07-01T16:00:00Z"),
        ("TZ=Europe/Berlin 30 2 29 3 *", "2026-01-01T00:00:00Z", "2027-03-29T00:30:00Z"),
    ],
)
def test_a_schedule_is_due_at_its_next_time(schedule: str, after: str, due: str) -> None:
    """The last one is in the hour that the clocks of 2026 skip."""
    seconds = parse_cron(schedule).next(_at(after))
    assert seconds is not None
    assert datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z") == due


def test_a_day_that_never_comes_is_never_due() -> None:
    """The 30th of February."""
    assert parse_cron("0 0 30 2 *").next(0) is None


def test_an_unknown_time_zone_is_no_schedule() -> None:
    """It is refused by name."""
    with pytest.raises(ScheduleError, match="unknown time zone Mars/Base"):
        parse_cron("* * * * *", "Mars/Base")


def test_jobs_are_started_on_time_and_named_after_it() -> None:
    """The name is the minute."""
    harness = Harness()
    harness.create(_cron())
    assert harness.names(JOBS) == []
    harness.settle(seconds=301)
    minute = _at("2026-01-01T00:05:00Z") // 60
    assert harness.names(JOBS) == [f"c-{minute}"]
    status = harness.status(CRON_JOBS, "c")
    assert status["lastScheduleTime"] == "2026-01-01T00:05:00Z"
    assert [job["name"] for job in status["active"]] == [f"c-{minute}"]
    annotation = harness.cluster.list(JOBS)[0]["metadata"]["annotations"]
    assert annotation == {"batch.kubernetes.io/cronjob-scheduled-timestamp": "2026-01-01T00:05:00Z"}
    harness.finish("Succeeded")
    status = harness.status(CRON_JOBS, "c")
    assert "active" not in status
    assert status["lastSuccessfulTime"] >= "2026-01-01T00:05:00Z"


def test_only_the_latest_missed_time_is_made_up_for() -> None:
    """A controller that slept for an hour starts one Job."""
    harness = Harness()
    harness.create(_cron(suspend=True))
    harness.process.advance(3600)
    harness.patch(CRON_JOBS, "c", {"spec": {"suspend": False}})
    assert harness.names(JOBS) == [f"c-{_at('2026-01-01T01:00:00Z') // 60}"]


def test_a_time_that_is_too_long_ago_is_let_go() -> None:
    """By the starting deadline."""
    harness = Harness()
    harness.create(_cron("0 * * * *", suspend=True, startingDeadlineSeconds=60))
    harness.process.advance(3600 + 600)
    harness.patch(CRON_JOBS, "c", {"spec": {"suspend": False}})
    assert harness.names(JOBS) == []


@pytest.mark.parametrize(("policy", "count"), [("Allow", 2), ("Forbid", 1), ("Replace", 1)])
def test_the_concurrency_policy_says_what_happens_to_a_job_that_still_runs(policy: str, count: int) -> None:
    """Two of them, the first, or the second."""
    harness = Harness()
    harness.create(_cron(concurrencyPolicy=policy))
    harness.settle(seconds=301)
    first = harness.names(JOBS)
    harness.settle(seconds=301)
    assert len(harness.names(JOBS)) == count
    assert (first[0] in harness.names(JOBS)) == (policy != "Replace")


def test_finished_jobs_beyond_the_limits_go_with_their_pods() -> None:
    """The newest stay."""
    harness = Harness()
    harness.create(_cron(successfulJobsHistoryLimit=1))
    for _ in range(3):
        harness.settle(seconds=301)
        harness.finish("Succeeded")
    assert len(harness.names(JOBS)) == 1
    assert len(harness.names(PODS)) == 1
