"""The kinds of the Container Storage Interface: drivers, their nodes, capacities, attachments."""

from __future__ import annotations

from typing import Final

from kontend.kube.builtin.internal_form import shown_as
from kontend.kube.builtin.validation.amounts import amount
from kontend.kube.builtin.validation.checks import (
    IMMUTABLE,
    NEGATIVE,
    bad,
    dns_subdomain,
    immutable,
    label_name,
    label_selector,
    non_negative,
)
from kontend.kube.builtin.validation.pods.volumes import csi_driver_name
from kontend.kube.builtin.validation.storage.storage_class import parameter_errors
from kontend.kube.builtin.validation.storage.volume import volume_spec
from kontend.kube.field_errors import FieldError, duplicate, forbidden, invalid, not_supported, required, too_long
from kontend.kube.json_types import Json
from kontend.kube.meta.equality import same
from kontend.kube.meta.name_rules import dns1123_subdomain

_FS_GROUP_POLICIES: Final = ("File", "None", "ReadWriteOnceWithFSType")
_LIFECYCLE_MODES: Final = ("Persistent", "Ephemeral")
_SHORTEST_TOKEN: Final = 600
_LONGEST_TOKEN: Final = 1 << 32
_LONGEST_NODE_ID: Final = 256
_METADATA_SIZE: Final = 256 * 1024
_MESSAGE_SIZE: Final = 1024
_LARGEST_CODE: Final = 2**31 - 1


def validate_driver(obj: Json) -> list[FieldError]:
    """Validate a driver."""
    spec = obj.get("spec") or {}
    asked = (("attachRequired", "attachedRequired"), ("podInfoOnMount",) * 2, ("storageCapacity",) * 2)
    errors = [required(f"spec.{shown}") for field, shown in asked if spec.get(field) is None]
    policy = spec.get("fsGroupPolicy")
    if policy is not None and policy not in _FS_GROUP_POLICIES:
        errors.append(not_supported("spec.fsGroupPolicy", policy, _FS_GROUP_POLICIES))
    requests = spec.get("tokenRequests") or []
    errors += _token_requests(requests)
    errors += [
        not_supported("spec.volumeLifecycleModes", mode, _LIFECYCLE_MODES)
        for mode in spec.get("volumeLifecycleModes") or []
        if mode not in _LIFECYCLE_MODES
    ]
    if spec.get("seLinuxMount") is None:
        errors.append(required("spec.seLinuxMount"))
    period = spec.get("nodeAllocatableUpdatePeriodSeconds")
    if period is not None and period < 10:
        why = "must be greater than or equal to 10 seconds"
        errors.append(invalid("spec.nodeAllocatableUpdatePeriodSeconds", period, why))
    secret = spec.get("serviceAccountTokenInSecrets")
    if secret is not None and not requests:
        why = "serviceAccountTokenInSecrets is set but no tokenRequests are specified"
        errors.append(invalid("spec.serviceAccountTokenInSecrets", secret, why))
    return errors


def _token_requests(requests: list[Json]) -> list[FieldError]:
    errors: list[FieldError] = []
    audiences: set[str] = set()
    for index, request in enumerate(requests):
        path, audience = f"spec.tokenRequests[{index}]", request.get("audience") or ""
        if audience in audiences:
            errors.append(duplicate(f"{path}.audience", audience))
            continue
        audiences.add(audience)
        seconds, where = request.get("expirationSeconds"), f"{path}.expirationSeconds"
        if seconds is not None and seconds < _SHORTEST_TOKEN:
            errors.append(invalid(where, seconds, "may not specify a duration less than 10 minutes"))
        if seconds is not None and seconds > _LONGEST_TOKEN:
            errors.append(invalid(where, seconds, "may not specify a duration larger than 2^32 seconds"))
    return errors


def validate_driver_update(new: Json, old: Json) -> list[FieldError]:
    """Validate a changed driver."""
    spec, before = new.get("spec") or {}, old.get("spec") or {}
    errors = validate_driver(new)
    errors += immutable(spec.get("attachRequired"), before.get("attachRequired"), "spec.attachedRequired")
    modes = "volumeLifecycleModes"
    return errors + immutable(spec.get(modes), before.get(modes), f"spec.{modes}")


def validate_node(obj: Json) -> list[FieldError]:
    """Validate the drivers of a node."""
    errors: list[FieldError] = []
    names: set[str] = set()
    for index, driver in enumerate((obj.get("spec") or {}).get("drivers") or []):
        path, name, node = f"spec.drivers[{index}]", driver.get("name") or "", driver.get("nodeID") or ""
        errors += csi_driver_name(name, f"{path}.name")
        if not node:
            errors.append(required(f"{path}.nodeID"))
        if len(node.encode()) > _LONGEST_NODE_ID:
            errors.append(invalid(f"{path}.nodeID", node, f"must be {_LONGEST_NODE_ID} characters or less"))
        errors += non_negative((driver.get("allocatable") or {}).get("count"), f"{path}.allocatable.count")
        if name in names:
            errors.append(duplicate(f"{path}.name", name))
        names.add(name)
        keys = driver.get("topologyKeys") or []
        for number, key in enumerate(keys):
            errors += [] if key else [required(path)]
            errors += [duplicate(path, key)] if key in keys[:number] else []
            errors += label_name(key, path)
    return errors


def validate_node_update(new: Json, old: Json) -> list[FieldError]:
    """Validate changed drivers of a node; one that is there changes nothing but how many volumes it takes."""
    errors = validate_node(new)
    errors += errors  # the server looks twice
    drivers, before = ((version.get("spec") or {}).get("drivers") or [] for version in (new, old))
    for was in before:
        for driver in drivers:
            if was.get("name") == driver.get("name"):
                after, prior = ({**entry, "allocatable": None} for entry in (driver, was))
                errors += immutable(after, prior, "spec.drivers", shown_as("CSINodeDriver", after))
    return errors


def validate_capacity(obj: Json, *, any_value: bool = False) -> list[FieldError]:
    """Validate how much storage there is."""
    errors = label_selector(obj.get("nodeTopology"), "nodeTopology", any_value=any_value)
    name, capacity = obj.get("storageClassName") or "", obj.get("capacity")
    errors += bad("storageClassName", name, dns1123_subdomain(name))
    if capacity is not None and amount(capacity) < 0:
        errors.append(invalid("capacity", str(capacity), NEGATIVE))
    return errors


def validate_capacity_update(new: Json, old: Json) -> list[FieldError]:
    """Validate a changed capacity: which storage it is about stays."""
    errors = validate_capacity(new, any_value=bool(label_selector(old.get("nodeTopology"), "")))
    topology = new.get("nodeTopology")
    if topology != old.get("nodeTopology"):
        errors.append(invalid("nodeTopology", shown_as("LabelSelector", topology), IMMUTABLE))
    return errors + immutable(new.get("storageClassName", ""), old.get("storageClassName", ""), "storageClassName")


def validate_attachment(obj: Json) -> list[FieldError]:
    """Validate a new attachment."""
    spec = obj.get("spec") or {}
    errors = _attachment(obj) + csi_driver_name(spec.get("attacher") or "", "spec.attacher")
    volume = (spec.get("source") or {}).get("persistentVolumeName")
    return errors if volume is None else errors + dns_subdomain(volume, "spec.source.persistentVolumeName")


def _attachment(obj: Json) -> list[FieldError]:
    spec = obj.get("spec") or {}
    source, path = spec.get("source") or {}, "spec.source"
    inline, volume = source.get("inlineVolumeSpec"), source.get("persistentVolumeName")
    errors = [] if spec.get("attacher") else [required("spec.attacher")]
    one = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
    if inline is None and volume is None:
        errors.append(required(path, one))
    elif inline is not None and volume is not None:
        errors.append(forbidden(path, one))
    elif volume == "":
        errors.append(required(f"{path}.persistentVolumeName", "must specify non empty persistentVolumeName"))
    elif inline is not None:
        errors += volume_spec(inline, f"{path}.inlineVolumeSpec", inline=True)
    errors += dns_subdomain(spec.get("nodeName") or "", "spec.nodeName")
    return errors + _attachment_status(obj.get("status") or {})


def _attachment_status(status: Json) -> list[FieldError]:
    given = status.get("attachmentMetadata") or {}
    errors: list[FieldError] = []
    if sum(len(key.encode()) + len(value.encode()) for key, value in given.items()) > _METADATA_SIZE:
        errors.append(too_long("status.attachmentMetadata", _METADATA_SIZE))
    for field in ("attachError", "detachError"):
        error = status.get(field) or {}
        if len((error.get("message") or "").encode()) > _MESSAGE_SIZE:
            errors.append(too_long(f"status.{field}.message", _METADATA_SIZE))  # the server names the wrong limit
        code = error.get("errorCode")
        if code is not None and code < 0:
            why = f"must be between 0 and {_LARGEST_CODE}, inclusive"
            errors.append(invalid(f"status.{field}.errorCode", code, why))
    return errors


def validate_attachment_update(new: Json, old: Json) -> list[FieldError]:
    """Validate a changed attachment: its spec stays."""
    errors = _attachment(new)
    if not same(new.get("spec"), old.get("spec")):
        errors.append(invalid("spec", shown_as("VolumeAttachmentSpec", new.get("spec")), IMMUTABLE))
    return errors


def validate_attributes_class(obj: Json) -> list[FieldError]:
    """Validate a class of volume attributes."""
    driver, parameters = obj.get("driverName") or "", obj.get("parameters") or {}
    errors = label_name(driver.lower(), "driverName") if driver else [required("driverName")]
    errors += parameter_errors(parameters)
    return errors if parameters else [*errors, required("parameters", "must contain at least one key/value pair")]


def validate_attributes_class_update(new: Json, old: Json) -> list[FieldError]:
    """Validate a changed class: it says what it said."""
    fields = [field for field in ("driverName", "parameters") if (new.get(field) or None) != (old.get(field) or None)]
    return [forbidden(field, f"updates to {field} are forbidden.") for field in fields] + validate_attributes_class(new)
