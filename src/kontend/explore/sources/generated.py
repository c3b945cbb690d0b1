"""Generates the plainest scenario: an object of each kind that is reconciled, changed once by a user."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from kontend.cluster.cluster import Cluster
from kontend.cluster.startup.seed import UnknownKind
from kontend.explore.actions import Action, patch
from kontend.explore.preflight import check_written, checked_cluster, initial_cluster
from kontend.explore.problems import BadScenario
from kontend.explore.scenario import Bounds, Scenario
from kontend.explore.sources.action_documents import actions_of
from kontend.explore.sources.inputs import Inputs
from kontend.kube.crd.example_object import example_object
from kontend.kube.crd.permissive import permissive_crd
from kontend.kube.meta.names import GroupVersionKind, parse_kind
from kontend.runtime.controller import Controller
from kontend.runtime.source_location import SourceLocation, defined_at

_STATES: Final = 20_000
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


def generated_scenario(
    controllers: list[Controller],
    known: Mapping[tuple[str, str], dict[str, Any]] | None = None,
    inputs: Inputs | None = None,
) -> Scenario:
    """The plainest scenario for some controllers: one object of each kind, changed once by a user.

    The ``known`` definitions, by group and kind, are used where they serve a kind; its object then has the required
    fields of the schema. Other kinds accept everything, and their objects are empty. Objects and actions of the
    ``inputs`` take the place of generated ones.
    """
    given = inputs or Inputs()
    definitions = known or {}
    for controller in controllers:
        check_written(controller, None)
    # The scenario has no line of its own; a user can change the controllers.
    line = defined_at(type(controllers[0]))
    kinds = [parse_kind(kind) for controller in controllers for kind in controller.kinds]
    kinds += [parse_kind(kind) for kind in given.kinds]
    crds: dict[str, Mapping[str, Any]] = {}
    for kind in dict.fromkeys(kinds):
        if not _is_served(kind):
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
        raise BadScenario(f"no example object could be generated: {error.message}; define a Scenario", line) from error
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
