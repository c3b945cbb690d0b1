"""The way in: a scenario, and how to go about it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal, get_args

from kontend.explore.depth_first import DepthFirst
from kontend.explore.place import caller
from kontend.explore.reproduce import followed, story_to_follow
from kontend.explore.scenario import BadScenario, Scenario, not_among
from kontend.explore.search import Search
from kontend.explore.verdict import Verdict
from kontend.explore.walks import Walks

Strategy = Literal["breadth", "depth", "random", "pct"]
STRATEGIES: Final[tuple[Strategy, ...]] = get_args(Strategy)


def check(
    scenario: Scenario,
    *,
    search: Strategy = "breadth",
    seed: int = 0,
    walks: int = 1_000,
    until_first: bool = False,
    jobs: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Verdict:
    """Explore a scenario and say what holds.

    ``search`` is how: every world, the least disturbed first (``breadth``), or each way to its end first (``depth``);
    or only so many ``walks``, by the chance that ``seed`` stands for: ``random``, or by priorities (``pct``). With
    ``until_first`` it stops when something is violated; ``jobs`` processes share the work of ``breadth``. In a test
    with ``@reproduce(...)`` it only follows that story.
    """
    story = story_to_follow()
    if story is not None:
        return followed(scenario, story)
    made = searching(
        scenario, search=search, seed=seed, walks=walks, until_first=until_first, jobs=jobs, progress=progress
    )
    return made.run()


def searching(
    scenario: Scenario,
    *,
    search: Strategy = "breadth",
    seed: int = 0,
    walks: int = 1_000,
    until_first: bool = False,
    jobs: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Search | Walks:
    """The same, not begun yet."""
    if search not in STRATEGIES:
        raise BadScenario(f"check: {not_among('search', str(search), STRATEGIES)}", caller())
    for name, value, least in (("seed", seed, 0), ("walks", walks, 1), ("jobs", jobs, 1)):
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise BadScenario(f"check({name}={value!r}): expected a whole number, at least {least}", caller())
    if jobs > 1 and search != "breadth":
        raise BadScenario(f"jobs={jobs}: only search='breadth' can be shared out, found {search!r}", caller())
    if search == "breadth":
        return Search(scenario, until_first=until_first, jobs=jobs, progress=progress)
    if search == "depth":
        return DepthFirst(scenario, until_first=until_first, progress=progress)
    return Walks(scenario, choose=search, seed=seed, walks=walks, until_first=until_first, progress=progress)
