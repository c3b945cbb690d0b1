"""kopiur: a deposed leader goes on starting backups.

Link: https://github.com/home-operations/kopiur/issues/319
Archetype: A12

An instance that lost its lease stopped renewing it, but its reconcilers went on. The new leader and the old one
both found a backup that had no job yet and started one each; two jobs wrote to one repository.

Interleaving: old leader reads a backup without a job -> new leader starts a job, records it -> old leader
starts another job

Fix: name the job after the backup, so that the second create is refused; and stop the reconcilers with the
lease.
"""

from contextlib import suppress
from dataclasses import replace
from typing import Any

from kontend import AlreadyExists, Api, Controller, Guards, Request, new_object
from kontend.explore import Bounds, Scenario
from kontend.testing import permissive_crd

BACKUP = "Backup.kopiur.home-operations.com/v1"
JOB = "ConfigMap/v1"  # stands for the job


class Backups(Controller):
    """Starts the job of a backup once."""

    kind = BACKUP

    async def reconcile(self, request: Request, api: Api) -> None:
        backup = await api.get(BACKUP, request)
        if (backup.get("status") or {}).get("job"):
            return
        job = self.job(request)
        with suppress(AlreadyExists):
            await api.create(job)
        backup["status"] = {"job": job["metadata"]["name"]}
        await api.status.update(backup)

    def job(self, request: Request) -> dict[str, Any]:
        return new_object(JOB, generate_name="backup-", namespace="default")


class Fixed(Backups):
    name = "backups"

    def job(self, request: Request) -> dict[str, Any]:
        return new_object(JOB, f"backup-{request.name}", namespace="default")


buggy = Scenario(
    controllers=[Backups()],
    crds=[permissive_crd(BACKUP)],
    objects=[new_object(BACKUP, "b", spec={})],
    bounds=Bounds(concurrent=2),
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed()])
