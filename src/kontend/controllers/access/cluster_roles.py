"""Aggregated cluster roles: one whose ``aggregationRule`` selects others has the rules of them all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Final

from kontend.controllers.built_in import BuiltIn
from kontend.kube.errors import NotFound
from kontend.kube.meta.names import Key
from kontend.kube.meta.selectors import selector_from_json
from kontend.runtime.cache.views import Cache
from kontend.runtime.client.api import Api
from kontend.runtime.client.patches import Object
from kontend.runtime.controller import Mapper, Request, Result

CLUSTER_ROLES: Final = "ClusterRole.rbac.authorization.k8s.io/v1"


def _aggregated(_role: Object, cache: Cache) -> Iterator[Key]:
    """All roles that aggregate others: any of them may select, or have selected, the one that changed."""
    for role in cache.list(CLUSTER_ROLES):
        if role.get("aggregationRule"):
            yield Key("", role["metadata"]["name"])


class ClusterRoleAggregation(BuiltIn):
    """Keeps the rules of aggregated cluster roles."""

    name = "clusterrole-aggregation-controller"
    manager = "clusterrole-aggregation-controller"
    runs_in = BuiltIn.runs_in
    kind = CLUSTER_ROLES
    watches: ClassVar[Mapping[str, Mapper]] = {CLUSTER_ROLES: _aggregated}

    async def sync(self, request: Request, api: Api) -> Result | None:
        """Collect the rules of the roles that this one selects."""
        try:
            role = await api.get(CLUSTER_ROLES, request)
        except NotFound:
            return None
        if not role.get("aggregationRule"):
            return None
        rules = aggregated_rules(role, await api.list(CLUSTER_ROLES))
        if rules != (role.get("rules") or []):
            metadata = {"name": request.name}
            wanted = {"apiVersion": role["apiVersion"], "kind": role["kind"], "metadata": metadata, "rules": rules}
            await api.apply(wanted, force=True)
        return None


def aggregated_rules(role: Mapping[str, Any], roles: list[Object]) -> list[dict[str, Any]]:
    """Return the rules of all selected roles in the order of their names, each rule once."""
    rules: list[dict[str, Any]] = []
    for selector in role["aggregationRule"].get("clusterRoleSelectors") or ():
        for other in sorted(roles, key=lambda cluster_role: str(cluster_role["metadata"]["name"])):
            metadata = other["metadata"]
            if metadata["name"] == role["metadata"]["name"]:
                continue
            if selector_from_json(selector).matches(metadata.get("labels") or {}):
                rules += [rule for rule in other.get("rules") or () if rule not in rules]
    return rules
