"""kernel-module-management: a module loses the finalizer of its device plugin.

Link: https://github.com/kubernetes-sigs/kernel-module-management/issues/1343
Archetype: A7

Three controllers write finalizers of one object with merge patches that have no resourceVersion. A new owner of
a module that is already being deleted adds its finalizer from a copy that is one version behind, and the list
that it sends still has the finalizer which another controller has just removed: the object waits for a clean-up
that was done long ago.

Interleaving: plugin reads [loader] -> loader removes its own, [] -> plugin writes [loader, plugin]

Fix: lock the patch by the resourceVersion of the copy.
"""

from copy import deepcopy
from dataclasses import replace

from kontend import Api, Controller, Guards, Request, merge_from, new_object
from kontend.explore import Scenario
from kontend.predicates import GenerationChanged
from kontend.testing import permissive_crd

MODULE = "Module.kmm.sigs.x-k8s.io/v1"
LOADER = "kmm.sigs.x-k8s.io/loader"
PLUGIN = "kmm.sigs.x-k8s.io/plugin"


class Loader(Controller):
    """Has unloaded the module and gives up its finalizer."""

    kind = MODULE
    predicates = {MODULE: GenerationChanged()}
    locked: bool | None = None

    async def reconcile(self, request: Request, api: Api) -> None:
        module = await api.get(MODULE, request)
        base = deepcopy(module)
        module["metadata"]["finalizers"] = self.wanted(base["metadata"].get("finalizers") or [])
        if module != base:
            await api.patch(module, merge_from(base, lock=self.locked))

    def wanted(self, finalizers: list[str]) -> list[str]:
        return [finalizer for finalizer in finalizers if finalizer != LOADER]


class Plugin(Loader):
    """Starts to use the module and adds its finalizer."""

    def wanted(self, finalizers: list[str]) -> list[str]:
        return [*(finalizer for finalizer in finalizers if finalizer != PLUGIN), PLUGIN]


class LockedLoader(Loader):
    name = "loader"
    locked = True


class LockedPlugin(Plugin):
    name = "plugin"
    locked = True


buggy = Scenario(
    controllers=[Loader(), Plugin()],
    crds=[permissive_crd(MODULE)],
    objects=[new_object(MODULE, "m", finalizers=[LOADER], spec={})],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[LockedLoader(), LockedPlugin()])
