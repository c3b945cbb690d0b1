"""Makes the iteration order of Go maps a choice of the explorer.

Go chooses it by a random number from its runtime, at random on purpose. In a linked test binary the two functions that
make such numbers are replaced by a few instructions that return a variable of our module, which the module sets before
each step of a run: so the order is the same each time, and another one where a run is compared with itself. The
functions of math/rand get their numbers from there as well.

Rejected: an overlay with a changed runtime, which builds all packages of an operator once more; and leaving the order
alone and reporting what differs by chance, which would be another verdict each time.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

#: The variable that holds the number, and the functions that return it.
_VARIABLE: Final = b"kontend.dev/kontend.mapOrder"
_FUNCTIONS: Final = (b"runtime.rand", b"runtime.bootstrapRand", b"internal/runtime/maps.rand", b"runtime.maps_rand")
_X86_64: Final = 62
_AARCH64: Final = 183
_PAGE: Final = 4096
_SYMBOLS: Final = 2
_LOAD: Final = 1


class _Symbol(NamedTuple):
    name: bytes
    address: int
    size: int


def choose_map_order(binary: Path) -> bool:
    """Change a test binary so that the module chooses the order of maps; False where its format is not supported."""
    data = bytearray(binary.read_bytes())
    if data[:6] != b"\x7fELF\x02\x01":  # 64 bits, little-endian
        return False
    (machine,) = struct.unpack_from("<H", data, 18)
    symbols = {symbol.name: symbol for symbol in _symbols(data) if symbol.name in (_VARIABLE, *_FUNCTIONS)}
    if machine not in (_X86_64, _AARCH64) or _VARIABLE not in symbols or _FUNCTIONS[0] not in symbols:
        return False
    variable = symbols[_VARIABLE].address
    for name in _FUNCTIONS:
        if name in symbols:
            address = symbols[name].address
            code = (_on_amd64 if machine == _X86_64 else _on_arm64)(address, variable)
            offset = _offset(data, address)
            if symbols[name].size and symbols[name].size < len(code):
                return False
            data[offset : offset + len(code)] = code
    binary.write_bytes(data)
    return True


def _on_amd64(address: int, variable: int) -> bytes:
    """``MOVQ variable(RIP), RAX; RET``."""
    return b"\x48\x8b\x05" + struct.pack("<i", variable - (address + 7)) + b"\xc3"


def _on_arm64(address: int, variable: int) -> bytes:
    """``ADRP variable, R0; MOVD variable(R0), R0; RET``."""
    pages = variable // _PAGE - address // _PAGE
    adrp = 0x90000000 | (pages & 3) << 29 | (pages >> 2 & 0x7FFFF) << 5
    load = 0xF9400000 | (variable % _PAGE // 8) << 10
    return struct.pack("<III", adrp, load, 0xD65F03C0)


def _symbols(data: bytearray) -> Iterator[_Symbol]:
    (sections,) = struct.unpack_from("<Q", data, 40)
    size, count = struct.unpack_from("<HH", data, 58)
    headers = [struct.unpack_from("<IIQQQQIIQQ", data, sections + at * size) for at in range(count)]
    for header in headers:
        if header[1] != _SYMBOLS:
            continue
        names = headers[header[6]][4]
        for at in range(header[4], header[4] + header[5], header[9]):
            name, _, _, _, address, length = struct.unpack_from("<IBBHQQ", data, at)
            yield _Symbol(bytes(data[names + name : data.index(0, names + name)]), address, length)


def _offset(data: bytearray, address: int) -> int:
    """The place in the file of an address in memory."""
    (programs,) = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    for at in range(count):
        kind, _, offset, start, _, length = struct.unpack_from("<IIQQQQ", data, programs + at * size)
        if kind == _LOAD and start <= address < start + length:
            return int(offset + address - start)
    raise ValueError(f"address {address:#x} is not in the file")
