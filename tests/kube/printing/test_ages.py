"""Durations as tables show them."""

from __future__ import annotations

import pytest

from kontend.kube.printing.ages import age, human_duration

MINUTE, HOUR, DAY = 60, 3600, 86400


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-2, "<invalid>"),
        (-1, "0s"),
        (0, "0s"),
        (119, "119s"),
        (2 * MINUTE, "2m"),
        (9 * MINUTE + 59, "9m59s"),
        (10 * MINUTE + 5, "10m"),
        (3 * HOUR - 1, "179m"),
        (3 * HOUR, "3h"),
        (7 * HOUR + 59 * MINUTE, "7h59m"),
        (8 * HOUR + 59 * MINUTE, "8h"),
        (47 * HOUR, "47h"),
        (48 * HOUR, "2d"),
        (8 * DAY - HOUR, "7d23h"),
        (8 * DAY, "8d"),
        (729 * DAY, "729d"),
        (730 * DAY, "2y"),
        (731 * DAY, "2y1d"),
        (8 * 365 * DAY, "8y"),
    ],
)
def test_a_duration_has_two_or_three_figures(seconds: int, text: str) -> None:
    assert human_duration(seconds) == text


def test_ages_of_what_is_not_a_time() -> None:
    now = "2026-01-01T00:00:00Z"
    assert age("", now) == age(None, now) == "<unknown>"
    assert age("yesterday", now) == "<invalid>"
    assert age("2025-12-31T23:59:00.500000Z", now) == "59s"
