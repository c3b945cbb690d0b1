"""The static part of a model: its instances, their programs and the kinds of their views."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kontend.cluster.cluster import Cluster
from kontend.explore.model.knowledge import Knowledge
from kontend.explore.model.server import Server
from kontend.explore.model.state.key import Group, Keys
from kontend.explore.model.state.process import NOT_STARTED, Process, ProcessLayout
from kontend.explore.model.state.world import Places, World
from kontend.explore.model.step import OF_PROCESSES, Step
from kontend.explore.preflight import check_memory, resolved_controllers
from kontend.explore.processes import Deployed, copies_of, deployed
from kontend.explore.program.symbols import Assumption
from kontend.explore.program.tree import Program
from kontend.explore.scenario import Scenario
from kontend.runtime.controller import Controller


@dataclass(slots=True)
class Noticed:
    """Facts that count for every variant of a model, once one of them has met them."""

    #: Some timer has fired in some state.
    timer_has_fired: bool = False
    #: The run that has ended last has asked for the time.
    last_has_asked: bool = False


class Layout:
    """The instances that take part in a scenario. Lists are by instance."""

    def __init__(self, scenario: Scenario, cluster: Cluster, knowledge: Knowledge) -> None:
        self.scenario = scenario
        #: The cluster before anything happens.
        self.start = cluster.state
        self.knowledge = knowledge
        self.noticed = Noticed()
        self.assumptions = knowledge.assumptions
        if not scenario.reductions.uuids:
            self.assumptions -= {Assumption.WHOLE_UUIDS}
        if not scenario.reductions.codes:
            self.assumptions -= {Assumption.SAME_FAILURES}
        self.is_exact = Assumption.OPAQUE_VERSIONS not in self.assumptions
        choice = scenario.bounds.identities
        self.server = Server(remember=scenario.reductions.outcomes, exact=self.is_exact, identities=choice)
        self.users = scenario.everybody()
        self.names: list[str] = []
        self.programs: list[Program] = []
        #: The views and the resources that serve them; those that are read later are appended. Most have the name of
        #: a kind.
        self.kinds: list[list[str]] = []
        #: The views that controllers declare.
        self.declared_kinds: list[tuple[str, ...]] = []
        #: Their positions.
        self.declared: list[list[int]] = []
        self.resources: list[list[str]] = []
        #: The processes: each is one copy.
        self.processes: list[ProcessLayout] = []
        #: For each process, those that crash with it: itself, unless controllers are followed apart.
        self.together: list[list[int]] = []
        #: For each instance, its process and its position there.
        self.places: Places = ()
        groups: list[Group] = []
        controllers = resolved_controllers(scenario, cluster)
        programs = [self._program(number, controller) for number, controller in enumerate(controllers)]
        for process in deployed(scenario, controllers):
            first = len(self.processes)
            self._add_process(process, [programs[number] for number in process.controllers], cluster)
            if scenario.reductions.symmetry:
                groups.append(Group(first, first + process.copies))
            else:
                groups += [Group(at, at + 1) for at in range(first, first + process.copies)]
        self.together = [[number] for number in range(len(self.processes))]
        self.keys = Keys(groups, self.processes, exact=self.is_exact)

    @property
    def has_shared_views(self) -> bool:
        """Some process has several controllers."""
        return any(len(process.indexes) > 1 for process in self.processes)

    def separated(self, read: Mapping[int, frozenset[str]]) -> Layout:
        """The same instances, each in a process of its own, with views of its own.

        ``read`` are the kinds that controllers read without declaring them, by the numbers of their programs. The
        processes of one manager still crash together.
        """
        layout = copy.copy(self)
        layout.places = tuple((index, 0) for index in range(len(self.names)))
        layout.together = [list(process.indexes) for process in self.processes for _ in process.indexes]
        layout.processes, layout.kinds, layout.resources, layout.declared = [], [], [], []
        shared: dict[int, tuple[list[str], list[str]]] = {}
        for index, program in enumerate(self.programs):
            if program.number not in shared:
                known = dict(zip(self.kinds[index], self.resources[index], strict=True))
                also = [kind for kind in self.kinds[index] if kind in read.get(program.number, ())]
                kinds = list(dict.fromkeys([*program.controller.kinds, *also]))
                shared[program.number] = kinds, [known[kind] for kind in kinds]
            kinds, resources = shared[program.number]
            layout.processes.append(
                ProcessLayout(self.names[index], range(index, index + 1), kinds, resources, len(kinds))
            )
            layout.kinds.append(kinds)
            layout.resources.append(resources)
            layout.declared.append([kinds.index(kind) for kind in program.controller.kinds])
        groups = [Group(index, index + 1) for index in range(len(self.names))]
        layout.keys = Keys(groups, layout.processes, exact=self.is_exact)
        return layout

    def apart(self, world: World, shared: Layout) -> World:
        """A state of a layout with shared views, in which nothing has happened yet, as one of this layout."""
        processes = []
        for index, layout in enumerate(self.processes):
            process, kinds = world.process(index), shared.kinds[index]
            views = [process.view(kinds.index(kind)) for kind in layout.kinds]
            newest = world.state.resource_version
            views = [newest if position == NOT_STARTED else position for position in views]
            processes.append(Process(tuple(views), (world.instances[index],)))
        return world.with_layout(tuple(processes), self.places)

    def _program(self, number: int, controller: Controller) -> Program:
        check_memory(self.scenario, controller)
        return Program(
            controller,
            self.scenario.guards,
            self.knowledge.is_namespaced,
            number,
            self.assumptions,
            self.knowledge.watched[number],
        )

    def _add_process(self, process: Deployed, programs: Sequence[Program], cluster: Cluster) -> None:
        """Add all copies of a process. They share the list of kinds."""
        controllers = [program.controller for program in programs]
        kinds = list(dict.fromkeys(kind for controller in controllers for kind in controller.views))
        resources = [self.server.resource(cluster.state, kind).key for kind in kinds]
        names = [copies_of(controller.name, process.copies) for controller in controllers]
        for number, name in enumerate(copies_of(process.title(controllers), process.copies)):
            first = len(self.names)
            self.places += tuple((len(self.processes), position) for position in range(len(programs)))
            self.processes.append(
                ProcessLayout(name, range(first, first + len(programs)), kinds, resources, len(kinds))
            )
            for position, program in enumerate(programs):
                self.names.append(names[position][number])
                self.programs.append(program)
                self.kinds.append(kinds)
                self.declared_kinds.append(tuple(program.controller.views))
                self.declared.append([kinds.index(kind) for kind in program.controller.views])
                self.resources.append(resources)

    def siblings(self, index: int) -> list[int]:
        """The instances of the controller of an instance, itself included."""
        return [other for other, program in enumerate(self.programs) if program is self.programs[index]]

    def actor(self, step: Step) -> str:
        """The name of the instance that takes a step, or of the process for one that concerns all of it.

        Empty for other steps.
        """
        if not 0 <= step.instance < len(self.names):
            return ""
        if step.action in OF_PROCESSES:
            return self.processes[self.places[step.instance][0]].name
        return self.names[step.instance]

    def actors(self) -> list[str]:
        """The names of all instances and processes."""
        return list(dict.fromkeys([*self.names, *(process.name for process in self.processes)]))

    def first(self, number: int) -> int:
        """The first instance of a process: it stands for it in steps."""
        return self.processes[number].indexes[0]
