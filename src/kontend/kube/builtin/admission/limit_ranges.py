"""LimitRanger: defaults for what containers ask for, and bounds for pods, containers and claims."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from kontend.kube.builtin.admission.pod_resources import Amounts, amounts, pod_amounts
from kontend.kube.json_types import Json
from kontend.kube.quantity import Quantity

ANNOTATION: Final = "kubernetes.io/limit-ranger"
_FIELDS: Final = (("requests", "defaultRequest", "request"), ("limits", "default", "limit"))


def set_defaults(pod: Json, ranges: Iterable[Mapping[str, Any]]) -> None:
    """Give the containers of a new pod the requests and limit that they leave out, in place."""
    for limit_range in ranges:
        done: list[str] = []
        defaults = _defaults(limit_range)
        for kind, containers in (("container", "containers"), ("init container", "initContainers")):
            for container in pod["spec"].get(containers) or ():
                done += _set(container, defaults, kind)
        if done:
            annotations = pod["metadata"].setdefault("annotations", {})
            annotations[ANNOTATION] = "LimitRanger plugin set: " + "; ".join(done)


def _defaults(limit_range: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    defaults: dict[str, dict[str, str]] = {"requests": {}, "limits": {}}
    for item in _items(limit_range):
        if item.get("type") == "Container":
            for field, source, _ in _FIELDS:
                defaults[field].update(item.get(source) or {})
    return defaults


def _set(container: Json, defaults: Mapping[str, Mapping[str, str]], kind: str) -> list[str]:
    done = []
    for field, _, word in _FIELDS:
        resources = container.get("resources") or {}
        missing = {name: value for name, value in defaults[field].items() if name not in (resources.get(field) or {})}
        if missing:
            resources[field] = {**(resources.get(field) or {}), **missing}
            container["resources"] = resources
            done.append(f"{', '.join(sorted(missing))} {word} for {kind} {container['name']}")
    return done


def violations(kind: str, obj: Mapping[str, Any], ranges: Iterable[Mapping[str, Any]]) -> list[str]:
    """Find what exceeds the bounds of a namespace in a Pod or PersistentVolumeClaim."""
    problems: list[str] = []
    for limit_range in ranges:
        for item in _items(limit_range):
            problems += _pod(obj, item) if kind == "Pod" else _claim(obj, item)
    return problems


def _items(limit_range: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    return (limit_range.get("spec") or {}).get("limits") or ()


def _pod(pod: Mapping[str, Any], item: Mapping[str, Any]) -> Iterator[str]:
    spec = pod["spec"]
    if item.get("type") == "Container":
        for container in [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]:
            resources = container.get("resources") or {}
            yield from _bounds(item, amounts(resources.get("requests")), amounts(resources.get("limits")))
    elif item.get("type") == "Pod":
        yield from _bounds(item, pod_amounts(spec, "requests"), pod_amounts(spec, "limits"))


def _claim(claim: Mapping[str, Any], item: Mapping[str, Any]) -> Iterator[str]:
    if item.get("type") != "PersistentVolumeClaim":
        return
    requests = amounts(((claim.get("spec") or {}).get("resources") or {}).get("requests"))
    for name, least in sorted(amounts(item.get("min")).items()):
        yield from _least(name, item, least, requests, {})
    for name, largest in sorted(amounts(item.get("max")).items()):
        where = f"maximum {name} usage per {item['type']} is {largest}"
        if name not in requests:
            yield f"{where}.  No request is specified"
        elif largest < requests[name]:
            yield f"{where}, but request is {requests[name]}"


def _bounds(item: Mapping[str, Any], requests: Amounts, limits: Amounts) -> Iterator[str]:
    for name, least in sorted(amounts(item.get("min")).items()):
        yield from _least(name, item, least, requests, limits)
    for name, largest in sorted(amounts(item.get("max")).items()):
        where = f"maximum {name} usage per {item['type']} is {largest}"
        if name not in limits:
            yield f"{where}.  No limit is specified"
        elif largest < limits[name]:
            yield f"{where}, but limit is {limits[name]}"
        elif name in requests and largest < requests[name]:
            yield f"{where}, but request is {requests[name]}"
    for name, ratio in sorted(amounts(item.get("maxLimitRequestRatio")).items()):
        yield from _ratio(name, item, ratio, requests, limits)


def _least(name: str, item: Mapping[str, Any], least: Quantity, requests: Amounts, limits: Amounts) -> Iterator[str]:
    where = f"minimum {name} usage per {item['type']} is {least}"
    if name not in requests:
        yield f"{where}.  No request is specified"
    elif requests[name] < least:
        yield f"{where}, but request is {requests[name]}"
    elif name in limits and limits[name] < least:
        yield f"{where}, but limit is {limits[name]}"


def _ratio(name: str, item: Mapping[str, Any], ratio: Quantity, requests: Amounts, limits: Amounts) -> Iterator[str]:
    where = f"{name} max limit to request ratio per {item['type']} is {ratio}"
    if name not in requests or not requests[name].amount:
        yield f"{where}, but no request is specified or request is 0"
    elif name not in limits or not limits[name].amount:
        yield f"{where}, but no limit is specified or limit is 0"
    else:
        observed = limits[name].amount / requests[name].amount
        if observed > ratio.amount:
            yield f"{where}, but provided ratio is {observed:.6f}"
