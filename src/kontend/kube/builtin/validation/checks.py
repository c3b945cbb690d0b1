"""Checks that many kinds share: numbers, labels and selectors, ports, addresses, paths, and what may not change."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any, Final

from kontend.kube.field_errors import FieldError, forbidden, invalid, not_supported, required
from kontend.kube.golang.strconv import whole_number
from kontend.kube.json_types import Json
from kontend.kube.meta import name_rules
from kontend.kube.meta.equality import same
from kontend.kube.meta.name_rules import dns1123_label, dns1123_subdomain, label_value, qualified_name
from kontend.kube.meta.object_meta import validate_labels

IMMUTABLE: Final = "field is immutable"
NEGATIVE: Final = "must be greater than or equal to 0"
NOT_POSITIVE: Final = "must be greater than zero"
BAD_IP: Final = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
BAD_CIDR: Final = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
BAD_FILE_MODE: Final = "must be a number between 0 and 0777 (octal), both inclusive"
PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
_ID_MAX: Final = 2147483647
_LEADING_ZEROS: Final = re.compile(r"\b0+(?=[0-9])")


def bad(path: str, value: Any, messages: Iterable[str]) -> list[FieldError]:
    """One error for each message about a value."""
    return [invalid(path, value, message) for message in messages]


def non_negative(value: int | None, path: str) -> list[FieldError]:
    """Return a number that may be zero but not less."""
    return [invalid(path, value, NEGATIVE)] if value is not None and value < 0 else []


def positive(value: int | None, path: str) -> list[FieldError]:
    """Return a number that must be more than zero."""
    return [invalid(path, value or 0, NOT_POSITIVE)] if (value or 0) <= 0 else []


def immutable(new: Any, old: Any, path: str, shown: Any = ...) -> list[FieldError]:
    """Return a value that may not change; ``shown`` is how the new one appears in the message, if not as it is."""
    unchanged = same(new or None, old or None) if isinstance(new or old, (list, dict)) else new == old
    return [] if unchanged else [invalid(path, new if shown is ... else shown, IMMUTABLE)]


def one_of(value: str, path: str, allowed: tuple[str, ...]) -> list[FieldError]:
    """Return a required value out of an enumeration."""
    if value in allowed:
        return []
    return [not_supported(path, value, allowed)] if value else [required(path)]


def label_name(name: str, path: str) -> list[FieldError]:
    """Return the key of a label, and whatever else has that form."""
    return bad(path, name, qualified_name(name))


def labels(given: Mapping[str, str] | None, path: str) -> list[FieldError]:
    """Return a map of labels, or of labels to match."""
    return validate_labels(given, path) if given else []


def label_selector(selector: Mapping[str, Any] | None, path: str, *, any_value: bool = False) -> list[FieldError]:
    """Return a label selector; ``any_value`` accepts values that no label can have."""
    if not selector:
        return []
    errors = labels(selector.get("matchLabels"), f"{path}.matchLabels")
    for index, requirement in enumerate(selector.get("matchExpressions") or []):
        errors += _requirement(requirement, f"{path}.matchExpressions[{index}]", any_value=any_value)
    return errors


def _requirement(requirement: Mapping[str, Any], path: str, *, any_value: bool) -> list[FieldError]:
    operator, values = requirement.get("operator", ""), requirement.get("values") or []
    errors = selector_operator(operator, values, path)
    errors += label_name(requirement.get("key", ""), f"{path}.key")
    for index, value in enumerate([] if any_value else values):
        errors += bad(f"{path}.values[{index}]", value, label_value(value))
    return errors


def selector_operator(operator: str, values: list[str], path: str) -> list[FieldError]:
    """Report whether there are as many values as the operator of a selector needs."""
    if operator in ("In", "NotIn"):
        if not values:
            return [required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'")]
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            return [forbidden(f"{path}.values", why)]
    else:
        return [invalid(f"{path}.operator", operator, "not a valid selector operator")]
    return []


def selects(selector: Mapping[str, Any] | None, given: Mapping[str, str]) -> bool:
    """Report whether a valid label selector matches; one that is missing matches nothing, an empty one everything."""
    if selector is None:
        return False
    if any(given.get(key) != value for key, value in (selector.get("matchLabels") or {}).items()):
        return False
    for expression in selector.get("matchExpressions") or []:
        key, operator, values = expression.get("key", ""), expression.get("operator"), expression.get("values") or []
        if operator == "In" and given.get(key) not in values:
            return False
        if operator == "NotIn" and given.get(key) in values:
            return False
        if operator == "Exists" and key not in given:
            return False
        if operator == "DoesNotExist" and key in given:
            return False
    return True


def dns_label(value: str, path: str) -> list[FieldError]:
    """Return a DNS label."""
    return bad(path, value, dns1123_label(value))


def dns_subdomain(value: str, path: str) -> list[FieldError]:
    """Return a DNS subdomain."""
    return bad(path, value, dns1123_subdomain(value))


def port_number(value: int, path: str) -> list[FieldError]:
    """Return the number of a port."""
    return bad(path, value, name_rules.port_number(value))


def port_number_or_name(value: int | str | None, path: str) -> list[FieldError]:
    """Return a port, by number or by name."""
    if isinstance(value, str):
        return bad(path, value, name_rules.port_name(value))
    return port_number(value or 0, path)


def int_or_percent(value: int | str | None, path: str) -> list[FieldError]:
    """Return a number that is not negative, or a percentage."""
    if isinstance(value, str):
        return bad(path, value, name_rules.percent(value))
    return non_negative(value or 0, path)


def percent_of(value: int | str | None) -> int | None:
    """Return the number before the percent sign, if that is what the value is."""
    return int(value[:-1]) if isinstance(value, str) and not name_rules.percent(value) else None


def at_most_all(value: int | str | None, path: str) -> list[FieldError]:
    """Not more than 100%."""
    percent = percent_of(value)
    return [invalid(path, value, "must not be greater than 100%")] if percent is not None and percent > 100 else []


def user_or_group_id(value: int | None, path: str) -> list[FieldError]:
    """Return the number of a user or a group."""
    if value is None or 0 <= value <= _ID_MAX:
        return []
    return [invalid(path, value, f"must be between 0 and {_ID_MAX}, inclusive")]


def parse_ip(text: str) -> IPv4Address | IPv6Address | None:
    """Return an address as the server reads it, which is more tolerant of leading zeros than others."""
    if "%" in text:
        return None
    try:
        return ip_address(_LEADING_ZEROS.sub("", text) if ":" not in text else text)
    except ValueError:
        return None


def parse_cidr(text: str) -> IPv4Network | IPv6Network | None:
    """Return a range of addresses."""
    address, slash, bits = text.partition("/")
    parsed = parse_ip(address)
    if parsed is None or not slash or not (bits.isascii() and bits.isdecimal()):
        return None
    try:
        return ip_network(f"{parsed}/{whole_number(bits)}", strict=False)
    except ValueError:
        return None


def valid_ip(text: str, path: str) -> list[FieldError]:
    """Return an address."""
    return [] if parse_ip(text) is not None else [invalid(path, text, BAD_IP)]


def valid_cidr(text: str, path: str) -> list[FieldError]:
    """Return a range of addresses."""
    return [] if parse_cidr(text) is not None else [invalid(path, text, BAD_CIDR)]


def strict_ip(text: str, path: str) -> list[FieldError]:
    """Return an address in the only form that newer fields accept.

    >>> [error.detail for error in strict_ip("010.0.0.1", "ip") + strict_ip("::ffff:1.2.3.4", "ip")]
    ['must not have leading 0s', 'must not be an IPv4-mapped IPv6 address']
    """
    parsed = parse_ip(text)
    if parsed is None:
        return [invalid(path, text, BAD_IP)]
    if ":" not in text and _LEADING_ZEROS.search(text):
        return [invalid(path, text, "must not have leading 0s")]
    if isinstance(parsed, IPv6Address) and parsed.ipv4_mapped is not None:
        return [invalid(path, text, "must not be an IPv4-mapped IPv6 address")]
    return [] if str(parsed) == text else [invalid(path, text, f'must be in canonical form ("{parsed}")')]


def strict_cidr(text: str, path: str) -> list[FieldError]:
    """Return a range of addresses in the only form that newer fields accept.

    >>> [error.detail for error in strict_cidr("10.0.0.1/8", "cidr") + strict_cidr("2001:DB8::/32", "cidr")]
    ['must not have bits set beyond the prefix length', 'must be in canonical form ("2001:db8::/32")']
    """
    parsed = parse_cidr(text)
    if parsed is None:
        return [invalid(path, text, BAD_CIDR)]
    address, _, bits = text.partition("/")
    if (":" not in text and _LEADING_ZEROS.search(address)) or _LEADING_ZEROS.search(bits):
        return [invalid(path, text, "must not have leading 0s in IP or prefix length")]
    if isinstance(parsed, IPv6Network) and IPv6Address(address).ipv4_mapped is not None:
        return [invalid(path, text, "must not have an IPv4-mapped IPv6 address")]
    if parse_ip(address) != parsed.network_address:
        return [invalid(path, text, "must not have bits set beyond the prefix length")]
    return [] if str(parsed) == text else [invalid(path, text, f'must be in canonical form ("{parsed}")')]


def no_backsteps(value: str, path: str) -> list[FieldError]:
    """Return a path that does not climb."""
    return [invalid(path, value, "must not contain '..'")] if ".." in value.split("/") else []


def descending_path(value: str, path: str) -> list[FieldError]:
    """Return a relative path that does not climb."""
    errors = [invalid(path, value, "must be a relative path")] if value.startswith("/") else []
    return errors + no_backsteps(value, path)


def non_reserved_path(value: str, path: str) -> list[FieldError]:
    """Return a relative path that does not climb and does not start with two dots."""
    errors = descending_path(value, path)
    if value.startswith("..") and not value.startswith("../"):
        errors.append(invalid(path, value, "must not start with '..'"))
    return errors


def file_mode(value: int | None, path: str) -> list[FieldError]:
    """Return the mode bits of a file."""
    return [invalid(path, value, BAD_FILE_MODE)] if value is not None and not 0 <= value <= 0o777 else []


def path_of(obj: Json, *fields: str) -> Any:
    """Return the value at the end of a path of fields, or None."""
    value: Any = obj
    for field in fields:
        value = value.get(field) if isinstance(value, dict) else None
    return value
