"""Answers on the wire: JSON or YAML, pretty or not, compressed or not, with the server's usual headers."""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Iterable
from dataclasses import dataclass
from email.utils import formatdate
from functools import lru_cache
from http import HTTPStatus
from typing import Any, Final

import orjson

from kontend.cluster.wire.accept import parse_accept
from kontend.cluster.wire.encoded import to_json
from kontend.serve.http import hpack
from kontend.serve.http.warning_headers import warning_headers
from kontend.serve.http.yaml_text import to_yaml

#: Smaller answers are not worth compressing.
GZIP_THRESHOLD: Final = 128 * 1024
#: Clients that a person uses directly.
_PRETTY_AGENTS: Final = ("curl", "Wget", "Mozilla/5.0")

JSON_TYPE: Final = "application/json"
YAML_TYPE: Final = "application/yaml"
TEXT_TYPE: Final = "text/plain; charset=utf-8"


@lru_cache(maxsize=1024)
def answer_type(accept: str) -> str:
    """Return the media type of an answer: the first one in an ``Accept`` header that can be had.

    >>> answer_type("application/vnd.kubernetes.protobuf, application/json")
    'application/json'
    >>> answer_type("application/yaml, */*;q=0.1")
    'application/yaml'
    """
    for media in parse_accept(accept):
        if media.type == YAML_TYPE:
            return YAML_TYPE
        if media.type in (JSON_TYPE, "*/*", "application/*"):
            return JSON_TYPE
    return JSON_TYPE


def wants_pretty(pretty: str, user_agent: str) -> bool:
    """Return whether an answer is indented: the query asks for it, or a person will read it."""
    if pretty:
        return pretty in ("1", "t", "T", "true", "TRUE", "True")
    return user_agent.startswith(_PRETTY_AGENTS)


def encode(body: Any, media_type: str, *, pretty: bool = False) -> bytes:
    """Return a JSON value as the bytes of an answer."""
    if media_type == YAML_TYPE:
        return to_yaml(body)
    if pretty:
        return _indented(body)
    return to_json(body) + b"\n"


def _indented(body: Any) -> bytes:
    try:
        return orjson.dumps(body, option=orjson.OPT_INDENT_2)
    except TypeError:  # a number that does not fit into 64 bits
        return json.dumps(body, indent=2).encode()


NO_CACHE: Final = "no-cache, private"


@dataclass(frozen=True, slots=True)
class Document:
    """A body that is ready to be sent, and that a client may keep as long as its ``etag`` is the same."""

    body: bytes
    media_type: str
    etag: str = ""


#: The code of an answer without a body.
NO_CONTENT: Final = 204


def compress(body: bytes) -> bytes:
    """Return the body with gzip, fast rather than small."""
    return gzip.compress(body, compresslevel=1, mtime=0)


def head(
    code: int,
    audit_id: str,
    media_type: str,
    *,
    length: int | None,
    warnings: Iterable[str] = (),
    keep_alive: bool = True,
    extra: str = "",
    cache: str = NO_CACHE,
    http2: bool = False,
) -> bytes:
    """Return the status line and the headers, or the header block of HTTP/2; without a length the body is a stream."""
    if warnings:
        extra = "".join(warning_headers(warnings)) + extra
    if not keep_alive:
        extra = f"Connection: close\r\n{extra}"
    usual = _usual_headers(cache, "" if code == NO_CONTENT else media_type, int(time.time()))
    if length is not None and code != NO_CONTENT:
        extra += f"Content-Length: {length}\r\n"
    if http2:
        return hpack.status_field(code) + hpack.encode_once(usual) + hpack.encode(f"Audit-Id: {audit_id}\r\n{extra}")
    if length is None:
        extra += "Transfer-Encoding: chunked\r\n"
    return f"{_status_line(code)}Audit-Id: {audit_id}\r\n{usual}{extra}\r\n".encode()


@lru_cache(maxsize=8)
def compress_once(body: bytes) -> bytes:
    """Return the same for the few large documents that many clients ask for."""
    return compress(body)


@lru_cache(maxsize=128)
def _status_line(code: int) -> str:
    try:
        reason = HTTPStatus(code).phrase
    except ValueError:
        reason = "Unknown"
    return f"HTTP/1.1 {code} {reason}\r\n"


@lru_cache(maxsize=16)
def _usual_headers(cache: str, media_type: str, seconds: int) -> str:
    """Return the headers that are the same for all answers of a type within a second."""
    content_type = f"Content-Type: {media_type}\r\n" if media_type else ""
    sniffing = "X-Content-Type-Options: nosniff\r\n" if media_type == TEXT_TYPE else ""
    return f"Cache-Control: {cache}\r\n{content_type}Date: {formatdate(seconds, usegmt=True)}\r\n{sniffing}"
