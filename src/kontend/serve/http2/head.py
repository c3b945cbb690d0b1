"""The head of a request out of header fields, with the checks of Go's HTTP/2 server."""

from __future__ import annotations

from typing import Final

from kontend.serve.http.hpack import Field
from kontend.serve.http.request_parser import HTTP2, Incoming, mistake

#: Headers of HTTP/1.1 about the connection, which have no place in HTTP/2.
_CONNECTION_HEADERS: Final = frozenset({
    "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade",
})  # fmt: skip
_PSEUDO_HEADERS: Final = frozenset({":method", ":path", ":scheme", ":authority"})
_TOKEN: Final = frozenset("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz")
_CONTROLS: Final = frozenset("\r\n\0")
#: Names that have passed the check.
_GOOD_NAMES: Final[set[str]] = set()
_MOST_NAMES: Final = 1000


class Malformed(ValueError):
    """Header fields that are no request: the stream is reset."""


class Refused(Exception):
    """A request that is answered without the application."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


def incoming(fields: list[Field]) -> Incoming:
    """Return the request with these fields, without its body. Raises :class:`Malformed` or :class:`Refused`."""
    pseudo: dict[str, str] = {}
    headers: dict[str, str] = {}
    repeated: dict[str, list[str]] = {}
    for name, value in fields:
        if name in _PSEUDO_HEADERS:
            if headers or name in pseudo:
                raise Malformed(name)
            pseudo[name] = value
            continue
        if name not in _GOOD_NAMES:
            _check_name(name)
        if not value.isprintable() and not _CONTROLS.isdisjoint(value):
            raise Malformed(name)
        if name in headers:
            repeated.setdefault(name, [headers[name]]).append(value)
        else:
            headers[name] = value
    method, path = pseudo.get(":method", ""), pseudo.get(":path", "")
    if method == "CONNECT":
        raise Refused(405)
    if not method or pseudo.get(":scheme") not in ("http", "https") or not (path.startswith("/") or path == "*"):
        raise Malformed("pseudo-headers")
    if not _CONNECTION_HEADERS.isdisjoint(headers) or headers.get("te", "trailers") != "trailers":
        raise Refused(400)
    if ":authority" in pseudo:
        headers["host"] = pseudo[":authority"]
        repeated.pop("host", None)
    request = Incoming(method, path.encode("latin-1"), headers, b"", HTTP2, True, repeated)
    if mistake(request) is not None:
        raise Malformed(path)
    return request


def declared_length(request: Incoming) -> int | None:
    """Return the length of the body that a request announces. Raises :class:`Malformed`."""
    text = request.headers.get("content-length")
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 20) or "content-length" in request.repeated:
        raise Malformed("content-length")
    return int(text)


def _check_name(name: str) -> None:
    if not name or not _TOKEN.issuperset(name):
        raise Malformed(name)
    if len(_GOOD_NAMES) < _MOST_NAMES and len(name) < 64:
        _GOOD_NAMES.add(name)
