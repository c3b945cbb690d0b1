"""Header blocks: the examples of RFC 7541, and bytes that are none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kontend.serve.http import huffman
from kontend.serve.http.hpack import BadHeaderBlock, Decoder, HeadersTooLarge, encode, status_field

LIMITS = {"octets": 1 << 20, "count": 1000}
SITE = [(":method", "GET"), (":scheme", "http"), (":path", "/"), (":authority", "www.example.com")]
#: Appendix C.3 and C.4: three requests on one connection, without and with Huffman code.
REQUESTS = [
    ("828684410f7777772e6578616d706c652e636f6d", "828684418cf1e3c2e5f23a6ba0ab90f4ff", SITE),
    ("828684be58086e6f2d6361636865", "828684be5886a8eb10649cbf", [*SITE, ("cache-control", "no-cache")]),
    (
        "828785bf400a637573746f6d2d6b65790c637573746f6d2d76616c7565",
        "828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf",
        [(":method", "GET"), (":scheme", "https"), (":path", "/index.html"), SITE[3], ("custom-key", "custom-value")],
    ),
]


@pytest.mark.parametrize("form", [0, 1])
def test_requests_on_one_connection_share_a_table(form: int) -> None:
    """As the RFC shows."""
    decoder = Decoder()
    for example in REQUESTS:
        assert decoder.decode(bytes.fromhex(str(example[form])), **LIMITS) == example[2]


def test_a_table_of_another_size_forgets() -> None:
    """Its size may change at the beginning of a block only, and within the limit."""
    decoder = Decoder()
    decoder.decode(bytes.fromhex(REQUESTS[0][0]), **LIMITS)
    assert decoder.decode(bytes.fromhex("203f81012082"), **LIMITS) == [(":method", "GET")]
    with pytest.raises(BadHeaderBlock, match="index 62"):
        decoder.decode(b"\xbe", **LIMITS)
    with pytest.raises(BadHeaderBlock, match="after a field"):
        Decoder().decode(b"\x82\x20", **LIMITS)
    with pytest.raises(BadHeaderBlock, match="larger"):
        Decoder().decode(bytes.fromhex("3fe2ff7f"), **LIMITS)


def test_a_field_larger_than_the_table_empties_it() -> None:
    """It is used all the same."""
    decoder = Decoder()
    decoder.decode(bytes.fromhex(REQUESTS[0][0]), **LIMITS)
    large = b"\x40\x01a\x7f\xc1\x1f" + b"x" * 4160
    assert decoder.decode(large, **LIMITS) == [("a", "x" * 4160)]
    with pytest.raises(BadHeaderBlock, match="index 62"):
        decoder.decode(b"\xbe", **LIMITS)


def test_small_bytes_do_not_become_large_headers() -> None:
    """A reference of one byte may stand for four thousand."""
    decoder = Decoder()
    decoder.decode(b"\x40\x01a\x7f\xa1\x1e" + b"x" * 4000, **LIMITS)
    with pytest.raises(HeadersTooLarge):
        decoder.decode(b"\xbe" * 300, **LIMITS)
    with pytest.raises(HeadersTooLarge):
        Decoder().decode(b"\x82" * 1001, **LIMITS)


@pytest.mark.parametrize(
    "data", ["80", "be", "ffffffffffffff01", "40", "4001", "400161", "00016105", "0001618100", "00016184ffffffff", "7f"]
)
def test_bytes_that_are_no_block_are_refused(data: str) -> None:
    """By one kind of error."""
    with pytest.raises(BadHeaderBlock):
        Decoder().decode(bytes.fromhex(data), **LIMITS)


@given(st.lists(st.binary(max_size=60), max_size=5))
def test_no_bytes_raise_anything_else(blocks: list[bytes]) -> None:
    """For any content that earlier blocks have left in the table."""
    decoder = Decoder()
    for data in blocks:
        try:
            decoder.decode(data, **LIMITS)
        except (BadHeaderBlock, HeadersTooLarge):
            return


def test_every_octet_has_a_code_of_its_own() -> None:
    """No code is the beginning of another, and together they leave room for nothing but the end."""
    codes = {bin(state)[3:] for state in huffman._COMPLETE}
    assert len(codes) == 256
    assert sum(2.0 ** -len(code) for code in codes) == 1 - 2.0**-30
    for code, symbol in ((bin(state)[3:], symbol) for state, symbol in huffman._COMPLETE.items()):
        padded = code + "1" * (-len(code) % 8)
        assert huffman.decode(int(padded, 2).to_bytes(len(padded) // 8, "big")) == symbol


@given(
    st.integers(200, 599),
    st.dictionaries(st.from_regex("[a-z-]{1,20}", fullmatch=True), st.text("aB1 é", max_size=300), max_size=5),
)
def test_answers_are_decoded_to_what_was_encoded(code: int, headers: dict[str, str]) -> None:
    """By any decoder, on any connection."""
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    sent = [(name, value.encode().decode("latin-1")) for name, value in headers.items()]
    assert Decoder().decode(status_field(code) + encode(lines), **LIMITS) == [(":status", str(code)), *sent]
