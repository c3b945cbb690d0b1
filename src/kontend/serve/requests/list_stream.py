"""A long list on its way to a client: encoded piece by piece, no faster than the client reads.

Whatever the size of the list, an answer holds one piece of it and the snapshot that it is read from; objects are
encoded once for all answers (:mod:`~kontend.cluster.wire.encoded`).
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Iterator

from kontend.serve.requests.exchange import Client
from kontend.serve.turns import Turns


class ListStream:
    """The answer to one list."""

    def __init__(
        self, client: Client, turns: Turns, pieces: Iterator[bytes], *, keep_alive: bool, finished: Callable[[], None]
    ) -> None:
        self._client = client
        self._turns = turns
        self._pieces: Iterator[bytes] | None = pieces
        self._keep_alive = keep_alive
        self._finished = finished
        self._waiting = False

    def start(self, head: bytes) -> None:
        """Send the head of the answer, and the rest as the client reads."""
        self._client.begin_stream(head, on_writable=self._go_on_soon, on_lost=self._lost, watch=False)
        self._go_on_soon()

    def _go_on_soon(self) -> None:
        if not self._waiting and self._pieces is not None:
            self._waiting = True
            self._turns.soon(self._go_on)

    def _go_on(self) -> None:
        self._waiting = False
        if self._pieces is None or self._client.paused:
            return
        try:
            piece = next(self._pieces, None)
        except Exception:  # a bug of ours: the client sees that the answer is not complete
            traceback.print_exc(file=sys.stderr)
            self._client.abort()
            return
        if piece is not None:
            self._client.write(piece)
            self._go_on_soon()
            return
        self._pieces = None
        self._client.end_stream(b"", keep_alive=self._keep_alive)
        self._finished()

    def _lost(self) -> None:
        self._pieces = None
        self._finished()
