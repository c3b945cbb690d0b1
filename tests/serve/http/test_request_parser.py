"""Requests out of bytes."""

from __future__ import annotations

import time

import pytest

from kontend.cluster.request import BODY_LIMIT
from kontend.serve.http.request_parser import HEADER_COUNT, BadMessage, Incoming, RequestParser

CHUNKED = b"POST /x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"


def parse(*pieces: bytes) -> list[Incoming]:
    """The requests in some bytes."""
    requests: list[Incoming] = []
    parser = RequestParser(requests.append, lambda: None)
    for piece in pieces:
        parser.feed(piece)
    return requests


def test_a_trailer_is_not_a_header() -> None:
    """It must not say who sends the request."""
    (request,) = parse(CHUNKED + b"2\r\nab\r\n0\r\nAuthorization: Bearer s\r\nHost: y\r\n\r\n")
    assert request.headers == {"host": "x", "transfer-encoding": "chunked"}
    assert request.repeated == {}
    assert request.body == b"ab"


def test_the_first_of_repeated_headers_counts_and_all_are_kept() -> None:
    """As in Go."""
    (request,) = parse(b"GET / HTTP/1.1\r\nHost: x\r\nA: 1\r\nB: 2\r\nA: 3\r\na: 1\r\n\r\n")
    assert request.headers == {"host": "x", "a": "1", "b": "2"}
    assert request.repeated == {"a": ["1", "3", "1"]}


@pytest.mark.parametrize("line", [b"a:\r\n", b"a%d: b\r\n", b"x"])
def test_long_trailers_are_refused_at_once(line: bytes) -> None:
    """In time that does not depend on how long they are."""
    pieces = (b"".join(line.replace(b"%d", b"%d" % number) for number in range(10_000)) for _ in range(100))
    started = time.process_time()
    with pytest.raises(BadMessage) as refused:
        parse(CHUNKED + b"0\r\n", *pieces)
    assert refused.value.code == 400
    assert time.process_time() - started < 5


def test_a_body_that_is_mostly_framing_is_refused() -> None:
    """Chunk extensions have no end otherwise."""
    with pytest.raises(BadMessage):
        parse(CHUNKED, *[b"1;" + b"x" * 5000 + b"\r\na\r\n"] * 10)
    (request,) = parse(CHUNKED, *[b"1\r\na\r\n" * 10_000] * 5, b"0\r\n\r\n")
    assert request.body == b"a" * 50_000


def test_many_headers_are_refused() -> None:
    """Each of them costs time."""
    head = b"GET / HTTP/1.1\r\nHost: x\r\n" + b"a:\r\n" * (HEADER_COUNT - 1)
    assert len(parse(head + b"\r\n")) == 1
    with pytest.raises(BadMessage) as refused:
        parse(head + b"a:\r\n" * 200_000)
    assert refused.value.code == 431


def test_a_body_beyond_the_limit_is_cut_off() -> None:
    """The application refuses it."""
    head = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % (BODY_LIMIT * 2)
    (request,) = parse(head, *[b"x" * 100_000] * 60)
    assert len(request.body) == BODY_LIMIT + 1
    assert not request.keep_alive


def test_an_upgrade_in_pieces_is_ignored() -> None:
    """The body and the next request may come whenever they like."""
    upgrade = b"Connection: Upgrade\r\nUpgrade: h2c\r\n"
    sent = (
        b"POST /a HTTP/1.1\r\nHost: x\r\n" + upgrade + b"Content-Length: 3\r\n\r\nabcGET /b HTTP/1.1\r\nHost: y\r\n\r\n"
    )
    for size in range(1, len(sent)):
        first, second = parse(*[sent[at : at + size] for at in range(0, len(sent), size)])
        assert (first.method, first.target, first.body, first.headers["host"]) == ("POST", b"/a", b"abc", "x")
        assert (second.method, second.target, second.body, second.headers) == ("GET", b"/b", b"", {"host": "y"})
        assert first.keep_alive
