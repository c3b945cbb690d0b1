"""Strategies of RBAC: Role, ClusterRole and their bindings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kontend.kube.builtin.validation import access
from kontend.kube.field_errors import FieldError
from kontend.kube.json_types import Json
from kontend.kube.meta.name_rules import path_segment
from kontend.kube.strategy import Strategy


class Roles(Strategy):
    """Roles."""

    allow_create_on_update = True
    rechecks_metadata = True
    name_rule = staticmethod(path_segment)

    def validate(self, obj: Json) -> list[FieldError]:
        """Validate a role."""
        return access.validate_role(obj)


class ClusterRoles(Roles):
    """Cluster roles."""

    namespaced = False

    def validate(self, obj: Json) -> list[FieldError]:
        """Validate a cluster role."""
        return access.validate_cluster_role(obj)


class RoleBindings(Roles):
    """Role bindings."""

    def validate(self, obj: Json) -> list[FieldError]:
        """Validate a role binding."""
        return access.validate_role_binding(obj)

    def validate_update(self, new: Json, old: Json) -> list[FieldError]:
        """Validate a changed role binding."""
        return self.validate(new) + access.validate_same_role(new, old)


class ClusterRoleBindings(RoleBindings):
    """Cluster role bindings."""

    namespaced = False

    def validate(self, obj: Json) -> list[FieldError]:
        """Validate a cluster role binding."""
        return access.validate_cluster_role_binding(obj)


_GROUP: Final = "rbac.authorization.k8s.io"
STRATEGIES: Final[Mapping[tuple[str, str], Strategy]] = {
    (_GROUP, "Role"): Roles(),
    (_GROUP, "ClusterRole"): ClusterRoles(),
    (_GROUP, "RoleBinding"): RoleBindings(),
    (_GROUP, "ClusterRoleBinding"): ClusterRoleBindings(),
}
