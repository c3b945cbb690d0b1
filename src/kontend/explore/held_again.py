"""Conversations, held again in other processes.

Some things are the same as long as a process lives and differ in the next one: the order of a set of strings, the hash
of a string, addresses. Running code twice in one process does not show them. So conversations that were held while
exploring a file are written down and held again by processes that import the file afresh, each with another
``PYTHONHASHSEED``; the first difference is told. Several processes, because two elements of a set keep their order in
every second one.

    python -m kontend.explore.held_again < CONVERSATIONS
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import orjson

from kontend.explore.behaviour import Behaviour, Conversation
from kontend.explore.determinism import Nondeterminism
from kontend.explore.engine import Engine
from kontend.explore.outcome import NOWHERE, Done, Outcome
from kontend.explore.scenario import BadScenario
from kontend.explore.source import scenarios_in
from kontend.kube.meta.names import Key
from kontend.runtime.client.call import Call

_PROCESSES: Final = 3
#: How long such a process may take, in seconds. It imports a file and does a fraction of what the search did.
_PATIENCE: Final = 120


def recorded(scenario: str, behaviours: Sequence[Behaviour], *, most: int) -> list[dict[str, Any]]:
    """A sample of the conversations with the controllers of a scenario, as JSON."""
    each = list(dict.fromkeys(behaviours))  # instances of one controller share its behaviour
    share = max(1, most // len(each))
    return [
        {"scenario": scenario, "controller": behaviour.controller.name, **written(conversation)}
        for behaviour in each
        for conversation in behaviour.conversations(share)
    ]


def hold_again(file: str | Path, conversations: list[dict[str, Any]]) -> None:
    """Hold conversations with the controllers of a file in other processes. Raises :class:`Nondeterminism`."""
    document = orjson.dumps({"file": str(Path(file).resolve()), "conversations": conversations})
    with ThreadPoolExecutor(_PROCESSES) as pool:
        for found in pool.map(lambda seed: _asked(file, document, seed), _seeds()):
            if found:
                raise Nondeterminism(found)


def _seeds() -> list[str]:
    """Fixed, so that these processes do the same each time; none is that of this process, if it was given one."""
    return [str(seed) for seed in range(1, _PROCESSES + 2) if str(seed) != os.environ.get("PYTHONHASHSEED")][
        :_PROCESSES
    ]


def _asked(file: str | Path, document: bytes, seed: str) -> str:
    """The first difference that another process finds; empty when there is none."""
    path = os.pathsep.join(entry for entry in sys.path if entry)
    try:
        process = subprocess.run(
            [sys.executable, "-m", __name__],
            input=document,
            capture_output=True,
            timeout=_PATIENCE,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": path},
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise _not_held(file, f"it did not end within {_PATIENCE} s") from None
    if process.returncode:
        last = process.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        raise _not_held(file, last or f"it ended with {process.returncode}")
    difference: str = orjson.loads(process.stdout)["difference"]
    return difference


def _not_held(file: str | Path, why: str) -> BadScenario:
    return BadScenario(
        f"{file}: its controllers could not be run in another process: {why} (--one-process goes without)"
    )


def main() -> int:
    """Hold the conversations on the standard input, and tell the first difference."""
    document = orjson.loads(sys.stdin.buffer.read())
    with contextlib.redirect_stdout(sys.stderr):  # where the file prints to
        difference = _first_difference(document["file"], document["conversations"])
    sys.stdout.write(orjson.dumps({"difference": difference}).decode())
    return 0


def _first_difference(file: str, conversations: Iterable[dict[str, Any]]) -> str:
    scenarios = scenarios_in(file)
    behaviours: dict[str, dict[str, Behaviour]] = {}
    for each in conversations:
        name = each["scenario"]
        if name not in behaviours:
            if name not in scenarios:
                raise BadScenario(f"there is no scenario {name} there")
            behaviours[name] = {known.controller.name: known for known in Engine(scenarios[name]).behaviours}
        try:
            behaviours[name][each["controller"]].hold_again(read(each))
        except Nondeterminism as error:
            return str(error)
    return ""


def written(conversation: Conversation) -> dict[str, Any]:
    """A conversation as JSON."""
    (request, memory, now), path, outcome = conversation
    return {
        "request": list(request),
        "memory": _text(memory),
        "now": now,
        "path": [{"call": _call_written(call), "answer": _text(answer)} for call, answer in path],
        "call": None if outcome.call is None else _call_written(outcome.call),
        "done": None if outcome.done is None else {**asdict(outcome.done), "memory": _text(outcome.done.memory)},
        "drawn": outcome.drawn,
    }


def read(document: dict[str, Any]) -> Conversation:
    """A conversation from JSON."""
    done = document["done"]
    return Conversation(
        (Key(*document["request"]), _bytes(document["memory"]), document["now"]),
        [(_call_read(each["call"]), _bytes(each["answer"])) for each in document["path"]],
        Outcome(
            None if document["call"] is None else _call_read(document["call"]),
            None if done is None else Done(done["again"], done["error"], _bytes(done["memory"])),
            document["drawn"],
            NOWHERE,  # the other process knows the line, in its own words
        ),
    )


def _call_written(call: Call) -> dict[str, Any]:
    return {**asdict(call), "body": _text(call.body)}


def _call_read(written: dict[str, Any]) -> Call:
    query = tuple((name, value) for name, value in written["query"])
    return Call(**{**written, "body": _bytes(written["body"]), "query": query})


def _text(data: bytes) -> str:
    """Bytes as text, a character for each: it is nearly always ASCII, and whatever else it is comes back unharmed."""
    return data.decode("latin-1")


def _bytes(text: str) -> bytes:
    return text.encode("latin-1")


if __name__ == "__main__":
    sys.exit(main())
