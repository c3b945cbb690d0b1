"""Reconciles that wait in a loop: they read the same objects over and over, and get the same responses.

Each response is another path of a program tree, so the search would never come to the end of such a reconcile, and it
says nothing of its correctness: on a cluster it holds a worker until somebody else acts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kontend.explore.program.driven import Exchange

#: The reads after which a reconcile waits, and the different ones among them.
MOST_READS: Final = 200
_MOST_DIFFERENT: Final = 8


def is_polling(exchanges: Sequence[Exchange]) -> bool:
    """The last calls of a run are a few reads that are made over and over, and get the same responses.

    >>> from kontend.runtime.client.call import Call
    >>> look = Exchange(Call("get", "Pod/v1", "default", "p"), 0, b"={}")
    >>> is_polling([look] * MOST_READS), is_polling([look] * 5)
    (True, False)
    """
    if len(exchanges) < MOST_READS:
        return False
    last = exchanges[-MOST_READS:]
    if any(exchange.call.writes for exchange in last):
        return False
    return len({(exchange.call, exchange.response) for exchange in last}) <= _MOST_DIFFERENT
