"""OAM: two appliers force the number of replicas.

Link: https://github.com/kubernetes-sigs/controller-runtime/issues/1311
Archetype: A11

The workload controller applied a Deployment with replicas 0 as its own default, the scaler trait applied
replicas 3, both by server-side apply with force. Each apply took the field from the other and changed its value
back.

Interleaving: workload applies replicas=0 -> scaler applies replicas=3 by force -> workload applies replicas=0
by force -> ...

Fix: one owner for a field: the workload leaves replicas out of what it applies.
"""

from dataclasses import replace
from typing import Any

from kontend import Api, Controller, Guards, Request, new_object
from kontend.explore import Scenario
from kontend.testing import permissive_crd

APP = "Application.core.oam.dev/v1"
WORKLOAD = "Workload.core.oam.dev/v1"


class Workloads(Controller):
    """Applies the workload of an application."""

    kind = APP
    watches = {WORKLOAD: lambda workload, cache: ["default/app"]}
    spec: dict[str, Any] = {"image": "app:1", "replicas": 0}

    async def reconcile(self, request: Request, api: Api) -> None:
        await api.apply(new_object(WORKLOAD, "app", namespace="default", spec=self.spec), force=True)


class Scaler(Workloads):
    """Applies the replicas of its trait."""

    spec = {"replicas": 3}


class Fixed(Workloads):
    name = "workloads"
    spec = {"image": "app:1"}


buggy = Scenario(
    controllers=[Workloads(), Scaler()],
    crds=[permissive_crd(APP), permissive_crd(WORKLOAD)],
    objects=[new_object(APP, "app", spec={})],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed(), Scaler()])
