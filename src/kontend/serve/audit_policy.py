"""The audit policy: how much of which request is logged, as an ``audit.k8s.io/v1`` Policy says.

Rules are tried in order and the first that matches decides; a request that none matches is not logged. Without a policy
everything is logged at the level RequestResponse, which kontend race needs to judge a write.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from kontend.cluster.users import User
from kontend.kube.encoding.json_text import MalformedYAML, parse_yaml

_API_VERSION = "audit.k8s.io/v1"
_STAGES = frozenset({"RequestReceived", "ResponseStarted", "ResponseComplete", "Panic"})
_LISTS = ("users", "userGroups", "verbs", "namespaces", "nonResourceURLs", "omitStages")


class BadPolicy(ValueError):
    """A policy that is not one."""


class Level(IntEnum):
    """The part of a request that is logged; each level holds what the one before it holds."""

    NONE = 0
    METADATA = 1
    REQUEST = 2
    REQUEST_RESPONSE = 3

    @property
    def label(self) -> str:
        """The name of the level in a policy and in an event."""
        return "".join(part.capitalize() for part in self.name.split("_"))


@dataclass(frozen=True, slots=True)
class Treatment:
    """The way in which one request is logged."""

    level: Level = Level.REQUEST_RESPONSE
    omitted_stages: frozenset[str] = frozenset()
    omit_managed_fields: bool = False


@dataclass(frozen=True, slots=True)
class _Resources:
    group: str
    resources: tuple[str, ...]
    names: tuple[str, ...]

    def match(self, reference: Mapping[str, str]) -> bool:
        if self.group != reference.get("apiGroup", ""):
            return False
        if not self.resources:
            return True
        if self.names and reference.get("name", "") not in self.names:
            return False
        resource, subresource = reference["resource"], reference.get("subresource", "")
        asked = {"*", f"{resource}/{subresource}" if subresource else resource, f"{resource}/*"}
        if subresource:
            asked.add(f"*/{subresource}")
        return not asked.isdisjoint(self.resources)


@dataclass(frozen=True, slots=True)
class _Rule:
    treatment: Treatment
    users: tuple[str, ...]
    groups: tuple[str, ...]
    verbs: tuple[str, ...]
    namespaces: tuple[str, ...]
    resources: tuple[_Resources, ...]
    urls: tuple[str, ...]

    def match(self, user: User, path: str, verb: str, reference: Mapping[str, str] | None) -> bool:
        if self.users and user.name not in self.users:
            return False
        if self.groups and not set(self.groups) & set(user.groups):
            return False
        if self.verbs and verb not in self.verbs:
            return False
        if self.namespaces or self.resources:
            return reference is not None and self._match_resource(reference)
        if self.urls:
            return reference is None and any(_covers(url, path) for url in self.urls)
        return True

    def _match_resource(self, reference: Mapping[str, str]) -> bool:
        if self.namespaces and reference.get("namespace", "") not in self.namespaces:
            return False
        return not self.resources or any(resources.match(reference) for resources in self.resources)


@dataclass(frozen=True, slots=True)
class AuditPolicy:
    """The rules of an audit log, in their order."""

    rules: tuple[_Rule, ...]

    def of(self, user: User, path: str, verb: str, reference: Mapping[str, str] | None) -> Treatment:
        """Return the way in which a request is logged.

        ``user`` is who sent it, also where it is in another's name; ``reference`` names its object, or is None without
        one.
        """
        for rule in self.rules:
            if rule.match(user, path, verb, reference):
                return rule.treatment
        return Treatment(Level.NONE)


def read_policy(text: bytes) -> AuditPolicy:
    """Read a policy from YAML or JSON; raise BadPolicy with what is wrong."""
    try:
        document = parse_yaml(text)[0]
    except MalformedYAML as error:
        raise BadPolicy(str(error)) from None
    if not isinstance(document, dict) or (document.get("apiVersion"), document.get("kind")) != (_API_VERSION, "Policy"):
        raise BadPolicy(f"expected a document of apiVersion {_API_VERSION} and kind Policy")
    _known(document, "the policy", ("apiVersion", "kind", "metadata", "rules", "omitStages", "omitManagedFields"))
    rules = document.get("rules")
    if not isinstance(rules, list) or not rules:
        raise BadPolicy("rules: a policy without rules would log nothing; leave the option out to log everything")
    stages = frozenset(_strings(document, "omitStages", ""))
    managed = _flag(document, "omitManagedFields", "", default=False)
    return AuditPolicy(tuple(_rule(rule, f"rules[{index}]", stages, managed) for index, rule in enumerate(rules)))


def _rule(rule: Any, place: str, stages: frozenset[str], managed: bool) -> _Rule:
    if not isinstance(rule, dict):
        raise BadPolicy(f"{place}: expected an object with a level")
    _known(rule, place, (*_LISTS, "level", "resources", "omitManagedFields"))
    levels = {level.label: level for level in Level}
    if rule.get("level") not in levels:
        raise BadPolicy(f"{place}.level: expected one of {', '.join(levels)}, not {rule.get('level')!r}")
    lists = {name: _strings(rule, name, f"{place}.") for name in _LISTS}
    resources = rule.get("resources", [])
    if not isinstance(resources, list) or not all(isinstance(each, dict) for each in resources):
        raise BadPolicy(f"{place}.resources: expected a list of objects with a group and resources")
    if lists["nonResourceURLs"] and (resources or lists["namespaces"]):
        raise BadPolicy(f"{place}: nonResourceURLs cannot be combined with resources or namespaces")
    omitted = stages | set(lists["omitStages"])
    if not omitted <= _STAGES:
        raise BadPolicy(f"{place}.omitStages: expected stages of {', '.join(sorted(_STAGES))}")
    return _Rule(
        Treatment(levels[rule["level"]], omitted, _flag(rule, "omitManagedFields", f"{place}.", default=managed)),
        lists["users"],
        lists["userGroups"],
        lists["verbs"],
        lists["namespaces"],
        tuple(_resources(each, f"{place}.resources[{index}]") for index, each in enumerate(resources)),
        lists["nonResourceURLs"],
    )


def _resources(value: dict[str, Any], place: str) -> _Resources:
    _known(value, place, ("group", "resources", "resourceNames"))
    group = value.get("group", "")
    if not isinstance(group, str):
        raise BadPolicy(f"{place}.group: expected a text; the core group is the empty one")
    names = _strings(value, "resourceNames", f"{place}.")
    resources = _strings(value, "resources", f"{place}.")
    if names and not resources:
        raise BadPolicy(f"{place}: resourceNames need resources")
    return _Resources(group, resources, names)


def _known(value: dict[str, Any], place: str, names: tuple[str, ...]) -> None:
    for name in value:
        if name not in names:
            raise BadPolicy(f"{place}: unknown field {name!r}; there are {', '.join(names)}")


def _strings(value: dict[str, Any], name: str, place: str) -> tuple[str, ...]:
    given = value.get(name, [])
    if not isinstance(given, list) or not all(isinstance(each, str) for each in given):
        raise BadPolicy(f"{place}{name}: expected a list of texts")
    return tuple(given)


def _flag(value: dict[str, Any], name: str, place: str, *, default: bool) -> bool:
    given = value.get(name, default)
    if not isinstance(given, bool):
        raise BadPolicy(f"{place}{name}: expected true or false")
    return given


def _covers(pattern: str, path: str) -> bool:
    """Match a URL of a rule: the path itself, everything, or everything that begins with what is before the star."""
    if pattern.endswith("*"):
        return path.startswith(pattern[:-1])
    return pattern == path
