"""A client that speaks frames, to a server that runs without sockets."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from kontend import Cluster
from kontend.cluster.state import State
from kontend.serve.http import hpack
from kontend.serve.http2 import frames
from kontend.serve.http2.connection import Http2Connection
from kontend.serve.http2.frames import Frame, FrameReader
from kontend.serve.server import Server

GET = {":method": "GET", ":scheme": "https", ":authority": "localhost"}


def block(fields: Mapping[str, str]) -> bytes:
    """Header fields as bytes, none of which is remembered."""
    encoded = b""
    for name, value in fields.items():
        for text in (b"\x00", name.encode("latin-1")), (b"", value.encode("latin-1")):
            encoded += text[0] + hpack._encoded_integer(len(text[1]), 0x7F) + text[1]
    return encoded


class Peer(asyncio.Transport):
    """The client, and the transport that the server writes to."""

    def __init__(self, state: State | None = None, *, greet: bool = True, server: Server | None = None) -> None:
        super().__init__()
        self.server = server or Server(Cluster().state if state is None else state)
        self.connection = Http2Connection(self.server)
        self.frames: list[Frame] = []
        self.closed = self.aborted = False
        self.reading = True
        self.unwritten = 0
        self._reader = FrameReader()
        self._decoder = hpack.Decoder()
        self._next = 1
        self.connection.connection_made(self)
        if greet:
            self.send(frames.PREFACE + frames.settings({}))

    # The transport

    def write(self, data: Any) -> None:
        """Takes what the server sends."""
        assert not self.closed
        self._reader.feed(bytes(data))
        while (received := self._reader.next()) is not None:
            self.frames.append(received)

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """Nothing but addresses."""
        return {"peername": ("127.0.0.1", 40000), "sockname": ("127.0.0.1", 443)}.get(name, default)

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Has no buffer."""

    def get_write_buffer_size(self) -> int:
        """As much as a test says."""
        return self.unwritten

    def is_reading(self) -> bool:
        """The server takes more bytes."""
        return self.reading

    def pause_reading(self) -> None:
        """Stops."""
        self.reading = False

    def resume_reading(self) -> None:
        """Goes on."""
        self.reading = True

    def is_closing(self) -> bool:
        """The server has hung up."""
        return self.closed

    def close(self) -> None:
        """Hangs up."""
        if not self.closed:
            self.closed = True
            self.connection.connection_lost(None)

    def abort(self) -> None:
        """Hangs up at once."""
        self.aborted = True
        self.close()

    # The client

    def send(self, data: bytes) -> None:
        """Sends bytes, if the server is still there."""
        if not self.closed:
            self.connection.data_received(data)

    def ask(self, path: str, *, body: bytes | None = None, end: bool = True, **fields: str) -> int:
        """Begins a request; returns the number of its stream."""
        number, self._next = self._next, self._next + 2
        named = {
            f":{name}" if name in ("method", "scheme") else name.replace("_", "-"): v for name, v in fields.items()
        }
        whole = {**GET, ":path": path, **named}
        self.send(frames.headers(number, block(whole), end=end and body is None))
        if body is not None:
            self.data(number, body, end=end)
        return number

    def data(self, number: int, body: bytes, *, end: bool = True) -> None:
        """Sends a body."""
        for start in range(0, len(body) or 1, frames.FRAME_SIZE):
            piece = body[start : start + frames.FRAME_SIZE]
            last = end and start + len(piece) == len(body)
            self.send(frames.frame(frames.DATA, frames.END_STREAM if last else 0, number, piece))

    def of(self, number: int, kind: int) -> list[Frame]:
        """The frames of a stream."""
        return [frame for frame in self.frames if frame.stream == number and frame.type == kind]

    def status(self, number: int) -> int:
        """The status code of an answer, or 0."""
        heads = self.of(number, frames.HEADERS)
        return int(self.fields(heads[-1].payload)[":status"]) if heads else 0

    def fields(self, data: bytes) -> dict[str, str]:
        """The fields of a header block."""
        return dict(self._decoder.decode(data, octets=1 << 20, count=1000))

    def body(self, number: int) -> bytes:
        """The body of an answer so far."""
        return b"".join(frame.payload for frame in self.of(number, frames.DATA))

    def ended(self, number: int) -> bool:
        """An answer is complete."""
        sent = self.of(number, frames.DATA) or self.of(number, frames.HEADERS)
        return bool(sent and sent[-1].flags & frames.END_STREAM)

    def resets(self, number: int) -> list[int]:
        """The codes with which the server has reset a stream."""
        return [frames.number(frame.payload) for frame in self.of(number, frames.RST_STREAM)]

    @property
    def farewell(self) -> int | None:
        """The code with which the server has ended the connection."""
        farewells = self.of(0, frames.GOAWAY)
        return int.from_bytes(farewells[-1].payload[4:8], "big") if farewells else None
