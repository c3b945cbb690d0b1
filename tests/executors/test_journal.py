"""Files of records, cut and damaged everywhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from kontend.executors.journal import JournalFile

MAGIC = b"a journal 1\n"
RECORDS = [b"one", b"", b"three" * 3]


def read(directory: Path) -> list[bytes | None]:
    journal = JournalFile(directory, "j", MAGIC)
    try:
        return list(journal.records())
    finally:
        journal.close()


@pytest.fixture
def content(tmp_path: Path) -> bytes:
    journal = JournalFile(tmp_path, "j", MAGIC)
    for record in RECORDS:
        journal.append(record, durably=True)
    journal.close()
    return journal.path.read_bytes()


def test_records_survive_every_cut(tmp_path: Path, content: bytes) -> None:
    for size in range(len(content) + 1):
        (tmp_path / "j").write_bytes(content[:size])
        kept = read(tmp_path)
        assert kept == RECORDS[: len(kept)]
        journal = JournalFile(tmp_path, "j", MAGIC)
        assert len(list(journal.records())) == len(kept)
        journal.append(b"more")
        journal.close()
        assert read(tmp_path) == [*kept, b"more"]
    assert kept == RECORDS


def test_a_damaged_record_is_told_from_whole_ones(tmp_path: Path, content: bytes) -> None:
    damaged = bytearray(content)
    damaged[damaged.index(b"one")] ^= 1
    (tmp_path / "j").write_bytes(damaged)
    assert read(tmp_path) == [None, *RECORDS[1:]]
    journal = JournalFile(tmp_path, "j", MAGIC)
    assert next(journal.records()) is None
    journal.cut()
    journal.close()
    assert read(tmp_path) == []


def test_another_file_is_told_from_a_journal_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "j").write_bytes(b"a journal 2\nsomething")
    journal = JournalFile(tmp_path, "j", MAGIC)
    assert journal.is_foreign
    assert journal.path.read_bytes() == b"a journal 2\nsomething"
    journal.clear()
    journal.close()
    assert read(tmp_path) == []


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "there").write_bytes(b"")
    (tmp_path / "j").symlink_to(tmp_path / "there")
    with pytest.raises(OSError):
        JournalFile(tmp_path, "j", MAGIC)


def test_one_process_has_a_file_at_a_time(tmp_path: Path) -> None:
    journal = JournalFile(tmp_path, "j", MAGIC)
    with pytest.raises(BlockingIOError):
        JournalFile(tmp_path, "j", MAGIC)
    journal.close()
    assert read(tmp_path) == []
