"""helm-controller: a release that succeeded stays in status Unknown.

Link: https://github.com/fluxcd/helm-controller/issues/1409
Archetype: A6

The patch helper sends conditions and the rest of the status in two requests. The first is locked by the version
in the cache and is tried again with the same cached copy; the second is not locked and is sent even when the
first has failed. After a conflict the history said that the release was made, while the condition Released was
missing. The next reconcile found the release in the history and waited for the condition that only a new
release would set.

Interleaving: release -> conditions: 409, again 409 -> history is stored -> next reconcile: release exists,
Released is not set -> Ready stays Unknown

Fix: derive the condition from the history when it is missing.
"""

from copy import deepcopy
from dataclasses import replace
from typing import Literal

from kontend import Api, Conflict, Controller, Guards, Request, is_true, merge_from, new_object, set_condition
from kontend.explore import Scenario, update
from kontend.testing import permissive_crd

RELEASE = "HelmRelease.helm.toolkit.fluxcd.io/v2"
NOW = "2026-01-01T00:00:00Z"


class Releases(Controller):
    """Makes a release, then stores conditions and history in two requests."""

    kind = RELEASE
    repairs = False

    async def reconcile(self, request: Request, api: Api) -> None:
        release = await api.get(RELEASE, request)
        made = bool((release.get("status") or {}).get("history"))
        if made and not is_true(release, "Released") and not self.repairs:
            await self.patch_conditions(request, api, {"Ready": "Unknown"})
            return
        if made and is_true(release, "Ready"):
            return
        try:
            await self.patch_conditions(request, api, {"Released": "True", "Ready": "True"})
        finally:
            base = deepcopy(release)
            release["status"] = {**(release.get("status") or {}), "history": ["v1"]}
            await api.status.patch(release, merge_from(base))

    async def patch_conditions(
        self, request: Request, api: Api, conditions: dict[str, Literal["True", "Unknown"]]
    ) -> None:
        for attempt in (1, 2):
            latest = await api.get(RELEASE, request)
            base = deepcopy(latest)
            for name, status in conditions.items():
                set_condition(latest, name, status, "Helm", now=NOW)
            try:
                await api.status.patch(latest, merge_from(base, lock=True))
                return
            except Conflict:
                if attempt == 2:
                    raise


class Fixed(Releases):
    name = "releases"
    repairs = True


release = new_object(RELEASE, "r", spec={"chart": "web"})
buggy = Scenario(
    controllers=[Releases()],
    crds=[permissive_crd(RELEASE)],
    objects=[release],
    actions=[update(release, metadata={"annotations": {"team": "web"}})],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed()])
