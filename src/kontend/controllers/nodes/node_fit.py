"""Matching of pods and nodes: node selectors, node affinity and taints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

NODES: Final = "Node/v1"
NO_SCHEDULE: Final = "NoSchedule"
NO_EXECUTE: Final = "NoExecute"


def selects(spec: Mapping[str, Any], node: Mapping[str, Any]) -> bool:
    """Report whether a node has what the node selector and the required node affinity of a pod ask for."""
    labels = node["metadata"].get("labels") or {}
    if any(labels.get(name) != value for name, value in (spec.get("nodeSelector") or {}).items()):
        return False
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if required is None:
        return True
    return any(_term_matches(term, node) for term in required.get("nodeSelectorTerms") or ())


def _term_matches(term: Mapping[str, Any], node: Mapping[str, Any]) -> bool:
    labels, fields = term.get("matchExpressions") or (), term.get("matchFields") or ()
    if not labels and not fields:
        return False
    known = node["metadata"].get("labels") or {}
    name = {"metadata.name": node["metadata"]["name"]}
    return all(_matches(label, known) for label in labels) and all(_matches(field, name) for field in fields)


def _matches(requirement: Mapping[str, Any], values: Mapping[str, str]) -> bool:
    value = values.get(requirement["key"])
    wanted = requirement.get("values") or ()
    match requirement["operator"]:
        case "In":
            return value in wanted
        case "NotIn":
            return value not in wanted
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case operator:
            if value is None or not _is_number(value) or not wanted or not _is_number(wanted[0]):
                return False
            return int(value) > int(wanted[0]) if operator == "Gt" else int(value) < int(wanted[0])


def _is_number(text: str) -> bool:
    return text.removeprefix("-").isdecimal()


def tolerates(
    tolerations: Iterable[Mapping[str, Any]],
    node: Mapping[str, Any],
    effects: Iterable[str] = (NO_SCHEDULE, NO_EXECUTE),
) -> bool:
    """Report whether tolerations cover all taints of a node with these effects."""
    given, counted = list(tolerations), tuple(effects)
    taints = (node.get("spec") or {}).get("taints") or ()
    return all(
        any(_covers(toleration, taint) for toleration in given) for taint in taints if taint.get("effect") in counted
    )


def _covers(toleration: Mapping[str, Any], taint: Mapping[str, Any]) -> bool:
    if toleration.get("effect") and toleration["effect"] != taint.get("effect"):
        return False
    if toleration.get("key") and toleration["key"] != taint.get("key"):
        return False
    if toleration.get("operator") == "Exists":
        return True
    return bool(toleration.get("key")) and (toleration.get("value") or "") == (taint.get("value") or "")


def fits(spec: Mapping[str, Any], node: Mapping[str, Any]) -> bool:
    """Report whether a pod with this spec may be put on a node."""
    return selects(spec, node) and tolerates(spec.get("tolerations") or (), node)
