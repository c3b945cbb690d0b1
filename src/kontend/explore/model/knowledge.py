"""Knowledge about a scenario that outlives a search which has to start again.

A search relies on assumptions about user code, and on which kinds are namespaced. Where it turns out to have been
wrong, it starts again with what it has learnt.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Set

from kontend.cluster.cluster import Cluster
from kontend.cluster.resources import Registry
from kontend.cluster.startup.seed import UnknownKind, resource_of
from kontend.explore.preflight import resolved_controllers
from kontend.explore.program.determinism import WatchedPaths
from kontend.explore.program.symbols import Assumption
from kontend.explore.program.version_readers import GENERATIONS, VERSIONS, any_names
from kontend.explore.scenario import Scenario
from kontend.kube.meta.names import GroupVersionKind


class NewKind(Exception):
    """A controller has defined a kind that user code had asked for before. Carries all kinds that are known then."""


class Knowledge:
    """Assumptions that hold so far, and the kinds that are served in some state."""

    def __init__(self, registry: Registry) -> None:
        self.assumptions: frozenset[Assumption] = frozenset(Assumption)
        #: It was found out whether stamps of the time matter.
        self.stamps_checked = False
        self._initial = registry
        #: The kinds that are known, and whether their objects live in namespaces.
        self.namespaced: dict[str, bool] = {}
        #: The paths of each controller that were watched, by its number.
        self.watched: defaultdict[int, WatchedPaths] = defaultdict(WatchedPaths)
        #: A property, a condition of a user or a mapping function may read generations.
        self.reads_generations = False
        #: The kinds that code has asked for in vain.
        self.unknown: set[str] = set()

    def is_namespaced(self, kind: str) -> bool:
        """The objects of a kind live in namespaces. Raises ``UnknownKind`` for one that is never served."""
        namespaced = self.namespaced.get(kind)
        if namespaced is not None:
            return namespaced
        try:
            namespaced = resource_of(self._initial, kind).namespaced
        except UnknownKind:
            self.unknown.add(kind)
            raise
        self.namespaced[kind] = namespaced
        return namespaced

    def learn(self, registry: Registry) -> None:
        """Take in the kinds that a registry serves. Raises :class:`NewKind` if code has asked for one in vain."""
        for resource in registry.resources():
            kind = str(GroupVersionKind(resource.group, resource.version, resource.kind))
            self.namespaced.setdefault(kind, resource.namespaced)
        self._check_unknown()

    def merge(self, namespaced: Mapping[str, bool], unknown: Set[str]) -> None:
        """Take in what a search in another process has learnt so far. Raises :class:`NewKind` as :meth:`learn` does."""
        self.namespaced.update(namespaced)
        self.unknown |= unknown
        self._check_unknown()

    def _check_unknown(self) -> None:
        if self.unknown & self.namespaced.keys():
            self.unknown -= self.namespaced.keys()
            raise NewKind(dict(self.namespaced))

    def take_over(self, error: NewKind) -> None:
        """Take in the kinds that another process has learnt."""
        self.namespaced.update(error.args[0])
        self.unknown -= self.namespaced.keys()

    def refute(self, assumption: Assumption) -> None:
        """Drop an assumption."""
        self.assumptions -= {assumption}


def first_knowledge(scenario: Scenario, cluster: Cluster) -> Knowledge:
    """The assumptions about a scenario that hold until a search refutes them."""
    knowledge = Knowledge(cluster.state.registry)
    controllers = resolved_controllers(scenario, cluster)
    functions: list[object] = [prop.question for prop in scenario.properties]
    functions += [action.when for user in scenario.everybody() for action in user.actions if action.when is not None]
    for controller in controllers:
        functions += [controller.watches.get(kind) for kind in controller.kinds]
        functions += [
            *controller.predicates.values(),
            *(f for index in controller.indexes.values() for f in index.values()),
        ]
    functions = [function for function in functions if function is not None]
    if any_names(VERSIONS, functions, controllers):
        knowledge.refute(Assumption.OPAQUE_VERSIONS)
    knowledge.reads_generations = any_names(GENERATIONS, functions, controllers)
    return knowledge
