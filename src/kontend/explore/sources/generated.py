"""Generates the plainest scenarios: an object of each kind that is reconciled, and a user.

The user changes the first object once, deletes it, or deletes it and creates it again: each is a scenario of its own,
because a user who does all of this makes a space that is several times as large. Where the reconciles of two objects
write to the same third object, there is one scenario more, with two objects and no user.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from kontend.cluster.cluster import Cluster
from kontend.cluster.startup.seed import UnknownKind
from kontend.explore.actions import Action, create, delete, patch
from kontend.explore.model.model import Model
from kontend.explore.preflight import check_written, checked_cluster, initial_cluster
from kontend.explore.problems import BadScenario
from kontend.explore.program.external import EXTERNAL
from kontend.explore.restarts import restarted
from kontend.explore.scenario import Bounds, Scenario
from kontend.explore.sources.action_documents import actions_of
from kontend.explore.sources.inputs import Inputs
from kontend.kube.crd.example_object import example_object
from kontend.kube.crd.permissive import is_definable, permissive_crd
from kontend.kube.meta.names import GroupVersionKind, Key, parse_kind
from kontend.runtime.controller import Controller
from kontend.runtime.source_location import UNKNOWN, SourceLocation, defined_at

_STATES: Final = 20_000
#: Steps of the run that shows what an object's reconciles write. A controller that never rests is cut here.
_LONGEST_RUN: Final = 300
#: The built-in controller that deletes what is owned by the deleted object.
COLLECTOR: Final = "garbagecollector"
#: The name of a generated scenario.
GENERATED: Final = "generated"
_LABELS: Final = {"app": "example"}
_POD: Final[dict[str, Any]] = {"containers": [{"name": "main", "image": "example:1"}]}
_TEMPLATE: Final[dict[str, Any]] = {"metadata": {"labels": _LABELS}, "spec": _POD}
#: The required fields of built-in kinds.
_SPECS: Final[dict[str, dict[str, Any]]] = {
    "Pod": _POD,
    "Deployment": {"selector": {"matchLabels": _LABELS}, "template": _TEMPLATE},
    "ReplicaSet": {"selector": {"matchLabels": _LABELS}, "template": _TEMPLATE},
    "DaemonSet": {"selector": {"matchLabels": _LABELS}, "template": _TEMPLATE},
    "StatefulSet": {"selector": {"matchLabels": _LABELS}, "template": _TEMPLATE, "serviceName": "example"},
    "Job": {"template": {"spec": {**_POD, "restartPolicy": "Never"}}},
    "Service": {"ports": [{"port": 80}]},
}


def generated_scenarios(
    name: str,
    controllers: list[Controller],
    known: Mapping[tuple[str, str], dict[str, Any]] | None = None,
    inputs: Inputs | None = None,
    samples: Mapping[tuple[str, str], Mapping[str, Any]] | None = None,
) -> dict[str, Scenario]:
    """The plainest scenarios for some controllers: ``name``, ``name/deleted`` and so on. Raises :class:`BadScenario`.

    Objects of the ``inputs`` take the place of generated ones; actions of theirs leave one scenario, with these. Where
    a schema wants more of an object than an example can guess, a sample of its kind takes its place.
    """
    given = inputs or Inputs()
    changed = _changed(controllers, known, given, samples or {})
    scenarios = {name: changed}
    if not given.actions:
        first = changed.objects[0]
        again = [delete(first), create(first, retry=True)]
        collected = _collected(changed)
        scenarios[f"{name}/deleted"] = _with(collected, changed.objects, again[:1])
        scenarios[f"{name}/recreated"] = _with(collected, changed.objects, again)
        if not given.objects and (second := _second(changed)) is not None:
            scenarios[f"{name}/two"] = _with(changed, [*changed.objects, second], [])
    return scenarios


def _collected(scenario: Scenario) -> Scenario:
    """The scenario with a garbage collector, and one instance of each controller.

    Children of the deleted object go away, as in a cluster; without a collector a controller that waits for that would
    wait for ever. With two instances beside it the space is too large to be exhausted, and a crash hands over as well.
    """
    bounds = replace(scenario.bounds, concurrent=1)
    return replace(scenario, controllers=[*scenario.controllers, COLLECTOR], bounds=bounds)


def basis_of(name: str) -> str:
    """The name of the controllers, or of the test, that a generated scenario belongs to.

    >>> basis_of("Widgets/deleted")
    'Widgets'
    """
    return name.partition("/")[0]


def _with(scenario: Scenario, objects: Sequence[Mapping[str, Any]], actions: Sequence[Action]) -> Scenario:
    return replace(scenario, objects=objects, actions=[replace(action, line=scenario.line) for action in actions])


def _second(scenario: Scenario) -> Mapping[str, Any] | None:
    """Another object like the first one, if reconciles of both write to one third object.

    The unperturbed runs of either by itself tell: what they write beside their own objects has the same key.
    """
    first = scenario.objects[0]
    second = {**first, "metadata": {**first["metadata"], "name": f"{first['metadata']['name']}-2"}}
    own = {obj["metadata"]["name"] for obj in (*scenario.objects, second)}
    shared = {each for each in _written(_with(scenario, scenario.objects, [])) if each[1].name not in own}
    if shared:
        shared &= _written(_with(scenario, [second, *scenario.objects[1:]], []))
    return second if shared else None


def _written(scenario: Scenario) -> set[tuple[str, Key]]:
    """The objects that an unperturbed run writes, as far as it gets, by their resource and key.

    Raises :class:`BadScenario` for a kind that nobody serves: the search could only show that every retry fails.
    """
    return restarted(replace(scenario, bounds=Bounds(lag=0, faults=0)), lambda model: _written_in(scenario, model))


def _written_in(scenario: Scenario, model: Model) -> set[tuple[str, Key]]:
    world = model.initial()
    written: set[tuple[str, Key]] = set()
    for _ in range(_LONGEST_RUN):
        transitions = (model.next(world, step) for step in model.steps(world))
        transition = next((each for each in transitions if not each.cost), None)
        if transition is None:
            break
        failure = transition.failure
        if failure is not None and failure.type == UnknownKind.__name__:
            raise BadScenario(
                f"{failure.message}, or --crds FILE", failure.line if failure.line != UNKNOWN else scenario.line
            )
        written |= {(change.resource, change.key) for change in transition.changes}
        world = transition.world
    return written


def _changed(
    controllers: list[Controller],
    known: Mapping[tuple[str, str], dict[str, Any]] | None,
    given: Inputs,
    samples: Mapping[tuple[str, str], Mapping[str, Any]],
) -> Scenario:
    """One object of each kind, the first of them changed once by a user.

    The ``known`` definitions, by group and kind, are used where they serve a kind; its object then has the required
    fields of the schema. Other kinds accept everything, and their objects are empty. Objects and actions of the
    ``inputs`` take the place of generated ones.
    """
    definitions = known or {}
    for controller in controllers:
        check_written(controller, None)
    # The scenario has no line of its own; a user can change the controllers.
    line = defined_at(type(controllers[0]))
    watched = [kind for controller in controllers for kind in controller.kinds]
    # What is outside of the cluster comes with the controllers.
    kinds = [parse_kind(kind) for kind in watched if kind != EXTERNAL]
    kinds += [parse_kind(kind) for kind in given.kinds]
    crds: dict[str, Mapping[str, Any]] = {}
    for kind in dict.fromkeys(kinds):
        if not _is_served(kind) and is_definable(str(kind)):
            served = _definition(kind, definitions) or permissive_crd(str(kind))
            crds.setdefault(served["metadata"]["name"], served)
    for crd in given.crds:
        crds.setdefault(crd["metadata"]["name"], crd)
    objects = list(given.objects) or _examples(controllers, definitions)
    scenario = Scenario(
        controllers=controllers,
        crds=list(crds.values()),
        objects=objects,
        actions=_actions(objects, given, line),
        properties=given.properties_of(objects),
        ignore=list(given.ignore),
        bounds=Bounds(lag=1, concurrent=2, states=_STATES, line=line),
        name=GENERATED,
        line=line,
    )
    try:
        initial_cluster(scenario)
    except BadScenario as error:
        if given.objects:
            raise
        instead = tuple(samples.get((obj["apiVersion"], obj["kind"]), obj) for obj in objects)
        if any(sample is not obj for sample, obj in zip(instead, objects, strict=True)):
            return _changed(controllers, known, replace(given, objects=instead), {})
        raise BadScenario(
            f"no example object could be generated: {error.message}; give one with --objects, or define a Scenario",
            line,
        ) from error
    checked_cluster(scenario)
    return scenario


def _examples(
    controllers: Sequence[Controller], known: Mapping[tuple[str, str], dict[str, Any]]
) -> list[Mapping[str, Any]]:
    """An object of each kind that is reconciled."""
    return [_example(parse_kind(kind), known) for kind in dict.fromkeys(controller.kind for controller in controllers)]


def _actions(objects: Sequence[Mapping[str, Any]], given: Inputs, line: SourceLocation | None) -> list[Action]:
    if given.actions:
        return actions_of(given.actions, "actions", objects)
    touched = patch(objects[0], {"metadata": {"annotations": {"kontend.example.com/touched": "1"}}})
    return [replace(touched, line=line)]


def _is_served(kind: GroupVersionKind) -> bool:
    try:
        Cluster().list(str(kind))
    except UnknownKind:
        return False
    return True


def _definition(kind: GroupVersionKind, known: Mapping[tuple[str, str], dict[str, Any]]) -> dict[str, Any] | None:
    """The known definition that serves a kind."""
    crd = known.get((kind.group, kind.kind))
    versions = crd["spec"].get("versions") or [] if crd is not None else []
    return crd if any(version.get("name") == kind.version and version.get("served") for version in versions) else None


def _example(kind: GroupVersionKind, known: Mapping[tuple[str, str], dict[str, Any]]) -> dict[str, Any]:
    crd = _definition(kind, known)
    if crd is not None and not _is_served(kind):
        return example_object(crd, kind.version)
    obj: dict[str, Any] = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": "example"}}
    if kind.kind in _SPECS:
        obj["spec"] = _SPECS[kind.kind]
    elif not _is_served(kind):
        obj["spec"] = {}
    return obj
