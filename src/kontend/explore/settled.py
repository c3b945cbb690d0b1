"""Whether everything has settled in a world, as far as that shows without a search.

A controller that only looks again from time to time never stops moving, and has settled all the same. Where nothing is
under way, nothing is undelivered and the user is done, what each of them finds does not depend on the others: if each
one alone writes nothing, fails in nothing and comes back to where it was, then all of them together do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kontend.explore.engine import Engine
from kontend.explore.moves import Move
from kontend.explore.world import World

#: A reconcile that has made so many calls without a write will not come to an end.
_CALLS: Final = 10_000


def is_settled(engine: Engine, world: World, moves: Sequence[Move]) -> bool:
    """Whether nothing can happen any more (``moves`` are what can) but looking again and finding nothing to do.

    Worlds of which this is not said may have settled, too: only a search can tell.
    """
    if not moves:
        return True
    if any(move.what != "retry" for move in moves):
        return False
    key = engine.key(world)
    return all(_comes_back(engine, world, move, key) for move in moves)


def _comes_back(engine: Engine, world: World, retry: Move, key: bytes) -> bool:
    step = engine.make(engine.make(world, retry).world, Move("start", retry.pilot, retry.subject))
    for _ in range(_CALLS):
        if step.changes or step.error:
            return False
        if step.world.pilots[retry.pilot].flight is None:
            return engine.key(step.world) == key
        step = engine.make(step.world, Move("call", retry.pilot))
    return False
