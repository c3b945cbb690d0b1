"""The description from which a shard makes the model of a search, in another process or on another machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from kontend.explore.model.model import Model
from kontend.explore.program.symbols import Assumption
from kontend.explore.scenario import Bounds, Scenario
from kontend.explore.scenario_files import scenarios_in
from kontend.explore.search.expander import Expander
from kontend.explore.sources.inputs import Inputs


@dataclass(frozen=True, slots=True)
class Source:
    """A scenario by its file and name, with bounds of its own: for processes that cannot get the scenario itself."""

    file: str
    name: str
    bounds: Bounds
    #: Definitions, objects and actions that were given beside the file.
    inputs: Inputs = field(default_factory=Inputs)

    def load(self) -> Scenario:
        """Import the file and return the scenario."""
        scenarios = scenarios_in(self.file, self.inputs, names=[self.name])
        return replace(scenarios[self.name], bounds=self.bounds)


@dataclass(frozen=True, slots=True)
class ShardSpec:
    """A model: the scenario, or where it comes from, and the knowledge with which its search has started."""

    scenario: Scenario | None
    source: Source | None
    assumptions: frozenset[Assumption]
    namespaced: Mapping[str, bool]
    #: The expander of this process: a forked process goes on with its program trees and outcomes.
    expander: Expander | None = None

    @classmethod
    def of(cls, expander: Expander, source: Source | None = None) -> ShardSpec:
        """Describe the model of an expander."""
        scenario, knowledge = expander.model.scenario, expander.model.knowledge
        if source is not None:
            source = replace(source, bounds=scenario.bounds)
        return cls(scenario, source, knowledge.assumptions, dict(knowledge.namespaced), expander)

    def portable(self) -> ShardSpec:
        """This spec without anything that only this process has."""
        return replace(self, expander=None)

    def from_source(self) -> ShardSpec:
        """This spec for processes that load the scenario themselves."""
        return replace(self, scenario=None, expander=None)

    def make(self) -> Expander:
        """Make an expander of the model, without states."""
        if self.expander is not None:
            return self.expander
        scenario = self.scenario
        if scenario is None:
            assert self.source is not None
            scenario = self.source.load()
        knowledge = Model(scenario).knowledge
        knowledge.assumptions = self.assumptions
        knowledge.stamps_checked = True
        knowledge.namespaced.update(self.namespaced)
        return Expander(Model(scenario, knowledge))
