"""One request on its way through the server: its client, its parameters, and the encoding of its answer."""

from __future__ import annotations

import itertools
import os
import time
import zlib
from collections.abc import Iterator, Mapping
from functools import lru_cache
from hashlib import sha512
from typing import Any, Final
from urllib.parse import unquote, unquote_plus

from kontend.cluster.request import BODY_LIMIT, JSON, ApiRequest
from kontend.cluster.users import User
from kontend.cluster.wire.discovery import AGGREGATED
from kontend.cluster.wire.response import ApiResponse
from kontend.kube.errors import BadRequest
from kontend.serve.credentials.identity import NOBODY, ClientInfo
from kontend.serve.http.connection import Connection
from kontend.serve.http.media import (
    GZIP_THRESHOLD,
    NO_CACHE,
    NO_CONTENT,
    TEXT_TYPE,
    Document,
    answer_type,
    compress,
    compress_once,
    encode,
    head,
    wants_pretty,
)
from kontend.serve.http.request_parser import HTTP2, Incoming
from kontend.serve.http2.stream import Stream
from kontend.serve.requests.list_pieces import pieces

#: The sender of a request, for its answer.
Client = Connection | Stream
#: The head and the body of an answer, as the client's protocol has them.
Answer = tuple[bytes, bytes]

_PROTOBUF: Final = "application/vnd.kubernetes.protobuf"
#: Bytes of a request target up to which it is remembered.
_SHORT_TARGET: Final = 512
_READING: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_serials: Final = itertools.count(1)
_RUN: Final = os.urandom(6).hex()


class Exchange:
    """A request and its answer."""

    __slots__ = (
        "_request",
        "_user",
        "answered_at",
        "audit_id",
        "connection",
        "incoming",
        "path",
        "query",
        "reads",
        "received_at",
        "target",
    )

    def __init__(self, incoming: Incoming, connection: Client) -> None:
        self.incoming = incoming
        self.connection = connection
        self.received_at = time.time()
        self.answered_at = 0.0
        target = incoming.target
        self.target, self.path, self.query = (_known_target if len(target) < _SHORT_TARGET else _target)(target)
        #: Identifies the request in the audit log and in the answer.
        self.audit_id = incoming.headers.get("audit-id") or _new_audit_id()
        #: The request cannot change anything.
        self.reads = incoming.method in _READING
        self._user = NOBODY
        self._request: ApiRequest | None = None

    @property
    def client(self) -> ClientInfo:
        """The client that sent the request."""
        agent = self.incoming.headers.get("user-agent", "")
        return ClientInfo(self._user, agent, self.connection.address, self.connection.number)

    @property
    def request(self) -> ApiRequest:
        """The request for the API server; nobody's, without its body, until its user is known."""
        if self._request is None:
            self._request = ApiRequest(self.incoming.method, self.path, self.query)
        return self._request

    @request.setter
    def request(self, request: ApiRequest) -> None:
        self._request = request

    def understand(self, user: User, impersonated: User | None = None) -> None:
        """Make the request for the API server, in the name of ``impersonated`` if given.

        Raises an ApiError for a body that cannot be unpacked.
        """
        incoming, headers = self.incoming, self.incoming.headers
        self._user = user
        self._request = ApiRequest(
            incoming.method,
            self.path,
            self.query,
            _unpacked(incoming.body, headers.get("content-encoding", "")) if incoming.body else b"",
            content_type=headers.get("content-type", "") or JSON,
            accept=headers.get("accept", ""),
            user_agent=headers.get("user-agent", ""),
            user=user if impersonated is None else impersonated,
        )

    @property
    def is_protobuf(self) -> bool:
        """Returns whether the body is protobuf."""
        return self.request.content_type.startswith(_PROTOBUF)

    # Answering

    @property
    def takes_pieces(self) -> bool:
        """Returns whether the answer may come in pieces of JSON."""
        incoming = self.incoming
        framed = incoming.version in ("1.1", HTTP2) and incoming.method == "GET"
        return framed and answer_type(incoming.headers.get("accept", "")) == JSON

    def pieces(self, response: ApiResponse) -> tuple[bytes, Iterator[bytes]]:
        """Return the head and the pieces of a long list."""
        headers = self.incoming.headers
        pretty = wants_pretty(self.request.first("pretty") if self.query else "", headers.get("user-agent", ""))
        compressed = "gzip" in headers.get("accept-encoding", "")
        extra = "Content-Encoding: gzip\r\nVary: Accept-Encoding\r\n" if compressed else ""
        return self.stream_head(response, extra), pieces(response.body, pretty=pretty, compressed=compressed)

    def encoded(self, response: ApiResponse) -> Answer:
        """Return the bytes of a whole answer."""
        incoming, content = self.incoming, response.body
        headers = incoming.headers
        extra = ""
        if isinstance(content, str):
            media_type, body = TEXT_TYPE, content.encode()
        elif isinstance(content, Document):
            return self._encoded_document(content, response.code)
        else:
            media_type = answer_type(headers.get("accept", ""))
            pretty = wants_pretty(self.request.first("pretty") if self.query else "", headers.get("user-agent", ""))
            body = b"" if response.code == NO_CONTENT else encode(content, media_type, pretty=pretty)
            if response.code >= 429:
                extra = _retry_after(response)
            if response.content_type == AGGREGATED:
                document = Document(body, response.content_type, sha512(body).hexdigest().upper())
                return self._encoded_document(document, response.code, cache="public")
        if len(body) >= GZIP_THRESHOLD and "gzip" in headers.get("accept-encoding", ""):
            body = compress(body)
            extra += "Content-Encoding: gzip\r\nVary: Accept-Encoding\r\n"
        start = head(
            response.code,
            self.audit_id,
            response.content_type or media_type,
            length=len(body),
            warnings=response.warnings,
            keep_alive=incoming.keep_alive,
            extra=extra,
            http2=incoming.version == HTTP2,
        )
        return start, b"" if incoming.method == "HEAD" else body

    def _encoded_document(self, document: Document, code: int, *, cache: str = NO_CACHE) -> Answer:
        """Return an answer that was ready, and that the client may keep."""
        incoming, etag = self.incoming, f'"{document.etag}"'
        body, extra = document.body, "Vary: Accept-Encoding\r\nVary: Accept\r\n"
        if document.etag:
            extra += f"ETag: {etag}\r\n"
            if etag in incoming.headers.get("if-none-match", ""):
                body, code = b"", 304
        if len(body) >= GZIP_THRESHOLD and "gzip" in incoming.headers.get("accept-encoding", ""):
            body = compress_once(body)
            extra += "Content-Encoding: gzip\r\n"
        start = head(
            code,
            self.audit_id,
            document.media_type or TEXT_TYPE,
            length=len(body),
            cache=cache,
            keep_alive=incoming.keep_alive,
            extra=extra,
            http2=incoming.version == HTTP2,
        )
        return start, b"" if incoming.method == "HEAD" else body

    def send(self, answer: Answer) -> None:
        """Send a whole answer."""
        self.connection.respond(*answer, keep_alive=self.incoming.keep_alive)

    def stream_head(self, response: ApiResponse, extra: str = "") -> bytes:
        """Return the head of an answer whose length is not known."""
        return head(
            response.code,
            self.audit_id,
            JSON,
            length=None,
            warnings=response.warnings,
            keep_alive=self.incoming.keep_alive,
            extra=extra,
            http2=self.incoming.version == HTTP2,
        )


def _retry_after(response: ApiResponse) -> str:
    if not isinstance(response.body, dict):
        return ""
    details: dict[str, Any] = response.body.get("details") or {}
    seconds = details.get("retryAfterSeconds")
    return f"Retry-After: {seconds}\r\n" if seconds else ""


def _new_audit_id() -> str:
    """Unique without the cost of a random number each: one number a process, and a count."""
    serial = next(_serials) & 0xFFFFFFFFFFFFFFF
    return f"{_audit_prefix(serial >> 12)}{serial & 0xFFF:03x}-8000-{_RUN}"


@lru_cache(maxsize=2)
def _audit_prefix(number: int) -> str:
    return f"{number >> 16:08x}-{number & 0xFFFF:04x}-4"


def _target(raw: bytes) -> tuple[str, str, Mapping[str, tuple[str, ...]]]:
    """Return the text of a request target, its path and its query parameters."""
    text = raw.decode("utf-8", "replace")
    return text, *_parse_target(text)


#: The same for those that are short, most of which come again.
_known_target: Final = lru_cache(maxsize=4096)(_target)


def _parse_target(target: str) -> tuple[str, dict[str, tuple[str, ...]]]:
    """Path and query parameters of a request target.

    >>> _parse_target("/api/v1/pods?labelSelector=a%3Db&watch=1&bad=%zz;x")
    ('/api/v1/pods', {'labelSelector': ('a=b',), 'watch': ('1',)})
    """
    path, _, query = target.partition("?")
    if not path.startswith("/"):  # a client may send the whole URL, as if to a proxy
        rest = path.partition("://")[2]
        path = "/" + rest.partition("/")[2]
    if "%" in path:
        # The server splits the path when it is unescaped; what is left must not be unescaped again.
        path = unquote(path).replace("%", "%25")
    if not query:
        return path, {}
    parameters: dict[str, list[str]] = {}
    for pair in query.split("&"):
        name, _, value = pair.partition("=")
        # Go leaves out what it cannot unescape, and pairs with a semicolon.
        if name and ";" not in pair and _well_escaped(pair):
            parameters.setdefault(unquote_plus(name), []).append(unquote_plus(value))
    return path, {name: tuple(values) for name, values in parameters.items()}


_HEX: Final = frozenset("0123456789abcdefABCDEF")


def _well_escaped(text: str) -> bool:
    if "%" not in text:
        return True
    return all(len(part) >= 2 and part[0] in _HEX and part[1] in _HEX for part in text.split("%")[1:])


def _unpacked(body: bytes, encoding: str) -> bytes:
    """Return a request body without its content encoding, at most one byte more than is allowed."""
    if encoding != "gzip":  # kube-apiserver looks at none of them, and gzip is all that clients may hope for
        return body
    try:
        unpacker = zlib.decompressobj(wbits=31)
        unpacked = unpacker.decompress(body, BODY_LIMIT + 1)
    except zlib.error as error:
        raise BadRequest(f"the body is not gzip: {error}") from None
    if not unpacker.eof and len(unpacked) <= BODY_LIMIT:
        raise BadRequest("the body is not gzip: it ends too early")
    return unpacked
