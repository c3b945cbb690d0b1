"""Files that a search maps into memory when it has more states than fit there.

They have no name, so nothing is left behind however the process ends. Their blocks are allocated before they are
mapped: on a full disk a write to mapped memory would end the process.
"""

from __future__ import annotations

import errno
import mmap
import os
import tempfile
import weakref
from contextlib import suppress
from pathlib import Path
from typing import Final

_ZEROS: Final = bytes(1 << 20)


class NoRoom(Exception):
    """The directory has no room for a search; the message says where and why."""


def default_directory() -> Path:
    """The directory for files of a search: one that is on disk, where the system has one."""
    if os.environ.get("TMPDIR"):
        return Path(tempfile.gettempdir())
    on_disk = Path("/var/tmp")
    return on_disk if os.access(on_disk, os.W_OK) else Path(tempfile.gettempdir())


class MappedFile:
    """A file without a name, mapped into memory."""

    def __init__(self, directory: Path, size: int) -> None:
        """Make a file of zeros. Raises :class:`NoRoom`."""
        self._directory = directory
        try:
            self._descriptor, name = tempfile.mkstemp(dir=directory, prefix="kontend-")
            # Files live as long as the columns in them, which nobody closes.
            self._release = weakref.finalize(self, os.close, self._descriptor)
            os.unlink(name)
        except OSError as error:
            raise NoRoom(f"{directory}: {error.strerror or error}") from error
        self.size = 0
        self.map: mmap.mmap = self.grown(size)

    def grown(self, size: int) -> mmap.mmap:
        """The map of the file with more room, instead of the one before. Raises :class:`NoRoom`."""
        try:
            _allocate(self._descriptor, self.size, size)
            changed = mmap.mmap(self._descriptor, size)
        except (OSError, ValueError) as error:
            raise NoRoom(f"{self._directory}: {getattr(error, 'strerror', None) or error}") from error
        self.size, self.map = size, changed
        return changed

    def close(self) -> None:
        """Release the file."""
        with suppress(BufferError):  # somebody still reads it: then it is released later
            self.map.close()
        self._release()


def _allocate(descriptor: int, before: int, size: int) -> None:
    if hasattr(os, "posix_fallocate"):
        try:
            os.posix_fallocate(descriptor, before, size - before)
            return
        except OSError as error:
            if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS):
                raise
    position = before
    while position < size:
        position += os.pwrite(descriptor, _ZEROS[: size - position], position)
