"""The record of an exhaustive search: the graph of states, the violations, and the final states.

Strategies decide the order in which states are expanded; this records the successors, and judges what only shows when
the graph is known: final states, cycles, actions that were never possible.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from kontend.explore.actions import never_possible
from kontend.explore.factored.local_states import Effort, Unprovable
from kontend.explore.factored.proof import Proof, Prover
from kontend.explore.model.answer import Refusal
from kontend.explore.model.environment.timers import MOST_PERIODS, OUT_OF_TIME
from kontend.explore.model.model import Model
from kontend.explore.model.replayed import replay
from kontend.explore.model.settling.restless import MOST_WRITES, Cycle, restless
from kontend.explore.model.state.process import ENOUGH_BUGS
from kontend.explore.properties import built_in
from kontend.explore.properties.built_in import Breach, BuiltIn
from kontend.explore.search.cycles import judged_cycles
from kontend.explore.search.expander import Numbering
from kontend.explore.search.graph import Graph
from kontend.explore.search.levels import counted, suggestions
from kontend.explore.search.quiescent import QuiescentStates
from kontend.explore.search.repetition import Repetition
from kontend.explore.search.snapshot import Snapshot
from kontend.explore.search.successor import NOTHING, StateRecord, Successor
from kontend.explore.search.violations import Explain, Violations
from kontend.explore.verdict import Reached, Verdict, Violation
from kontend.kube.meta.names import Key
from kontend.runtime.source_location import SourceLocation

#: A bug that creates objects again and again makes the space infinite. So runs are given up that have this many more
#: objects than any unperturbed run.
_GROWTH: Final = 4


class Exploration:
    """The states of one scenario that a search has found so far."""

    def __init__(self, model: Model, *, partial: bool = False) -> None:
        """Record a search; a ``partial`` one leaves out steps, so a state without successors need not be quiescent."""
        self.model = model
        self._partial = partial
        self.graph = Graph()
        bounds, guards = model.scenario.bounds, model.scenario.guards
        #: The most perturbations on the way to a state.
        self._most = sys.maxsize if partial or bounds.perturbations is None else bounds.perturbations
        self.verdict = Verdict(bounds=str(bounds), not_tried=bounds.not_tried, guards=guards.on)
        self._properties = model.scenario.properties
        self._positions = {
            prop.name: at for at, prop in enumerate([prop for prop in self._properties if prop.arity == 1])
        }
        self._violations = Violations(self.graph)
        self.quiescent = QuiescentStates(model, self.graph, self._violations, self._positions)
        self._repetition = Repetition(model, self.graph)
        self._wrote = False
        self._created: set[Key] = set()
        self._passed: set[str] = set()
        self._stuck: set[int] = set()
        #: The number of objects that unperturbed runs have at most, and the states that were given up because of it.
        self._size = 0
        self._grown: set[int] = set()
        #: The cycle of the unperturbed run, where it does not settle.
        self._cycle: Cycle | None = None
        #: Of the user's actions: those that were possible somewhere, and why the others were refused.
        self._taken: set[int] = set()
        self._refused: dict[int, Refusal] = {}
        self._prover: Prover | None = None
        #: Unperturbed runs come to a state in which a timer never fires: their final states are known at the end only.
        self.is_held_up = False
        #: Shows that everything holds, if all its final states are those of unperturbed runs; and whether they are.
        self._proof: Proof | None = None
        self._is_proven = False

    # Recording

    def start(self, reached: StateRecord, findings: Sequence[Breach]) -> None:
        """Record the initial state."""
        self._size = max(self._size, self.model.initial().size)  # a search of the baseline may know it already
        self._cycle = restless(self.model)
        if self._cycle is not None:  # every round may create something, so the first one has to do
            self._size = max(self._size, replay(self.model, self._cycle.schedule)[-1].world.size)
        self.graph.add(reached.key, -1, (), 0, reached.objects, reached.holds, reached.reserve)
        for finding in findings:
            self._violations.add(finding, 0)

    def record(
        self, number: int, successors: list[Successor], expander: Numbering, *, improve: bool = True
    ) -> list[int]:
        """Record the successors of a state; returns the states that are to be expanded because of it.

        ``improve`` looks again at states to which a cheaper way is found.
        """
        graph = self.graph
        cost, depth = graph.costs[number], graph.depths[number]
        targets: list[int] = []
        fresh: list[int] = []
        within = [(at, successor) for at, successor in enumerate(successors) if cost + successor.cost <= self._most]
        is_partial = self._partial or len(within) < len(successors)
        self.verdict.steps += len(within)
        for at, successor in within:
            steps, extra, reached, effects = successor
            if effects is not NOTHING:
                self._note(number, successor)
            spent = cost + extra
            known = graph.find(reached.key, reached.reserve, spent, depth + len(steps))
            if known is None:
                # Shards cannot tell that another one has found the key before, with other faults left.
                similar = 0 if graph.knows(reached.key) else reached.similar
                known = graph.add(reached.key, number, steps, spent, reached.objects, reached.holds, reached.reserve)
                original = self._repetition.of(known, similar, expander.successor(at))
                if original is not None:
                    graph.expand(known, [original], [False])
                    self.verdict.repeated += 1
                elif reached.is_stuck:
                    graph.expand(known, [], [])
                    self._stuck.add(known)
                elif self._limits_growth and reached.size > self._size + _GROWTH:
                    graph.expand(known, [], [])
                    self._grown.add(known)
                else:
                    expander.keep(known, number, at)
                    fresh.append(known)
            elif improve and graph.improve(known, number, steps, spent, reached.reserve) and graph.is_unexpanded(known):
                expander.keep(known, number, at)
                fresh.append(known)
            targets.append(known)
        done = [successor.effects for _, successor in within]
        optional = [effects.is_optional for effects in done]
        graph.expand(
            number,
            targets,
            [effects.wrote for effects in done],
            optional,
            [effects.fires for effects in done],
            [effects.action >= 0 for effects in done],
        )
        if all(optional) and not (is_partial and self.quiescent.must_go_on(number)):
            self.quiescent.add(number)
        return fresh

    def _note(self, number: int, successor: Successor) -> None:
        """Note what a macro-step does besides leading to a state."""
        effects = successor.effects
        for many, finding in effects.findings:
            self._violations.add(finding, number, successor.steps[:many], successor.cost)
        if effects.action >= 0:
            if effects.refused is not None:
                self._refused[effects.action] = effects.refused
            else:
                self._taken.add(effects.action)
        if effects.failure and not effects.is_optional:
            self.graph.failures[number] = effects.failure
        if effects.passed:
            self._passed.update(name for name, at in self._positions.items() if effects.passed[at])
        if not self._limits_growth and not self.graph.costs[number] and not successor.cost:
            self._size = max(self._size, successor.reached.size)
        self._wrote = self._wrote or effects.wrote
        self._created.update(effects.created)

    @property
    def last_news(self) -> int:
        """The number of states when the last violation was found that is not just a cheaper way to a known one."""
        return self._violations.last_news

    def snapshot(self, expanded: int, layer: tuple[int, int]) -> Snapshot:
        """The progress of the search; ``layer`` has the perturbations and steps to the states that are expanded."""
        known = len(self.graph)
        frontier = max(0, known - expanded - self.verdict.repeated - len(self._stuck))
        return Snapshot(known, self.verdict.steps, frontier, layer[1], layer[0], len(self._violations))

    @property
    def has_violations(self) -> bool:
        """Something was found."""
        return bool(self._violations) or self._cycle is not None

    @property
    def _limits_growth(self) -> bool:
        """The number of objects in unperturbed runs is known."""
        return self.quiescent.baseline is not None or self._cycle is not None or self.is_held_up

    @property
    def is_restless(self) -> bool:
        """The unperturbed run does not settle."""
        return self._cycle is not None

    def look_for_proof(self, effort: Effort) -> bool:
        """Look for a proof by sets of states that nothing is violated, in states that were not found yet either.

        False where there is none; True where it was found, or more effort may find it.
        """
        if self.has_violations or self._stuck or self._grown:
            return False
        if self._prover is None:
            leaks, most_objects = self.quiescent.leaks, self._size + _GROWTH
            self._prover = Prover(self.model, leaks, effort, most_objects=most_objects)
        try:
            self._proof = self._prover.run()
        except Unprovable:
            return False
        return True

    def is_proven(self) -> bool:
        """The proof is complete: the runs so far have shown all that it cannot show."""
        proof = self._proof
        if self.has_violations or self._stuck or self._grown:
            return False
        if proof is None or not self._has_passed():
            return False
        if not proof.taken <= self._taken or not proof.refused <= self._taken | self._refused.keys():
            return False  # no run was seen in which the action is possible, or refused
        if len(proof.final_states) > 1 and not proof.final_states.keys() <= self.quiescent.unperturbed():
            return False  # an only final state is that of unperturbed runs, too
        if self.model.part is not None and not proof.final_states.keys() <= self.quiescent.clusters().keys():
            return False  # the final states of parts are put together by the runs that lead to them
        self._is_proven = True
        return True

    def _has_passed(self) -> bool:
        """Every ``sometimes`` holds in a state that was visited; sets have states that no run comes to."""
        answers = set(self.graph.holds.values)
        return all(
            prop.name in self._passed or any(holds[self._positions[prop.name]] for holds in answers)
            for prop in self._properties
            if prop.mode == "sometimes"
        )

    @property
    def has_proof(self) -> bool:
        """Nothing is violated, if all final states are those of unperturbed runs."""
        return self._proof is not None

    # Judging

    def finish(
        self,
        stopped: str,
        *,
        baseline: frozenset[bytes] | None,
        knows_baseline: bool,
        explain: Explain,
        complete: int = 0,
    ) -> Verdict:
        """Judge what only shows at the end.

        ``baseline`` are the final states of unperturbed runs where they were searched apart; ``knows_baseline`` says
        that all unperturbed states are in the graph. Where the search stopped, all states with fewer than ``complete``
        perturbations were expanded.
        """
        verdict, graph = self.verdict, self.graph
        verdict.stopped = stopped
        verdict.exhausted = not stopped and not self._stuck and not self._grown
        verdict.stuck = len(self._stuck)
        if not stopped and self._stuck:
            verdict.stopped = self._why_stuck()
        elif not stopped and self._grown:
            than = "any unperturbed one" if self._cycle is None else "the first round of the unperturbed one"
            verdict.stopped = f"runs with {_GROWTH} objects more than {than} were not followed further"
        if not self._is_proven and (not stopped or knows_baseline):
            self._judge_cycles(perturbed=not stopped)
        # Where all states are known, so is whether another run than the one that was tried leads out of the cycle.
        if self._cycle is not None and not verdict.exhausted and not self._violations.has(BuiltIn.NEVER_SETTLES):
            end = len(self._cycle.schedule)
            self._violations.add(built_in.still_writes(MOST_WRITES, self._cycle.begin, end), 0, self._cycle.schedule)
        self.quiescent.judge()
        good = self.quiescent.unperturbed() if baseline is None else baseline
        if good and not (stopped and self.is_held_up):
            self.quiescent.judge_diverged(good)
        self._judge_untested()
        if verdict.exhausted:
            self._judge_unused()
        if verdict.repeated:
            verdict.notes.append(
                f"{verdict.repeated:,} states repeat an earlier one for the fourth time, up to generations and made-up "
                "names, and were not followed further"
            )
        final_states, counts = self.quiescent.clusters(), self.quiescent.counts()
        if self._proof is not None and self._is_proven:
            good = good.union(self._proof.final_states)
            final_states, counts = final_states | self._proof.final_states, Counter(self._proof.reached)
            verdict.sets, verdict.repeated = self._proof.sets, 0
            verdict.steps += self._proof.steps
        verdict.final_states = list(final_states.values())
        verdict.reached = [Reached(counts[form], form in good) for form in final_states]
        depths = Counter(graph.depths)
        verdict.depths = tuple(depths[depth] for depth in range(max(depths, default=-1) + 1))
        verdict.baseline_states = len(final_states.keys() & good)
        verdict.states = len(graph)
        verdict.cut = 0 if self._is_proven else graph.unexpanded
        verdict.violations += self._violations.explained(explain)
        self._grade(complete)
        return verdict

    def _why_stuck(self) -> str:
        """Describe what keeps the search from going on in some state."""
        errors = {
            error
            for instance in self.quiescent.world(min(self._stuck)).instances
            for _, error, count in instance.bugs
            if count >= ENOUGH_BUGS
        }
        if OUT_OF_TIME in errors:
            return f"a reconcile still depends on the time after {MOST_PERIODS} periods of its timer"
        return "a reconcile keeps raising the same exception"

    def _grade(self, complete: int) -> None:
        """Say up to how many perturbations everything holds, and what may decide more."""
        verdict, graph = self.verdict, self.graph
        verdict.levels = counted(graph.costs)
        if verdict.exhausted:
            verdict.certain = len(verdict.levels) - 1
        elif not verdict.violations and not self._partial:
            ended = self._stuck | self._grown
            complete = min([complete, *(graph.costs[number] for number in ended)])
            # A cycle that only a further perturbation leaves is no violation, but nothing to vouch for either.
            while complete and any(finding for _, finding in self._cycles(perturbed=False, most=complete - 1)):
                complete -= 1
            if any(prop.mode == "sometimes" and prop.name in verdict.untested for prop in self._properties):
                complete = 0
            verdict.certain = complete - 1
            verdict.suggestions = suggestions(self.model, graph, verdict.levels, complete)

    def spill(self, directory: Path) -> None:
        """Move everything that grows with the number of states to files in a directory. Raises ``NoRoom``."""
        self.graph.spill(directory)
        self._repetition.spill(directory)
        self.quiescent.spill(directory)

    def judge_baseline(self) -> None:
        """Judge the unperturbed runs, all of which are known."""
        self._judge_cycles(perturbed=False)
        self.quiescent.judge()

    def know_baseline(self, baseline: Exploration | None = None) -> None:
        """All unperturbed runs are known, here or in a search of their own: runs are compared with them from now on."""
        if baseline is None:
            for number, finding in list(self._cycles(perturbed=False)):
                if finding is None:  # controllers only look again from time to time
                    self.quiescent.add(number)
            if not self.is_held_up:
                self.quiescent.know_baseline(self.quiescent)
        else:
            self.is_held_up = baseline.is_held_up
            if not self.is_held_up:
                self.quiescent.know_baseline(baseline.quiescent)
            self._size = baseline._size

    def losses(self, explain: Explain) -> dict[SourceLocation, Violation]:
        """The shortest trace for each line of code that can lose an update."""
        return self._violations.losses(explain)

    def judge_actions(self, *, baseline_only: bool) -> None:
        """Refuse a scenario with an action that is never possible.

        After the unperturbed runs (``baseline_only``) that is certain only where the object is never created.
        """
        for index in sorted(self._refused.keys() - self._taken):
            action, refusal = self.model.mechanics.users.all_actions[index], self._refused[index]
            if not baseline_only or (refusal.lacks_object and action.key not in self._created):
                raise never_possible(action, refusal.reason, refusal.message)

    def _judge_cycles(self, *, perturbed: bool) -> None:
        for number, finding in self._cycles(perturbed=perturbed):
            if finding is None:
                self.quiescent.add(number)
            else:
                self._violations.add(finding, number)

    def _cycles(self, *, perturbed: bool, most: int | None = None) -> Iterator[tuple[int, Breach | None]]:
        """Judge sets of states that lead only to each other; ``perturbed`` is False where not all states are known."""
        ended = self._stuck | self._grown
        return judged_cycles(
            self.graph,
            self._properties,
            self._positions,
            ended,
            perturbed=perturbed,
            most=most,
            holds_up_timers=self._holds_up_timers,
        )

    def _holds_up_timers(self, number: int) -> bool:
        """A timer would be early in a state that waits for timers: it may never be its turn."""
        world = self.quiescent.world(number)
        timers = [step for step in self.model.steps(world) if step.action == "timer"]
        holds_up = any(self.model.next(world, step).cost for step in timers)
        self.is_held_up = self.is_held_up or holds_up
        return holds_up

    def _judge_unused(self) -> None:
        """Warn of actions that never happen, and of questions that never have an answer."""
        model = self.model
        self.verdict.warnings += model.mechanics.users.unused(model.initial(), self._taken | self._refused.keys())
        answers = set(self.graph.holds.values)
        open_questions = [prop for prop in self._properties if prop.has_answer is not None]
        for at, prop in enumerate(open_questions, len(self._positions)):
            if not any(holds[at] for holds in answers):
                why = "is a field misspelled, or are there no objects of the kind?"
                self.verdict.warnings.append(f"{prop} has no value in any state that was visited: {why}")

    def _judge_untested(self) -> None:
        """Note the properties that never had a chance to fail."""
        verdict = self.verdict
        answers = set(self.graph.holds.values)
        for prop in self._properties:
            if prop.mode == "sometimes":
                position = self._positions[prop.name]
                if prop.name in self._passed or any(holds[position] for holds in answers):
                    continue
                verdict.untested.append(prop.name)
                if not verdict.stopped:
                    verdict.violations.append(Violation(prop.name, "it holds in no state at all", ()))
            elif prop.arity == 2 and not self._wrote:
                verdict.untested.append(prop.name)
