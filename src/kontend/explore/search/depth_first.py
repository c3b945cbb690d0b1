"""Depth-first search: the same states as breadth first, each run to its end before the next one begins.

Final states are reached early, which helps where a search will not be finished. But the unperturbed runs do not come
first, and the way to a state is not the cheapest: so the baseline is searched before, and counterexamples are shrunk.
"""

from __future__ import annotations

import time
from array import array
from collections.abc import Sequence
from pathlib import Path

from kontend.explore.model.model import Model
from kontend.explore.model.step import Step
from kontend.explore.properties.judge import Judge
from kontend.explore.search.baseline import Baseline
from kontend.explore.search.breadth_first import FIRST_FOUND, INTERRUPTED, OFTEN
from kontend.explore.search.expander import Expander
from kontend.explore.search.exploration import Exploration
from kontend.explore.search.limits import Limits
from kontend.explore.search.memory_limit import MemoryLimit
from kontend.explore.search.snapshot import Progress
from kontend.explore.search.store.files import NoRoom
from kontend.explore.search.walks.shrink import shrunk
from kontend.explore.verdict import Verdict, Violation


class DepthFirst:
    """One depth-first search of one scenario."""

    def __init__(
        self,
        model: Model,
        *,
        until_first: bool = False,
        progress: Progress | None = None,
        spill: Path | None = None,
    ) -> None:
        """Search a model; ``until_first`` stops at the first violation.

        ``spill`` is a directory for what does not fit into memory.
        """
        self.model = model
        self.exploration = Exploration(model)
        self._expander = Expander(model)
        self._judge = Judge(model)
        self._until_first = until_first
        self._progress = progress
        self._limits = Limits(model.scenario.bounds)
        self._memory = MemoryLimit(model.scenario.bounds.memory, self.exploration, self._expander, spill)
        self._baseline: frozenset[bytes] | None = None

    def run(self) -> Verdict:
        """Search the unperturbed runs, then everything."""
        started = time.perf_counter()
        verdict = self.exploration.verdict
        try:
            baseline = Baseline(self.model).run()
            self._baseline = baseline.final_states
            if self._baseline is not None:
                self.exploration.know_baseline(baseline.exploration)
            stopped = self._explored()
        except KeyboardInterrupt:
            stopped = INTERRUPTED
        except NoRoom as error:
            stopped = f"the search does not fit into memory, and there is no room on disk: {error}"
        verdict.runs = self._expander.runs
        self.exploration.finish(
            stopped, baseline=self._baseline or frozenset(), knows_baseline=False, explain=self._explain
        )
        verdict.limit = self._limits.bound
        verdict.seconds = time.perf_counter() - started
        return verdict

    def _explain(self, name: str, sentence: str, schedule: Sequence[Step]) -> Violation:
        return shrunk(self.model, name, sentence, tuple(schedule), judge=self._judge, baseline=self._baseline)

    def _explored(self) -> str:
        exploration, graph = self.exploration, self.exploration.graph
        self._expander.follow(graph)
        exploration.start(*self._expander.initial())
        stack = array("I", [0])
        expanded = 0
        while stack:
            for number, successors in self._expander.expand([stack.pop()]):
                stack.extend(exploration.record(number, successors, self._expander, improve=False))
                expanded += 1
            measure = expanded % OFTEN == 0
            stopped = self._limits.reached(len(graph), exploration.verdict.steps, measure=measure)
            if measure and not stopped:
                stopped = self._memory.relieve()
            if stopped:
                return stopped
            if self._until_first and exploration.has_violations:
                return FIRST_FOUND
            if measure and self._progress is not None:
                deepest = stack[-1] if stack else 0
                layer = (graph.costs[deepest], graph.depths[deepest])
                self._progress(exploration.snapshot(expanded, layer))
        exploration.judge_actions(baseline_only=False)
        return ""
