"""tigera operator: removing one finalizer removes another.

Link: https://github.com/tigera/operator/issues/4492
Archetype: A7

The controllers of whisker and goldmane keep a finalizer each on the Installation, as long as they need it. Both
computed the list from their cached copy and sent it in a merge patch without a resourceVersion. While goldmane
was being switched off, whisker added its finalizer, and the list that goldmane wrote did not have it.

Interleaving: goldmane reads [goldmane] -> whisker writes [goldmane, whisker] -> goldmane writes []

Fix: lock the patch by the resourceVersion of the copy.
"""

from copy import deepcopy
from dataclasses import replace

from kontend import Api, Controller, Guards, Request, merge_from, new_object
from kontend.explore import Scenario
from kontend.testing import permissive_crd

INSTALLATION = "Installation.operator.tigera.io/v1"


class Whisker(Controller):
    """Keeps a finalizer on the installation while the component is enabled."""

    kind = INSTALLATION
    locked: bool | None = None

    async def reconcile(self, request: Request, api: Api) -> None:
        installation = await api.get(INSTALLATION, request)
        base = deepcopy(installation)
        own = f"operator.tigera.io/{self.name}"
        others = [finalizer for finalizer in base["metadata"].get("finalizers") or [] if finalizer != own]
        installation["metadata"]["finalizers"] = [*others, own] if installation["spec"][self.name] else others
        if installation != base:
            await api.patch(installation, merge_from(base, lock=self.locked))


class Goldmane(Whisker):
    name = "goldmane"


class LockedWhisker(Whisker):
    name = "whisker"
    locked = True


class LockedGoldmane(Whisker):
    name = "goldmane"
    locked = True


buggy = Scenario(
    controllers=[Whisker(), Goldmane()],
    crds=[permissive_crd(INSTALLATION)],
    objects=[
        new_object(
            INSTALLATION,
            "default",
            finalizers=["operator.tigera.io/goldmane"],
            spec={"whisker": True, "goldmane": False},
        )
    ],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[LockedWhisker(), LockedGoldmane()])
