"""WebSocket, as far as kubelets speak it: messages whose first byte is the number of a channel.

Clients in other languages than Go use it for exec and port-forward, and client-go does since 1.31 where it is asked to.
A message may come in several frames; those of the server are one frame each.
"""

from __future__ import annotations

import hashlib
from base64 import b64encode
from typing import Final

from kontend.live.pods.channels import DATA, ERROR, RESIZE, STDERR, STDIN, STDOUT, BadUpgrade, Session, Upgraded
from kontend.serve.http.connection import Connection

#: The versions that are spoken, the best first; the fifth can end a channel.
VERSIONS: Final = ("v5.channel.k8s.io", "v4.channel.k8s.io", "v3.channel.k8s.io", "v2.channel.k8s.io", "channel.k8s.io")
_GUID: Final = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
#: The channels of a command by number.
COMMAND: Final = (STDIN, STDOUT, STDERR, ERROR, RESIZE)
#: In version 5: the byte after it is the number of a channel that has ended.
_CLOSE_CHANNEL: Final = 255
_CONTINUED, _TEXT, _BINARY, _CLOSE, _PING, _PONG = 0, 1, 2, 8, 9, 10
_LAST: Final = 0x80
_MASKED: Final = 0x80


class Lane:
    """A numbered channel."""

    def __init__(self, connection: WebSocket, number: int) -> None:
        self._connection = connection
        self._number = number

    def send(self, data: bytes) -> None:
        """Send some bytes."""
        self._connection.send_frame(_BINARY, bytes([self._number]) + data)

    def end(self) -> None:
        """Send no more: only the end of the connection tells that to a client."""


class WebSocket(Upgraded):
    """The server's side of a connection; its channels are open from the beginning."""

    def __init__(self, before: Connection, session: Session, names: tuple[str, ...], ports: tuple[int, ...]) -> None:
        """``names`` are those of the channels; with ``ports``, each port has a channel for data and one for errors."""
        super().__init__(before, session)
        self._buffer = bytearray()
        self._message = bytearray()
        self._lanes = [Lane(self, number) for number in range(2 * len(ports) if ports else len(names))]
        self._names = names
        self._ports = ports

    def start(self, head: bytes) -> None:
        """Answer the request, and open all channels."""
        super().start(head)
        for number, lane in enumerate(self._lanes):
            if self._ports:
                port = self._ports[number // 2]
                lane.send(port.to_bytes(2, "little"))
                self.session.opened(ERROR if number % 2 else DATA, lane, {"port": str(port), "requestid": str(port)})
            else:
                self.session.opened(self._names[number], lane, {})

    def read(self, data: bytes) -> None:
        """Read some bytes: perhaps half a frame, perhaps several."""
        self._buffer += data
        while (frame := self._frame()) is not None:
            first, payload = frame
            kind = first & 0x0F
            if kind in (_CONTINUED, _TEXT, _BINARY):
                self._message += payload
                if first & _LAST:
                    message, self._message = bytes(self._message), bytearray()
                    self._take(message)
            elif kind == _PING:
                self.send_frame(_PONG, payload)
            elif kind == _CLOSE:
                self.send_frame(_CLOSE, payload)
                super().close()
            elif kind != _PONG:
                raise BadUpgrade(f"there is no frame {kind}")

    def _take(self, message: bytes) -> None:
        if not message:
            return
        if message[0] == _CLOSE_CHANNEL:
            if len(message) > 1 and message[1] < len(self._lanes):
                self.session.ended(self._lanes[message[1]])
        elif message[0] < len(self._lanes) and len(message) > 1:
            self.session.received(self._lanes[message[0]], message[1:])

    def _frame(self) -> tuple[int, bytes] | None:
        """Return the first byte and the payload of the next frame, if it is complete."""
        buffer = self._buffer
        if len(buffer) < 2:
            return None
        size, at = buffer[1] & 0x7F, 2
        if size >= 126:
            at = 4 if size == 126 else 10
            size = int.from_bytes(buffer[2:at])
        masked = bool(buffer[1] & _MASKED)
        end = at + (4 if masked else 0) + size
        if len(buffer) < end:
            return None
        first, payload = buffer[0], bytes(buffer[end - size : end])
        if masked:
            mask = buffer[at : at + 4]
            payload = bytes(byte ^ mask[index % 4] for index, byte in enumerate(payload))
        del buffer[:end]
        return first, payload

    def send_frame(self, kind: int, data: bytes) -> None:
        """Send a message in one frame."""
        size = len(data)
        if size < 126:
            length = bytes([size])
        else:
            length = b"\x7e" + size.to_bytes(2) if size < 1 << 16 else b"\x7f" + size.to_bytes(8)
        self.write(bytes([_LAST | kind]) + length + data)

    def close(self) -> None:
        """Say goodbye, and hang up when everything has been sent."""
        self.send_frame(_CLOSE, (1000).to_bytes(2))
        super().close()


def head(key: str, version: str) -> bytes:
    """Return the head of the answer to a client's key.

    >>> head("dGhlIHNhbXBsZSBub25jZQ==", "").splitlines()[3]
    b'Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo='
    """
    accepted = b64encode(hashlib.sha1(key.encode("latin-1") + _GUID, usedforsecurity=False).digest()).decode()
    chosen = f"Sec-WebSocket-Protocol: {version}\r\n" if version else ""
    return (
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        f"Sec-WebSocket-Accept: {accepted}\r\n{chosen}\r\n"
    ).encode()
