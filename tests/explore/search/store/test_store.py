"""Columns and the visited set hold the same on disk as in memory."""

from __future__ import annotations

import os
import random
import resource
import signal
from array import array
from pathlib import Path

import pytest
import xxhash
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kontend.explore.search.store import columns, visited
from kontend.explore.search.store.columns import Interned, MappedColumn, Words
from kontend.explore.search.store.files import NoRoom, default_directory
from kontend.explore.search.store.visited import Visited

_NUMBERS = st.integers(0, 2**32 - 1)
_OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), _NUMBERS),
        st.tuples(st.just("extend"), st.lists(_NUMBERS, max_size=5)),
        st.tuples(st.just("set"), st.tuples(_NUMBERS, _NUMBERS)),
        st.tuples(st.just("pop"), st.none()),
    ),
    max_size=60,
)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(first=st.lists(_NUMBERS, max_size=5), operations=_OPERATIONS)
def test_a_mapped_column_is_an_array(
    first: list[int], operations: list[tuple[str, object]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(columns, "_LEAST", 4)
    monkeypatch.setattr(columns, "_PIECE", 3)
    expected = array("I", first)
    column = MappedColumn(array("I", first), tmp_path)
    for name, value in operations:
        if name == "set" and len(expected):
            assert isinstance(value, tuple)
            expected[value[0] % len(expected)] = column[value[0] % len(expected)] = value[1]
        elif name == "pop" and len(expected):
            assert expected.pop() == column.pop()
        elif name in ("append", "extend"):
            getattr(expected, name)(value)
            getattr(column, name)(value)
        assert len(column) == len(expected)
    assert list(column) == list(expected)
    assert [column[at] for at in range(len(column))] == list(expected)
    column.close()


def test_values_and_words_are_the_same_on_disk(tmp_path: Path) -> None:
    chance = random.Random(1)
    values: Interned[str] = Interned()
    words = Words()
    expected: list[tuple[str, int]] = []
    for at in range(2_000):
        if at == 1_000:
            values.spill(tmp_path)
            words.spill(tmp_path)
        pair = (str(chance.randrange(20)), chance.getrandbits(128))
        expected.append(pair)
        values.append(pair[0])
        words.append(pair[1])
    values[5] = expected[7][0]
    expected[5] = (expected[7][0], expected[5][1])
    assert [(values[at], words[at]) for at in range(2_000)] == expected
    assert len(values) == 2_000
    assert sorted(values.values) == sorted({value for value, _ in expected})


def _key(number: int) -> bytes:
    return xxhash.xxh3_128_digest(number.to_bytes(8, "big"))


@pytest.mark.parametrize("mean", [1, 108, 200])
def test_the_visited_set_on_disk_is_a_dict(mean: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also with more pages again and again, and with pages that overflow."""
    monkeypatch.setattr(visited, "_FRESH", 500)
    monkeypatch.setattr(visited, "_MEAN", mean)
    monkeypatch.setattr(visited, "_FEWEST_BITS", 1 if mean < 200 else 4)
    known = Visited()
    for number in range(6_000):
        if number == 1_700:
            known.spill(tmp_path)
        assert known.get(_key(number)) is None
        known.add(_key(number), number)
        assert known.get(_key(number * 7 // 11)) == number * 7 // 11
    assert [known.get(_key(number)) for number in range(6_000)] == list(range(6_000))
    assert known.get(_key(6_000)) is None


def test_keys_that_look_like_the_middle_of_entries_are_not_found(tmp_path: Path) -> None:
    known = Visited()
    known.spill(tmp_path)
    entry = bytes(range(16))
    known._pages.add({entry: 0x0011_2233_4455_6677, bytes(16): 5})  # type: ignore[union-attr]
    stored = entry + (0x0011_2233_4455_6677).to_bytes(8, "big")
    assert [known.get(stored[at : at + 16]) for at in range(9)] == [0x0011_2233_4455_6677, *[None] * 8]
    assert known.get(bytes(16)) == 5


def test_a_directory_without_room_is_named(tmp_path: Path) -> None:
    with pytest.raises(NoRoom, match="nowhere"):
        MappedColumn(array("I"), tmp_path / "nowhere")
    pid = os.fork()
    if not pid:  # a limit on the size of files stands for a full disk
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
        code = 1
        try:
            column = MappedColumn(array("Q"), tmp_path)
            for number in range(1 << 20):
                column.append(number)
        except NoRoom as error:
            code = 0 if "File too large" in str(error) and list(column)[:3] == [0, 1, 2] else 2
        os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def test_files_leave_nothing_behind(tmp_path: Path) -> None:
    column = MappedColumn(array("I", [1]), tmp_path)
    assert not list(tmp_path.iterdir())
    column.close()
    assert os.access(default_directory(), os.W_OK)
