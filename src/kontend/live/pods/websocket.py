"""WebSocket, as far as kubelets speak it: messages whose first byte is the number of a channel.

Clients in other languages than Go use it for exec and port-forward, and client-go does since 1.31 where it is asked to.
A message may come in several frames; those of the server are one frame each.
"""

from __future__ import annotations

from typing import Final

from kontend.live.pods.channels import DATA, ERROR, RESIZE, STDERR, STDIN, STDOUT, BadUpgrade, Session, Upgraded
from kontend.serve.http.connection import Connection
from kontend.serve.http.websocket_frames import (
    BINARY,
    CLOSE,
    CONTINUED,
    PING,
    PONG,
    TEXT,
    BadFrame,
    Frame,
    head,
    take_frame,
)

#: The versions that are spoken, the best first; the fifth can end a channel.
VERSIONS: Final = ("v5.channel.k8s.io", "v4.channel.k8s.io", "v3.channel.k8s.io", "v2.channel.k8s.io", "channel.k8s.io")
#: The channels of a command by number.
COMMAND: Final = (STDIN, STDOUT, STDERR, ERROR, RESIZE)
#: In version 5: the byte after it is the number of a channel that has ended.
_CLOSE_CHANNEL: Final = 255


class Lane:
    """A numbered channel."""

    def __init__(self, connection: WebSocket, number: int) -> None:
        self._connection = connection
        self._number = number

    def send(self, data: bytes) -> None:
        """Send some bytes."""
        self._connection.send_frame(BINARY, bytes([self._number]) + data)

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
        try:
            while (frame := take_frame(self._buffer)) is not None:
                self._read_frame(frame)
        except BadFrame:
            raise BadUpgrade("a frame of a client needs a mask") from None

    def _read_frame(self, frame: Frame) -> None:
        if frame.kind in (CONTINUED, TEXT, BINARY):
            self._message += frame.content
            if frame.is_last:
                message, self._message = bytes(self._message), bytearray()
                self._take(message)
        elif frame.kind == PING:
            self.send_frame(PONG, frame.content)
        elif frame.kind == CLOSE:
            self.send_frame(CLOSE, frame.content)
            super().close()
        elif frame.kind != PONG:
            raise BadUpgrade(f"there is no frame {frame.kind}")

    def _take(self, message: bytes) -> None:
        if not message:
            return
        if message[0] == _CLOSE_CHANNEL:
            if len(message) > 1 and message[1] < len(self._lanes):
                self.session.ended(self._lanes[message[1]])
        elif message[0] < len(self._lanes) and len(message) > 1:
            self.session.received(self._lanes[message[0]], message[1:])

    def send_frame(self, kind: int, data: bytes) -> None:
        """Send a message in one frame."""
        self.write(head(kind, len(data)) + data)

    def close(self) -> None:
        """Say goodbye, and hang up when everything has been sent."""
        self.send_frame(CLOSE, (1000).to_bytes(2))
        super().close()
