"""URLs as Go parses them: for the format ``uri`` and for ``url()`` in CEL."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from kontend.kube.field_errors import go_quote

_HEX: Final = "0123456789abcdefABCDEF"
_HOST_EXTRA: Final = frozenset("!$&'()*+,;=:[]<>\"")
_UNRESERVED: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~")


class UrlError(ValueError):
    """A text that Go does not take for a URL; the message is Go's."""


_Refuse = Callable[[str], UrlError]


@dataclass(frozen=True, slots=True)
class Url:
    """A parsed URL."""

    text: str
    scheme: str
    host: str
    path: str
    query: str

    @property
    def hostname(self) -> str:
        """The host without its port, and without the brackets of an IPv6 address."""
        host = self.host
        if host.startswith("["):
            return host[1 : host.find("]")] if "]" in host else host
        return host.partition(":")[0]

    @property
    def port(self) -> str:
        """The port, or nothing."""
        rest = self.host[self.host.find("]") + 1 :] if self.host.startswith("[") else self.host
        match = re.search(":([0-9]*)$", rest)
        return match[1] if match else ""


def parse_request_uri(raw: str) -> Url:
    """Return an absolute URL or an absolute path, as in an HTTP request line.

    >>> parse_request_uri("https://example.com:80/a%20b?c=d").host
    'example.com:80'
    """

    def no(why: str) -> UrlError:
        return UrlError(f"parse {go_quote(raw)}: {why}")

    if any(ord(char) < 0x20 or ord(char) == 0x7F for char in raw):
        raise no("net/url: invalid control character in URL")
    if not raw:
        raise no("empty url")
    if raw == "*":
        return Url(raw, "", "", "*", "")
    scheme, rest = _scheme(raw, no)
    if rest.endswith("?") and rest.count("?") == 1:
        rest, query = rest[:-1], ""
    else:
        rest, _, query = rest.partition("?")
    host = ""
    if not rest.startswith("/"):
        if scheme:
            # Opaque, like mailto:x
            return Url(raw, scheme, "", "", query)
        raise no("invalid URI for request")
    if (scheme or not rest.startswith("///")) and rest.startswith("//") and scheme:
        authority, slash, path = rest[2:].partition("/")
        rest = slash + path
        host = _host(authority, no)
    return Url(raw, scheme, host, _unescape(rest, no, in_host=False), query)


def _scheme(raw: str, no: _Refuse) -> tuple[str, str]:
    for index, char in enumerate(raw):
        if char.isascii() and char.isalpha():
            continue
        if char.isascii() and (char.isdigit() or char in "+-."):
            if index == 0:
                return "", raw
        elif char == ":":
            if index == 0:
                raise no("missing protocol scheme")
            return raw[:index].lower(), raw[index + 1 :]
        else:
            return "", raw
    return "", raw


def _host(authority: str, no: _Refuse) -> str:
    user, at, host = authority.rpartition("@")
    if at:
        if not all(char in _UNRESERVED or char in "%:!$&'()*+,;=@" for char in user):
            raise no("net/url: invalid userinfo")
        _unescape(user, no, in_host=False)
    if host.startswith("["):
        end = host.rfind("]")
        if end < 0:
            raise no("missing ']' in host")
        _check_port(host[end + 1 :], no)
    elif ":" in host:
        _check_port(host[host.rfind(":") :], no)
    return _unescape(host, no, in_host=True)


def _check_port(text: str, no: _Refuse) -> None:
    if text and (text[0] != ":" or not all("0" <= char <= "9" for char in text[1:])):
        raise no(f"invalid port {go_quote(text)} after host")


def _unescape(text: str, no: _Refuse, *, in_host: bool) -> str:
    out = bytearray()
    index = 0
    while index < len(text):
        char = text[index]
        if char == "%":
            code = text[index + 1 : index + 3]
            if len(code) < 2 or any(digit not in _HEX for digit in code):
                raise no(f"invalid URL escape {go_quote(text[index : index + 3])}")
            if in_host and int(code, 16) < 0x80 and code != "25":
                raise no(f"invalid URL escape {go_quote(text[index : index + 3])}")
            out.append(int(code, 16))
            index += 3
            continue
        if in_host and ord(char) < 0x80 and char not in _UNRESERVED and char not in _HOST_EXTRA:
            raise no(f"invalid character {go_quote(char)} in host name")
        out += char.encode("utf-8", "surrogatepass")
        index += 1
    return out.decode("utf-8", "replace")
