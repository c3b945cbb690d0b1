"""Defaults of what extends the server: webhooks, admission policies, custom resources, API services."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kontend.kube.json_types import Json

_PORT: Final = 443


def mutating_webhooks(obj: Json) -> None:
    """Mutating webhooks are called once for each request."""
    for webhook in obj.get("webhooks", ()):
        _webhook(webhook)
        webhook.setdefault("reinvocationPolicy", "Never")


def validating_webhooks(obj: Json) -> None:
    """Validating webhooks."""
    for webhook in obj.get("webhooks", ()):
        _webhook(webhook)


def _webhook(webhook: Json) -> None:
    webhook.setdefault("failurePolicy", "Fail")
    _match(webhook)
    webhook.setdefault("timeoutSeconds", 10)
    _service(webhook.get("clientConfig"))
    _rules(webhook.get("rules"))


def _match(matcher: Json) -> None:
    matcher.setdefault("matchPolicy", "Equivalent")
    matcher.setdefault("namespaceSelector", {})
    matcher.setdefault("objectSelector", {})


def _rules(rules: Iterable[Json] | None) -> None:
    for rule in rules or ():
        rule.setdefault("scope", "*")


def _service(client: Json | None) -> None:
    service = (client or {}).get("service")
    if service is not None:
        service.setdefault("port", _PORT)


def admission_policy(obj: Json) -> None:
    """A policy fails closed."""
    obj["spec"].setdefault("failurePolicy", "Fail")
    _match_resources(obj["spec"].get("matchConstraints"))


def admission_policy_binding(obj: Json) -> None:
    """A binding matches as a policy does."""
    _match_resources(obj["spec"].get("matchResources"))


def _match_resources(matcher: Json | None) -> None:
    if matcher is not None:
        _match(matcher)
        _rules(matcher.get("resourceRules"))
        _rules(matcher.get("excludeResourceRules"))


def custom_resource_definition(obj: Json) -> None:
    """Names follow from the kind, and the storage version is stored."""
    spec = obj["spec"]
    names = spec["names"]
    kind = names["kind"]
    if kind:
        names["singular"] = names.get("singular") or kind.lower()
        names["listKind"] = names.get("listKind") or kind + "List"
    spec.setdefault("conversion", {"strategy": "None"})
    _service((spec["conversion"].get("webhook") or {}).get("clientConfig"))
    if not obj["status"]["storedVersions"]:
        stored = [version["name"] for version in spec["versions"] or () if version["storage"]]
        if stored:
            obj["status"]["storedVersions"] = stored[:1]


def api_service(obj: Json) -> None:
    """An API service is reached by HTTPS."""
    _service(obj["spec"])
