"""The admission chain: the checks and changes between the decoding of a write and its storage.

First come the mutating ones (the namespace's life cycle, the built-in plugins of the kind, then the user's own hooks),
later, on the object as it will be stored, the validating ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import orjson

from kontend.cluster.admission import plugins
from kontend.cluster.admission.configurations import MUTATING_WEBHOOKS, POLICY_BINDINGS, VALIDATING_WEBHOOKS
from kontend.cluster.admission.operation import Operation, options_of
from kontend.cluster.hooks import Denied, Hook, Review
from kontend.cluster.request import Target
from kontend.cluster.state import State
from kontend.kube.apply.managed_fields import ManagedFields
from kontend.kube.errors import ApiError, Forbidden, forbidden, not_found
from kontend.kube.meta.names import Key
from kontend.kube.meta.object_meta import dedup_owner_references


def admit(
    state: State,
    target: Target,
    obj: dict[str, Any] | None,
    old: dict[str, Any] | None,
    managed: ManagedFields = (),
) -> None:
    """Run everything that may change ``obj``, in place; on a delete ``obj`` is None."""
    _check_namespace(state, target, obj, creating=old is None)
    _plugins(state, target, obj, old)
    if state.hooks.mutating:
        _call(state.hooks.mutating, target, obj, old, changing=True)
    if target.answers is not None and _has_any(state, MUTATING_WEBHOOKS):
        from kontend.cluster.admission import webhooks

        operation = _operation(state, target, obj, old, managed)
        reinvocation = webhooks.Reinvocation(set(), set())
        webhooks.mutate(operation, reinvocation, second=False)
        if reinvocation.changed:
            # What was changed late may matter to those that came early.
            _plugins(state, target, obj, old)
            webhooks.mutate(operation, reinvocation, second=True)
    if obj is not None and obj["metadata"].get("ownerReferences"):
        for warning in dedup_owner_references(obj["metadata"], after_admission=True):
            target.warn(warning)


def validate(
    state: State,
    target: Target,
    obj: dict[str, Any] | None,
    old: Mapping[str, Any] | None,
    managed: ManagedFields = (),
) -> None:
    """Lets everything that may refuse the object see it as it will be stored."""
    if obj is not None:
        plugins.validate(state, target, obj, creating=old is None)
    if state.hooks.validating:
        _call(state.hooks.validating, target, obj, old, changing=False)
    if target.answers is None:
        return
    if _has_any(state, VALIDATING_WEBHOOKS) or _has_any(state, POLICY_BINDINGS):
        from kontend.cluster.admission import policies, webhooks

        operation = _operation(state, target, obj, old, managed)
        policies.validate(operation)
        webhooks.validate(operation)


def _plugins(state: State, target: Target, obj: dict[str, Any] | None, old: dict[str, Any] | None) -> None:
    """The built-in plugins that change objects of some kinds."""
    if obj is None or target.subresource:
        return
    plugins.mutate(state, target, obj, creating=old is None)
    strategy = target.resource.strategy
    if old is None:
        strategy.admit_create(obj, _stored(state))
    else:
        strategy.admit_update(obj, old)


def _has_any(state: State, resource: str) -> bool:
    return len(state.objects(resource)) > 0


def _operation(
    state: State,
    target: Target,
    obj: dict[str, Any] | None,
    old: Mapping[str, Any] | None,
    managed: ManagedFields,
) -> Operation:
    return Operation(state, target, obj, old is None, managed, options_of(target, creating=old is None))


def _call(
    hooks: Sequence[tuple[str, Hook]],
    target: Target,
    obj: dict[str, Any] | None,
    old: Mapping[str, Any] | None,
    *,
    changing: bool,
) -> None:
    for name, hook in hooks:
        review = Review(
            operation="DELETE" if obj is None else "CREATE" if old is None else "UPDATE",
            kind=f"{target.resource.kind}.{target.resource.group}/{target.resource.version}".replace("./", "/"),
            namespace=target.namespace,
            name=target.name,
            subresource=target.subresource,
            object=obj if changing else _copy(obj),
            old_object=_copy(old),
            user=target.user.name,
            dry_run=target.options.dry_run,
        )
        try:
            hook(review)
        except Denied as denied:
            message = f'admission webhook "{name}" denied the request: {denied}'
            raise ApiError(message, code=403, reason="Forbidden") from None
        for warning in review.warnings:
            target.warn(warning)


def _copy(obj: Mapping[str, Any] | None) -> Any:
    return None if obj is None else orjson.loads(orjson.dumps(obj))


def _stored(state: State) -> Callable[[str, str], Iterable[Mapping[str, Any]]]:
    def list_objects(group: str, kind: str) -> Iterable[Mapping[str, Any]]:
        for resource in state.registry.resources():
            if (resource.group, resource.kind) == (group, kind):
                return [version.content() for version in state.objects(resource.key).values()]
        return ()

    return list_objects


def _check_namespace(state: State, target: Target, obj: Any, *, creating: bool) -> None:
    """Refuses writes into a namespace that does not exist, and creates in one that is terminating."""
    if not target.resource.namespaced or obj is None:
        return
    version = state.find("namespaces", Key("", target.namespace))
    if version is None:
        raise not_found("", "namespaces", target.namespace)
    # Reading the phase by a search in the bytes saves parsing the namespace on every write.
    if not creating or b'"Terminating"' not in version.body:
        return
    if version.content().get("status", {}).get("phase") != "Terminating":
        return
    resource = target.resource
    why = f"unable to create new content in namespace {target.namespace} because it is being terminated"
    name = target.name or (obj["metadata"].get("name") or obj["metadata"].get("generateName") or "Unknown/empty")
    refusal = forbidden(resource.group, resource.plural, name, why)
    cause = {
        "reason": "NamespaceTerminating",
        "message": f"namespace {target.namespace} is being terminated",
        "field": "metadata.namespace",
    }
    raise Forbidden(refusal.message, details={**(refusal.details or {}), "causes": [cause]})
