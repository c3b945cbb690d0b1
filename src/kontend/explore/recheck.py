"""Re-runs recorded reconciles in fresh processes.

Some things are the same as long as a process lives and differ in the next one: the order of a set of strings, the hash
of a string, addresses. Running code twice in one process does not show them. So runs that were made while exploring a
file are recorded and made again by processes that import the file afresh, each with another ``PYTHONHASHSEED``; the
first difference is an error. Several processes, because two elements of a set keep their order in every second one.

    python -m kontend.explore.recheck < RUNS
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import orjson

import kontend
from kontend.explore.model.model import Model
from kontend.explore.problems import BadScenario
from kontend.explore.program.determinism import Nondeterminism
from kontend.explore.program.driven import Exchange, Start
from kontend.explore.program.progress import Done, Enqueued, Failure, Progress
from kontend.explore.program.tree import Program, RecordedRun
from kontend.explore.scenario_files import scenarios_in
from kontend.explore.sources.inputs import Inputs
from kontend.kube.meta.names import Key
from kontend.runtime.client.call import Call

_PROCESSES: Final = 3
#: The seconds that such a process may take. It imports a file and does a fraction of the work of the search.
_PATIENCE: Final = 600


def recorded_runs(scenario: str, programs: Sequence[Program], *, most: int) -> list[dict[str, Any]]:
    """A sample of the runs of a scenario's controllers, as JSON."""
    unique = list(dict.fromkeys(programs))  # instances of one controller share its program
    share = max(1, most // len(unique))
    return [
        {"scenario": scenario, "controller": program.controller.name, **dump_run(run)}
        for program in unique
        for run in program.recorded_runs(share)
    ]


def recheck(file: str | Path, runs: list[dict[str, Any]], inputs: Inputs | None = None) -> None:
    """Make some runs of the controllers of a file again in other processes. Raises :class:`Nondeterminism`."""
    given = inputs.to_json() if inputs is not None else {}
    path = [entry for entry in sys.path if entry]
    document = orjson.dumps({"file": str(Path(file).resolve()), "runs": runs, "inputs": given, "path": path})
    with ThreadPoolExecutor(_PROCESSES) as pool:
        for difference in pool.map(lambda seed: _checked(file, document, seed), _seeds()):
            if difference:
                raise Nondeterminism(difference)


def _seeds() -> list[str]:
    """Fixed, so that these processes do the same each time; none is that of this process, if it was given one."""
    return [str(seed) for seed in range(1, _PROCESSES + 2) if str(seed) != os.environ.get("PYTHONHASHSEED")][
        :_PROCESSES
    ]


def _checked(file: str | Path, document: bytes, seed: str) -> str:
    """The first difference that another process finds; empty for none."""
    # Not yet the directories of the user, and -P for not the current one: a file there called operator.py or types.py
    # would replace the standard module.
    path = str(Path(kontend.__file__).parent.parent)
    try:
        process = subprocess.run(
            [sys.executable, "-P", "-m", __name__],
            input=document,
            capture_output=True,
            timeout=_PATIENCE,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": path},
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise _not_run(file, f"it did not end within {_PATIENCE} s") from None
    if process.returncode:
        last = process.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        raise _not_run(file, last or f"it ended with {process.returncode}")
    difference: str = orjson.loads(process.stdout)["difference"]
    return difference


def _not_run(file: str | Path, why: str) -> BadScenario:
    return BadScenario(
        f"{file}: its controllers could not be run in another process: {why} (--one-process goes without)"
    )


def main() -> int:
    """Make the runs on the standard input, and report the first difference."""
    document = orjson.loads(sys.stdin.buffer.read())
    sys.path[:] = [*dict.fromkeys([*document["path"], *sys.path])]
    with contextlib.redirect_stdout(sys.stderr):  # the file may print
        difference = _first_difference(document["file"], document["runs"], document.get("inputs"))
    sys.stdout.write(orjson.dumps({"difference": difference}).decode())
    return 0


def _first_difference(file: str, runs: Iterable[dict[str, Any]], inputs: Mapping[str, Any] | None = None) -> str:
    runs = list(runs)
    scenarios = scenarios_in(file, Inputs.from_json(inputs), names=[document["scenario"] for document in runs])
    programs: dict[str, dict[str, Program]] = {}
    for document in runs:
        name = document["scenario"]
        if name not in programs:
            if name not in scenarios:
                raise BadScenario(f"there is no scenario {name} there")
            programs[name] = {program.controller.name: program for program in Model(scenarios[name]).programs}
        try:
            programs[name][document["controller"]].rerun(load_run(document))
        except Nondeterminism as error:
            return str(error)
    return ""


def dump_run(run: RecordedRun) -> dict[str, Any]:
    """A run as JSON."""
    start, exchanges, progress = run
    done = progress.done
    return {
        "request": list(start.request),
        "memory": _text(start.memory),
        "now": start.now,
        "uuids_from": start.uuids_from,
        "exchanges": [
            {"call": _dump_call(call), "at": at, "response": _text(response)} for call, at, response in exchanges
        ],
        "calls": [_dump_call(call) for call in progress.calls],
        "done": None
        if done is None
        else {
            "again": done.again,
            "after": done.after,
            "error": done.failure and [done.failure.type, done.failure.message],
            "memory": _text(done.memory),
        },
        "uuids": progress.uuids,
        "asks_time": progress.asks_time,
        "enqueued": [[one.controller, *one.request] for one in progress.enqueued],
    }


def load_run(document: dict[str, Any]) -> RecordedRun:
    """A run from JSON."""
    done = document["done"]
    failure = Failure(*done["error"]) if done is not None and done["error"] is not None else None
    return RecordedRun(
        Start(Key(*document["request"]), _bytes(document["memory"]), document["now"], document["uuids_from"]),
        [
            Exchange(_load_call(exchange["call"]), exchange["at"], _bytes(exchange["response"]))
            for exchange in document["exchanges"]
        ],
        Progress(
            tuple(_load_call(call) for call in document["calls"]),
            None if done is None else Done(done["again"], failure, _bytes(done["memory"]), done["after"]),
            document["uuids"],
            asks_time=document["asks_time"],
            enqueued=tuple(Enqueued(controller, Key(*request)) for controller, *request in document["enqueued"]),
        ),
    )


def _dump_call(call: Call) -> dict[str, Any]:
    return {**asdict(call), "body": _text(call.body)}


def _load_call(written: dict[str, Any]) -> Call:
    query = tuple((name, value) for name, value in written["query"])
    return Call(**{**written, "body": _bytes(written["body"]), "query": query})


def _text(data: bytes) -> str:
    """Bytes as text, a character for each: nearly always ASCII, and anything else comes back unchanged."""
    return data.decode("latin-1")


def _bytes(text: str) -> bytes:
    return text.encode("latin-1")


if __name__ == "__main__":
    sys.exit(main())
