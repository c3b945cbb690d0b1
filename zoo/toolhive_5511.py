"""toolhive: users of a configuration erase its conditions.

Link: https://github.com/stacklok/toolhive/issues/5511
Archetype: A7

The controllers of several kinds append themselves to the list of users in the status of a shared MCPOIDCConfig,
with an update from their cached copy; the controller of the configuration patches conditions from its own
snapshot, without a lock. A snapshot that is one version old replaces the list of users with an older one.

Interleaving: config reads users [] -> server appends itself -> config patches conditions and users [], as it
read them plus itself

Fix: one owner for the whole status: only the controller of the configuration writes it.
"""

from copy import deepcopy
from dataclasses import replace
from typing import Any

from kontend import Api, Controller, Guards, Request, merge_from, new_object, set_condition
from kontend.explore import Scenario
from kontend.testing import permissive_crd

CONFIG = "MCPOIDCConfig.toolhive.stacklok.dev/v1"
SERVER = "MCPServer.toolhive.stacklok.dev/v1"


class Configs(Controller):
    """Marks a configuration as valid and refreshes the list of its users."""

    kind = CONFIG
    watches = {SERVER: lambda server, cache: ["default/oidc"]}
    locked: bool | None = None

    async def reconcile(self, request: Request, api: Api) -> None:
        config = await api.get(CONFIG, request)
        base = deepcopy(config)
        status = config.setdefault("status", {})
        set_condition(config, "Valid", True, "Valid", now="2026-01-01T00:00:00Z")
        users = await self.users(status, api)
        status["users"] = sorted({*users, "workload/proxy"})
        if config != base:
            await api.status.patch(config, merge_from(base, lock=self.locked))

    async def users(self, status: dict[str, Any], api: Api) -> list[str]:
        return status.get("users") or []


class Servers(Controller):
    """Appends itself to the users of the configuration."""

    kind = SERVER
    appends = True

    async def reconcile(self, request: Request, api: Api) -> None:
        config = await api.live.get(CONFIG, "default/oidc")
        status = config.setdefault("status", {})
        user = f"server/{request.name}"
        if self.appends and user not in (status.get("users") or []):
            status["users"] = sorted([*(status.get("users") or []), user])
            await api.status.update(config)


class OnlyOwner(Configs):
    name = "configs"
    locked = True

    async def users(self, status: dict[str, Any], api: Api) -> list[str]:
        return [f"server/{server['metadata']['name']}" for server in await api.list(SERVER, namespace="default")]


class Readers(Servers):
    name = "servers"
    appends = False


buggy = Scenario(
    controllers=[Configs(), Servers()],
    crds=[permissive_crd(CONFIG), permissive_crd(SERVER)],
    objects=[new_object(CONFIG, "oidc", spec={}), new_object(SERVER, "s", spec={"oidc": "oidc"})],
    guards=Guards.off(),
)
fixed = replace(buggy, controllers=[OnlyOwner(), Readers()])
