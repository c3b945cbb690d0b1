"""Rules of roles: what one allows, and whether some rules cover others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from kontend.cluster.access.attributes import Attributes
from kontend.kube.field_errors import go_quote

Rule = Mapping[str, Any]


def allows(rule: Rule, asked: Attributes) -> bool:
    """Report whether a rule allows an action."""
    verbs = rule.get("verbs") or ()
    if "*" not in verbs and asked.verb not in verbs:
        return False
    if asked.path:
        return any(_path_matches(url, asked.path) for url in rule.get("nonResourceURLs") or ())
    groups = rule.get("apiGroups") or ()
    if "*" not in groups and asked.group not in groups:
        return False
    names = rule.get("resourceNames")
    if names and asked.name not in names:
        return False
    return _has_resource(rule.get("resources") or (), asked.full_resource)


def _path_matches(pattern: str, path: str) -> bool:
    return pattern in ("*", path) or (pattern.endswith("*") and path.startswith(pattern.rstrip("*")))


def _has_resource(resources: Sequence[str], wanted: str) -> bool:
    if "*" in resources or wanted in resources:
        return True
    _, slash, subresource = wanted.partition("/")
    return bool(slash) and f"*/{subresource}" in resources


def missing(held: Sequence[Rule], wanted: Iterable[Rule]) -> list[Rule]:
    """Return the single permissions in ``wanted`` that no rule of ``held`` covers."""
    return [single for rule in wanted for single in _single(rule) if not any(_covers(owner, single) for owner in held)]


def _single(rule: Rule) -> Iterator[Rule]:
    """Yield a rule as rules of one verb, one group, one resource and at most one name each."""
    verbs = rule.get("verbs") or ()
    for group in rule.get("apiGroups") or ():
        for resource in rule.get("resources") or ():
            for verb in verbs:
                permission = {"apiGroups": [group], "resources": [resource], "verbs": [verb]}
                names = rule.get("resourceNames") or ()
                if not names:
                    yield permission
                for name in names:
                    yield {**permission, "resourceNames": [name]}
    for path in rule.get("nonResourceURLs") or ():
        for verb in verbs:
            yield {"nonResourceURLs": [path], "verbs": [verb]}


def _covers(owner: Rule, permission: Rule) -> bool:
    verbs = owner.get("verbs") or ()
    if "*" not in verbs and permission["verbs"][0] not in verbs:
        return False
    if "nonResourceURLs" in permission:
        path = permission["nonResourceURLs"][0]
        return any(_path_matches(url, path) for url in owner.get("nonResourceURLs") or ())
    groups = owner.get("apiGroups") or ()
    if "*" not in groups and permission["apiGroups"][0] not in groups:
        return False
    names = owner.get("resourceNames") or ()
    asked = permission.get("resourceNames") or ()
    if names and not (asked and asked[0] in names):
        return False
    return _has_resource(owner.get("resources") or (), permission["resources"][0])


def described(permissions: Iterable[Rule]) -> list[str]:
    """Single permissions as kube-apiserver prints them: those on the same thing joined, in order.

    >>> described([{"apiGroups": [""], "resources": ["pods"], "verbs": [verb]} for verb in ("get", "list")])
    ['{APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}']
    """
    joined: dict[str, list[str]] = {}
    apart = []
    for rule in permissions:
        if "nonResourceURLs" in rule:
            apart.append(f"{{NonResourceURLs:{_texts(rule['nonResourceURLs'])}, Verbs:{_texts(rule['verbs'])}}}")
            continue
        where = f"APIGroups:{_texts(rule['apiGroups'])}, Resources:{_texts(rule['resources'])}"
        if rule.get("resourceNames"):
            where += f", ResourceNames:{_texts(rule['resourceNames'])}"
        verbs = joined.setdefault(where, [])
        verbs += [verb for verb in rule["verbs"] if verb not in verbs]
    return sorted({*apart, *(f"{{{where}, Verbs:{_texts(verbs)}}}" for where, verbs in joined.items())})


def _texts(values: Iterable[str]) -> str:
    return "[" + " ".join(go_quote(value) for value in values) + "]"
