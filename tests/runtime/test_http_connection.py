"""HTTP/1.1, in whatever pieces it arrives."""

from __future__ import annotations

import asyncio
import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kontend.runtime.client.connection import BrokenOff, Connection, NotConnected, Pool, Response

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-A: 1\r\n\r\n5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n"
SIZED = b"HTTP/1.1 404 Not Found\r\nContent-Length: 11\r\n\r\nhello world"
INTERIM = b"HTTP/1.1 100 Continue\r\n\r\n" + SIZED


class Line(asyncio.Transport):
    """The server's end of a connection, played by a test."""

    def __init__(self) -> None:
        super().__init__()
        self.sent = b""
        self.ended = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.sent += bytes(data)

    def abort(self) -> None:
        self.ended = True

    def is_closing(self) -> bool:
        return self.ended


def receive(pieces: list[bytes], *, then: Exception | str | None = "open") -> tuple[Response, Connection]:
    """The answer that is made of these pieces, after which the connection stays open or ends."""

    async def run() -> tuple[Response, Connection]:
        connection = Connection()
        connection.connection_made(Line())
        connection.send(b"GET / HTTP/1.1\r\n\r\n")
        waiting = asyncio.ensure_future(connection.answer())
        for piece in pieces:
            connection.data_received(piece)
            await asyncio.sleep(0)
        if not isinstance(then, str):
            connection.connection_lost(then)
        return await asyncio.wait_for(waiting, 5), connection

    return asyncio.run(run())


@settings(derandomize=True, deadline=None, max_examples=60)
@given(st.sampled_from([CHUNKED, SIZED, INTERIM]), st.lists(st.integers(1, 100), max_size=6))
def test_an_answer_is_the_same_in_whatever_pieces_it_comes(whole: bytes, cuts: list[int]) -> None:
    places = sorted({min(cut, len(whole)) for cut in cuts} | {0, len(whole)})
    response, connection = receive([whole[a:b] for a, b in itertools.pairwise(places)])
    assert response.body == b"hello world"
    assert response.status == (200 if whole is CHUNKED else 404)
    assert connection.finished


def test_a_body_without_a_length_ends_with_the_connection() -> None:
    response, connection = receive([b"HTTP/1.1 200 OK\r\n\r\nhello"], then=None)
    assert response.body == b"hello"
    assert not connection.finished


@pytest.mark.parametrize(
    "pieces", [[], [b"HTTP/1.1 200 OK\r\n"], [SIZED[:-3]], [CHUNKED[:-5]], [b"\x16\x03\x01 not http\r\n\r\n"]]
)
def test_half_an_answer_is_none(pieces: list[bytes]) -> None:
    with pytest.raises(BrokenOff):
        receive(pieces, then=None)


def test_an_unsolicited_response_ends_the_connection() -> None:
    connection = Connection()
    line = Line()
    connection.connection_made(line)
    connection.data_received(b"HTTP/1.1 408 Request Timeout\r\n\r\n")
    assert line.ended
    assert not connection.usable


def test_a_host_that_is_not_there_is_not_connected() -> None:
    with pytest.raises(NotConnected):
        asyncio.run(Pool("http://127.0.0.1:9").request("GET", "/", {}, {}, b"", patience=1))
