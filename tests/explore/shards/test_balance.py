"""States move where shards have very different amounts of work, and only there."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from kontend.explore.shards.balance import moves


def test_shards_with_about_the_same_work_keep_their_states() -> None:
    owners = dict.fromkeys(range(60), 0) | dict.fromkeys(range(60, 100), 1)
    assert not moves(range(100), owners, [0, 0])
    few = dict.fromkeys(range(16), 0)
    assert not moves(range(16), few, [0, 0])
    assert moves(range(32), dict.fromkeys(range(32), 0), [0, 0])


def test_a_shard_with_much_to_do_gives_states_away() -> None:
    owners = dict.fromkeys(range(100), 0)
    assert moves(range(100), owners, [0, 0]) == dict.fromkeys(range(50, 100), 1)


def test_work_that_shards_have_already_counts() -> None:
    owners = dict.fromkeys(range(100), 0)
    assert not moves(range(100), owners, [0, 100])


@given(
    owned=st.lists(st.integers(0, 3), max_size=80),
    backlogs=st.lists(st.integers(0, 100), min_size=4, max_size=4),
)
def test_moves_make_no_shard_larger_than_the_mean(owned: list[int], backlogs: list[int]) -> None:
    owners = dict(enumerate(owned))
    moved = moves(range(len(owned)), owners, backlogs)
    assert all(owners[number] != owner for number, owner in moved.items())
    before, after = Counter(owners.values()), Counter((owners | moved).values())
    mean = -(-(len(owned) + sum(backlogs)) // 4)
    for index, backlog in enumerate(backlogs):
        assert after[index] <= before[index] or backlog + after[index] <= mean
