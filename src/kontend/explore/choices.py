"""Moves as JSON: how counterexamples write them down."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from kontend.explore.moves import Move
from kontend.kube.meta.names import Key

#: The bounds that decide which moves there are.
BOUNDS: Final = ("lag", "concurrent", "atomic")


def written(moves: Iterable[Move]) -> list[Any]:
    """Some moves, to be written.

    >>> written([Move("start", 0, Key("default", "w")), Move("call", 0)])
    [['start', 0, ['default', 'w']], ['call', 0, None]]
    """
    return [
        [move.what, move.pilot, list(move.subject) if isinstance(move.subject, Key) else move.subject] for move in moves
    ]


def read(moves: Iterable[Any]) -> tuple[Move, ...]:
    """What :func:`written` wrote. Raises ``TypeError`` or ``ValueError`` for anything else."""
    return tuple(
        Move(what, pilot, Key(*subject) if isinstance(subject, list) else subject) for what, pilot, subject in moves
    )
