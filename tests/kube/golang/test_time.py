"""Durations and times."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kontend.kube.golang.time import format_duration, format_time, is_date, parse_duration, parse_time


@given(st.integers(-(2**63), 2**63 - 1))
@settings(derandomize=True, deadline=None, max_examples=200)
def test_a_duration_reads_back_as_it_was_written(nanoseconds: int) -> None:
    assert parse_duration(format_duration(nanoseconds)) == nanoseconds


@given(st.datetimes(timezones=st.just(UTC)))
@settings(derandomize=True, deadline=None, max_examples=200)
def test_a_time_reads_back_as_it_was_written(moment: datetime) -> None:
    nanoseconds = parse_time(moment.isoformat())
    assert parse_time(format_time(nanoseconds)) == nanoseconds
    assert datetime.fromisoformat(format_time(nanoseconds)) == moment


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('5"\u009e', 'time: unknown unit "\\"\\xc2\\x9e" in duration "5\\"\\xc2\\x9e"'),
        ("", 'time: invalid duration ""'),
        ("1", 'time: missing unit in duration "1"'),
        ("1x", 'time: unknown unit "x" in duration "1x"'),
        (".s", 'time: invalid duration ".s"'),
        ("9999999h", 'time: invalid duration "9999999h"'),
    ],
)
def test_what_is_no_duration_is_refused_in_the_words_of_go(text: str, complaint: str) -> None:
    with pytest.raises(ValueError) as refused:
        parse_duration(text)
    assert str(refused.value) == complaint


@pytest.mark.parametrize("text", ["2024-02-30T00:00:00Z", "2024-01-01T25:00:00Z", "2024-01-01 00:00:00Z", "2024-01-01"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        parse_time(text)


def test_the_year_zero_is_a_leap_year() -> None:
    assert is_date("0000-02-29")
    assert not is_date("1900-02-29")
