"""Parts that claims, classes and slices share: selectors, configurations, qualified names, bounded lists."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Final

import orjson

from kontend.kube.builtin.validation.checks import bad, dns_label, dns_subdomain
from kontend.kube.builtin.validation.pods.volumes import csi_driver_name
from kontend.kube.cel import types
from kontend.kube.cel.admission import result_type
from kontend.kube.cel.checker import Environment
from kontend.kube.cel.declarations import QUANTITY
from kontend.kube.cel.issues import CompileError
from kontend.kube.field_errors import FieldError, duplicate, invalid, required, too_long, too_many
from kontend.kube.json_types import Json
from kontend.kube.meta.name_rules import c_identifier

MOST_REQUESTS: Final = 32
MOST_CONFIGS: Final = 32
_MOST_SELECTORS: Final = 32
_LONGEST_ID: Final = 32
_LONGEST_EXPRESSION: Final = 10 * 1024
_LONGEST_PARAMETERS: Final = 10 * 1024
_LONGEST_POOL: Final = 253
_DEVICE: Final = types.struct("kubernetes.DRADevice")
_ENVIRONMENT: Final = Environment(
    {"device": _DEVICE},
    {
        _DEVICE.name: {
            "driver": types.STRING,
            "attributes": types.map_of(types.STRING, types.map_of(types.STRING, types.DYN)),
            "capacity": types.map_of(types.STRING, types.map_of(types.STRING, QUANTITY)),
        }
    },
)

Check = Callable[[Any, str], list[FieldError]]


def bounded(items: Sequence[Any], path: str, most: int, check: Check) -> list[FieldError]:
    """Return a list that is not too long, with each item in order."""
    if 0 <= most < len(items):
        return [too_many(path, len(items), most)]
    return [error for index, item in enumerate(items) for error in check(item, f"{path}[{index}]")]


def unique(
    items: Sequence[Any], path: str, most: int, check: Check, key: Callable[[Any], Hashable] = lambda item: str(item)
) -> list[FieldError]:
    """Return the same, with no item twice."""
    if 0 <= most < len(items):
        return [too_many(path, len(items), most)]
    errors = bounded(items, path, most, check)
    seen: set[Hashable] = set()
    for index, item in enumerate(items):
        if key(item) in seen:
            errors.append(duplicate(f"{path}[{index}]", key(item)))
        seen.add(key(item))
    return errors


def selectors(given: Sequence[Json], path: str) -> list[FieldError]:
    """Expressions that choose devices."""
    return bounded(given, path, _MOST_SELECTORS, _selector)


def _selector(selector: Json, path: str) -> list[FieldError]:
    chosen = selector.get("cel")
    if chosen is None:
        return [required(f"{path}.cel")]
    where, source = f"{path}.cel.expression", chosen.get("expression") or ""
    if len(source.encode()) > _LONGEST_EXPRESSION:
        return [too_long(where, _LONGEST_EXPRESSION)]
    try:
        evaluated = result_type(source, _ENVIRONMENT, bindings=True)
    except CompileError as error:
        return [invalid(where, source, f"compilation failed: {error}")]
    if evaluated in (types.BOOL, types.DYN):
        return []
    return [invalid(where, source, f"must evaluate to bool or the unknown type, not {evaluated}")]


def configuration(config: Json, path: str) -> list[FieldError]:
    """Parameters for the driver of a device."""
    opaque = config.get("opaque")
    if opaque is None:
        return [required(f"{path}.opaque")]
    where = f"{path}.opaque"
    errors = csi_driver_name(opaque.get("driver") or "", f"{where}.driver")
    return errors + raw_object(opaque.get("parameters"), f"{where}.parameters", _LONGEST_PARAMETERS)


def raw_object(value: Any, path: str, longest: int) -> list[FieldError]:
    """Any JSON object that is not too long."""
    if value is None:
        return [required(path)]
    if len(orjson.dumps(value)) > longest:
        return [too_long(path, longest)]
    return [] if isinstance(value, Mapping) else [invalid(path, "<value omitted>", "must be a valid JSON object")]


def device_class_name(name: str, path: str) -> list[FieldError]:
    """Return the name of a class that must be given."""
    return dns_subdomain(name, path) if name else [required(path)]


def pool_name(name: str, path: str) -> list[FieldError]:
    """Return the name of a pool: subdomains with slashes between them."""
    if not name:
        return [required(path)]
    errors = [too_long(path, _LONGEST_POOL)] if len(name.encode()) > _LONGEST_POOL else []
    return errors + [error for part in name.split("/") for error in dns_subdomain(part, path)]


def qualified_name(name: str, path: str) -> list[FieldError]:
    """Return the name of an attribute or a capacity, with or without the domain of a driver before it."""
    parts = name.split("/")
    if len(parts) == 1:
        return _identifier(name, path)
    if len(parts) > 2:
        return []
    domain, identifier = parts
    errors = csi_driver_name(domain, path) if domain else [invalid(path, "", "the domain must not be empty")]
    if identifier:
        return errors + _identifier(identifier, path)
    return [*errors, invalid(path, "", "the name must not be empty")]


def full_name(name: str, path: str) -> list[FieldError]:
    """Return the name of an attribute with its domain."""
    errors = qualified_name(name, path)
    if "/" not in name:
        why = "a fully qualified name must be a domain and a name separated by a slash"
        errors.append(invalid(path, name, why))
    return errors


def _identifier(text: str, path: str) -> list[FieldError]:
    errors = [too_long(path, _LONGEST_ID)] if len(text.encode()) > _LONGEST_ID else []
    return errors + bad(path, text, c_identifier(text))


def device_name(name: str, path: str) -> list[FieldError]:
    """Return the name of a device."""
    return dns_label(name, path)
