"""Copies of what a fork shares: neither process sees what the other one keeps there."""

from __future__ import annotations

import mmap
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace

import pytest

from kontend.explore.own_copies import take_copies

pytestmark = pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="needs /proc")


@pytest.fixture
def opened() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def in_a_fork(do: Callable[[], object]) -> None:
    """Do something in a forked process that has its own copies. It must succeed."""
    pid = os.fork()
    if not pid:
        code = 1
        try:
            take_copies(but=())
            do()
            code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def test_shared_memory_is_copied_with_its_content() -> None:
    shared = mmap.mmap(-1, 3 * mmap.PAGESIZE)
    shared[2 * mmap.PAGESIZE] = 7

    def change() -> None:
        assert shared[2 * mmap.PAGESIZE] == 7
        shared[0] = 1
        assert shared[0] == 1

    in_a_fork(change)
    assert shared[0] == 0


def test_the_part_of_a_mapping_beyond_its_file_does_no_harm() -> None:
    with tempfile.TemporaryFile() as file:
        os.ftruncate(file.fileno(), 2 * mmap.PAGESIZE)
        mapped = mmap.mmap(file.fileno(), 2 * mmap.PAGESIZE)
        os.ftruncate(file.fileno(), 1)

        def change() -> None:
            mapped[0] = 1

        in_a_fork(change)
        assert os.pread(file.fileno(), 1, 0) == b"\0"


def test_a_file_that_can_be_written_is_copied_with_its_content_and_position() -> None:
    with tempfile.TemporaryFile(buffering=0) as file:
        file.write(b"before")
        file.seek(2)

        def change() -> None:
            assert file.read() == b"fore"
            file.write(b" and after")
            assert os.pread(file.fileno(), 20, 0) == b"before and after"

        in_a_fork(change)
        assert file.read() == b"fore"


def test_a_pipe_with_both_ends_in_this_process_is_replaced(opened: ExitStack) -> None:
    ends = SimpleNamespace()
    ends.reading, ends.writing = os.pipe()
    opened.callback(os.close, ends.reading)
    opened.callback(os.close, ends.writing)
    os.set_blocking(ends.reading, False)

    def change() -> None:
        os.write(ends.writing, b"x")
        assert os.read(ends.reading, 2) == b"x"
        os.write(ends.writing, b"x")

    in_a_fork(change)
    with pytest.raises(BlockingIOError):
        os.read(ends.reading, 1)


def test_a_pipe_to_another_process_is_kept() -> None:
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(reading)
        take_copies(but=())
        os.write(writing, b"x")
        os._exit(0)
    os.close(writing)
    assert os.read(reading, 2) == b"x"
    os.close(reading)
    os.waitpid(pid, 0)
