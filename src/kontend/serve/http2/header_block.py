"""Header blocks: the fields of a HEADERS frame and of the CONTINUATION frames after it."""

from __future__ import annotations

from typing import NamedTuple

from kontend.serve.http import hpack
from kontend.serve.http.request_parser import HEADER_COUNT, HEADER_LIMIT
from kontend.serve.http2 import frames
from kontend.serve.http2.frames import ConnectionFault, Frame


class Block(NamedTuple):
    """A header block that is being received."""

    stream: int
    #: Nothing follows the block on its stream.
    ends: bool
    octets: bytearray


class HeaderBlocks:
    """Puts the header blocks of a connection together and decodes them."""

    def __init__(self) -> None:
        self._decoder = hpack.Decoder()
        self._block: Block | None = None

    @property
    def is_open(self) -> bool:
        """Returns whether a part of a block is missing."""
        return self._block is not None

    def add(self, received: Frame) -> Block | None:
        """Add a frame; return the block if it is complete. Raises a :class:`ConnectionFault`."""
        if self.is_open != (received.type == frames.CONTINUATION):
            raise ConnectionFault(frames.PROTOCOL_ERROR, "a header block must be sent as a whole")
        is_last = bool(received.flags & frames.END_HEADERS)
        if self._block is None:
            ends = bool(received.flags & frames.END_STREAM)
            self._block = Block(received.stream, ends, bytearray(frames.content(received)))
        else:
            if received.stream != self._block.stream or not (received.payload or is_last):
                raise ConnectionFault(frames.PROTOCOL_ERROR, "a header block must be sent as a whole")
            self._block.octets.extend(received.payload)
            if len(self._block.octets) > HEADER_LIMIT:
                raise ConnectionFault(frames.ENHANCE_YOUR_CALM, "a header block is too large")
        if not is_last:
            return None
        block, self._block = self._block, None
        return block

    def fields(self, block: Block) -> list[hpack.Field]:
        """Decode a block. Raises a :class:`ConnectionFault`, or :class:`hpack.HeadersTooLarge`."""
        try:
            return self._decoder.decode(bytes(block.octets), octets=HEADER_LIMIT, count=HEADER_COUNT)
        except hpack.BadHeaderBlock as error:
            raise ConnectionFault(frames.COMPRESSION_ERROR, f"the header block is wrong: {error}") from None
