"""kubermatic: two controllers erase each other's finalizers.

Link: https://github.com/kubermatic/kubermatic/issues/6759
Archetype: A7

Several controllers put a finalizer of their own on a Cluster. Each computed a merge patch from its cached copy,
and a merge patch replaces a list whole. A patch from a copy without the other's finalizer removed it, and the
clean-up that the finalizer stood for was skipped when the cluster was deleted.

Interleaving: both read finalizers [] -> dns patches finalizers [dns] -> backup patches finalizers [backup] ->
dns is gone

Fix: send the resourceVersion of the copy with the patch, so that a stale list is refused.
"""

from copy import deepcopy
from dataclasses import replace

from kontend import Api, Controller, Guards, Request, merge_from, new_object
from kontend.explore import Scenario
from kontend.testing import permissive_crd

CLUSTER = "Cluster.kubermatic.k8c.io/v1"


class Dns(Controller):
    """Makes sure that its finalizer is on the cluster."""

    kind = CLUSTER
    finalizer = "kubermatic.k8c.io/dns"
    locked: bool | None = None

    async def reconcile(self, request: Request, api: Api) -> None:
        cluster = await api.get(CLUSTER, request)
        finalizers = cluster["metadata"].setdefault("finalizers", [])
        if self.finalizer not in finalizers:
            base = deepcopy(cluster)
            finalizers.append(self.finalizer)
            await api.patch(cluster, merge_from(base, lock=self.locked))


class Backup(Dns):
    finalizer = "kubermatic.k8c.io/backup"


class LockedDns(Dns):
    name = "dns"
    locked = True


class LockedBackup(Backup):
    name = "backup"
    locked = True


buggy = Scenario(
    controllers=[Dns(), Backup()],
    crds=[permissive_crd(CLUSTER)],
    objects=[new_object(CLUSTER, "c", spec={})],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[LockedDns(), LockedBackup()])
