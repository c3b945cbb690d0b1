"""The entry point: explores a scenario with one of the search strategies."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal, get_args

from kontend.check_runner import CHECK_RUNNER
from kontend.executors.names import executor_problem
from kontend.explore.deepening import deepened, deeper
from kontend.explore.explain.baselines import several_baselines
from kontend.explore.explain.explanation import Origin, explainer
from kontend.explore.model.model import Model
from kontend.explore.other_identities import CHOICES, NOT, told_apart_by
from kontend.explore.other_orders import FreshProcess
from kontend.explore.parts.exploring import explored_in_parts
from kontend.explore.preflight import check_fields
from kontend.explore.problems import BadScenario, not_among
from kontend.explore.program.foreign import ForeignController
from kontend.explore.properties.built_in import BuiltIn
from kontend.explore.replay.reproduce import follow, recorded_to_follow
from kontend.explore.restarts import restarted
from kontend.explore.scenario import Scenario
from kontend.explore.search.breadth_first import BreadthFirst, StateExpander
from kontend.explore.search.depth_first import DepthFirst
from kontend.explore.search.expander import Expander
from kontend.explore.search.snapshot import Progress
from kontend.explore.search.walks.walks import Walks
from kontend.explore.shards.checkpoint import Checkpointed, fingerprint
from kontend.explore.shards.engines import engine_of
from kontend.explore.shards.journal import Journal
from kontend.explore.shards.sharded import Sharded
from kontend.explore.shards.spec import ShardSpec, Source
from kontend.explore.verdict import Verdict, Violation
from kontend.explore.walking_on import to_search, to_walk, walked_on
from kontend.runtime.source_location import caller

Strategy = Literal["breadth", "depth", "random", "pct"]
STRATEGIES: Final[tuple[Strategy, ...]] = get_args(Strategy)


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """Options of a search."""

    #: Every state, least perturbed first (``breadth``), each run to its end first (``depth``); or only some random
    #: walks (``random``, ``pct``).
    search: Strategy = "breadth"
    #: The random seed of walks, and their number.
    seed: int = 0
    walks: int = 1_000
    #: Stop at the first violation.
    until_first: bool = False
    #: The number of processes of a breadth-first search.
    jobs: int = 1
    #: Where they run: ``fork``, ``spawn``, ``ray[://ADDRESS]`` or ``dask[://ADDRESS]``; empty for processes of this
    #: machine.
    executor: str = ""
    #: A directory from which a breadth-first search goes on after it has ended early.
    checkpoint: Path | None = None
    #: A directory for what does not fit into ``Bounds.memory``; None for one of the system's.
    spill: Path | None = None
    #: The file and the name of the scenario, for processes that load it themselves.
    source: Source | None = None
    #: Called with a snapshot from time to time.
    progress: Progress | None = None
    #: Where everything holds with one fault in a run, the number of states to search with two.
    deepen: int = 0
    #: Where the search stops at a limit, make walks with what is left of it.
    walk_on: bool = False

    def __post_init__(self) -> None:
        if self.search not in STRATEGIES:
            raise BadScenario(f"check: {not_among('search', str(self.search), STRATEGIES)}", caller())
        for name, least in (("seed", 0), ("walks", 1), ("jobs", 1), ("deepen", 0)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise BadScenario(f"check({name}={value!r}): expected a whole number, at least {least}", caller())
        several, later = "runs in several processes", "can go on later"
        for name, value, what in (
            ("jobs", self.jobs, several),
            ("executor", self.executor, several),
            ("checkpoint", self.checkpoint, later),
        ):
            if value and value != 1 and self.search != "breadth":
                raise BadScenario(f"{name}={value!r}: only search='breadth' {what}, found {self.search!r}", caller())
        if problem := executor_problem(self.executor):
            raise BadScenario(f"executor={self.executor!r}: {problem}", caller())


def check(
    scenario: Scenario,
    *,
    search: Strategy = "breadth",
    seed: int = 0,
    walks: int = 1_000,
    until_first: bool = False,
    jobs: int = 1,
    executor: str = "",
    checkpoint: str | Path | None = None,
    progress: Progress | None = None,
    deepen: int = 0,
    walk_on: bool = False,
) -> Verdict:
    """Explore a scenario. The options are those of :class:`SearchOptions`.

    >>> from kontend.explore import Bounds, Scenario
    >>> deployments = Scenario(controllers=["deployment"], bounds=Bounds(lag=0))
    >>> check(deployments).states
    1

    In a test with ``@reproduce(...)`` it only follows that counterexample.
    """
    if not isinstance(scenario, Scenario):
        raise BadScenario(
            f"check: expected a scenario, such as Scenario(controllers=[Widgets()]), found {scenario!r}", caller()
        )
    recorded = recorded_to_follow()
    options = SearchOptions(
        search,
        seed,
        walks,
        until_first,
        jobs,
        executor,
        Path(checkpoint) if checkpoint is not None else None,
        progress=progress,
        deepen=deepen,
        walk_on=walk_on,
    )

    def search_it(scenario: Scenario, options: SearchOptions) -> Verdict:
        return explore(scenario, options) if recorded is None else follow(scenario, recorded)

    verdict: Verdict = (CHECK_RUNNER.get() or _plainly)(scenario, options, search_it)
    return verdict


def _plainly(
    scenario: Scenario, options: SearchOptions, search: Callable[[Scenario, SearchOptions], Verdict]
) -> Verdict:
    """Run a search outside a test framework."""
    return search(scenario, options)


def explore(
    scenario: Scenario,
    options: SearchOptions,
    *,
    inspect: Callable[[Model], object] | None = None,
    origin: Origin | None = None,
) -> Verdict:
    """Explore a scenario; ``inspect`` is called with the model afterwards. ``origin`` says where it comes from."""
    check_fields(scenario)
    if scenario.bounds.perturbations is not None and options.search != "breadth":
        what = f"Bounds(perturbations={scenario.bounds.perturbations})"
        raise BadScenario(
            f"{what}: only search='breadth' goes by perturbations, found {options.search!r}", scenario.bounds.line
        )
    fresh = FreshProcess(scenario)
    try:
        return _explored(scenario, options, fresh, inspect, origin)
    finally:
        fresh.close()


def _explored(
    scenario: Scenario,
    options: SearchOptions,
    fresh: FreshProcess,
    inspect: Callable[[Model], object] | None,
    origin: Origin | None,
) -> Verdict:
    models: list[Model] = []

    def searched(model: Model) -> Verdict:
        verdict = _searched(model, options)
        models.append(model)
        if inspect is not None:
            inspect(model)
        return verdict

    walks_on = options.walk_on and options.search in ("breadth", "depth") and not options.until_first
    verdict = restarted(to_search(scenario) if walks_on else scenario, searched)
    left = to_walk(scenario, verdict) if walks_on else None
    if left is not None:
        walking = replace(options, search="random", jobs=1, executor="", checkpoint=None)
        verdict = walked_on(scenario, verdict, restarted(left, lambda model: _search(model, walking).run()))
    for further in deeper(scenario, options.deepen) if options.deepen and verdict.ok else ():
        verdict = deepened(further, verdict, restarted(further.scenario, lambda model: _searched(model, options)))
        if verdict.violations:
            scenario = further.scenario
            break
    if not verdict.violations:
        fresh.check(models, verdict.states)
    apart = told_apart_by(program for model in models[-1:] for program in model.programs) if verdict.ok else NOT
    if apart:
        explored = 1 if scenario.bounds.identities else CHOICES
        others = _with_other_identities(scenario, options)
        violated = next((other for other in others if other[1].violations), None)
        if violated is not None:
            scenario, verdict = violated
            verdict.notes.append("with the first choice of uids and generated names everything holds")
        elif apart.uids:
            verdict.exhausted, verdict.certain = False, -1
            names = " and ".join(apart.uids)
            verdict.stopped = f"{names} would do something else with other uids; choices that were explored: {explored}"
            verdict.notes.append(
                "to decide this: choose by name, or by creationTimestamp and then name; or set chooses_by_uid = True "
                "in the controller if one choice is as good as another"
            )
        else:
            names = " and ".join(apart.names)
            what = f"{names} would do something else with other generated names"
            verdict.warnings.append(f"{what}; choices that were explored: {explored}")
    verdict.violations += _found_by_comparing(scenario)
    verdict.jobs = options.jobs
    verdict.explain = explainer(scenario, origin)
    # The explanation names the writes; the way to say that a fight is meant is here.
    verdict.notes += [violation.sentence for violation in verdict.violations if violation.property == BuiltIn.FIGHT]
    verdict.notes += several_baselines(verdict)
    if scenario.ignore:
        verdict.notes.append(f"final states may differ in {', '.join(scenario.ignore)}")
    return verdict


def _with_other_identities(scenario: Scenario, options: SearchOptions) -> Iterator[tuple[Scenario, Verdict]]:
    """The verdicts on a scenario with other choices of identities than the first."""
    alone = replace(options, checkpoint=None)
    for choice in range(1, CHOICES if not scenario.bounds.identities else 0):
        other = replace(scenario, bounds=replace(scenario.bounds, identities=choice))
        yield other, restarted(other, lambda model: _searched(model, alone))


def _found_by_comparing(scenario: Scenario) -> list[Violation]:
    """The faults that comparisons of runs have shown: they need no trace."""
    findings = [
        finding
        for controller in scenario.controllers
        if isinstance(controller, ForeignController)
        for finding in controller.findings
    ]
    return [Violation(finding.property, finding.sentence, (), line=finding.line) for finding in findings]


def _searched(model: Model, options: SearchOptions) -> Verdict:
    """The verdict on a scenario, in parts where there are any."""
    verdict = _parts(model, options)
    return _search(model, options).run() if verdict is None else verdict


def _parts(model: Model, options: SearchOptions) -> Verdict | None:
    """The verdict from independent parts, each searched in one process; None where there are none."""
    if options.search not in ("breadth", "depth") or options.until_first:
        return None
    # A part notes what it touches, so it is always searched in this process and from its start.
    alone = replace(options, jobs=1, executor="", checkpoint=None)
    return explored_in_parts(model, lambda part: _exhaustive(part, alone))


def _search(model: Model, options: SearchOptions) -> BreadthFirst | DepthFirst | Walks:
    if options.search in ("breadth", "depth"):
        return _exhaustive(model, options)
    return Walks(
        model,
        strategy=options.search,
        seed=options.seed,
        walks=options.walks,
        until_first=options.until_first,
        progress=options.progress,
    )


def _exhaustive(model: Model, options: SearchOptions) -> BreadthFirst | DepthFirst:
    until_first, progress = options.until_first, options.progress
    if options.search == "depth":
        return DepthFirst(model, until_first=until_first, progress=progress, spill=options.spill)
    expander = Expander(model)
    shared: StateExpander = expander
    if options.jobs > 1 or options.executor:
        engine = engine_of(options.executor, options.jobs)
        shared = Sharded(expander, engine, options.jobs, ShardSpec.of(expander, options.source))
    if options.checkpoint is not None:
        shared = Checkpointed(shared, Journal(options.checkpoint, fingerprint(model)))
    spill = options.spill or options.checkpoint
    proves = model.scenario.reductions.factored
    return BreadthFirst(model, expander=shared, until_first=until_first, progress=progress, spill=spill, proves=proves)
