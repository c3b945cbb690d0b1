"""What Kubernetes adds to CEL: URLs, addresses and networks, quantities, semantic versions and named formats."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Final
from urllib.parse import unquote_plus

from kontend.kube import name_rules
from kontend.kube.cel.library import FUNCTIONS, compare, register
from kontend.kube.cel.values import NONE, EvalError, NoOverload, Optional
from kontend.kube.field_errors import go_quote
from kontend.kube.go_url import Url, UrlError, parse_request_uri
from kontend.kube.quantity import Quantity, QuantityError
from kontend.kube.quantity import parse as parse_quantity
from kontend.kube.string_formats import format_check


def _need(kind: type, *values: Any) -> None:
    if not all(isinstance(value, kind) for value in values):
        raise NoOverload


# URLs.


@dataclass(frozen=True, slots=True)
class UrlValue:
    """A parsed URL."""

    CEL_TYPE: ClassVar[str] = "kubernetes.URL"
    url: Url
    text: str


def _parse_url(text: Any) -> Url:
    _need(str, text)
    parse_request_uri(text)
    # A fragment is no part of the path or the query.
    return parse_request_uri(text.partition("#")[0])


@register("url")
def url(text: Any) -> UrlValue:
    """A URL from a text."""
    try:
        return UrlValue(_parse_url(text), text)
    except UrlError as error:
        raise EvalError(f"URL parse error during conversion from string: {error}") from None


@register("isURL")
def is_url(text: Any) -> bool:
    """Whether a text is a URL."""
    try:
        _parse_url(text)
    except UrlError:
        return False
    return True


def _query(value: UrlValue) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for part in value.url.query.split("&"):
        if part and ";" not in part:
            key, _, text = part.partition("=")
            found.setdefault(unquote_plus(key), []).append(unquote_plus(text))
    return found


def _escaped_path(value: UrlValue) -> str:
    text = value.text.partition("#")[0].partition("?")[0]
    if value.url.scheme:
        text = text.partition(":")[2]
        if not text.startswith("/"):
            return ""
        if text.startswith("//"):
            _, slash, path = text[2:].partition("/")
            text = slash + path
    return "".join(char if char.isascii() and char not in ' "<>\\^`{|}' else _percent(char) for char in text)


def _percent(char: str) -> str:
    return "".join(f"%{byte:02X}" for byte in char.encode())


def _of_url(take: Callable[[UrlValue], Any]) -> Callable[[Any], Any]:
    def run(value: Any) -> Any:
        _need(UrlValue, value)
        return take(value)

    return run


FUNCTIONS["getScheme"] = _of_url(lambda value: value.url.scheme)
FUNCTIONS["getHost"] = _of_url(lambda value: value.url.host)
FUNCTIONS["getHostname"] = _of_url(lambda value: value.url.hostname)
FUNCTIONS["getPort"] = _of_url(lambda value: value.url.port)
FUNCTIONS["getEscapedPath"] = _of_url(_escaped_path)
FUNCTIONS["getQuery"] = _of_url(_query)


# Addresses and networks.

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


@dataclass(frozen=True, slots=True)
class IpValue:
    """An address."""

    CEL_TYPE: ClassVar[str] = "net.IP"
    CEL_TEXT: ClassVar[bool] = True
    address: _Address

    def __str__(self) -> str:
        return str(self.address)


@dataclass(frozen=True, slots=True)
class CidrValue:
    """A network: an address and how many of its bits are the network's."""

    CEL_TYPE: ClassVar[str] = "net.CIDR"
    CEL_TEXT: ClassVar[bool] = True
    address: _Address
    bits: int

    def __str__(self) -> str:
        return f"{self.address}/{self.bits}"

    @property
    def network(self) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
        """The network itself."""
        return ipaddress.ip_network(f"{self.address}/{self.bits}", strict=False)


def _parse_address(text: str) -> _Address:
    try:
        if "%" in text:
            raise EvalError(f"IP address {go_quote(text)} with zone value is not allowed")
        address = ipaddress.ip_address(text)
    except ValueError:
        wrong = f"ParseAddr({go_quote(text)}): {_address_complaint(text)}"
        raise EvalError(f"IP Address {go_quote(text)} parse error during conversion from string: {wrong}") from None
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        raise EvalError(f"IPv4-mapped IPv6 address {go_quote(text)} is not allowed")
    return address


def _address_complaint(text: str) -> str:
    """What Go says about a text that is no address, for the usual mistakes."""
    dot, colon = text.find("."), text.find(":")
    if dot < 0 and colon < 0:
        return "unable to parse IP"
    if colon >= 0 and (dot < 0 or colon < dot):
        return f"unexpected character (at {go_quote(text)})"
    parts = text.split(".")
    for part in parts:
        if part and not (part.isascii() and part.isdigit()):
            bad = next(char for char in part if not ("0" <= char <= "9"))
            return f"unexpected character (at {go_quote(text[text.index(bad):])})"
        if part and int(part) > 255:
            return "IPv4 field has value >255"
        if len(part) > 1 and part.startswith("0"):
            return "IPv4 field has octet with leading zero"
    if "" in parts:
        return "IPv4 field must have at least one digit"
    return "IPv4 address too short" if len(parts) < 4 else "IPv4 address too long"


@register("ip")
def ip(value: Any) -> IpValue:
    """An address from a text, or the address of a network."""
    if isinstance(value, CidrValue):
        return IpValue(value.address)
    _need(str, value)
    return IpValue(_parse_address(value))


@register("isIP")
def is_ip(text: Any) -> bool:
    """Whether a text is an address."""
    _need(str, text)
    try:
        _parse_address(text)
    except EvalError:
        return False
    return True


@register("ip.isCanonical")
def is_canonical(text: Any) -> bool:
    """Whether an address is written as it should be."""
    _need(str, text)
    return str(_parse_address(text)) == text


def _of_ip(test: Callable[[_Address], Any]) -> Callable[[Any], Any]:
    def run(value: Any) -> Any:
        _need(IpValue, value)
        return test(value.address)

    return run


def _is_link_local_multicast(address: _Address) -> bool:
    if address.version == 4:
        return address.packed[:3] == bytes((224, 0, 0))
    return address.packed[0] == 0xFF and address.packed[1] & 0x0F == 2


def _is_global_unicast(address: _Address) -> bool:
    if str(address) == "255.255.255.255" or address.is_unspecified or address.is_loopback:
        return False
    return not address.is_multicast and not address.is_link_local


FUNCTIONS["family"] = _of_ip(lambda address: address.version)
FUNCTIONS["isUnspecified"] = _of_ip(lambda address: address.is_unspecified)
FUNCTIONS["isLoopback"] = _of_ip(lambda address: address.is_loopback)
FUNCTIONS["isLinkLocalMulticast"] = _of_ip(_is_link_local_multicast)
FUNCTIONS["isLinkLocalUnicast"] = _of_ip(lambda address: address.is_link_local)
FUNCTIONS["isGlobalUnicast"] = _of_ip(_is_global_unicast)


def _parse_cidr(text: str) -> CidrValue:
    prefix = "network address parse error during conversion from string: "
    address, slash, bits = text.rpartition("/")
    if not slash:
        raise EvalError(f"{prefix}netip.ParsePrefix({go_quote(text)}): no '/'")
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        why = f"ParseAddr({go_quote(address)}): {_address_complaint(address)}"
        raise EvalError(f"{prefix}netip.ParsePrefix({go_quote(text)}): {why}") from None
    if not re.fullmatch("0|[1-9][0-9]*", bits):
        raise EvalError(f"{prefix}netip.ParsePrefix({go_quote(text)}): bad bits after slash: {go_quote(bits)}")
    if int(bits) > parsed.max_prefixlen:
        raise EvalError(f"{prefix}netip.ParsePrefix({go_quote(text)}): prefix length out of range")
    if isinstance(parsed, ipaddress.IPv6Address) and parsed.ipv4_mapped is not None:
        raise EvalError(f"IPv4-mapped IPv6 address {go_quote(text)} is not allowed")
    return CidrValue(parsed, int(bits))


@register("cidr")
def cidr(text: Any) -> CidrValue:
    """A network from a text."""
    _need(str, text)
    try:
        return _parse_cidr(text)
    except EvalError as error:
        raise EvalError(f"network address parse error during conversion from string: {error}") from None


@register("isCIDR")
def is_cidr(text: Any) -> bool:
    """Whether a text is a network."""
    _need(str, text)
    try:
        _parse_cidr(text)
    except EvalError:
        return False
    return True


@register("containsIP")
def contains_ip(network: Any, value: Any) -> bool:
    """Whether an address lies in a network."""
    _need(CidrValue, network)
    address = value.address if isinstance(value, IpValue) else ip(value).address
    return bool(address.version == network.address.version and address in network.network)


@register("containsCIDR")
def contains_cidr(network: Any, value: Any) -> bool:
    """Whether a network lies in another."""
    _need(CidrValue, network)
    other = value if isinstance(value, CidrValue) else cidr(value)
    if network.address.version != other.address.version:
        return False
    return bool(network.network.overlaps(other.network) and network.bits <= other.bits)


@register("prefixLength")
def prefix_length(network: Any) -> int:
    """How many bits belong to the network."""
    _need(CidrValue, network)
    return int(network.bits)


@register("masked")
def masked(network: Any) -> CidrValue:
    """The network with the other bits at zero."""
    _need(CidrValue, network)
    return CidrValue(network.network.network_address, network.bits)


# Quantities and semantic versions.


@dataclass(frozen=True, slots=True)
class Semver:
    """A semantic version."""

    CEL_TYPE: ClassVar[str] = "kubernetes.Semver"
    numbers: tuple[int, int, int]
    prerelease: tuple[tuple[int, int, str], ...]

    def order(self) -> tuple[Any, ...]:
        """What versions are sorted by: a release comes after its own previews."""
        return (self.numbers, not self.prerelease, self.prerelease)


_SEMVER: Final = re.compile(
    r"(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)(?:-([0-9A-Za-z.-]+))?(?:\+([0-9A-Za-z.-]+))?", re.ASCII
)


def _semver(text: str) -> Semver:
    found = _SEMVER.fullmatch(text)
    if found is None or any(part == "" for each in found.groups()[3:] if each for part in each.split(".")):
        raise EvalError(_semver_complaint(text))
    parts = []
    for part in (found[4] or "").split("."):
        if part.isdigit():
            if len(part) > 1 and part.startswith("0"):
                raise EvalError(f"Numeric PreRelease version must not contain leading zeroes {go_quote(part)}")
            parts.append((0, int(part), ""))
        elif part:
            parts.append((1, 0, part))
    return Semver((int(found[1]), int(found[2]), int(found[3])), tuple(parts))


def _semver_complaint(text: str) -> str:
    if not text:
        return "Version string empty"
    parts = text.split(".", 2)
    if len(parts) != 3:
        return "No Major.Minor.Patch elements found"
    for name, part in zip(("major", "minor", "patch"), (*parts[:2], re.split("[-+]", parts[2])[0]), strict=True):
        if not part.isdigit():
            shown = f"Invalid character(s) found in {name} number {go_quote(part)}"
            return shown if part else 'strconv.ParseUint: parsing "": invalid syntax'
        if len(part) > 1 and part.startswith("0"):
            return f"{name.capitalize()} number must not contain leading zeroes {go_quote(part)}"
    return "Prerelease is empty" if "-" in parts[2].partition("+")[0] else "Build meta data is empty"


def _normalized(text: str) -> str:
    text = text.strip().removeprefix("v")
    parts = text.split(".", 2)
    parts = [part.lstrip("0") or "0" if part.isdigit() else _without_zeros(part) for part in parts]
    if len(parts) < 3:
        if "+" in parts[-1] or "-" in parts[-1]:
            raise EvalError("short version cannot contain PreRelease/Build meta data")
        parts += ["0"] * (3 - len(parts))
    return ".".join(parts)


def _without_zeros(part: str) -> str:
    stripped = part.lstrip("0")
    return stripped if stripped and stripped[0].isdigit() else ("0" + stripped if part.startswith("0") else part)


@register("semver")
def semver(text: Any, normalize: bool = False) -> Semver:
    """A semantic version from a text."""
    _need(str, text)
    return _semver(_normalized(text) if normalize else text)


@register("isSemver")
def is_semver(text: Any, normalize: bool = False) -> bool:
    """Whether a text is a semantic version."""
    try:
        semver(text, normalize)
    except EvalError as error:
        if isinstance(error, NoOverload):
            raise
        return False
    return True


for _place, _name in enumerate(("major", "minor", "patch")):
    FUNCTIONS[_name] = lambda value, place=_place: value.numbers[place]


@dataclass(frozen=True, slots=True)
class QuantityValue:
    """A quantity."""

    CEL_TYPE: ClassVar[str] = "kubernetes.Quantity"
    quantity: Quantity


@register("quantity")
def quantity(text: Any) -> QuantityValue:
    """A quantity from a text."""
    _need(str, text)
    try:
        return QuantityValue(parse_quantity(text))
    except QuantityError as error:
        raise EvalError(str(error)) from None


@register("isQuantity")
def is_quantity(text: Any) -> bool:
    """Whether a text is a quantity."""
    _need(str, text)
    try:
        parse_quantity(text)
    except QuantityError:
        return False
    return True


@register("compareTo")
def compare_to(left: Any, right: Any) -> int:
    """The order of two quantities or two versions."""
    if isinstance(left, QuantityValue) and isinstance(right, QuantityValue):
        return (left.quantity.amount > right.quantity.amount) - (left.quantity.amount < right.quantity.amount)
    if isinstance(left, Semver) and isinstance(right, Semver):
        mine, other = left.order(), right.order()
        return (mine > other) - (mine < other)
    raise NoOverload


FUNCTIONS["isGreaterThan"] = lambda left, right: compare_to(left, right) == 1
FUNCTIONS["isLessThan"] = lambda left, right: compare_to(left, right) == -1


def _whole(value: Any) -> int | None:
    _need(QuantityValue, value)
    amount = value.quantity.amount
    return int(amount) if amount == amount.to_integral_value() and abs(amount) < 2**63 else None


@register("asInteger")
def as_integer(value: Any) -> int:
    """A quantity that is a whole number."""
    found = _whole(value)
    if found is None:
        raise EvalError("cannot convert value to integer")
    return found


FUNCTIONS["isInteger"] = lambda value: _whole(value) is not None
FUNCTIONS["asApproximateFloat"] = lambda value: float(value.quantity.amount)
FUNCTIONS["sign"] = lambda value: compare(float(value.quantity.amount), 0.0)


def _other_quantity(value: Any) -> Quantity:
    return parse_quantity(str(value)) if type(value) is int else value.quantity


FUNCTIONS["add"] = lambda left, right: QuantityValue(left.quantity + _other_quantity(right))
FUNCTIONS["sub"] = lambda left, right: QuantityValue(left.quantity - _other_quantity(right))


# Named formats.


@dataclass(frozen=True, slots=True)
class FormatValue:
    """A named format."""

    CEL_TYPE: ClassVar[str] = "kubernetes.NamedFormat"
    name: str


def _checked_by(name: str, complaint: str) -> Callable[[str], list[str]]:
    check = format_check(name)
    assert check is not None
    return lambda text: [] if check(text) else [complaint]


def _uri_complaints(text: str) -> list[str]:
    try:
        parse_request_uri(text)
    except UrlError as error:
        return [str(error)]
    return []


def _prefix(rule: Callable[[str], list[str]]) -> Callable[[str], list[str]]:
    """A prefix of a generated name may end with a dash, because more will follow."""
    return lambda text: rule(name_rules.without_trailing_dash(text))


_FORMATS: Final[dict[str, Callable[[str], list[str]]]] = {
    "dns1123Label": name_rules.dns1123_label,
    "dns1123Subdomain": name_rules.dns1123_subdomain,
    "dns1035Label": name_rules.dns1035_label,
    "qualifiedName": name_rules.qualified_name,
    "dns1123LabelPrefix": _prefix(name_rules.dns1123_label),
    "dns1123SubdomainPrefix": _prefix(name_rules.dns1123_subdomain),
    "dns1035LabelPrefix": _prefix(name_rules.dns1035_label),
    "labelValue": name_rules.label_value,
    "uri": _uri_complaints,
    "uuid": _checked_by("uuid", "does not match the UUID format"),
    "byte": _checked_by("byte", "invalid base64"),
    "date": _checked_by("date", "invalid date"),
    "datetime": _checked_by("datetime", "invalid datetime"),
}
for _name in _FORMATS:
    FUNCTIONS[f"format.{_name}"] = lambda name=_name: FormatValue(name)
FUNCTIONS["format.named"] = lambda name: Optional(FormatValue(name)) if name in _FORMATS else NONE


@register("validate")
def validate(form: Any, text: Any) -> Optional:
    """What is wrong with a text, or nothing."""
    _need(FormatValue, form)
    _need(str, text)
    complaints = _FORMATS[form.name](text)
    return Optional(complaints) if complaints else NONE
