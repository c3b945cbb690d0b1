"""The TTL controller: deletes finished Jobs after ``ttlSecondsAfterFinished``."""

from __future__ import annotations

from typing import Any

from kontend.cluster.times import seconds
from kontend.controllers.batch.job import JOBS
from kontend.controllers.built_in import BuiltIn
from kontend.kube.errors import NotFound
from kontend.kube.meta.accessors import is_deleting
from kontend.runtime.client.api import Api
from kontend.runtime.controller import Request, Result


class FinishedJobs(BuiltIn):
    """Deletes Jobs whose time is up."""

    name = "ttl-after-finished"
    kind = JOBS

    async def sync(self, request: Request, api: Api) -> Result | None:
        """Delete a finished Job, or comes back when it is time; reads the Job from the server before the delete."""
        for reader in (api, api.live):
            try:
                job = await reader.get(JOBS, request)
            except NotFound:
                return None
            left = _time_left(job, api.now())
            if left is None:
                return None
            if left > 0:
                return Result(requeue_after=float(left))
        try:
            await api.delete(job, propagation="Foreground")
        except NotFound:
            return None
        return None


def _time_left(job: dict[str, Any], now: str) -> int | None:
    """Return how many seconds a finished Job stays; None without a TTL, or before it has finished."""
    ttl = job["spec"].get("ttlSecondsAfterFinished")
    if ttl is None or is_deleting(job):
        return None
    for condition in (job.get("status") or {}).get("conditions") or ():
        if condition["type"] in ("Complete", "Failed") and condition["status"] == "True":
            return seconds(condition["lastTransitionTime"]) + int(ttl) - seconds(now)
    return None
