"""Compares the explorer with the oracle on generated scenarios, for as long as it is given: ``make fuzz``.

    make fuzz SEED=1000 SECONDS=600 JOBS=2

Prints the seed and the counts. For each disagreement it writes a file that runs by itself, with the scenario made as
small as possible.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from pprint import pformat
from types import FrameType
from typing import Any, Final

from explore.oracle.comparison import SECONDS, WAYS, differences, expected, explored
from explore.oracle.generated.descriptions import scenario_of
from explore.oracle.generated.generator import description
from explore.oracle.generated.shrinking import shrunk
from kontend.explore import BadScenario, Nondeterminism
from kontend.explore.search.breadth_first import INTERRUPTED

#: States that the oracle visits at most; and so many times as many of one scenario in ten.
LIMIT: Final = 200
LARGER: Final = 10
#: Seconds for the explorer in a space without end. More only lead to a limit later, and took most of the time once.
SECONDS_WITHOUT_END: Final = 2
#: The ways to explore that are compared; every so many scenarios it is all of them.
USUAL: Final = ("default", "sets of states")
EVERY: Final = 10
#: Runs with so many objects more than any unperturbed one need not be followed further.
GROWTH: Final = 4
TESTS: Final = Path(__file__).parents[3]


@dataclass(slots=True)
class Counts:
    """Results of the scenarios."""

    scenarios: int = 0
    agreed: int = 0
    too_large: int = 0
    refused: int = 0
    undecided: int = 0
    disagreed: int = 0
    reasons: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        return (
            f"{self.scenarios} scenarios, {self.agreed + self.disagreed} compared: {self.agreed} agreed, "
            f"{self.too_large} too large, {self.refused} refused, {self.undecided} undecided, "
            f"{self.disagreed} disagreements"
        )


#: The number of scenarios after which the counts so far are printed.
_SAY_AFTER: Final = 1_000


class Undecided(Exception):
    """The explorer stopped at a limit although the oracle visited every state."""


def points(described: dict[str, Any], ways: tuple[str, ...], *, limit: int = LIMIT) -> list[str] | None:
    """The contradiction between the explorer and the oracle about a description; None where the space is too large."""
    answer = expected(scenario_of(described), limit=limit)
    if not answer.decided:
        return None
    found = []
    undecided = ""
    for way in ways:
        try:
            # Of a space without end all that is asked is whether something was found.
            states, seconds = (10 * limit, SECONDS) if answer.findings.exhausted else (limit, SECONDS_WITHOUT_END)
            verdict = explored(scenario_of(described), way, states=states, seconds=seconds)
            if verdict.stopped == INTERRUPTED:  # the explorer has kept what it knew
                raise KeyboardInterrupt
        except (BadScenario, Nondeterminism):
            raise
        except Exception as error:
            found.append(f"{way}: crash: {type(error).__name__}: {error}")
        else:
            found += [f"{way}: {point}" for point in differences(answer, verdict)]
            is_search = way != "walks"  # these prove nothing, but what they find must be true
            if is_search and answer.findings.exhausted and not verdict.exhausted and answer.findings.growth <= GROWTH:
                undecided = f"{way}: {verdict.stopped}; there are {answer.findings.states} states"
    if undecided and not found:
        raise Undecided(undecided)
    return found


@dataclass(frozen=True, slots=True)
class Result:
    """The result of one scenario: the count that it belongs to, and a text to print or to count."""

    count: str
    text: str = ""


def compared(number: int, to: Path, limit: int) -> Result:
    """Compare the scenario of one seed."""
    ways = tuple(WAYS) if number % EVERY == 0 else USUAL
    if number % EVERY == EVERY // 2:
        limit *= LARGER
    described = description(number)
    try:
        found = points(described, ways, limit=limit)
    except (BadScenario, Nondeterminism) as refusal:
        return Result("refused", f"refused: {str(refusal).splitlines()[0][:100]}")
    except Undecided as reason:
        return Result("undecided", f"seed {number} undecided: {reason} {described['themes']}")
    except Exception as error:  # of the oracle: the search must go on
        return Result("disagreed", f"seed {number}: the oracle crashed: {type(error).__name__}: {error}")
    if found is None:
        return Result("too_large")
    if not found:
        return Result("agreed")
    path = write(to, number, described, found, limit)
    return Result("disagreed", f"seed {number}: {'; '.join(found)[:300]}\n  {path}")


def fuzz(
    seed: int, seconds: float, to: Path, *, limit: int = LIMIT, jobs: int = 1, say: Callable[[str], None]
) -> Counts:
    """Compare scenario after scenario until the time has passed; an interruption ends it too and keeps the counts."""
    counts = Counts()
    try:
        say(f"seed {seed}, {seconds:g} s")
        for result in _results(seed, time.monotonic() + seconds, to, limit, jobs):
            counts.scenarios += 1
            setattr(counts, result.count, getattr(counts, result.count) + 1)
            if result.count == "refused":
                counts.reasons[result.text] += 1
            elif result.text:
                say(result.text)
            if counts.scenarios % _SAY_AFTER == 0:
                say(f"so far {counts}")
    except KeyboardInterrupt:
        say("interrupted")
    return counts


def _results(seed: int, ends: float, to: Path, limit: int, jobs: int) -> Iterator[Result]:
    """The results of seed after seed until a time, in this process or in several."""
    numbers = count(seed)
    if jobs == 1:
        while time.monotonic() < ends:
            yield compared(next(numbers), to, limit)
        return
    with ProcessPoolExecutor(jobs) as pool:
        waiting: deque[Future[Result]] = deque()
        while waiting or time.monotonic() < ends:
            while len(waiting) < 2 * jobs and time.monotonic() < ends:
                waiting.append(pool.submit(compared, next(numbers), to, limit))
            if waiting:
                yield waiting.popleft().result()


def write(to: Path, number: int, described: dict[str, Any], found: list[str], limit: int) -> Path:
    """Write the smallest scenario with the same disagreement to a file."""
    way = found[0].split(":")[0]
    wanted = found[0].split(":")[1]

    def same(smaller: dict[str, Any]) -> bool:
        try:
            now = points(smaller, (way,), limit=limit)
        except Exception:  # smaller, but no scenario any more
            return False
        return any(point.split(":")[1] == wanted for point in now or ())

    small = shrunk(described, same)
    said = points(small, (way,), limit=limit) or []
    to.mkdir(parents=True, exist_ok=True)
    path = to / f"seed_{number}.py"
    comment = "\n".join(f"# {line}" for point in said for line in point.splitlines())
    path.write_text(
        f'"""Generated from seed {number}. Run it with tests on the path: PYTHONPATH=tests python {path.name}"""\n\n'
        f"{comment}\n\n"
        "from explore.oracle.generated.fuzz import show\n"
        "from explore.oracle.generated.descriptions import scenario_of\n\n"
        f"DESCRIPTION = {pformat(small, width=116, sort_dicts=False)}\n"
        "scenario = scenario_of(DESCRIPTION)\n\n"
        'if __name__ == "__main__":\n'
        f"    show(DESCRIPTION, {way!r})\n"
    )
    return path


def show(described: dict[str, Any], way: str = "default") -> None:
    """Print both answers."""
    answer = expected(scenario_of(described)).findings
    verdict = explored(scenario_of(described), way)
    print(f"oracle: {answer.states} states, violated: {sorted(answer.violations)}, {len(answer.ends)} final states")  # noqa: T201
    for name, steps in answer.ways.items():
        print(f"  {name}: {steps}")  # noqa: T201
    print(f"explorer ({way}):\n{verdict}")  # noqa: T201
    for point in differences(expected(scenario_of(described)), verdict):
        print(f"- {point}")  # noqa: T201


def verdicts(seed: int, many: int, limit: int) -> str:
    """The verdicts of some scenarios as text, to compare processes with different hash seeds."""
    lines = []
    for number in range(seed, seed + many):
        try:
            verdict = explored(scenario_of(description(number)), states=limit)
        except Exception as error:
            lines.append(f"{number} {type(error).__name__} {error}")
            continue
        reported = [(violation.property, violation.sentence, violation.trace) for violation in verdict.violations]
        lines.append(json.dumps([number, verdict.exhausted, reported, len(verdict.final_states)]))
    return "\n".join(lines)


def hash_seeds_differ(seed: int, many: int, limit: int) -> list[str]:
    """The lines in which two processes with different hash seeds say something else."""
    outputs = []
    for hash_seed in ("1", "2"):
        command = [sys.executable, "-m", "explore.oracle.generated.fuzz", "--verdicts", str(many), "--seed", str(seed)]
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": os.pathsep.join(sys.path)}
        options: dict[str, Any] = {"capture_output": True, "text": True, "check": True, "env": environment}
        outputs.append(subprocess.run([*command, "--limit", str(limit)], **options).stdout.splitlines())
    return [f"{one}\n{two}" for one, two in zip(*outputs, strict=True) if one != two]


def _interrupt_only(process: int) -> Callable[[int, FrameType | None], None]:
    """A handler that interrupts one process; those that it has forked end without a word."""

    def handle(number: int, _frame: FrameType | None) -> None:
        if os.getpid() != process:
            os._exit(128 + number)
        signal.signal(number, signal.SIG_IGN)  # one is enough: the counts are printed next
        raise KeyboardInterrupt

    return handle


def main() -> int:
    """Fuzz, and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--limit", type=int, default=LIMIT)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--to", type=Path, default=Path("failures/fuzz"))
    parser.add_argument("--verdicts", type=int, default=0, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.verdicts:
        print(verdicts(given.seed, given.verdicts, given.limit))  # noqa: T201
        return 0
    signal.signal(signal.SIGTERM, _interrupt_only(os.getpid()))
    limits: dict[str, Any] = {"limit": given.limit, "jobs": given.jobs}
    counts = fuzz(given.seed, given.seconds, given.to, **limits, say=lambda text: print(text, flush=True))  # noqa: T201
    print(counts)  # noqa: T201
    for reason, times in counts.reasons.most_common():
        print(f"  {times} times {reason}")  # noqa: T201
    many = min(counts.scenarios, 30)
    differ = hash_seeds_differ(given.seed, many, given.limit) if many else []
    print(f"{len(differ)} of {many} verdicts depend on the hash seed")  # noqa: T201
    return 1 if counts.disagreed or differ else 0


if __name__ == "__main__":
    sys.exit(main())
