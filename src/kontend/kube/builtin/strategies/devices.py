"""Dynamic resource allocation: claims, their templates, classes and slices of devices.

Fields of features that a 1.35 server leaves off are taken away, unless the stored object has them already.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Final

from kontend.kube.builtin.validation.devices import claims, slices
from kontend.kube.errors import invalid
from kontend.kube.field_errors import FieldError, forbidden, go_quote
from kontend.kube.json_types import Json
from kontend.kube.strategy import (
    STATUS,
    ListObjects,
    Strategy,
    WithOwnFieldLabels,
    WithSpecAndStatus,
    nothing_stored,
)

_GROUP: Final = "resource.k8s.io"
_ADMIN_LABEL: Final = "resource.kubernetes.io/admin-access"


def _requests(spec: Mapping[str, Any]) -> list[Json]:
    return list((spec.get("devices") or {}).get("requests") or [])


def _wanted(spec: Mapping[str, Any]) -> Iterable[Json]:
    for request in _requests(spec):
        if request.get("exactly") is not None:
            yield request["exactly"]
        yield from request.get("firstAvailable") or ()


def _drop_disabled(spec: Json, old: Mapping[str, Any]) -> None:
    """Take away tolerations, capacities and distinct attributes."""
    tolerated = any(request.get("tolerations") for request in _wanted(old))
    constraints = [
        devices.get("constraints") or [] for devices in (spec.get("devices") or {}, old.get("devices") or {})
    ]
    consumed = any(request.get("capacity") for request in _wanted(old)) or any(
        constraint.get("distinctAttribute") is not None for constraint in constraints[1]
    )
    for request in _wanted(spec):
        if not tolerated:
            request.pop("tolerations", None)
        if not consumed:
            request.pop("capacity", None)
    for constraint in () if consumed else constraints[0]:
        constraint.pop("distinctAttribute", None)


def _check_admin_access(obj: Json, spec: Mapping[str, Any], list_objects: ListObjects) -> None:
    """Refuses access as an administrator in a namespace that is not marked for it."""
    asked = [bool((request.get("exactly") or {}).get("adminAccess")) for request in _requests(spec)]
    if not any(asked):
        return
    metadata = obj["metadata"]
    for namespace in list_objects("", "Namespace"):
        labels = namespace["metadata"].get("labels") or {}
        if namespace["metadata"]["name"] == metadata.get("namespace") and labels.get(_ADMIN_LABEL) == "true":
            return
    why = f"admin access to devices requires the `{_ADMIN_LABEL}: true` label on the containing namespace"
    refused = forbidden(f"spec.devices.requests[{asked.index(True)}].adminAccess", why)
    raise invalid(_GROUP, obj["kind"], metadata.get("name") or "", [refused])


_PARAMETERS: Final = ("config", "*", "opaque", "parameters")


class ResourceClaims(WithSpecAndStatus):
    """Claims on devices."""

    raw_fields: ClassVar = (
        ("spec", "devices", *_PARAMETERS),
        ("status", "allocation", "devices", *_PARAMETERS),
        ("status", "devices", "*", "data"),
    )
    returns_deleted_object = True
    generation_fields = ()
    status_resets_metadata = True
    reset_fields: ClassVar = {"": STATUS, "status": (("metadata",), ("spec",))}
    rechecks_metadata = True

    def admit_create(self, obj: Json, list_objects: ListObjects = nothing_stored) -> None:
        """Refuses access as an administrator where the namespace does not allow it."""
        _check_admin_access(obj, obj.get("spec") or {}, list_objects)

    def prepare_for_create(self, obj: Json) -> None:
        """Start without a status."""
        super().prepare_for_create(obj)
        _drop_disabled(obj["spec"], {})

    def prepare_for_update(self, new: Json, old: Mapping[str, Any]) -> None:
        """Keep the status."""
        super().prepare_for_update(new, old)
        _drop_disabled(new["spec"], old["spec"])

    def prepare_for_status_update(self, new: Json, old: Mapping[str, Any], now: str = "") -> None:
        """Keep everything but the status, and drop what is said of devices that are not allocated any more."""
        super().prepare_for_status_update(new, old, now)
        status = new.setdefault("status", {})
        for result in _results(status):
            for field in ("shareID", "consumedCapacity", "bindingConditions", "bindingFailureConditions"):
                result.pop(field, None)
        for device in status.get("devices") or []:
            device.pop("shareID", None)
        gone = {_device(result) for result in _results(old.get("status") or {})}
        gone -= {_device(result) for result in _results(status)}
        left = [device for device in status.get("devices") or [] if _device(device) not in gone]
        status.pop("devices", None)
        if left:
            status["devices"] = left

    def validate(self, obj: Json) -> list[FieldError]:
        """Validate a new claim."""
        return claims.validate_claim(obj)

    def validate_update(self, new: Json, old: Json) -> list[FieldError]:
        """Validate a changed claim."""
        return claims.validate_claim_update(new, old)

    def validate_status_update(self, new: Json, old: Json) -> list[FieldError]:
        """Validate a changed status."""
        return claims.validate_claim_status(new, old)


def _results(status: Mapping[str, Any]) -> list[Json]:
    return list(((status.get("allocation") or {}).get("devices") or {}).get("results") or [])


def _device(device: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(device.get(field) for field in ("driver", "pool", "device"))


class ResourceClaimTemplates(Strategy):
    """Templates of claims."""

    raw_fields: ClassVar = (("spec", "spec", "devices", *_PARAMETERS),)
    returns_deleted_object = True
    rechecks_metadata = True

    def admit_create(self, obj: Json, list_objects: ListObjects = nothing_stored) -> None:
        """Refuses access as an administrator where the namespace does not allow it."""
        _check_admin_access(obj, (obj.get("spec") or {}).get("spec") or {}, list_objects)

    def prepare_for_create(self, obj: Json) -> None:
        """Take disabled fields away."""
        _drop_disabled(obj["spec"]["spec"], {})

    def prepare_for_update(self, new: Json, old: Mapping[str, Any]) -> None:
        """Take disabled fields away."""
        _drop_disabled(new["spec"]["spec"], old["spec"]["spec"])

    def validate(self, obj: Json) -> list[FieldError]:
        """Validate a new template."""
        return claims.validate_template(obj)

    def validate_update(self, new: Json, old: Json) -> list[FieldError]:
        """Validate a changed template."""
        return claims.validate_template_update(new, old)


class DeviceClasses(Strategy):
    """Classes of devices."""

    raw_fields: ClassVar = (("spec", *_PARAMETERS),)
    namespaced = False
    returns_deleted_object = True
    rechecks_metadata = True
    generation_fields = ("spec",)

    def prepare_for_create(self, obj: Json) -> None:
        """Count generations."""
        super().prepare_for_create(obj)
        obj["spec"].pop("extendedResourceName", None)

    def prepare_for_update(self, new: Json, old: Mapping[str, Any]) -> None:
        """Count changes of the spec."""
        if (old.get("spec") or {}).get("extendedResourceName") is None:
            new["spec"].pop("extendedResourceName", None)
        super().prepare_for_update(new, old)

    def validate(self, obj: Json) -> list[FieldError]:
        """Validate a class."""
        return slices.validate_device_class(obj)


_DEVICE_FIELDS: Final = (
    "taints", "consumesCounters", "nodeName", "nodeSelector", "allNodes", "bindingConditions",
    "bindingFailureConditions", "bindsToNode", "allowMultipleAllocations",
)  # fmt: skip


class ResourceSlices(WithOwnFieldLabels):
    """Slices of devices."""

    namespaced = False
    returns_deleted_object = True
    generation_fields = ("spec",)
    selectable = ("spec.nodeName", "spec.driver")

    def prepare_for_create(self, obj: Json) -> None:
        """Count generations."""
        super().prepare_for_create(obj)
        _drop_from_slice(obj["spec"])

    def prepare_for_update(self, new: Json, old: Mapping[str, Any]) -> None:
        """Count changes of the spec, even of fields that are taken away then."""
        super().prepare_for_update(new, old)
        _drop_from_slice(new["spec"])

    def validate(self, obj: Json) -> list[FieldError]:
        """Validate a new slice."""
        return slices.validate_slice(obj)

    def validate_update(self, new: Json, old: Json) -> list[FieldError]:
        """Validate a changed slice."""
        return slices.validate_slice(new, old)

    def warnings(self, new: Json, old: Mapping[str, Any] | None) -> list[str]:  # noqa: ARG002
        """Warns of upper case in the driver's name."""
        driver = (new.get("spec") or {}).get("driver") or ""
        if driver == driver.lower():
            return []
        return [f"spec.driver: driver names should be lowercase; {go_quote(driver)} contains uppercase characters"]

    def unsupported_field_label(self, label: str) -> str:
        """Refuses a selector on any other field."""
        return f"field label not supported for {_GROUP}/v1, Kind=ResourceSlice: {label}"

    def canonical_field_label(self, label: str) -> str | None:
        """Slices are not in a namespace."""
        return None if label == "metadata.namespace" else super().canonical_field_label(label)

    def field_labels(self, obj: Mapping[str, Any]) -> Mapping[str, str]:
        """Return the values of the selectable fields."""
        spec = obj.get("spec") or {}
        chosen = {"spec.nodeName": spec.get("nodeName") or "", "spec.driver": spec.get("driver") or ""}
        return {**super().field_labels(obj), **chosen}


def _drop_from_slice(spec: Json) -> None:
    for field in ("sharedCounters", "perDeviceNodeSelection"):
        spec.pop(field, None)
    for device in spec.get("devices") or []:
        for field in _DEVICE_FIELDS:
            device.pop(field, None)
        for capacity in (device.get("capacity") or {}).values():
            capacity.pop("requestPolicy", None)


STRATEGIES: Final[Mapping[tuple[str, str], Strategy]] = {
    (_GROUP, "ResourceClaim"): ResourceClaims(),
    (_GROUP, "ResourceClaimTemplate"): ResourceClaimTemplates(),
    (_GROUP, "DeviceClass"): DeviceClasses(),
    (_GROUP, "ResourceSlice"): ResourceSlices(),
}
