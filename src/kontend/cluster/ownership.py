"""Field ownership after a write: the server's calls into server-side apply."""

from __future__ import annotations

from functools import partial
from typing import Any

from kontend.cluster.request import Target
from kontend.cluster.state import State
from kontend.cluster.times import rfc3339
from kontend.kube.apply import server_side as apply
from kontend.kube.apply.managed_fields import ManagedFields
from kontend.kube.schema.tree import MISSING


def owners_after_update(
    state: State,
    target: Target,
    live: dict[str, Any] | None,
    new: dict[str, Any],
    managed: ManagedFields,
    requested: Any = MISSING,
) -> ManagedFields:
    """Return the managed fields after a create, update or patch by the target's field manager."""
    resource = target.resource
    return apply.track_update(
        schema=resource.schema,
        schema_at=lambda version: state.registry.schema_at(version, resource.kind),
        live=live,
        new=new,
        managed=managed,
        requested=requested,
        manager=target.options.field_manager,
        api_version=resource.api_version,
        subresource=target.subresource,
        now=rfc3339(state.now),
        reset_fields=resource.reset_fields(target.subresource),
        conversion=None if resource.custom is not None else partial(state.registry.converted, resource.kind),
    )


def applied(
    state: State, target: Target, live: dict[str, Any] | None, patch: Any, managed: ManagedFields
) -> apply.Applied:
    """Return the object and its managed fields after an apply by the target's field manager."""
    resource = target.resource
    return apply.apply(
        schema=resource.schema,
        schema_at=lambda version: state.registry.schema_at(version, resource.kind),
        kind=resource.kind,
        live=live,
        patch=patch,
        managed=managed,
        manager=target.options.field_manager,
        api_version=resource.api_version,
        subresource=target.subresource,
        force=target.options.force,
        now=rfc3339(state.now),
        reset_fields=resource.reset_fields(target.subresource),
        conversion=None if resource.custom is not None else partial(state.registry.converted, resource.kind),
    )
