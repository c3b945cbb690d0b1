"""The costs of tests: what each took, which of them ``make test`` leaves to ``.ci/run``, and which files come first.

``make costs`` measures them into ``costs.json``. A test that is not listed there costs nothing, so a new test always
runs.

The choice is made from the figures, not from names: of each file the cheapest tests run, up to a budget for each
file. So every file is represented. Left to ``.ci/run`` are further cases of things that other tests reach too: more
real operators, more rounds, larger searches.
"""

from __future__ import annotations

import json
import resource
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import pytest

TESTS: Final = Path(__file__).parent
COSTS: Final = TESTS / "costs.json"
#: Seconds of tests of one file that ``make test`` runs. The aim is five minutes in all, on two processors.
BUDGET: Final = 4.0
#: Tests that take fewer seconds are not listed.
LEAST: Final = 0.1

Costs = Mapping[str, Mapping[str, float]]


def known_costs() -> Costs:
    """The costs of tests in seconds, by file and by name."""
    costs: Costs = json.loads(COSTS.read_text(encoding="utf-8"))
    return costs


def beyond_budget(costs: Mapping[str, float], budget: float = BUDGET) -> set[str]:
    """The tests of one file that do not fit into the budget, cheapest first; at least one of them fits.

    >>> sorted(beyond_budget({"a": 5.0, "b": 1.0, "c": 4.0}, budget=6.0))
    ['a']
    >>> beyond_budget({"alone": 60.0})
    set()
    """
    left_out: set[str] = set()
    total = 0.0
    for number, (name, cost) in enumerate(sorted(costs.items(), key=lambda item: (item[1], item[0]))):
        total += cost
        if number and total > budget:
            left_out.add(name)
    return left_out


def split(nodeid: str) -> tuple[str, str]:
    """The file and the name of a test.

    >>> split("tests/test_readme.py::test_it[a::b]")
    ('tests/test_readme.py', 'test_it[a::b]')
    """
    file, _, name = nodeid.partition("::")
    return file, name


def longest_first(files: Iterable[str], costs: Costs) -> dict[str, int]:
    """The position of each file: the longest first, so that none is left to one process when the others are done."""
    totals = {file: sum(costs.get(file, {}).values()) for file in dict.fromkeys(files)}
    return {file: number for number, file in enumerate(sorted(totals, key=lambda file: -totals[file]))}


class Meter:
    """A plugin that measures tests: seconds of processor time, with those of child processes, and of waiting.

    A test that waits occupies one of three processes for two processors, so a second of waiting counts two thirds.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.costs: dict[str, dict[str, float]] = defaultdict(dict)
        self._wall: dict[str, float] = defaultdict(float)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Note the processor time before the test."""
        item.user_properties.append(("before", _processor_time()))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add up the phases of a test, in the process that distributes them."""
        self._wall[report.nodeid] += report.duration
        if report.when == "teardown" and not report.skipped:
            times = dict(report.user_properties)
            processor = float(str(times["after"])) - float(str(times["before"]))
            cost = max(processor, self._wall[report.nodeid] * 2 / 3)
            if cost >= LEAST:
                file, name = split(report.nodeid)
                self.costs[file][name] = round(cost, 1)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> None:
        """Note the processor time after the test."""
        if call.when == "teardown":
            item.user_properties.append(("after", _processor_time()))

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write what was measured, where the results of all processes come together; other files keep their costs."""
        if not hasattr(session.config, "workerinput"):
            known = json.loads(self._path.read_text(encoding="utf-8")) if self._path.is_file() else {}
            merged = known | {file: dict(sorted(names.items())) for file, names in self.costs.items()}
            ordered = {file: merged[file] for file in sorted(merged)}
            self._path.write_text(json.dumps(ordered, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _processor_time() -> float:
    """Seconds of processor time of this process and of its children that have ended."""
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)
