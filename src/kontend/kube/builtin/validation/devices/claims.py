"""Claims on devices, and templates of claims."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_interface
from typing import Any, Final

from kontend.kube.builtin.internal_form import shown_as
from kontend.kube.builtin.validation.checks import IMMUTABLE, dns_label, labels
from kontend.kube.builtin.validation.conditions import conditions
from kontend.kube.builtin.validation.devices.parts import (
    MOST_CONFIGS,
    MOST_REQUESTS,
    bounded,
    configuration,
    device_class_name,
    device_name,
    full_name,
    pool_name,
    raw_object,
    selectors,
    unique,
)
from kontend.kube.builtin.validation.pods.scheduling import node_selector
from kontend.kube.builtin.validation.pods.volumes import csi_driver_name
from kontend.kube.field_errors import FieldError, forbidden, invalid, not_supported, required, too_long, too_many
from kontend.kube.json_types import Json
from kontend.kube.meta.equality import same
from kontend.kube.meta.object_meta import validate_annotations

_MOST_CONSTRAINTS: Final = 32
_MOST_ALTERNATIVES: Final = 8
_MOST_CONSUMERS: Final = 256
_MOST_RESULTS: Final = 32
_MOST_CONDITIONS: Final = 8
_LONGEST_DATA: Final = 10 * 1024
_NO_SUCH_REQUEST: Final = (
    "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
)
_ONE_OF: Final = "exactly one of `exactly` or `firstAvailable` is required"

#: The requests of a claim, each with the names of its alternatives.
_Names = Mapping[str, frozenset[str]]


def validate_claim(obj: Json) -> list[FieldError]:
    """Validate a new claim."""
    return claim_spec(obj.get("spec") or {}, "spec")


def validate_claim_update(new: Json, old: Json) -> list[FieldError]:
    """Validate a changed claim: its spec stays."""
    if same(new.get("spec"), old.get("spec")):
        return []
    return [invalid("spec", shown_as("ResourceClaimSpec", new.get("spec") or {}), IMMUTABLE)]


def validate_template(obj: Json) -> list[FieldError]:
    """Validate a template of claims."""
    spec = obj.get("spec") or {}
    metadata = spec.get("metadata") or {}
    errors: list[FieldError] = []
    if metadata.get("annotations"):
        errors += validate_annotations(metadata["annotations"], "spec.metadata.annotations")
    errors += labels(metadata.get("labels"), "spec.metadata.labels")
    return errors + claim_spec(spec.get("spec") or {}, "spec.spec")


def validate_template_update(new: Json, old: Json) -> list[FieldError]:
    """Validate a changed template: its spec stays."""
    errors = validate_template(new)
    if not same(new.get("spec"), old.get("spec")):
        errors.append(invalid("spec", shown_as("ResourceClaimTemplateSpec", new.get("spec") or {}), IMMUTABLE))
    return errors


def claim_spec(spec: Json, path: str) -> list[FieldError]:
    """Validate what a claim asks for."""
    devices, where = spec.get("devices") or {}, f"{path}.devices"
    names = _request_names(devices)

    def constraint(item: Json, at: str) -> list[FieldError]:
        return _constraint(item, at, names)

    def config(item: Json, at: str) -> list[FieldError]:
        return _request_refs(item, at, names) + configuration(item, at)

    requests = devices.get("requests") or []
    errors = unique(requests, f"{where}.requests", MOST_REQUESTS, _request, _name)
    errors += bounded(devices.get("constraints") or [], f"{where}.constraints", _MOST_CONSTRAINTS, constraint)
    return errors + bounded(devices.get("config") or [], f"{where}.config", MOST_CONFIGS, config)


def _name(item: Json) -> str:
    return item.get("name") or ""


def _request_names(devices: Json) -> _Names:
    return {
        _name(request): frozenset(_name(alternative) for alternative in request.get("firstAvailable") or [])
        for request in devices.get("requests") or []
    }


def _request(request: Json, path: str) -> list[FieldError]:
    errors = dns_label(_name(request), f"{path}.name")
    exactly, alternatives = request.get("exactly"), request.get("firstAvailable") or []
    if exactly is None and not alternatives:
        errors.append(required(path, _ONE_OF))
    elif exactly is not None and alternatives:
        errors.append(invalid(path, None, f"{_ONE_OF}, but multiple fields are set"))
    elif alternatives:
        errors += unique(alternatives, f"{path}.firstAvailable", _MOST_ALTERNATIVES, _alternative, _name)
    elif exactly is not None:
        errors += _wanted(exactly, f"{path}.exactly")
    return errors


def _alternative(request: Json, path: str) -> list[FieldError]:
    return dns_label(_name(request), f"{path}.name") + _wanted(request, path)


def _wanted(request: Json, path: str) -> list[FieldError]:
    errors = device_class_name(request.get("deviceClassName") or "", f"{path}.deviceClassName")
    errors += selectors(request.get("selectors") or [], f"{path}.selectors")
    mode, count = request.get("allocationMode") or "", request.get("count") or 0
    if mode == "All":
        if count != 0:
            why = f"must not be specified when allocationMode is '{mode}'"
            errors.append(invalid(f"{path}.count", count, why))
    elif mode == "ExactCount":
        if count <= 0:
            errors.append(invalid(f"{path}.count", count, "must be greater than zero"))
    else:
        errors.append(not_supported(f"{path}.allocationMode", mode, ("All", "ExactCount")))
    return errors


def _constraint(constraint: Json, path: str, names: _Names) -> list[FieldError]:
    errors = _request_refs(constraint, path, names)
    attribute = constraint.get("matchAttribute")
    where = f"{path}.matchAttribute"
    return errors + ([required(where)] if attribute is None else full_name(attribute, where))


def _request_refs(holder: Json, path: str, names: _Names) -> list[FieldError]:
    def reference(name: str, at: str) -> list[FieldError]:
        return _request_ref(name, at, names)

    return unique(holder.get("requests") or [], f"{path}.requests", MOST_REQUESTS, reference)


def _request_ref(name: str, path: str, names: _Names) -> list[FieldError]:
    parts = name.split("/")
    if len(parts) > 2:
        return [invalid(path, name, _NO_SUCH_REQUEST)]
    errors = [error for part in parts for error in dns_label(part, path)]
    known = parts[0] in names and (len(parts) == 1 or parts[1] in names[parts[0]])
    return errors if known else [*errors, invalid(path, name, _NO_SUCH_REQUEST)]


def validate_claim_status(new: Json, old: Json) -> list[FieldError]:
    """Validate a changed status of a claim."""
    status, before = new.get("status") or {}, old.get("status") or {}
    names = _request_names((new.get("spec") or {}).get("devices") or {})
    consumers, allocation = status.get("reservedFor") or [], status.get("allocation")
    errors = unique(
        consumers, "status.reservedFor", _MOST_CONSUMERS, _consumer, lambda consumer: consumer.get("uid") or ""
    )
    allocated = {_device_id(result) for result in ((allocation or {}).get("devices") or {}).get("results") or []}

    def device(item: Json, at: str) -> list[FieldError]:
        return _device_status(item, at, allocated)

    errors += unique(status.get("devices") or [], "status.devices", -1, device, _device_id)
    if consumers and allocation is None:
        errors.append(forbidden("status.reservedFor", "may not be specified when `allocated` is not set"))
    elif new["metadata"].get("deletionTimestamp") and any(
        consumer not in (before.get("reservedFor") or []) for consumer in consumers
    ):
        why = "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set"
        errors.append(forbidden("status.reservedFor", why))
    if allocation is not None and before.get("allocation") is not None:
        if not same(allocation, before["allocation"]):
            errors.append(invalid("status.allocation", shown_as("AllocationResult", allocation), IMMUTABLE))
    elif allocation is not None:
        errors += _allocation(allocation, "status.allocation", names)
    return errors


def _consumer(consumer: Json, path: str) -> list[FieldError]:
    return [required(f"{path}.{field}") for field in ("resource", "name", "uid") if not consumer.get(field)]


def _device_id(device: Json) -> str:
    return "/".join(str(device.get(field) or "") for field in ("driver", "pool", "device"))


def _device_status(device: Json, path: str, allocated: set[str]) -> list[FieldError]:
    errors = csi_driver_name(device.get("driver") or "", f"{path}.driver")
    errors += pool_name(device.get("pool") or "", f"{path}.pool")
    errors += device_name(device.get("device") or "", f"{path}.device")
    if _device_id(device) not in allocated:
        errors.append(invalid(path, _device_id(device), "must be an allocated device in the claim"))
    given = device.get("conditions") or []
    if len(given) > _MOST_CONDITIONS:
        errors.append(too_many(f"{path}.conditions", len(given), _MOST_CONDITIONS))
    errors += conditions(given, f"{path}.conditions")
    if device.get("data") is not None:
        errors += raw_object(device["data"], f"{path}.data", _LONGEST_DATA)
    return errors + _network_data(device.get("networkData"), f"{path}.networkData")


def _network_data(data: Json | None, path: str) -> list[FieldError]:
    if data is None:
        return []
    longest = (("interfaceName", 256), ("hardwareAddress", 128))
    errors = [
        too_long(f"{path}.{field}", most) for field, most in longest if len((data.get(field) or "").encode()) > most
    ]
    return errors + unique(data.get("ips") or [], f"{path}.ips", 16, _interface_address)


def _interface_address(text: str, path: str) -> list[FieldError]:
    why = "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)"
    try:
        address: Any = ip_interface(text)
    except ValueError:
        return [invalid(path, text, why)]
    if "/" not in text:
        return [invalid(path, text, why)]
    canonical = f'must be in canonical form ("{address.with_prefixlen}")'
    return [] if address.with_prefixlen == text else [invalid(path, text, canonical)]


def _allocation(allocation: Json, path: str, names: _Names) -> list[FieldError]:
    devices, where = allocation.get("devices") or {}, f"{path}.devices"

    def result(item: Json, at: str) -> list[FieldError]:
        return (
            _request_ref(item.get("request") or "", f"{at}.request", names)
            + csi_driver_name(item.get("driver") or "", f"{at}.driver")
            + pool_name(item.get("pool") or "", f"{at}.pool")
            + device_name(item.get("device") or "", f"{at}.device")
        )

    def config(item: Json, at: str) -> list[FieldError]:
        source, kinds = item.get("source") or "", ("FromClaim", "FromClass")
        errors = [] if source else [required(f"{at}.source")]
        if source and source not in kinds:
            errors.append(not_supported(f"{at}.source", source, kinds))
        return errors + _request_refs(item, at, names) + configuration(item, at)

    errors = bounded(devices.get("results") or [], f"{where}.results", _MOST_RESULTS, result)
    errors += bounded(devices.get("config") or [], f"{where}.config", 2 * MOST_CONFIGS, config)
    selector = allocation.get("nodeSelector")
    return errors if selector is None else errors + node_selector(selector, f"{path}.nodeSelector")
