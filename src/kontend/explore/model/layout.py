"""The static part of a model: its instances, their programs and the kinds of their views."""

from __future__ import annotations

from kontend.cluster.cluster import Cluster
from kontend.explore.model.knowledge import Knowledge
from kontend.explore.model.server import Server
from kontend.explore.model.state.key import Group, Keys
from kontend.explore.preflight import check_memory, resolved_controllers
from kontend.explore.program.symbols import Assumption
from kontend.explore.program.tree import Program
from kontend.explore.scenario import Scenario


class Layout:
    """The instances that take part in a scenario. Lists are by instance."""

    def __init__(self, scenario: Scenario, cluster: Cluster, knowledge: Knowledge) -> None:
        self.scenario = scenario
        self.knowledge = knowledge
        self.assumptions = knowledge.assumptions
        if not scenario.reductions.uuids:
            self.assumptions -= {Assumption.WHOLE_UUIDS}
        if not scenario.reductions.codes:
            self.assumptions -= {Assumption.SAME_FAILURES}
        self.is_exact = Assumption.OPAQUE_VERSIONS not in self.assumptions
        self.server = Server(remember=scenario.reductions.outcomes, exact=self.is_exact)
        self.users = scenario.everybody()
        self.names: list[str] = []
        self.programs: list[Program] = []
        #: The kinds of the views and the resources that serve them; kinds that are read later are appended.
        self.kinds: list[list[str]] = []
        #: The kinds that controllers declare.
        self.declared_kinds: list[tuple[str, ...]] = []
        self.resources: list[list[str]] = []
        groups: list[Group] = []
        bounds = scenario.bounds
        for number, controller in enumerate(resolved_controllers(scenario, cluster)):
            check_memory(scenario, controller)
            many = bounds.instances.get(controller.name, bounds.concurrent)
            program = Program(
                controller,
                scenario.guards,
                knowledge.is_namespaced,
                number,
                self.assumptions,
                knowledge.watched[number],
            )
            # Instances of one controller share these lists.
            kinds = list(controller.kinds)
            resources = [self.server.resource(cluster.state, kind).key for kind in kinds]
            first = len(self.names)
            for count in range(1, many + 1):
                self.names.append(f"{controller.name}#{count}" if many > 1 else controller.name)
                self.programs.append(program)
                self.kinds.append(kinds)
                self.declared_kinds.append(controller.kinds)
                self.resources.append(resources)
            if scenario.reductions.symmetry:
                groups.append(Group(first, first + many))
            else:
                groups += [Group(at, at + 1) for at in range(first, first + many)]
        self.keys = Keys(groups, self.kinds, self.resources, exact=self.is_exact)

    def siblings(self, index: int) -> list[int]:
        """The instances of the controller of an instance, itself included."""
        return [other for other, program in enumerate(self.programs) if program is self.programs[index]]

    def declared(self, index: int) -> int:
        """The number of kinds that the controller of an instance declares; they come first."""
        return len(self.declared_kinds[index])
