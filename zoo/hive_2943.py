"""hive: defaulted fields are taken for drift.

Link: https://github.com/openshift/hive/pull/2943
Archetype: A10

The controller builds the object that it wants and compares it with the stored one. The API server fills in
defaults, so the two are never equal: every reconcile updates the object, the update triggers the next
reconcile, and the write is not even a no-op because the controller stamps what it has written.

Interleaving: controller writes {port} -> the server stores {port, protocol} -> they differ, write again -> ...

Fix: compare a hash of the wanted object, kept in an annotation.
"""

from dataclasses import replace
from typing import Any

from kontend import Api, Controller, Guards, NotFound, Request, new_object
from kontend.explore import Scenario
from kontend.testing import permissive_crd

DEPLOYMENT = "ClusterDeployment.hive.openshift.io/v1"
PROVISION = "ClusterProvision.hive.openshift.io/v1"
WANTED: dict[str, Any] = {"port": 6443}


class Deployments(Controller):
    """Keeps the provision of a deployment equal to what it wants."""

    kind = DEPLOYMENT
    watches = {PROVISION: lambda provision, cache: ["default/d"]}

    async def reconcile(self, request: Request, api: Api) -> None:
        try:
            provision = await api.get(PROVISION, "default/p")
        except NotFound:
            await api.create(new_object(PROVISION, "p", namespace="default", annotations={"hash": "1"}, spec=WANTED))
            return
        if self.differs(provision):
            attempt = "2" if provision["metadata"]["annotations"]["hash"] == "1" else "1"
            provision["metadata"]["annotations"]["hash"] = attempt
            provision["spec"] = WANTED
            await api.update(provision)

    def differs(self, provision: dict[str, Any]) -> bool:
        return bool(provision["spec"] != WANTED)


class Fixed(Deployments):
    name = "deployments"

    def differs(self, provision: dict[str, Any]) -> bool:
        return bool(provision["metadata"]["annotations"]["hash"] != "1")


definition = permissive_crd(PROVISION)
definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"] = {
    "spec": {
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": True,
        "properties": {"protocol": {"type": "string", "default": "TCP"}},
    }
}
buggy = Scenario(
    controllers=[Deployments()],
    crds=[permissive_crd(DEPLOYMENT), definition],
    objects=[new_object(DEPLOYMENT, "d", spec={})],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed()])
