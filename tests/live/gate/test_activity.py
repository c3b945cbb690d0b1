"""Processes that go round in vain while events are held back from them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from kontend.live.gate.activity import Activity
from kontend.live.gate.call import Call

PATCH = Call("patch", "widgets.live.kontend.dev", "default", "w", "status")
OTHER = Call("patch", "widgets.live.kontend.dev", "default", "v", "status")


def repeats(activity: Activity) -> None:
    for _ in range(10):
        activity.note_request("p", PATCH)


def fails(activity: Activity) -> None:
    for _ in range(10):
        activity.note_outcome("p", PATCH, failed=True)


def changes_something(activity: Activity) -> None:
    repeats(activity)
    activity.note_change("p")


def is_waited_for_anew(activity: Activity) -> None:
    repeats(activity)
    activity.begin_wait("p")


def works_on_many(activity: Activity) -> None:
    for _ in range(5):
        activity.note_request("p", PATCH)
        activity.note_request("p", OTHER)


def watches(activity: Activity) -> None:
    for _ in range(10):
        activity.note_request("p", Call("watch", "pods"))


@pytest.mark.parametrize(
    ("does", "expected"),
    [
        (repeats, True),
        (fails, True),
        (changes_something, False),
        (is_waited_for_anew, False),
        (works_on_many, False),
        (watches, False),
    ],
)
def test_a_process_is_stuck_that_repeats_a_call_and_changes_nothing(
    does: Callable[[Activity], None], *, expected: bool
) -> None:
    async def work() -> bool:
        activity = Activity(frozenset())
        activity.begin_wait("p")
        does(activity)
        return activity.is_stuck("p", 10, 0.0)

    assert asyncio.run(work()) == expected


def test_repetitions_within_a_moment_are_work() -> None:
    async def work() -> bool:
        activity = Activity(frozenset())
        repeats(activity)
        return activity.is_stuck("p", 10, 60.0)

    assert not asyncio.run(work())
