"""The work queue: no key twice at once, nothing lost, time by hand."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from kontend.runtime.controller import Request
from kontend.runtime.manager.queue import Queue, Rate, backoff

A, B, C = (Request("default", name) for name in "abc")


class Clock:
    """A clock that a test advances."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_request_that_waits_is_not_queued_twice() -> None:
    queue = Queue(Clock())
    queue.add(A)
    queue.add(B)
    queue.add(A)
    assert [queue.take(), queue.take(), queue.take()] == [A, B, None]


def test_a_request_is_never_handed_out_while_it_is_worked_on_and_comes_again_afterwards() -> None:
    queue = Queue(Clock())
    queue.add(A)
    assert queue.take() == A
    queue.add(A)
    queue.add(A)
    assert queue.take() is None
    queue.done(A)
    assert queue.take() == A
    queue.done(A)
    assert queue.take() is None


def test_failures_of_one_request_are_retried_ever_more_slowly_and_success_forgets_them() -> None:
    clock = Clock()
    queue = Queue(clock)
    assert [queue.retry(A) for _ in range(4)] == [0.005, 0.01, 0.02, 0.04]
    assert queue.retry(B) == 0.005
    assert queue.failures(A) == 4
    queue.forget(A)
    assert queue.retry(A) == 0.005


def test_backoff_ends_at_a_thousand_seconds() -> None:
    assert max(backoff(n) for n in range(10_000)) == 1000


def test_a_timer_fires_when_its_time_has_come_and_not_before() -> None:
    clock = Clock()
    queue = Queue(clock)
    queue.add_after(A, 5)
    clock.now = 4.9
    assert queue.take() is None
    assert queue.next_due() == 5
    clock.now = 5
    assert queue.take() == A
    assert queue.next_due() is None


def test_of_two_timers_of_one_request_the_earlier_counts() -> None:
    clock = Clock()
    queue = Queue(clock)
    queue.add_after(A, 5)
    queue.add_after(A, 2)
    queue.add_after(A, 9)
    assert queue.next_due() == 2
    clock.now = 2
    assert queue.take() == A
    queue.done(A)
    clock.now = 100
    assert queue.take() is None


def test_an_event_does_not_take_away_a_timer() -> None:
    clock = Clock()
    queue = Queue(clock)
    queue.add_after(A, 5)
    queue.add(A)
    assert queue.take() == A
    queue.done(A)
    clock.now = 5
    assert queue.take() == A


def test_all_retries_together_are_held_to_a_rate() -> None:
    clock = Clock()
    rate = Rate(clock, rate=10, burst=2)
    assert [rate.delay() for _ in range(4)] == [0, 0, 0.1, 0.2]
    clock.now = 1
    assert rate.delay() == 0


def test_a_closed_queue_takes_nothing_and_hands_out_nothing() -> None:
    queue = Queue(Clock())
    queue.add(A)
    queue.take()
    queue.add(B)
    queue.add_after(C, 1)
    queue.close()
    queue.add(C)
    assert (queue.take(), queue.next_due(), queue.active) == (None, None, 1)
    queue.done(A)
    assert queue.active == 0


def test_changes_are_announced() -> None:
    queue = Queue(Clock())
    heard: list[int] = []
    queue.on_change = lambda: heard.append(1)
    queue.add(A)
    queue.add(A)
    queue.add_after(B, 1)
    assert len(heard) == 2
    assert queue.take() == A
    queue.done(A)
    assert len(heard) == 2  # nothing became ready
    queue.add(A)
    assert queue.take() == A
    queue.add(A)  # a worker holds it
    assert len(heard) == 3
    queue.done(A)
    assert len(heard) == 4
    queue.close()
    assert len(heard) == 5


def test_additions_and_retries_are_counted() -> None:
    queue = Queue(Clock())
    queue.add(A)
    queue.add(A)
    queue.add(B)
    assert (queue.adds, queue.retries) == (2, 0)
    queue.retry(C)
    queue.retry(C)
    assert (queue.adds, queue.retries) == (2, 2)


@settings(derandomize=True, deadline=None, max_examples=200)
@given(
    st.lists(
        st.tuples(st.sampled_from(["add", "after", "retry", "take", "done", "tick"]), st.sampled_from([A, B, C])),
        max_size=60,
    )
)
def test_whatever_happens_no_request_is_held_twice_and_none_is_lost(steps: list[tuple[str, Request]]) -> None:
    clock = Clock()
    queue = Queue(clock)
    held: set[Request] = set()
    owed: set[Request] = set()
    for what, request in steps:
        if what == "add":
            queue.add(request)
            owed.add(request)
        elif what == "after":
            queue.add_after(request, 3)
            owed.add(request)
        elif what == "retry":
            queue.retry(request)
            owed.add(request)
        elif what == "take":
            taken = queue.take()
            if taken is not None:
                assert taken not in held
                held.add(taken)
                owed.discard(taken)
        elif what == "done" and request in held:
            held.discard(request)
            queue.done(request)
        elif what == "tick":
            clock.now += 1
    for request in list(held):
        queue.done(request)
    clock.now += 10_000
    handed = set()
    while (taken := queue.take()) is not None:
        handed.add(taken)
        queue.done(taken)
    assert owed <= handed


def test_a_short_delay_is_a_delay() -> None:
    clock = Clock()
    queue = Queue(clock)
    queue.add_after(A, 0.5)
    assert queue.take() is None
    clock.now = 0.5
    assert queue.take() == A


def test_after_closing_no_timer_is_set() -> None:
    queue = Queue(Clock())
    queue.close()
    queue.add_after(A, 5)
    assert queue.next_due() is None


def test_a_burst_of_retries_passes_at_once_and_then_ten_a_second() -> None:
    clock = Clock()
    rate = Rate(clock)
    assert [rate.delay() for _ in range(102)] == [0.0] * 100 + [0.1, 0.2]
    clock.now = 1.0  # ten tokens later, of which two are spent
    assert [rate.delay() for _ in range(9)] == [0.0] * 8 + [0.1]
    clock.now = 1000.0  # never more than a burst
    assert [rate.delay() for _ in range(101)] == [0.0] * 100 + [0.1]
