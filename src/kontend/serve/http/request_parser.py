"""HTTP/1.1 requests out of bytes, with the limits of Go's HTTP server.

httptools (llhttp) does the syntax. This module collects a request from its callbacks, and refuses what Go refuses:
heads beyond a megabyte, chunked bodies that are mostly framing, long trailers, two ``Host`` headers. A body beyond the
limit is cut off there and handed on, so that the application can refuse it in its own words; the rest is dropped.

An ``Upgrade`` is ignored, as HTTP allows. llhttp stops after the head of such a request, so the body is read by a
second parser that starts from the framing headers alone.

Chosen by measuring: on one core a protocol on httptools answered 18,700 trivial requests a second, uvicorn 8,000 and
aiohttp 6,000. uvloop added a tenth, which is not worth a dependency that some platforms cannot have.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import httptools

from kontend.cluster.request import BODY_LIMIT
from kontend.kube.golang.strconv import whole_number

#: The version of requests that come as streams of HTTP/2.
HTTP2: Final = "2"
#: Go's limit for the request line and all headers together.
HEADER_LIMIT: Final = 1 << 20
HEADER_SLOP: Final = 4096
#: Bytes of a body that are kept before the head has been looked at.
SMALL_BODY: Final = 16 * 1024
#: Headers in one request. Go has no such limit; each costs a callback.
HEADER_COUNT: Final = 1000
#: Go's limit for the trailer, and for bytes of a chunked body that are neither data nor the 16 that a chunk needs.
TRAILER_LIMIT: Final = 4096
FRAMING_LIMIT: Final = 16 * 1024
_CHUNK_FRAMING: Final = 16
_ESCAPES: Final = re.compile(rb"(?:[^%]|%[0-9a-fA-F]{2})*")
#: The headers that say where a body ends and whether the connection stays open.
_FRAMING: Final = ("content-length", "transfer-encoding", "connection")


class BadMessage(Exception):
    """Bytes that are not a request that Go's HTTP server would take: a status code, and text to follow the reason."""

    def __init__(self, code: int, detail: str = "") -> None:
        super().__init__(code, detail)
        self.code = code
        self.detail = detail


@dataclass(slots=True)
class Incoming:
    """A request as it came over the wire: header names in lower case, the body as sent."""

    method: str
    target: bytes
    #: The first value of each header, which is the one that Go looks at.
    headers: dict[str, str]
    body: bytes
    version: str
    keep_alive: bool
    #: All values of the headers that were sent more than once.
    repeated: dict[str, list[str]] = field(default_factory=dict)
    #: When its last byte arrived, on the clock of the event loop.
    received: float = 0.0

    def values(self, name: str) -> tuple[str, ...]:
        """Return all values of a header, in the order they were sent."""
        if name in self.repeated:
            return tuple(self.repeated[name])
        return (self.headers[name],) if name in self.headers else ()


class RequestParser:
    """Turns the bytes of one connection into requests."""

    __slots__ = (
        "_begun",
        "_body",
        "_continue",
        "_count",
        "_extra",
        "_framing",
        "_head",
        "_headers",
        "_http",
        "_in_head",
        "_large",
        "_repeated",
        "_replaying",
        "_request",
        "_size",
        "_trailer",
        "_upgrading",
        "_url",
        "cut",
        "reading",
    )

    def __init__(
        self,
        on_request: Callable[[Incoming], None],
        on_continue: Callable[[], None],
        on_large: Callable[[Incoming], bool] = lambda _: True,
    ) -> None:
        """``on_large`` decides by its head about a request with a large body: a refused body is not kept."""
        self._http = httptools.HttpRequestParser(self)
        self._request = on_request
        self._continue = on_continue
        self._large = on_large
        self._begun = 0
        self._replaying = False
        self._reset()

    def _reset(self) -> None:
        self._url = b""
        self._headers: dict[str, str] = {}
        self._repeated: dict[str, list[str]] = {}
        self._count = 0
        self._body = bytearray()
        self._head = self._size = self._trailer = self._framing = 0
        self._upgrading = False
        self._in_head = False
        #: In the middle of a request.
        self.reading = False
        #: The body was longer than the limit and has been cut off.
        self.cut = False

    def feed(self, data: bytes) -> None:
        """Read some bytes: perhaps half a request, perhaps several. Raises :class:`BadMessage`."""
        while data:
            begun, size, body = self._begun, len(data), len(self._body)
            if self._in_head or not self.reading:
                self._head += size
            try:
                self._http.feed_data(data)
                data = b""
            except httptools.HttpParserUpgrade as upgrade:
                data = data[upgrade.args[0] :] if upgrade.args else b""
                self._ignore_upgrade()
            except httptools.HttpParserCallbackError as error:
                cause = error.__context__
                raise cause if isinstance(cause, BadMessage) else BadMessage(400) from None
            except httptools.HttpParserError:
                raise BadMessage(400) from None
            if self._in_head and self._head > HEADER_LIMIT:
                raise BadMessage(431)
            if self.reading and not self._in_head and not self.cut and begun == self._begun:
                self._framing += size - (len(self._body) - body)
                if self._framing > FRAMING_LIMIT + 2 * len(self._body):
                    raise BadMessage(400)

    def _ignore_upgrade(self) -> None:
        """Goes on with the body of a request that asked for an upgrade."""
        method, version = self._http.get_method().decode("ascii"), self._http.get_http_version()
        if method == "CONNECT":
            raise BadMessage(405)
        self._http = httptools.HttpRequestParser(self)
        framing = "".join(f"{name}: {self._headers[name]}\r\n" for name in _FRAMING if name in self._headers)
        self._replaying, self._upgrading = True, False
        self._http.feed_data(f"{method} / HTTP/{version}\r\n{framing}\r\n".encode("latin-1"))

    def close(self) -> None:
        """Lets go of the syntax parser, which refers to this object: without it both are freed at once."""
        del self._http

    # Callbacks of httptools

    def on_message_begin(self) -> None:
        """Begins a request."""
        if self._replaying:
            return
        self._reset()
        self._begun += 1
        self._in_head = self.reading = True

    def on_url(self, url: bytes) -> None:
        """Take a piece of the request target."""
        if not self._replaying:
            self._url += url
            self._size += len(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take one header, or one line of the trailer, which nothing reads."""
        if self._replaying:
            return
        if not self._in_head:
            self._trailer += len(name) + len(value) + 4
            if self._trailer > TRAILER_LIMIT:
                raise BadMessage(400)
            return
        self._count += 1
        self._size += len(name) + len(value) + 4
        if self._count > HEADER_COUNT:
            raise BadMessage(431)
        key, text = _HEADER_NAMES.get(name) or _header_name(name), value.decode("latin-1")
        if key in self._headers:
            self._repeated.setdefault(key, [self._headers[key]]).append(text)
        else:
            self._headers[key] = text

    def on_headers_complete(self) -> None:
        """Begins the body, if there is one."""
        self._in_head = False
        if self._replaying:
            self._replaying = False
            return
        if self._size > HEADER_LIMIT + HEADER_SLOP:
            raise BadMessage(431)
        self._upgrading = self._http.should_upgrade()
        if self._is_large() and not self._large(self._incoming(b"", keep_alive=False)):
            self.cut = True
            self._complete(keep_alive=False)
        elif self._headers.get("expect", "").lower() == "100-continue":
            self._continue()

    def _is_large(self) -> bool:
        """Return whether a body follows that is not known to be small."""
        length = self._headers.get("content-length", "")
        return "transfer-encoding" in self._headers or (length.isdigit() and whole_number(length) > SMALL_BODY)

    def on_chunk_header(self) -> None:
        """Begins a chunk."""
        self._framing -= _CHUNK_FRAMING

    def on_body(self, data: bytes) -> None:
        """Take a piece of the body."""
        if self.cut:
            return
        self._body += data
        if len(self._body) > BODY_LIMIT:
            # One byte too many is enough to be refused; the rest is not kept.
            self.cut = True
            self._complete(keep_alive=False)

    def on_message_complete(self) -> None:
        """End the request."""
        if not self.cut and not self._upgrading:
            self._complete(keep_alive=self._http.should_keep_alive())

    def _complete(self, *, keep_alive: bool) -> None:
        body = b""
        if self._body:
            body = bytes(self._body if len(self._body) <= BODY_LIMIT else self._body[: BODY_LIMIT + 1])
            self._body = bytearray()
        self.reading = False
        self._request(self._incoming(body, keep_alive=keep_alive))

    def _incoming(self, body: bytes, *, keep_alive: bool) -> Incoming:
        version = self._http.get_http_version()
        method = self._http.get_method().decode("ascii")
        keep_alive = keep_alive and version == "1.1"
        return Incoming(method, self._url, self._headers, body, version, keep_alive, self._repeated)

    @property
    def buffered(self) -> int:
        """Bytes of a body that is not complete."""
        return len(self._body)


#: Names of headers as they are sent, and in lower case.
_HEADER_NAMES: Final[dict[bytes, str]] = {}
_MOST_NAMES: Final = 1000


def _header_name(raw: bytes) -> str:
    name = raw.decode("latin-1").lower()
    if len(_HEADER_NAMES) < _MOST_NAMES and len(raw) < 64:
        _HEADER_NAMES[raw] = name
    return name


def mistake(incoming: Incoming) -> str | None:
    """Return the complaint of Go's HTTP server about a request whose syntax is right, or None."""
    if incoming.version == "0.9":
        return ""
    if incoming.version == "1.1" and "host" not in incoming.headers:
        return ": missing required Host header"
    if "host" in incoming.repeated:
        return ": too many Host headers"
    if b"%" in incoming.target and not _ESCAPES.fullmatch(incoming.target.partition(b"?")[0]):
        return ""
    return None
