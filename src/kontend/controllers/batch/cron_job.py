"""The CronJob controller: a Job at each time that a schedule names.

Only the latest time that was missed is made up for. The Job's name comes from that time, so that two controllers (or
one that forgot) never start it twice.
"""

from __future__ import annotations

from contextlib import suppress
from copy import deepcopy
from datetime import datetime
from typing import Any, Final

from kontend.cluster.times import rfc3339, seconds
from kontend.controllers.batch.cron_schedule import Schedule, parse_cron
from kontend.controllers.batch.job import JOBS
from kontend.controllers.built_in import BuiltIn
from kontend.kube.builtin.cron_schedule import ScheduleError
from kontend.kube.errors import AlreadyExists, NotFound
from kontend.kube.meta.accessors import is_controlled_by, is_deleting, uid_of
from kontend.kube.meta.names import Key
from kontend.runtime.client.api import Api
from kontend.runtime.client.patches import Object
from kontend.runtime.controller import Request, Result
from kontend.runtime.writes.owners import owner_reference

CRON_JOBS: Final = "CronJob.batch/v1"
_SCHEDULED: Final = "batch.kubernetes.io/cronjob-scheduled-timestamp"
#: A little later than due, so that a clock that is a little slow does not look too early.
_AFTERWARDS: Final = 0.1


class CronJobs(BuiltIn):
    """Starts Jobs by schedule."""

    name = "cronjob"
    kind = CRON_JOBS
    owns = (JOBS,)

    async def sync(self, request: Request, api: Api) -> Result | None:
        """Tidies up finished Jobs, and starts one if it is time."""
        try:
            cron_job = await api.get(CRON_JOBS, request)
        except NotFound:
            return None
        status = cron_job.setdefault("status", {})
        before = deepcopy(status)
        every = await api.list(JOBS, namespace=request.namespace)
        jobs = [job for job in every if is_controlled_by(job, cron_job)]
        await self._forget_finished(api, cron_job, jobs)
        await self._follow(api, cron_job, jobs)
        wait = None if is_deleting(cron_job) else await self._start(api, cron_job)
        if not status.get("active"):
            status.pop("active", None)
        if status != before:
            await api.status.update(cron_job)
        return Result(requeue_after=wait) if wait is not None else None

    async def _forget_finished(self, api: Api, cron_job: Object, jobs: list[Object]) -> None:
        """Delete the oldest finished Jobs beyond the limits."""
        limits = {"Complete": "successfulJobsHistoryLimit", "Failed": "failedJobsHistoryLimit"}
        for outcome, name in limits.items():
            limit = cron_job["spec"].get(name)
            finished = [job for job in jobs if outcome_of(job) == outcome]
            finished.sort(key=lambda job: ((job.get("status") or {}).get("startTime") or "~", job["metadata"]["name"]))
            if limit is not None:
                for job in finished[: max(0, len(finished) - limit)]:
                    await self._delete(api, cron_job, job)
                    jobs.remove(job)

    async def _delete(self, api: Api, cron_job: Object, job: Object) -> None:
        with suppress(NotFound):  # somebody else may have tidied up
            await api.delete(job, propagation="Background")
        _drop_active(cron_job["status"], uid_of(job))

    async def _follow(self, api: Api, cron_job: Object, jobs: list[Object]) -> None:
        """Take Jobs that have finished or are gone off the list of active ones."""
        status = cron_job["status"]
        for job in jobs:
            outcome = outcome_of(job)
            if outcome:
                _drop_active(status, uid_of(job))
            done = (job.get("status") or {}).get("completionTime")
            if outcome == "Complete" and done and done > status.get("lastSuccessfulTime", ""):
                status["lastSuccessfulTime"] = done
        known = {uid_of(job) for job in jobs}
        for active in list(status.get("active") or ()):
            if active.get("uid") not in known:
                try:
                    await api.live.get(JOBS, Key(active["namespace"], active["name"]))
                except NotFound:
                    _drop_active(status, active.get("uid", ""))

    async def _start(self, api: Api, cron_job: Object) -> float | None:
        """Start a Job if one is due; return how long to wait for the next time."""
        spec, status = cron_job["spec"], cron_job["status"]
        if spec.get("suspend"):
            return None
        try:
            schedule = parse_cron(spec["schedule"], spec.get("timeZone") or "")
        except ScheduleError:
            return None
        now = seconds(api.now())
        due = _latest_due(cron_job, schedule, now)
        if due is not None and self._may_start(cron_job, due):
            if spec.get("concurrencyPolicy") == "Replace":
                for active in list(status.get("active") or ()):
                    job = await api.live.get(JOBS, Key(active["namespace"], active["name"]))
                    await self._delete(api, cron_job, job)
            await self._create(api, cron_job, due)
        following = schedule.next(now)
        return following - now + _AFTERWARDS if following is not None else None

    def _may_start(self, cron_job: Object, due: int) -> bool:
        spec, status = cron_job["spec"], cron_job["status"]
        active = status.get("active") or ()
        name = job_name(cron_job, due)
        if any(reference.get("name") == name for reference in active) or status.get("lastScheduleTime") == rfc3339(due):
            return False
        return not (spec.get("concurrencyPolicy") == "Forbid" and active)

    async def _create(self, api: Api, cron_job: Object, due: int) -> None:
        job = new_job(cron_job, due)
        try:
            await api.create(job)
        except AlreadyExists:
            job = await api.live.get(JOBS, Key(cron_job["metadata"]["namespace"], job["metadata"]["name"]))
            if not is_controlled_by(job, cron_job):
                return
        status = cron_job["status"]
        active = status.setdefault("active", [])
        if all(reference.get("uid") != uid_of(job) for reference in active):
            active.append(
                {
                    "kind": "Job",
                    "namespace": job["metadata"]["namespace"],
                    "name": job["metadata"]["name"],
                    "uid": uid_of(job),
                    "apiVersion": "batch/v1",
                    "resourceVersion": job["metadata"]["resourceVersion"],
                }
            )
            status["lastScheduleTime"] = rfc3339(due)


def outcome_of(job: Object) -> str:
    """``Complete`` or ``Failed`` for a Job that has finished."""
    for condition in (job.get("status") or {}).get("conditions") or ():
        if condition["type"] in ("Complete", "Failed") and condition["status"] == "True":
            return str(condition["type"])
    return ""


def job_name(cron_job: Object, due: int) -> str:
    """Return the name of the Job for a time."""
    return f"{cron_job['metadata']['name']}-{due // 60}"


def new_job(cron_job: Object, due: int) -> Object:
    """Return the Job for a time."""
    template = deepcopy(cron_job["spec"]["jobTemplate"])
    metadata: dict[str, Any] = template.get("metadata") or {}
    zone = parse_cron(cron_job["spec"]["schedule"], cron_job["spec"].get("timeZone") or "").zone
    text = datetime.fromtimestamp(due, zone).isoformat() if cron_job["spec"].get("timeZone") else rfc3339(due)
    made: dict[str, Any] = {
        "name": job_name(cron_job, due),
        "namespace": cron_job["metadata"]["namespace"],
        "annotations": {**(metadata.get("annotations") or {}), _SCHEDULED: text.replace("+00:00", "Z")},
        "ownerReferences": [owner_reference(cron_job, controller=True)],
    }
    if metadata.get("labels"):
        made["labels"] = metadata["labels"]
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": made, "spec": template.get("spec") or {}}


def _latest_due(cron_job: Object, schedule: Schedule, now: int) -> int | None:
    """Return the latest time up to now for which no Job was started, if it is not longer ago than the deadline."""
    status = cron_job["status"]
    since = seconds(status.get("lastScheduleTime") or cron_job["metadata"]["creationTimestamp"])
    deadline = cron_job["spec"].get("startingDeadlineSeconds")
    if deadline is not None:
        since = max(since, now - deadline)
    first = schedule.next(since)
    if first is None or first > now:
        return None
    second = schedule.next(first)
    if second is None or second > now:
        return first
    # Jump close to now, as far as the first step says, and walk from there.
    step = second - first
    latest = None
    due = schedule.next(first + ((now - first) // step - 1) * step)
    while due is not None and due <= now:
        latest = due
        due = schedule.next(due)
    return latest


def _drop_active(status: dict[str, Any], uid: str) -> None:
    status["active"] = [reference for reference in status.get("active") or () if reference.get("uid") != uid]
