"""Kinds that hold data or limits: ConfigMap, Secret, ServiceAccount, Namespace, ResourceQuota, LimitRange, Event."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any, ClassVar, Final

from kontend.kube.builtin.validation import config, events, limits
from kontend.kube.field_errors import FieldError
from kontend.kube.json_types import Json
from kontend.kube.meta.name_rules import dns1123_label
from kontend.kube.strategy import STATUS, Strategy, WithOwnFieldLabels, WithSpecAndStatus, metadata_of, take_over


class ConfigMaps(Strategy):
    """Config maps."""

    rechecks_metadata = True
    empty_fields = (("binaryData",),)

    def validate(self, obj: Json) -> list[FieldError]:
        """Validate a new config map."""
        return config.validate_config_map(obj)

    def validate_update(self, new: Json, old: Json) -> list[FieldError]:
        """Validate a changed config map."""
        return config.validate_config_map_update(new, old)


class Secrets(WithOwnFieldLabels):
    """Secrets."""

    rechecks_metadata = True
    empty_fields = (("data",),)
    selectable = ("type",)

    def convert(self, obj: Json) -> None:
        """Take plain texts among the data; they are never shown again as such."""
        texts = obj.pop("stringData", None)
        if texts:
            encoded = {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()}
            obj["data"] = {**(obj.get("data") or {}), **encoded}

    def prepare_for_update(self, new: Json, old: Mapping[str, Any]) -> None:
        """A secret keeps its type."""
        if not new.get("type"):
            take_over(new, old, "type")

    def validate(self, obj: Json) -> list[FieldError]:
        """Validate a new secret."""
        return config.validate_secret(obj)

    def validate_update(self, new: Json, old: Json) -> list[FieldError]:
        """Validate a changed secret."""
        return config.validate_secret_update(new, old)

    def field_labels(self, obj: Mapping[str, Any]) -> Mapping[str, str]:
        """Return the values of the selectable fields."""
        return {**super().field_labels(obj), "type": obj.get("type", "")}


class ServiceAccounts(Strategy):
    """Service accounts; of the secrets they refer to, only the names are kept."""

    returns_deleted_object = True
    rechecks_metadata = True

    def prepare_for_create(self, obj: Json) -> None:
        """Clean the references."""
        _keep_secret_names(obj)

    def prepare_for_update(self, new: Json, old: Mapping[str, Any]) -> None:  # noqa: ARG002
        """Clean the references."""
        _keep_secret_names(new)


def _keep_secret_names(account: Json) -> None:
    if account.get("secrets"):
        account["secrets"] = [{"name": secret["name"]} if secret.get("name") else {} for secret in account["secrets"]]


class Namespaces(WithOwnFieldLabels):
    """Namespaces; their spec is a list of finalizers, which only the ``finalize`` subresource changes."""

    namespaced = False
    returns_deleted_object = True
    rechecks_metadata = True
    name_rule = staticmethod(dns1123_label)
    zero_status: ClassVar = {"phase": "Active"}
    reset_fields: ClassVar = {"": STATUS, "status": (("spec",),), "finalize": STATUS}
    selectable = ("status.phase",)

    def prepare_for_create(self, obj: Json) -> None:
        """Start active, and not to be removed before the namespace controller has emptied it."""
        super().prepare_for_create(obj)
        spec = obj.setdefault("spec", {})
        finalizers = spec.get("finalizers") or []
        if "kubernetes" not in finalizers:
            spec["finalizers"] = [*finalizers, "kubernetes"]

    def prepare_for_update(self, new: Json, old: Mapping[str, Any]) -> None:
        """Keep finalizers and status."""
        take_over(new, old, "status")
        take_over(new.setdefault("spec", {}), old.get("spec") or {}, "finalizers")

    def prepare(self, subresource: str, new: Json, old: Mapping[str, Any], now: str = "") -> None:
        """Lets ``finalize`` change the finalizers."""
        if subresource == "finalize":
            take_over(new, old, "status")
        else:
            super().prepare(subresource, new, old, now)

    def canonicalize(self, obj: Json) -> None:
        """Every namespace carries its name as a label."""
        metadata = metadata_of(obj)
        metadata["labels"] = {**(metadata.get("labels") or {}), "kubernetes.io/metadata.name": metadata.get("name", "")}

    def validate(self, obj: Json) -> list[FieldError]:
        """Validate a namespace."""
        return limits.validate_namespace(obj)

    def validate_status_update(self, new: Json, old: Json) -> list[FieldError]:  # noqa: ARG002
        """Validate a changed status."""
        return limits.validate_namespace_status(new)

    def validate_changes(self, subresource: str, new: Json, old: Json) -> list[FieldError]:
        """Validate a change through the main resource or a subresource."""
        if subresource == "finalize":
            return limits.validate_namespace_finalize(new)
        return super().validate_changes(subresource, new, old)

    def canonical_field_label(self, label: str) -> str | None:
        """Namespaces are not in a namespace."""
        return None if label == "metadata.namespace" else super().canonical_field_label(label)

    def field_labels(self, obj: Mapping[str, Any]) -> Mapping[str, str]:
        """Return the values of the selectable fields."""
        return {**super().field_labels(obj), "status.phase": (obj.get("status") or {}).get("phase", "")}


class ResourceQuotas(WithSpecAndStatus):
    """Resource quotas."""

    returns_deleted_object = True
    generation_fields = ()

    def validate(self, obj: Json) -> list[FieldError]:
        """Validate a resource quota."""
        return limits.validate_resource_quota(obj)

    def validate_update(self, new: Json, old: Json) -> list[FieldError]:
        """Validate a changed resource quota."""
        return limits.validate_resource_quota_update(new, old)

    def validate_status_update(self, new: Json, old: Json) -> list[FieldError]:  # noqa: ARG002
        """Validate a changed status."""
        return limits.validate_resource_quota_status(new)


class LimitRanges(Strategy):
    """Limit ranges."""

    names_by_uid = True
    allow_create_on_update = True
    rechecks_metadata = True
    rechecks_metadata_update = False

    def validate(self, obj: Json) -> list[FieldError]:
        """Validate a limit range."""
        return limits.validate_limit_range(obj)


class Events(WithOwnFieldLabels):
    """Events, under their first name in the core group."""

    strict: ClassVar[bool] = False
    allow_create_on_update = True
    default_deletion = "unsupported"
    checks_metadata = False
    rechecks_metadata_update = False
    selectable: ClassVar[tuple[str, ...]] = (
        "involvedObject.kind", "involvedObject.namespace", "involvedObject.name", "involvedObject.uid",
        "involvedObject.apiVersion", "involvedObject.resourceVersion", "involvedObject.fieldPath", "reason",
        "reportingComponent", "source", "type",
    )  # fmt: skip

    def validate(self, obj: Json) -> list[FieldError]:
        """Validate a new event."""
        return events.validate_event(obj, strict=self.strict)

    def validate_update(self, new: Json, old: Json) -> list[FieldError]:
        """Validate a changed event."""
        return events.validate_event_update(new, old, strict=self.strict)

    def field_labels(self, obj: Mapping[str, Any]) -> Mapping[str, str]:
        """Return the values of the selectable fields, whichever of the two groups the event is written in."""
        involved = obj.get("involvedObject") or obj.get("regarding") or {}
        reporter = obj.get("reportingComponent") or obj.get("reportingController") or ""
        source = obj.get("source") or obj.get("deprecatedSource") or {}
        return {
            **super().field_labels(obj),
            **{
                f"involvedObject.{field}": involved.get(field, "")
                for field in ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
            },
            "reason": obj.get("reason", ""),
            "reportingComponent": reporter,
            "source": source.get("component") or reporter,
            "type": obj.get("type", ""),
        }


class NewEvents(Events):
    """The same events under ``events.k8s.io``, where some fields have other names and more is checked."""

    strict = True
    selectable: ClassVar[tuple[str, ...]] = ("reason", "type")
    field_aliases: ClassVar = {
        **{
            f"regarding.{field}": f"involvedObject.{field}"
            for field in ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
        },
        "reportingController": "reportingComponent",
    }


STRATEGIES: Final[Mapping[tuple[str, str], Strategy]] = {
    ("", "ConfigMap"): ConfigMaps(),
    ("", "Secret"): Secrets(),
    ("", "ServiceAccount"): ServiceAccounts(),
    ("", "Namespace"): Namespaces(),
    ("", "ResourceQuota"): ResourceQuotas(),
    ("", "LimitRange"): LimitRanges(),
    ("", "Event"): Events(),
    ("events.k8s.io", "Event"): NewEvents(),
}
