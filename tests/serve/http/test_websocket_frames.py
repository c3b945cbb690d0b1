"""Frames of WebSocket, as they arrive: in parts, masked, of any size."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kontend.serve.http.websocket_frames import BINARY, CLOSE, PING, BadFrame, Frame, head, take_frame

MASK = bytes([1, 2, 3, 4])


def masked(kind: int, content: bytes) -> bytes:
    """A frame as a client sends it."""
    first = bytearray(head(kind, len(content)))
    first[1] |= 0x80
    return bytes(first) + MASK + bytes(byte ^ MASK[index % 4] for index, byte in enumerate(content))


@given(st.lists(st.binary(max_size=300), max_size=4), st.integers(1, 50))
def test_frames_are_taken_in_order_however_they_are_cut(contents: list[bytes], step: int) -> None:
    data = b"".join(masked(BINARY, content) for content in contents)
    received, taken = bytearray(), []
    for at in range(0, len(data), step):
        received += data[at : at + step]
        while (frame := take_frame(received)) is not None:
            taken.append(frame)
    assert taken == [Frame(BINARY, content, True) for content in contents]


def test_a_frame_of_more_than_64_kilobytes_has_a_longer_head() -> None:
    content = bytes(1 << 16)
    assert take_frame(bytearray(masked(BINARY, content))) == Frame(BINARY, content, True)


@pytest.mark.parametrize(
    "data", [head(BINARY, 1) + b"x", masked(PING, bytes(126)), masked(CLOSE, bytes(200)), masked(BINARY, bytes(11))]
)
def test_a_frame_without_a_mask_and_one_that_is_too_large_are_refused(data: bytes) -> None:
    with pytest.raises(BadFrame):
        take_frame(bytearray(data), 10)
