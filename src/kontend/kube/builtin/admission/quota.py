"""Resource quotas: what an object counts for, and which quotas count it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from kontend.kube.builtin.admission.pod_resources import Amounts, amounts, pod_amounts
from kontend.kube.builtin.qos import quality_of_service
from kontend.kube.quantity import Quantity, parse

ONE: Final = parse("1")
ZERO: Final = parse("0")
#: Kinds of the core group that are also counted under their plural alone.
_PLAIN: Final = ("configmaps", "replicationcontrollers", "resourcequotas", "secrets", "services")
_COMPUTE: Final = ("cpu", "memory", "ephemeral-storage")
_REQUIRED: Final = (
    *_COMPUTE,
    *(f"requests.{name}" for name in _COMPUTE),
    *(f"limits.{name}" for name in _COMPUTE),
)


def usage(group: str, plural: str, obj: Mapping[str, Any]) -> Amounts:
    """Return the resources that an object counts for in a quota.

    >>> sorted(usage("", "configmaps", {}))
    ['configmaps', 'count/configmaps']
    """
    counted = {f"count/{plural}.{group}" if group else f"count/{plural}": ONE}
    if group:
        return counted
    if plural in _PLAIN:
        counted[plural] = ONE
    if plural == "pods":
        return {**counted, **_pod_usage(obj)}
    if plural == "services":
        counted |= _service_usage(obj.get("spec") or {})
    elif plural == "persistentvolumeclaims":
        counted |= _claim_usage(obj.get("spec") or {})
    return counted


def _pod_usage(pod: Mapping[str, Any]) -> Amounts:
    if not counts_pod(pod):
        return {}
    used = {"pods": ONE}
    spec = pod.get("spec") or {}
    for name, value in pod_amounts(spec, "requests").items():
        used[f"requests.{name}"] = value
        if name in _COMPUTE or name.startswith("hugepages-"):
            used[name] = value
    for name, value in pod_amounts(spec, "limits").items():
        used[f"limits.{name}"] = value
    return used


def counts_pod(pod: Mapping[str, Any]) -> bool:
    """Report whether a pod still uses what it asks for: one that has ended does not."""
    return (pod.get("status") or {}).get("phase") not in ("Failed", "Succeeded")


def _service_usage(spec: Mapping[str, Any]) -> Amounts:
    ports = parse(str(len(spec.get("ports") or ())))
    if spec.get("type") == "NodePort":
        return {"services.nodeports": ports}
    if spec.get("type") == "LoadBalancer":
        nodeports = ports if spec.get("allocateLoadBalancerNodePorts") is not False else ZERO
        return {"services.loadbalancers": ONE, "services.nodeports": nodeports}
    return {}


def _claim_usage(spec: Mapping[str, Any]) -> Amounts:
    used = {"persistentvolumeclaims": ONE}
    requested = amounts((spec.get("resources") or {}).get("requests")).get("storage")
    if requested is not None:
        used["requests.storage"] = requested
    storage_class = spec.get("storageClassName")
    if storage_class:
        prefix = f"{storage_class}.storageclass.storage.k8s.io"
        used[f"{prefix}/persistentvolumeclaims"] = ONE
        if requested is not None:
            used[f"{prefix}/requests.storage"] = requested
    return used


def unspecified(pod: Mapping[str, Any], limited: Iterable[str]) -> str:
    """Names the containers that do not ask for what a quota limits; nothing when all do."""
    spec = pod.get("spec") or {}
    missing: dict[str, list[str]] = {}
    for container in [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]:
        resources = container.get("resources") or {}
        given = {f"limits.{name}" for name in resources.get("limits") or ()}
        for name in resources.get("requests") or ():
            given |= {name, f"requests.{name}"}
        for name in limited:
            if name in _REQUIRED and name not in given:
                missing.setdefault(name, []).append(container["name"])
    return "; ".join(f"{name} for: {','.join(names)}" for name, names in sorted(missing.items()))


def in_scope(quota: Mapping[str, Any], plural: str, obj: Mapping[str, Any]) -> bool:
    """Report whether a quota counts an object: one with scopes counts only the pods in all of them."""
    spec = quota.get("spec") or {}
    scopes = [{"scopeName": name, "operator": "Exists"} for name in spec.get("scopes") or ()]
    scopes += (spec.get("scopeSelector") or {}).get("matchExpressions") or ()
    return not scopes or (plural == "pods" and all(_scope_matches(scope, obj.get("spec") or {}) for scope in scopes))


def _scope_matches(scope: Mapping[str, Any], spec: Mapping[str, Any]) -> bool:
    name = scope["scopeName"]
    if name in ("Terminating", "NotTerminating"):
        return bool((spec.get("activeDeadlineSeconds") is not None) == (name == "Terminating"))
    if name in ("BestEffort", "NotBestEffort"):
        return bool((quality_of_service(spec) == "BestEffort") == (name == "BestEffort"))
    if name == "CrossNamespacePodAffinity":
        return _crosses_namespaces(spec)
    value, operator = spec.get("priorityClassName") or "", scope.get("operator")
    if operator == "Exists":
        return bool(value)
    if operator == "DoesNotExist":
        return not value
    return (value in (scope.get("values") or ())) == (operator == "In")


def _crosses_namespaces(spec: Mapping[str, Any]) -> bool:
    for kind in ("podAffinity", "podAntiAffinity"):
        rules = (spec.get("affinity") or {}).get(kind) or {}
        terms = list(rules.get("requiredDuringSchedulingIgnoredDuringExecution") or ())
        preferred = rules.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
        terms += [term.get("podAffinityTerm") or {} for term in preferred]
        if any(term.get("namespaces") or term.get("namespaceSelector") is not None for term in terms):
            return True
    return False


def shown(values: Mapping[str, Quantity]) -> str:
    """Amounts as the server prints them.

    >>> shown({"pods": ONE, "cpu": parse("100m")})
    'cpu=100m,pods=1'
    """
    return ",".join(f"{name}={value}" for name, value in sorted(values.items()))
