"""URLs, addresses and networks."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar
from urllib.parse import unquote_plus

from kontend.kube.cel.library.functions import FUNCTIONS, register
from kontend.kube.cel.values import EvalError, NoOverload
from kontend.kube.field_errors import go_quote
from kontend.kube.golang.netip import address_complaint
from kontend.kube.golang.strconv import whole_number
from kontend.kube.golang.url import Url, UrlError, parse_request_uri


def need(kind: type, *values: Any) -> None:
    """Refuses values of other types."""
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
    need(str, text)
    parse_request_uri(text)
    # A fragment is no part of the path or the query.
    return parse_request_uri(text.partition("#")[0])


@register("url")
def url(text: Any) -> UrlValue:
    """Return a URL from a text."""
    try:
        return UrlValue(_parse_url(text), text)
    except UrlError as error:
        raise EvalError(f"URL parse error during conversion from string: {error}") from None


@register("isURL")
def is_url(text: Any) -> bool:
    """Report whether a text is a URL."""
    try:
        _parse_url(text)
    except UrlError:
        return False
    return True


def _query(value: UrlValue) -> dict[str, list[str]]:
    parameters: dict[str, list[str]] = {}
    for part in value.url.query.split("&"):
        if part and ";" not in part:
            key, _, text = part.partition("=")
            parameters.setdefault(unquote_plus(key), []).append(unquote_plus(text))
    return parameters


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
        need(UrlValue, value)
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
        if "%" in text and not address_complaint(text):
            raise EvalError(f"IP address {go_quote(text)} with zone value is not allowed")
        address = ipaddress.ip_address(text)
    except ValueError:
        wrong = f"ParseAddr({go_quote(text)}): {address_complaint(text)}"
        raise EvalError(f"IP Address {go_quote(text)} parse error during conversion from string: {wrong}") from None
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        raise EvalError(f"IPv4-mapped IPv6 address {go_quote(text)} is not allowed")
    return address


@register("ip")
def ip(value: Any) -> IpValue:
    """Return an address from a text, or the address of a network."""
    if isinstance(value, CidrValue):
        return IpValue(value.address)
    need(str, value)
    return IpValue(_parse_address(value))


@register("isIP")
def is_ip(text: Any) -> bool:
    """Report whether a text is an address."""
    need(str, text)
    try:
        _parse_address(text)
    except EvalError:
        return False
    return True


@register("ip.isCanonical")
def is_canonical(text: Any) -> bool:
    """Report whether an address is written as it should be."""
    need(str, text)
    return bool(str(_parse_address(text)) == text)


def _of_ip(test: Callable[[_Address], Any]) -> Callable[[Any], Any]:
    def run(value: Any) -> Any:
        need(IpValue, value)
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
        why = f"ParseAddr({go_quote(address)}): {address_complaint(address)}"
        raise EvalError(f"{prefix}netip.ParsePrefix({go_quote(text)}): {why}") from None
    if not re.fullmatch("0|[1-9][0-9]*", bits):
        raise EvalError(f"{prefix}netip.ParsePrefix({go_quote(text)}): bad bits after slash: {go_quote(bits)}")
    if whole_number(bits) > parsed.max_prefixlen:
        raise EvalError(f"{prefix}netip.ParsePrefix({go_quote(text)}): prefix length out of range")
    if isinstance(parsed, ipaddress.IPv6Address) and parsed.ipv4_mapped is not None:
        raise EvalError(f"IPv4-mapped IPv6 address {go_quote(text)} is not allowed")
    return CidrValue(parsed, whole_number(bits))


@register("cidr")
def cidr(text: Any) -> CidrValue:
    """Return a network from a text."""
    need(str, text)
    try:
        return _parse_cidr(text)
    except EvalError as error:
        raise EvalError(f"network address parse error during conversion from string: {error}") from None


@register("isCIDR")
def is_cidr(text: Any) -> bool:
    """Report whether a text is a network."""
    need(str, text)
    try:
        _parse_cidr(text)
    except EvalError:
        return False
    return True


@register("containsIP")
def contains_ip(network: Any, value: Any) -> bool:
    """Report whether an address lies in a network."""
    need(CidrValue, network)
    address = value.address if isinstance(value, IpValue) else ip(value).address
    return bool(address.version == network.address.version and address in network.network)


@register("containsCIDR")
def contains_cidr(network: Any, value: Any) -> bool:
    """Report whether a network lies in another."""
    need(CidrValue, network)
    other = value if isinstance(value, CidrValue) else cidr(value)
    if network.address.version != other.address.version:
        return False
    return bool(network.network.overlaps(other.network) and network.bits <= other.bits)


@register("prefixLength")
def prefix_length(network: Any) -> int:
    """Return how many bits belong to the network."""
    need(CidrValue, network)
    return int(network.bits)


@register("masked")
def masked(network: Any) -> CidrValue:
    """Return the network with the other bits at zero."""
    need(CidrValue, network)
    return CidrValue(network.network.network_address, network.bits)
