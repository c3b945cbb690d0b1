"""kro: children are left behind when an instance is deleted.

Link: https://github.com/kubernetes-sigs/kro/issues/1171
Archetype: A2

An instance remembers the children that it has applied in an annotation. Deletion empties the annotation, then
deletes the children, then removes the finalizer. A crash after the first step leaves nothing to delete: the
finalizer is removed and the children stay.

Interleaving: inventory [] is stored -> crash -> inventory is empty, remove the finalizer -> the child is an
orphan

Fix: delete the children first, and forget each one after it is gone.
"""

from contextlib import suppress
from dataclasses import replace

from kontend import Api, Controller, Guards, NotFound, Request, new_object
from kontend.explore import Scenario, delete
from kontend.testing import permissive_crd

INSTANCE = "WebApp.kro.run/v1"
CHILD = "ConfigMap/v1"


class Instances(Controller):
    """Deletes the children of an instance that goes."""

    kind = INSTANCE
    forgets_first = True

    async def reconcile(self, request: Request, api: Api) -> None:
        with suppress(NotFound):
            instance = await api.live.get(INSTANCE, request)
            if not instance["metadata"].get("deletionTimestamp"):
                return
            annotations = instance["metadata"]["annotations"]
            child = annotations["inventory"]
            if self.forgets_first and child:
                annotations["inventory"] = ""
                await api.update(instance)
            if child:
                with suppress(NotFound):
                    await api.delete(new_object(CHILD, child, namespace="default"))
            instance["metadata"]["finalizers"] = []
            await api.update(instance)


class Fixed(Instances):
    name = "instances"
    forgets_first = False


web = new_object(INSTANCE, "web", finalizers=["kro.run/finalizer"], annotations={"inventory": "web-config"})
buggy = Scenario(
    controllers=[Instances()],
    crds=[permissive_crd(INSTANCE)],
    objects=[web, new_object(CHILD, "web-config")],
    actions=[delete(web)],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed()])
