"""AWS controllers: a crash costs a second VPC.

Link: https://github.com/aws-controllers-k8s/community/issues/2062
Archetype: A2

The controller creates a VPC and stores its id in the status. It crashed in between; nothing connected the VPC
with the resource, and after the restart a second one was created.

Interleaving: create vpc-1 -> crash -> status has no id -> create vpc-2

Fix: tag the VPC with the identity of the resource when it is created, and look for the tag first.
"""

from dataclasses import replace
from typing import Any

from kontend import Api, Controller, Guards, Request, new_object
from kontend.explore import Scenario
from kontend.testing import permissive_crd

RESOURCE = "VPC.ec2.services.k8s.aws/v1"
VPC = "Network.cloud.example.com/v1"


class Vpcs(Controller):
    """Creates the VPC of a resource and stores its id."""

    kind = RESOURCE

    async def reconcile(self, request: Request, api: Api) -> None:
        resource = await api.live.get(RESOURCE, request)
        if (resource.get("status") or {}).get("vpcID"):
            return
        vpc = await self.tagged(resource, api)
        if vpc is None:
            labels = {"resource": resource["metadata"]["uid"]}
            vpc = await api.create(new_object(VPC, generate_name="vpc-", namespace="default", labels=labels))
        resource["status"] = {"vpcID": vpc["metadata"]["name"]}
        await api.status.update(resource)

    async def tagged(self, resource: dict[str, Any], api: Api) -> dict[str, Any] | None:
        return None


class Fixed(Vpcs):
    name = "vpcs"

    async def tagged(self, resource: dict[str, Any], api: Api) -> dict[str, Any] | None:
        vpcs = await api.live.list(VPC, namespace="default", labels={"resource": resource["metadata"]["uid"]})
        return vpcs[0] if vpcs else None


buggy = Scenario(
    controllers=[Vpcs()],
    crds=[permissive_crd(RESOURCE), permissive_crd(VPC)],
    objects=[new_object(RESOURCE, "v", spec={})],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed()])
