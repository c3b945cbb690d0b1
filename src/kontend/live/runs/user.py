"""The user of a run: takes the actions of the workload, one after the other.

An action that a webhook must answer first goes on by itself while the processes work, because the webhook is usually
one of theirs. An action may come too early in a perturbed run: its webhook is down, its kind is not defined yet, the
object that it changes is not there yet, or one of the same name is still being deleted. A user tries again then, so a
refused action is repeated when the process is idle, unless unperturbed runs have shown that it is refused anyway.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from kontend.cluster.effects import Waiting
from kontend.cluster.state import State
from kontend.live.gate.gate import LiveGate
from kontend.live.gate.records import Happening
from kontend.live.runs.workload import USER, UserAction
from kontend.serve.server import Server

#: The most times that an action is repeated.
_REPEATS: Final = 3


class User:
    """Takes actions; the gate knows how many."""

    def __init__(
        self, server: Server, gate: LiveGate, actions: Sequence[UserAction], hopeless: frozenset[int] = frozenset()
    ) -> None:
        """``hopeless`` are the numbers of actions that are not repeated."""
        self._server = server
        self._gate = gate
        self._actions = actions
        self._hopeless = hopeless
        #: The numbers of the actions that were refused to the end, and why.
        self.refusals: dict[int, str] = {}
        self._wanted = 0
        #: The action that waits for webhooks, and the one that is to be repeated.
        self._waiting: asyncio.Task[None] | None = None
        self._refused: int | None = None
        self._repeats = 0

    @property
    def count(self) -> int:
        """Return the number of actions, taken or not."""
        return len(self._actions)

    @property
    def is_done(self) -> bool:
        """Return whether all actions have been taken."""
        return self._gate.action >= len(self._actions)

    @property
    def waits(self) -> bool:
        """Return whether an action waits for the answer of a webhook."""
        return self._waiting is not None

    @property
    def is_refused(self) -> bool:
        """Return whether an action waits to be repeated."""
        return self._refused is not None

    def resource(self, number: int) -> str:
        """Return the resource that an action is about; empty while it is not served."""
        action, state = self._actions[number - 1], self._server.state
        return action.resource(state) if action.is_served(state) else ""

    def act_until(self, number: int) -> None:
        """Take the actions up to a number."""
        self._wanted = max(self._wanted, min(number, len(self._actions)))
        while self._waiting is None and self._refused is None and self._gate.action < self._wanted:
            self._take(self._gate.action)

    def repeat(self) -> bool:
        """Take a refused action again; return whether there is one."""
        if self._refused is None:
            return False
        index, self._refused = self._refused, None
        self._take(index)
        self.act_until(self._wanted)
        return True

    def stop(self) -> None:
        """Wait for nothing any more."""
        if self._waiting is not None:
            self._waiting.cancel()

    def _take(self, index: int) -> None:
        before = self._server.cluster.state
        self._gate.action = index + 1
        try:
            refused = self._actions[index].perform(self._server.cluster)
        except Waiting as waiting:
            self._waiting = asyncio.get_running_loop().create_task(self._answered(index, waiting))
            return
        if not refused or not self._repeat_later(index):
            self._note(index, refused, before, self._server.cluster.state)

    async def _answered(self, index: int, waiting: Waiting) -> None:
        response = await waiting.response
        refused = str(response.body.get("message", "")) if response.code >= 400 else ""
        self._waiting = None
        if refused and self._repeat_later(index):
            return
        self._note(index, refused, *waiting.states)
        self.act_until(self._wanted)

    def _repeat_later(self, index: int) -> bool:
        """Return whether an action is to be repeated when the process is idle."""
        if self._repeats == _REPEATS or index + 1 in self._hopeless:
            self._repeats = 0
            return False
        self._repeats += 1
        self._refused = index
        return True

    def _note(self, index: int, refused: str, before: State | None = None, after: State | None = None) -> None:
        self._repeats = 0
        if refused:
            self.refusals[index + 1] = refused
        text = f"{USER} {self._actions[index].text}" + (f": refused: {refused}" if refused else "")
        self._gate.log.add(Happening(USER, "act", text, self._gate.now(), index + 1, before, after))
