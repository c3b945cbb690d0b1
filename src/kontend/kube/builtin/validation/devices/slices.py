"""Classes of devices, and slices, in which drivers list the devices that there are."""

from __future__ import annotations

import re
from typing import Any, Final

from kontend.kube.builtin.internal_form import shown_as
from kontend.kube.builtin.validation.checks import NOT_POSITIVE, dns_subdomain, immutable
from kontend.kube.builtin.validation.devices.parts import (
    MOST_CONFIGS,
    bounded,
    configuration,
    device_name,
    pool_name,
    qualified_name,
    selectors,
    unique,
)
from kontend.kube.builtin.validation.pods.scheduling import node_selector
from kontend.kube.builtin.validation.pods.volumes import csi_driver_name
from kontend.kube.field_errors import FieldError, Verbatim, invalid, required, too_long
from kontend.kube.json_types import Json

_MOST_DEVICES: Final = 128
_MOST_ATTRIBUTES: Final = 32
_LONGEST_VALUE: Final = 64
_LONGEST_KEY: Final = 63 + 1 + 32
_PRE_RELEASE: Final = r"(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)"
_BUILD: Final = "[0-9a-zA-Z-]+"
_VERSION: Final = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)"
    rf"(-{_PRE_RELEASE}(\.{_PRE_RELEASE})*)?(\+{_BUILD}(\.{_BUILD})*)?",
    re.ASCII,
)


def validate_device_class(obj: Json) -> list[FieldError]:
    """Validate a class of devices."""
    spec = obj.get("spec") or {}
    errors = selectors(spec.get("selectors") or [], "spec.selectors")
    return errors + bounded(spec.get("config") or [], "spec.config", MOST_CONFIGS, configuration)


def validate_slice(obj: Json, old: Json | None = None) -> list[FieldError]:
    """Validate a slice; ``old`` is the one it replaces."""
    spec = obj.get("spec") or {}
    pool = spec.get("pool") or {}
    errors = csi_driver_name(spec.get("driver") or "", "spec.driver")
    errors += pool_name(pool.get("name") or "", "spec.pool.name")
    count, generation = pool.get("resourceSliceCount") or 0, pool.get("generation") or 0
    if count <= 0:
        errors.append(invalid("spec.pool.resourceSliceCount", count, NOT_POSITIVE))
    if generation < 0:
        errors.append(invalid("spec.pool.generation", generation, "must be greater than or equal to zero"))
    if old is not None:
        before = old.get("spec") or {}
        errors += immutable(pool.get("name") or "", (before.get("pool") or {}).get("name") or "", "spec.pool.name")
        errors += immutable(spec.get("driver") or "", before.get("driver") or "", "spec.driver")
        errors += immutable(spec.get("nodeName"), before.get("nodeName"), "spec.nodeName")
    errors += _nodes(spec)
    return errors + unique(spec.get("devices") or [], "spec.devices", _MOST_DEVICES, _device, _name)


def _name(device: Json) -> str:
    return device.get("name") or ""


def _nodes(spec: Json) -> list[FieldError]:
    """A slice belongs to one node, to some, or to all."""
    errors: list[FieldError] = []
    given: list[str] = []
    node, selector, everywhere = spec.get("nodeName"), spec.get("nodeSelector"), spec.get("allNodes")
    if node:
        given.append("`nodeName`")
        errors += dns_subdomain(node, "spec.nodeName")
    elif node is not None:
        errors.append(invalid("spec.nodeName", node, "must be either unset or set to a non-empty string"))
    if selector is not None:
        given.append("`nodeSelector`")
        errors += node_selector(selector, "spec.nodeSelector")
        terms = selector.get("nodeSelectorTerms") or []
        if len(terms) != 1:
            shown = ",".join(str(shown_as("NodeSelectorTerm", term)) for term in terms)
            value = Verbatim("null" if selector.get("nodeSelectorTerms") is None else f"[{shown}]")
            why = "must have exactly one node selector term"
            errors.append(invalid("spec.nodeSelector.nodeSelectorTerms", value, why))
    if everywhere:
        given.append("`allNodes`")
    elif everywhere is not None:
        errors.append(invalid("spec.allNodes", everywhere, "must be either unset or set to true"))
    one = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
    if not given:
        errors.append(required("spec", one))
    elif len(given) > 1:
        errors.append(invalid("spec", f"{{{', '.join(given)}}}", f"{one}, but multiple fields are set"))
    return errors


def _device(device: Json, path: str) -> list[FieldError]:
    errors = device_name(_name(device), f"{path}.name")
    attributes, capacity = device.get("attributes") or {}, device.get("capacity") or {}
    total = len(attributes) + len(capacity)
    if total > _MOST_ATTRIBUTES:
        why = f"the total number of attributes and capacities must not exceed {_MOST_ATTRIBUTES}"
        errors.append(invalid(path, total, why))
    for name, attribute in attributes.items():
        where = f"{path}.attributes[{_shortened(name)}]"
        errors += qualified_name(name, where) + _attribute(attribute, where)
    for name in capacity:
        errors += qualified_name(name, f"{path}.capacity[{_shortened(name)}]")
    return errors


def _shortened(key: str) -> str:
    if len(key) <= _LONGEST_KEY:
        return key
    left = _LONGEST_KEY - 3
    return key[: (left + 1) // 2] + "..." + key[len(key) - left // 2 :]


def _attribute(attribute: dict[str, Any], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    text, version = attribute.get("string"), attribute.get("version")
    if text is not None and len(text.encode()) > _LONGEST_VALUE:
        errors.append(too_long(f"{path}.string", _LONGEST_VALUE))
    if version is not None:
        if not _VERSION.fullmatch(version):
            why = "must be a string compatible with semver.org spec 2.0.0"
            errors.append(invalid(f"{path}.version", version, why))
        if len(version.encode()) > _LONGEST_VALUE:
            errors.append(too_long(f"{path}.version", _LONGEST_VALUE))
    given = [field for field in ("int", "bool", "string", "version") if attribute.get(field) is not None]
    if len(given) != 1:
        shown = shown_as("DeviceAttribute", attribute) if given else ""
        errors.append(invalid(path, shown, "exactly one value must be specified"))
    return errors
