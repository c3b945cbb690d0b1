"""toolhive: ninety orphaned secrets a day.

Link: https://github.com/stacklok/toolhive/issues/3622
Archetype: A10

The operator writes its ServiceAccount with an upsert that sets every field, also the list of secrets, which it
leaves empty. OpenShift's controller creates a token secret for an account that has none and adds it to the
list. The operator empties the list again, the next secret is created, and the former ones stay behind.

Interleaving: OpenShift creates secret 1, secrets=[1] -> operator writes secrets=[] -> OpenShift creates secret
2 -> ...

Fix: keep fields of the stored object that the operator has no opinion about.
"""

from dataclasses import replace

from kontend import Api, Controller, Guards, Request, new_object
from kontend.explore import Scenario
from kontend.testing import permissive_crd

SERVER = "MCPServer.toolhive.stacklok.dev/v1"
ACCOUNT = "Account.toolhive.stacklok.dev/v1"  # stands for the ServiceAccount
SECRET = "ConfigMap/v1"


class Operator(Controller):
    """Upserts the account of a server."""

    kind = SERVER
    watches = {ACCOUNT: lambda account, cache: ["default/s"]}
    keeps = False

    async def reconcile(self, request: Request, api: Api) -> None:
        account = await api.get(ACCOUNT, "default/s")
        if not self.keeps:
            account.pop("secrets", None)
        account["metadata"]["labels"] = {"app": "s"}
        await api.update(account)


class OpenShift(Controller):
    """Gives every account a token secret."""

    kind = ACCOUNT

    async def reconcile(self, request: Request, api: Api) -> None:
        account = await api.get(ACCOUNT, request)
        if not account.get("secrets"):
            secret = new_object(SECRET, "token", namespace="default")
            await api.apply(secret)
            account["secrets"] = [{"name": "token"}]
            await api.update(account)


class Fixed(Operator):
    name = "operator"
    keeps = True


buggy = Scenario(
    controllers=[Operator(), OpenShift()],
    crds=[permissive_crd(SERVER), permissive_crd(ACCOUNT)],
    objects=[new_object(SERVER, "s", spec={}), new_object(ACCOUNT, "s")],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[Fixed(), OpenShift()])
