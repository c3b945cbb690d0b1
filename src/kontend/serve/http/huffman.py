"""The Huffman code of HPACK (RFC 7541, appendix B).

The code is canonical: codes of the same length follow each other in the order of their symbols, so the lengths say
everything. Decoding goes byte by byte: a state is the bits since the last symbol, and the outcome of a state and a byte
is computed when it is first needed.
"""

from __future__ import annotations

from typing import Final

#: The symbols by the length of their code. One more code of 30 bits stands for the end, and is never sent.
_SYMBOLS: Final = {
    5: b"012aceiost",
    6: b" %-./3456789=A_bdfghlmnpru",
    7: b":BCDEFGHIJKLMNOPQRSTUVWYjkqvwxyz",
    8: b"&*,;XZ",
    10: b'!"()?',
    11: b"'+|",
    12: b"#>",
    13: b"\x00$@[]~",
    14: b"^}",
    15: b"<`{",
    19: b"\\\xc3\xd0",
    20: b"\x80\x82\x83\xa2\xb8\xc2\xe0\xe2",
    21: b"\x99\xa1\xa7\xac\xb0\xb1\xb3\xd1\xd8\xd9\xe3\xe5\xe6",
    22: b"\x81\x84\x85\x86\x88\x92\x9a\x9c\xa0\xa3\xa4\xa9\xaa\xad\xb2\xb5\xb9\xba\xbb\xbd\xbe\xc4\xc6\xe4\xe8\xe9",
    23: b"\x01\x87\x89\x8a\x8b\x8c\x8d\x8f\x93\x95\x96\x97\x98\x9b\x9d\x9e\xa5\xa6\xa8\xae\xaf\xb4\xb6\xb7\xbc\xbf\xc5"
    b"\xe7\xef",
    24: b"\t\x8e\x90\x91\x94\x9f\xab\xce\xd7\xe1\xec\xed",
    25: b"\xc7\xcf\xea\xeb",
    26: b"\xc0\xc1\xc8\xc9\xca\xcd\xd2\xd5\xda\xdb\xee\xf0\xf2\xf3\xff",
    27: b"\xcb\xcc\xd3\xd4\xd6\xdd\xde\xdf\xf1\xf4\xf5\xf6\xf7\xf8\xfa\xfb\xfc\xfd\xfe",
    28: b"\x02\x03\x04\x05\x06\x07\x08\x0b\x0c\x0e\x0f\x10\x11\x12\x13\x14\x15\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f\x7f"
    b"\xdc\xf9",
    30: b"\n\r\x16",
}
#: No bits since the last symbol. States are the bits after a leading one.
_ROOT: Final = 1
_LONGEST: Final = 30
#: States in which a text may end: at most seven bits, all of them ones.
_ENDS: Final = frozenset((2 << bits) - 1 for bits in range(8))


class BadHuffmanText(ValueError):
    """Bytes that are no text in this code."""


def _decoded_symbols() -> dict[int, bytes]:
    """Return each symbol by the state in which its code is complete."""
    symbols: dict[int, bytes] = {}
    code = length = 0
    for longer, alphabet in _SYMBOLS.items():
        code <<= longer - length
        length = longer
        for symbol in alphabet:
            symbols[(1 << length) | code] = bytes([symbol])
            code += 1
    return symbols


_COMPLETE: Final = _decoded_symbols()
#: The next state and the symbols of a state and a byte: at most 256 states times 256 bytes.
_STEPS: Final[dict[int, tuple[int, bytes]]] = {}


def decode(data: bytes) -> bytes:
    """Return the text that was encoded. Raises :class:`BadHuffmanText`.

    >>> decode(bytes.fromhex("f1e3c2e5f23a6ba0ab90f4ff"))
    b'www.example.com'
    """
    state, steps = _ROOT, _STEPS
    text = []
    for byte in data:
        step = steps.get(state << 8 | byte) or _step(state, byte)
        state = step[0]
        text.append(step[1])
    if state not in _ENDS:
        raise BadHuffmanText("the padding is wrong")
    return b"".join(text)


def _step(state: int, byte: int) -> tuple[int, bytes]:
    key, symbols = state << 8 | byte, b""
    for shift in range(7, -1, -1):
        state = state << 1 | (byte >> shift & 1)
        symbol = _COMPLETE.get(state)
        if symbol is not None:
            symbols += symbol
            state = _ROOT
        elif state >> _LONGEST:
            raise BadHuffmanText("the end of the text is encoded")
    step = _STEPS[key] = (state, symbols)
    return step
