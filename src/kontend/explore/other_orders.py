"""Re-executes recorded runs in other orders, in processes that have made no run before.

A verdict rests on program trees: a run is made once and looked up from then on. That is right only if a run depends on
nothing but its request, its responses and its declared memory. Code can keep something else in countless places: a
default argument, an attribute of a function, a generator, a variable of a library. So no place is looked for. A process
is forked before the search makes its first run, with its own copies of what a fork shares
(:mod:`kontend.explore.own_copies`). Before a verdict says that something holds, all runs are made again
there, in the reversed and in a shuffled order; one that makes other requests than before is an error.

The reversed order has all runs: of any two, the other one comes first. Where there are few, they are made several
times: a counter that nobody declared may make a difference at every tenth run only. The shuffled order has as many as
keep both below a fifth of the time of the search. They are counted by their exchanges: a limit of time would not give
the same verdict again. An exchange takes 0.1 to 0.16 ms here, and a state of the search 1.5 to 2 ms.

Rejected: other orders in the process of the search. State that only grows is complete by then, and every order agrees.
Rejected, too: importing the scenario afresh, because ``check`` is called with objects, not with a file.
"""

from __future__ import annotations

import os
import pickle
import random
import signal
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final, NamedTuple, NoReturn

from kontend.explore.model.model import Model
from kontend.explore.own_copies import take_copies
from kontend.explore.program.determinism import Nondeterminism
from kontend.explore.program.tree import Program, RecordedRun
from kontend.explore.scenario import Scenario

#: The seed of the shuffled order: the same command makes the same runs.
_SEED: Final = 1
#: The calls before a difference that a message shows.
_SHOWN: Final = 4
#: For each state of the search, the exchanges that are made again in both orders together.
_EXCHANGES: Final = 2
#: The process has its own copies of everything.
_READY: Final = b"r"
#: The answer where no run makes other requests. A process that has failed gives none.
_AGREED: Final = "="
_ENDED: Final = "the process that made all runs again in another order ended early; does a reconcile end its process?"
#: The number of runs that are shuffled at least.
_FEWEST: Final = 10
#: Where there are few runs, so many are made in the reversed order in all, or so many exchanges.
_FEWEST_IN_ALL: Final = 40
_MOST_EXCHANGES: Final = 150


class _Repeated(NamedTuple):
    """A run to make again: the number of its program, and the run."""

    program: int
    run: RecordedRun


class FreshProcess:
    """A copy of this process as it is now, which waits for runs to make."""

    def __init__(self, scenario: Scenario) -> None:
        self._pid = 0
        if not hasattr(os, "fork"):  # `kontend explore` still compares runs with those of other processes
            return
        runs, self._runs = os.pipe()
        self._answer, answer = os.pipe()
        with warnings.catch_warnings():
            # Python 3.12 warns about threads. The child uses none of them, and no lock that one may hold.
            warnings.simplefilter("ignore", DeprecationWarning)
            self._pid = os.fork()
        if not self._pid:
            os.close(self._runs)
            os.close(self._answer)
            _serve(scenario, runs, answer)
        os.close(runs)
        os.close(answer)
        os.read(self._answer, len(_READY))

    def check(self, models: Sequence[Model], states: int) -> None:
        """Make all runs of the programs of some models again, after a search of a number of states.

        Raises :class:`Nondeterminism` where one makes other requests.
        """
        if not self._pid:
            return
        runs = list(_all_runs(program for model in models for program in model.programs))
        if not runs:
            return
        # What a controller defines in a run is served in the others: the fresh process could not know of it.
        namespaced = {kind: known for model in models for kind, known in model.knowledge.namespaced.items()}
        with open(self._runs, "wb", closefd=False) as stream:
            pickle.dump((runs, states * _EXCHANGES, namespaced), stream, pickle.HIGHEST_PROTOCOL)
        with open(self._answer, "rb", closefd=False) as stream:
            difference = stream.read().decode()
        if difference != _AGREED:
            raise Nondeterminism(difference or _ENDED)

    def close(self) -> None:
        """End the process."""
        if self._pid:
            # It would end by itself at the end of its input, but another process may have inherited the pipe.
            os.kill(self._pid, signal.SIGKILL)
            with suppress(ChildProcessError):
                os.waitpid(self._pid, 0)
            os.close(self._runs)
            os.close(self._answer)
            self._pid = 0


def _all_runs(programs: Iterable[Program]) -> Iterator[_Repeated]:
    """The longest runs of some programs, each once: all others are the beginning of one of them."""
    seen: set[tuple[int, bytes]] = set()
    for program in dict.fromkeys(programs):
        for id, run in program.longest_runs():
            if (program.number, id) not in seen:
                seen.add((program.number, id))
                yield _Repeated(program.number, run)


def _serve(scenario: Scenario, runs: int, answer: int) -> NoReturn:
    """Make the runs that come in, and answer with the first difference. Nothing of the parent's is cleaned up."""
    with suppress(ValueError):  # a search in a thread gets no signals
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        # Before the search begins, which may change what is shared.
        take_copies(but=(runs, answer))
        os.write(answer, _READY)
        with open(runs, "rb", closefd=False) as stream:
            recorded: list[_Repeated]
            recorded, exchanges, namespaced = pickle.load(stream)  # noqa: S301  our own parent wrote it
        # What user code prints was printed by the search.
        sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115
        model = Model(scenario)
        model.knowledge.namespaced.update(namespaced)
        programs = {program.number: program for program in model.programs}
        difference = _in_a_copy(programs, _often(recorded[::-1]))
        if not difference:
            difference = _first_difference(programs, _shuffled(recorded, exchanges))
        with open(answer, "wb", closefd=False) as stream:
            stream.write((difference or _AGREED).encode())
    finally:
        os._exit(0)


def _shuffled(runs: Sequence[_Repeated], exchanges: int) -> list[_Repeated]:
    """Some runs in another order: as many as have at most ``exchanges``, those of all runs counted before."""
    left = exchanges - sum(len(run.exchanges) for _, run in runs)
    chosen: list[_Repeated] = []
    for repeated in random.Random(_SEED).sample(runs, len(runs)):
        left -= len(repeated.run.exchanges)
        if left < 0 and len(chosen) >= _FEWEST:
            break
        chosen.append(repeated)
    return chosen


def _often(runs: Sequence[_Repeated]) -> list[_Repeated]:
    """The runs, again and again where they are few: what is kept may show after some of them only."""
    exchanges = max(1, sum(len(run.exchanges) for _, run in runs))
    rounds = max(1, min(_FEWEST_IN_ALL // len(runs), _MOST_EXCHANGES // exchanges))
    return [*runs] * rounds


def _in_a_copy(programs: Mapping[int, Program], runs: Sequence[_Repeated]) -> str:
    """The first difference that a copy of this process finds: this one has made no run afterwards."""
    answer, end = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            take_copies(but=(end,))
            os.write(end, (_first_difference(programs, runs) or _AGREED).encode())
        finally:
            os._exit(0)
    os.close(end)
    with open(answer, "rb") as stream:
        difference = stream.read().decode()
    os.waitpid(pid, 0)
    return "" if difference == _AGREED else difference or _ENDED


def _first_difference(programs: Mapping[int, Program], runs: Iterable[_Repeated]) -> str:
    """Describes the first run that makes other requests than before; empty where all of them agree."""
    for number, run in runs:
        program = programs[number]
        described = program.repeated(run)
        if described:
            return _described(program, run, described)
    return ""


def _described(program: Program, run: RecordedRun, difference: str) -> str:
    controller = program.controller
    calls = [str(exchange.call) for exchange in run.exchanges]
    path = ", ".join([*(["…"] if len(calls) > _SHOWN else []), *calls[-_SHOWN:]])
    names = ", ".join(f'"{name}"' for name in (*controller.memory, "NAME"))
    return "\n  ".join(
        [
            f"{controller.name} {run.start.request}: nondeterministic: identical responses led to different requests",
            difference,
            *([f"on the path: {path}"] if path else []),
            "all runs were made again in another order, in a process that had made none: something is kept from one "
            "run to the next that `memory` does not name; make it an attribute of the controller, as plain data, and "
            f"name it there: memory = ({names}{',' * (not controller.memory)})",
        ]
    )
