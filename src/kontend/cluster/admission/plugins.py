"""Built-in admission plugins that look at other objects: LimitRanger, ServiceAccount and RuntimeClass."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kontend.cluster.effects import Expected
from kontend.cluster.request import Target
from kontend.cluster.state import State
from kontend.kube.builtin.admission import limit_ranges
from kontend.kube.builtin.admission.pods import check_overhead
from kontend.kube.builtin.admission.service_accounts import attach_account
from kontend.kube.errors import forbidden
from kontend.kube.meta.names import Key

#: The plugin that gives pods their service account; off unless something makes the accounts.
SERVICE_ACCOUNT: Final = "ServiceAccount"
_DEFAULT_ACCOUNT: Final = "default"
#: Seconds for which a pod waits for the default account. kube-apiserver looks ten times, at most 0.2 s apart.
_PATIENCE: Final = 1.8
_LIMITED: Final = {"pods": "Pod", "persistentvolumeclaims": "PersistentVolumeClaim"}
_RANGES: Final = "limitranges"
_RUNTIME_CLASSES: Final = "runtimeclasses.node.k8s.io"


def mutate(state: State, target: Target, obj: dict[str, Any], *, creating: bool) -> None:
    """Change a new pod, in place."""
    if target.resource.key != "pods" or target.subresource or not creating:
        return
    ranges = _ranges(state, target)
    if ranges:
        limit_ranges.set_defaults(obj, ranges)
    if SERVICE_ACCOUNT in state.settings.plugins:
        _set_account(state, target, obj)


def validate(state: State, target: Target, obj: dict[str, Any], *, creating: bool) -> None:
    """Refuse pods and claims beyond the bounds of their namespace, and pods of another overhead than their class."""
    kind = _LIMITED.get(target.resource.key)
    if kind is None or target.subresource or (kind == "Pod" and not creating):
        return
    ranges = _ranges(state, target)
    if ranges:
        violations = limit_ranges.violations(kind, obj, ranges)
        if violations:
            why = violations[0] if len(violations) == 1 else f"[{', '.join(violations)}]"
            raise forbidden("", target.resource.plural, obj["metadata"].get("name") or "", why)
    if kind == "Pod":
        name = obj["spec"].get("runtimeClassName")
        version = state.find(_RUNTIME_CLASSES, Key("", name)) if name else None
        check_overhead(obj, None if version is None else version.content())


def _ranges(state: State, target: Target) -> list[Mapping[str, Any]]:
    objects = state.objects(_RANGES)
    if not len(objects):
        return []
    return [version.content() for key, version in sorted(objects.items()) if key.namespace == target.namespace]


def _set_account(state: State, target: Target, pod: dict[str, Any]) -> None:
    name = pod["spec"].get("serviceAccountName") or _DEFAULT_ACCOUNT
    key = Key(target.namespace, name)
    version = state.find("serviceaccounts", key)
    if version is None:
        if name == _DEFAULT_ACCOUNT and target.answers is not None:
            target.answers.expect(Expected("serviceaccounts", key, _PATIENCE))
        why = f'error looking up service account {target.namespace}/{name}: serviceaccount "{name}" not found'
        raise forbidden("", "pods", pod["metadata"].get("name") or "", why)
    attach_account(pod, version.content(), suffix=state.next_suffix()[1])
