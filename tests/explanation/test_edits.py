"""Edits of files by byte ranges."""

from __future__ import annotations

import pytest

from kontend.explanation.edits import Edit, Overlapping, applied, changed_lines


def test_edits_count_in_bytes() -> None:
    source = 'a = "é"  # ü\nb = 1\n'.encode()
    at = source.index(b"1")
    assert applied(source, [Edit(at, at + 1, "2")]).decode() == 'a = "é"  # ü\nb = 2\n'


def test_edits_of_the_same_bytes_are_refused() -> None:
    with pytest.raises(Overlapping):
        applied(b"abc", [Edit(0, 2, "x"), Edit(1, 3, "y")])


def test_lines_around_a_change_are_not_shown() -> None:
    source = b"a\nb\nc\n"
    assert changed_lines(source, [Edit(2, 3, "B"), Edit(6, 6, "d\n")]) == (("b",), ("B", "d"))


def test_a_moved_line_is_taken_away_and_added() -> None:
    source = b"a\nb\n"
    assert changed_lines(source, [Edit(0, 0, "b\n"), Edit(2, 4, "")]) == (("b",), ("b",))
