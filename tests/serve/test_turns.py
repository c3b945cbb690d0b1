"""Steps of many answers share the event loop with requests."""

from __future__ import annotations

import asyncio

import pytest

from kontend.serve import turns
from kontend.serve.turns import Turns


def test_others_get_their_turn_between_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many steps wait, what becomes ready meanwhile runs after the steps of one turn."""
    monkeypatch.setattr(turns, "_TURN", 0.0)

    async def run() -> list[str]:
        seen: list[str] = []
        queue = Turns()
        for number in range(3):
            queue.soon(lambda number=number: seen.append(f"step {number}"))  # type: ignore[misc]
        for number in range(3):
            seen.append(f"other {number}")
            await asyncio.sleep(0)
        return seen

    assert asyncio.run(run()) == ["other 0", "step 0", "other 1", "step 1", "other 2", "step 2"]


def test_a_step_that_fails_does_not_stop_the_others() -> None:
    """The loop reports it, and goes on."""

    async def run() -> tuple[list[str], int]:
        seen: list[str] = []
        failures: list[object] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: failures.append(context))
        queue = Turns()
        queue.soon(lambda: [][1])
        queue.soon(lambda: seen.append("second"))
        for _ in range(3):
            await asyncio.sleep(0)
        return seen, len(failures)

    assert asyncio.run(run()) == (["second"], 1)
