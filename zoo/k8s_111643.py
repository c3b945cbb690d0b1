"""karpenter: a stale list of finalizers is refused, and the retry heals.

Link: https://github.com/kubernetes/kubernetes/issues/111643
Archetype: N

A node is deleted in the foreground, so the server adds a finalizer of its own and removes it when the
dependents are gone. A controller that removes its own finalizer computes the rest of the list from its cached
copy, in a merge patch without a lock. An old copy brings back a finalizer that is gone. The server refuses
that: nothing may add a finalizer to an object that is being deleted. The patch fails, the controller reads
again, and everything ends well. It is noisy, and it is no bug.
"""

from contextlib import suppress
from copy import deepcopy

from kontend import Api, Controller, Guards, NotFound, Request, merge_from, new_object
from kontend.explore import Scenario, delete
from kontend.predicates import GenerationChanged
from kontend.testing import permissive_crd

NODE = "Machine.karpenter.sh/v1"  # stands for the Node
FOREGROUND = "example.com/foreground"  # stands for the server's own finalizer
TERMINATION = "karpenter.sh/termination"


class Termination(Controller):
    """Removes its finalizer from a node that is being deleted."""

    kind = NODE
    predicates = {NODE: GenerationChanged()}
    finalizer = TERMINATION
    locked: bool | None = None

    async def reconcile(self, request: Request, api: Api) -> None:
        with suppress(NotFound):
            node = await api.get(NODE, request)
            finalizers = node["metadata"].get("finalizers") or []
            if node["metadata"].get("deletionTimestamp") and self.finalizer in finalizers:
                base = deepcopy(node)
                node["metadata"]["finalizers"] = [finalizer for finalizer in finalizers if finalizer != self.finalizer]
                await api.patch(node, merge_from(base, lock=self.locked))


class Collector(Termination):
    """Removes the finalizer of the foreground deletion, as the garbage collector does: with a lock."""

    finalizer = FOREGROUND
    locked = True


node = new_object(NODE, "n", finalizers=[FOREGROUND, TERMINATION], spec={})
control = Scenario(
    controllers=[Termination(), Collector()],
    crds=[permissive_crd(NODE)],
    objects=[node],
    actions=[delete(node)],
    guards=Guards.off(),
)
