"""Changes a linked Go test binary where a choice of Go's runtime must be one of the explorer's.

**The order of maps.** Go chooses it by a random number from its runtime, at random on purpose. The functions that make
such numbers are replaced by a few instructions that return a variable of our module, which the module sets before each
step of a run: so the order is the same each time, and another one where a run is compared with itself. The functions of
math/rand get their numbers from there as well.

**Connections.** The function of net that all dialers call jumps to one of our module, which refuses.

**Temporary files.** Their names come from the same numbers, so the second would be that of the first. The functions
that make them jump to ones of our module, which count.

**Informers.** The function of client-go that makes informers jumps to one of our module, whose informers show views of
the explorer. So factories, typed and dynamic, and informers that are made by hand need not be told from each other.

Rejected: an overlay with a changed standard library, which builds all packages of an operator once more; and leaving
the order alone and reporting what differs by chance, which would be another verdict each time.
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

#: The variable that holds the number, and the functions that return it.
_VARIABLE: Final = b"kontend.dev/kontend.mapOrder"
_FUNCTIONS: Final = (b"runtime.rand", b"runtime.bootstrapRand", b"internal/runtime/maps.rand", b"runtime.maps_rand")
#: The function that connects, and the one that takes its place.
_DIAL: Final = b"net.(*Dialer).DialContext"
_REFUSE: Final = b"kontend.dev/kontend.dial"
#: The function of client-go that makes informers, and the one that takes its place.
_INFORMER: Final = b"k8s.io/client-go/tools/cache.NewSharedIndexInformerWithOptions"
_VIEW: Final = b"kontend.dev/kontend.newInformer"
_X86_64: Final = 62
_AARCH64: Final = 183
_JUMPS: Final = (
    (_DIAL, _REFUSE),
    (_INFORMER, _VIEW),
    (b"os.CreateTemp", b"kontend.dev/kontend.createTemp"),
    (b"os.MkdirTemp", b"kontend.dev/kontend.makeTemp"),
)
_PAGE: Final = 4096
_SYMBOLS: Final = 2
_LOAD: Final = 1


class _Symbol(NamedTuple):
    name: bytes
    address: int


def patch_binary(binary: Path) -> bool:
    """Change a test binary; False where its format or processor is not supported, and nothing is changed."""
    data = bytearray(binary.read_bytes())
    if data[:6] != b"\x7fELF\x02\x01":  # 64 bits, little-endian
        return False
    (machine,) = struct.unpack_from("<H", data, 18)
    wanted = (_VARIABLE, *_FUNCTIONS, *itertools.chain(*_JUMPS))
    symbols = {symbol.name: symbol for symbol in _symbols(data) if symbol.name in wanted}
    if machine not in (_X86_64, _AARCH64) or _VARIABLE not in symbols or _FUNCTIONS[0] not in symbols:
        return False
    load, jump = (_load_on_amd64, _jump_on_amd64) if machine == _X86_64 else (_load_on_arm64, _jump_on_arm64)
    changes: list[tuple[bytes, Callable[[int, int], bytes], bytes]] = []
    changes += [(name, load, _VARIABLE) for name in _FUNCTIONS if name in symbols]
    changes += [(name, jump, target) for name, target in _JUMPS if name in symbols and target in symbols]
    for name, instructions, target in changes:
        code = instructions(symbols[name].address, symbols[target].address)
        offset = _offset(data, symbols[name].address)
        data[offset : offset + len(code)] = code
    binary.write_bytes(data)
    return True


def _load_on_amd64(address: int, variable: int) -> bytes:
    """``MOVQ variable(RIP), RAX; RET``."""
    return b"\x48\x8b\x05" + struct.pack("<i", variable - (address + 7)) + b"\xc3"


def _load_on_arm64(address: int, variable: int) -> bytes:
    """``ADRP variable, R0; MOVD variable(R0), R0; RET``."""
    pages = variable // _PAGE - address // _PAGE
    adrp = 0x90000000 | (pages & 3) << 29 | (pages >> 2 & 0x7FFFF) << 5
    load = 0xF9400000 | (variable % _PAGE // 8) << 10
    return struct.pack("<III", adrp, load, 0xD65F03C0)


def _jump_on_amd64(address: int, target: int) -> bytes:
    """``JMP target``."""
    return b"\xe9" + struct.pack("<i", target - (address + 5))


def _jump_on_arm64(address: int, target: int) -> bytes:
    """``B target``."""
    return struct.pack("<I", 0x14000000 | (target - address) // 4 & 0x3FFFFFF)


def _symbols(data: bytearray) -> Iterator[_Symbol]:
    (sections,) = struct.unpack_from("<Q", data, 40)
    size, count = struct.unpack_from("<HH", data, 58)
    headers = [struct.unpack_from("<IIQQQQIIQQ", data, sections + at * size) for at in range(count)]
    for header in headers:
        if header[1] != _SYMBOLS:
            continue
        names = headers[header[6]][4]
        for at in range(header[4], header[4] + header[5], header[9]):
            name, _, _, _, address, _ = struct.unpack_from("<IBBHQQ", data, at)
            yield _Symbol(bytes(data[names + name : data.index(0, names + name)]), address)


def _offset(data: bytearray, address: int) -> int:
    """The place in the file of an address in memory."""
    (programs,) = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    for at in range(count):
        kind, _, offset, start, _, length = struct.unpack_from("<IIQQQQ", data, programs + at * size)
        if kind == _LOAD and start <= address < start + length:
            return int(offset + address - start)
    raise ValueError(f"address {address:#x} is not in the file")
