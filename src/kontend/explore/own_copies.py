"""Gives a forked process its own copies of what a fork shares: mapped memory, and open descriptors.

A fork copies the memory of a process, but not memory that is mapped to be shared (``multiprocessing.Value``, shared
memory, a mapped file), and not the objects of the kernel behind descriptors (pipes, counters of events, files that are
open for writing). What the parent keeps there would be known in the child, too. So the child replaces all of them by
copies, as they are at the time of the fork: the parent must wait until that is done.

The system lists what is shared (``/proc``), whatever library has made it. A list of the classes in Python that share
memory was rejected, because libraries written in C add others. Where there is no ``/proc`` nothing is replaced.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import stat
from collections import defaultdict
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

#: The highest number of the standard streams.
_STANDARD: Final = 2
_MAPS: Final = Path("/proc/self/maps")
_DESCRIPTORS: Final = Path("/proc/self/fd")
_FLAGS: Final = Path("/proc/self/fdinfo")
#: Memory of devices cannot be copied; these are files in memory.
_DEVICES: Final = "/dev/"
_IN_MEMORY: Final = ("/dev/shm/", "/dev/zero")
_FIXED: Final = 0x10  # MAP_FIXED, on all systems that have /proc
_EVENTS: Final = "anon_inode:[eventfd]"
_LARGEST: Final = 1 << 28
_PIECE: Final = 1 << 20


def take_copies(*, but: Collection[int]) -> None:
    """Replace what this process shares with its parent, ``but`` for some descriptors."""
    with suppress(OSError):  # a sandbox may hide some of it
        if _MAPS.exists():
            _copy_memory()
    with suppress(OSError):
        if _DESCRIPTORS.exists():
            _copy_descriptors(but)


class _Mapping(NamedTuple):
    """Memory that several processes can write."""

    start: int
    end: int


def _shared_mappings() -> Iterator[_Mapping]:
    for line in _MAPS.read_text().splitlines():
        span, permissions, _, _, _, *name = line.split(maxsplit=5)
        path = name[0] if name else ""
        if permissions.startswith("rw") and permissions.endswith("s") and not _is_device(path):
            start, _, end = span.partition("-")
            mapping = _Mapping(int(start, 16), int(end, 16))
            if mapping.end - mapping.start <= _LARGEST:
                yield mapping


def _is_device(path: str) -> bool:
    return path.startswith("anon_inode:") or (path.startswith(_DEVICES) and not path.startswith(_IN_MEMORY))


def _copy_memory() -> None:
    """Map private memory with the same content in place of each shared mapping."""
    mappings = list(_shared_mappings())
    if not mappings:  # ctypes need not be loaded
        return
    library = ctypes.CDLL(None, use_errno=True)
    library.mmap.restype = ctypes.c_void_p
    library.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long)
    kind = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _FIXED
    with open("/proc/self/mem", "rb", buffering=0) as memory:
        for start, end in mappings:
            pieces = list(_filled(memory.fileno(), start, end))
            at = library.mmap(start, end - start, mmap.PROT_READ | mmap.PROT_WRITE, kind, -1, 0)
            if at != start:
                raise OSError(ctypes.get_errno(), "cannot copy shared memory")
            for place, content in pieces:
                ctypes.memmove(place, content, len(content))


def _filled(memory: int, start: int, end: int) -> Iterator[tuple[int, bytes]]:
    """The pieces of a mapping that are not zero. Reading it directly would end the process beyond the end of a file."""
    place = start
    while place < end:
        try:
            content = os.pread(memory, min(_PIECE, end - place), place)
        except OSError:
            content = b""
        if content.count(0) < len(content):
            yield place, content
        place += len(content) or mmap.PAGESIZE


def _copy_descriptors(but: Collection[int]) -> None:
    pipes: dict[str, list[int]] = defaultdict(list)
    # The directory lists its own descriptor, which is closed by now.
    for number in sorted(int(name) for name in os.listdir(_DESCRIPTORS)):
        if number <= _STANDARD or number in but:
            continue
        with suppress(OSError):
            mode = os.fstat(number).st_mode
            target = os.readlink(_DESCRIPTORS / str(number))
            if stat.S_ISFIFO(mode):
                pipes[target].append(number)
            elif stat.S_ISREG(mode):
                _copy_file(number)
            elif target == _EVENTS:
                _replace(number, _events(number))
    for numbers in pipes.values():
        _copy_pipe(numbers)


def _copy_file(number: int) -> None:
    """Give a file a position of its own; and one that is open for writing, such as a log, a content of its own."""
    flags, position = _flags(number), os.lseek(number, 0, os.SEEK_CUR)
    access = flags & os.O_ACCMODE
    if access == os.O_RDONLY:
        again = os.open(_DESCRIPTORS / str(number), os.O_RDONLY)
    else:
        again = os.memfd_create("copy")
        if access == os.O_RDWR:  # what cannot be read need not be copied
            if os.fstat(number).st_size > _LARGEST:
                os.close(again)
                return
            place = 0
            while content := os.pread(number, _PIECE, place):
                place += os.pwrite(again, content, place)
    os.lseek(again, position, os.SEEK_SET)
    _replace(number, again)


def _copy_pipe(numbers: list[int]) -> None:
    """Make another pipe, if this process has both ends: one to another process is no memory of this one."""
    ends = {number: _flags(number) & os.O_ACCMODE for number in numbers}
    if {os.O_RDONLY, os.O_WRONLY} <= set(ends.values()):
        reading, writing = os.pipe()
        for number, access in ends.items():
            is_blocking = os.get_blocking(number)
            again = os.dup(reading if access == os.O_RDONLY else writing)
            _replace(number, again)
            os.set_blocking(number, is_blocking)
        os.close(reading)
        os.close(writing)


def _events(number: int) -> int:
    """A counter of events with the same value."""
    described = (_FLAGS / str(number)).read_text().splitlines()
    count = next(line.split()[1] for line in described if line.startswith("eventfd-count"))
    return os.eventfd(int(count, 16), _flags(number) & os.O_NONBLOCK)


def _flags(number: int) -> int:
    described = (_FLAGS / str(number)).read_text()
    return int(next(line for line in described.splitlines() if line.startswith("flags:")).split()[1], 8)


def _replace(number: int, by: int) -> None:
    os.dup2(by, number, inheritable=os.get_inheritable(number))
    os.close(by)
