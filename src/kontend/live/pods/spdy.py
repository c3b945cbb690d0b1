"""SPDY/3.1, as far as kubelets speak it: the client opens streams, both sides send data, either side ends it.

client-go has used it for exec, attach and port-forward from the beginning. Headers are compressed with zlib, one
stream for a connection and direction, and with the dictionary that the protocol names. There is no flow control: no
client of Kubernetes has any. Header names are those of Go in lower case.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping
from typing import Final

from kontend.live.pods.channels import BadUpgrade, Session, Upgraded
from kontend.serve.http.connection import Connection

PROTOCOL: Final = "SPDY/3.1"
#: The versions of exec and port-forward that are spoken, the best first; each client asks for several.
VERSIONS: Final = (
    "v4.channel.k8s.io",
    "v3.channel.k8s.io",
    "v2.channel.k8s.io",
    "channel.k8s.io",
    "portforward.k8s.io",
)

_VERSION: Final = 3
_SYN_STREAM, _SYN_REPLY, _RST_STREAM, _SETTINGS, _PING, _GOAWAY, _HEADERS, _WINDOW_UPDATE = 1, 2, 3, 4, 6, 7, 8, 9
_CONTROL: Final = 0x80
_FIN: Final = 1
_HEAD: Final = 8
#: The most bytes of one data frame.
_PIECE: Final = 1 << 16

#: The dictionary of the specification: words with their lengths before them, and text.
_WORDS: Final = (
    "options head post put delete trace accept accept-charset accept-encoding accept-language accept-ranges age allow "
    "authorization cache-control connection content-base content-encoding content-language content-length "
    "content-location content-md5 content-range content-type date etag expect expires from host if-match "
    "if-modified-since if-none-match if-range if-unmodified-since last-modified location max-forwards pragma "
    "proxy-authenticate proxy-authorization range referer retry-after server te trailer transfer-encoding upgrade "
    "user-agent vary via warning www-authenticate method get status"
)
_MORE_WORDS: Final = ("200 OK", "version", "HTTP/1.1", "url", "public", "set-cookie", "keep-alive", "origin")
_TEXT: Final = (
    "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505203 Non-Authoritative "
    "Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized403 Forbidden404 Not Found500 "
    "Internal Server Error501 Not Implemented503 Service UnavailableJan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec "
    "00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMTchunked,text/html,image/png,image/jpg,image/gif,application/xml,"
    "application/xhtml+xml,text/plain,text/javascript,publicprivatemax-age=gzip,deflate,sdchcharset=utf-8"
    "charset=iso-8859-1,utf-,*,enq=0."
)
DICTIONARY: Final = (
    b"".join(struct.pack(">I", len(word)) + word.encode() for word in (*_WORDS.split(), *_MORE_WORDS)) + _TEXT.encode()
)


class Stream:
    """A stream that the client has opened, as a channel to it."""

    def __init__(self, connection: Spdy, number: int) -> None:
        self._connection = connection
        self.number = number
        self._ended = False

    def send(self, data: bytes) -> None:
        """Send some bytes."""
        for start in range(0, len(data), _PIECE):
            self._connection.send_data(self.number, data[start : start + _PIECE])

    def end(self) -> None:
        """Send no more."""
        if not self._ended:
            self._ended = True
            self._connection.send_data(self.number, b"", _FIN)


class Spdy(Upgraded):
    """The server's side of a connection."""

    def __init__(self, before: Connection, session: Session) -> None:
        super().__init__(before, session)
        self._buffer = bytearray()
        self._streams: dict[int, Stream] = {}
        self._inflate = zlib.decompressobj(zdict=DICTIONARY)
        self._deflate = zlib.compressobj(zlib.Z_BEST_COMPRESSION, zdict=DICTIONARY)

    def read(self, data: bytes) -> None:
        """Read some bytes: perhaps half a frame, perhaps several."""
        self._buffer += data
        while len(self._buffer) >= _HEAD:
            size = int.from_bytes(self._buffer[5:8])
            if len(self._buffer) < _HEAD + size:
                return
            head, body = bytes(self._buffer[:_HEAD]), bytes(self._buffer[_HEAD : _HEAD + size])
            del self._buffer[: _HEAD + size]
            if head[0] & _CONTROL:
                self._control(int.from_bytes(head[2:4]), head[4], body)
            else:
                self._data(_stream_id(head), head[4], body)

    def _control(self, kind: int, flags: int, body: bytes) -> None:
        if kind == _SYN_STREAM:
            self._open(_stream_id(body), flags, body[10:])
        elif kind == _HEADERS:
            self._headers(body[4:])
        elif kind == _PING:
            self._send_control(_PING, body)
        elif kind == _RST_STREAM:
            stream = self._streams.pop(_stream_id(body), None)
            if stream is not None:
                self.session.ended(stream)
        elif kind == _GOAWAY:
            self.close()
        elif kind not in (_SYN_REPLY, _SETTINGS, _WINDOW_UPDATE):
            raise BadUpgrade(f"there is no control frame {kind}")

    def _open(self, number: int, flags: int, block: bytes) -> None:
        headers = self._headers(block)
        stream = self._streams[number] = Stream(self, number)
        self._send_control(_SYN_REPLY, struct.pack(">I", number) + self._block({}))
        self.session.opened(headers.get("streamtype", ""), stream, headers)
        if flags & _FIN:
            self.session.ended(stream)

    def _data(self, number: int, flags: int, data: bytes) -> None:
        stream = self._streams.get(number)
        if stream is None:
            return  # it was reset, or is none of ours: a kubelet ignores that too
        if data:
            self.session.received(stream, data)
        if flags & _FIN:
            self.session.ended(stream)

    def _headers(self, block: bytes) -> dict[str, str]:
        try:
            plain = self._inflate.decompress(block)
            (count,) = struct.unpack_from(">I", plain)
            texts, at = [], 4
            for _ in range(2 * count):
                (size,) = struct.unpack_from(">I", plain, at)
                texts.append(plain[at + 4 : at + 4 + size].decode("latin-1"))
                at += 4 + size
        except (zlib.error, struct.error) as error:
            raise BadUpgrade(f"not a block of headers: {error}") from None
        return {name.lower(): value for name, value in zip(texts[::2], texts[1::2], strict=True)}

    def _block(self, headers: Mapping[str, str]) -> bytes:
        plain = struct.pack(">I", len(headers))
        for text in (part for pair in headers.items() for part in pair):
            plain += struct.pack(">I", len(text)) + text.encode("latin-1")
        return self._deflate.compress(plain) + self._deflate.flush(zlib.Z_SYNC_FLUSH)

    def _send_control(self, kind: int, body: bytes) -> None:
        self.write(struct.pack(">BBHI", _CONTROL, _VERSION, kind, len(body)) + body)

    def send_data(self, number: int, data: bytes, flags: int = 0) -> None:
        """Send data of a stream."""
        self.write(struct.pack(">II", number, flags << 24 | len(data)) + data)


def _stream_id(data: bytes) -> int:
    return int.from_bytes(data[:4]) & 0x7FFFFFFF


def head(version: str) -> bytes:
    """Return the head of the answer that begins SPDY."""
    return (
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n"
        f"X-Stream-Protocol-Version: {version}\r\n\r\n"
    ).encode()
