"""Scenarios from a Python file: those it defines, or a generated one for its controllers.

A file that defines scenarios (module-level values that are a :class:`Scenario`) is explored as it says. A file that
only defines controllers gets the plainest scenario: one object of each kind that is reconciled, and a user who changes
it once. The definitions of their kinds are taken from YAML files beside it, and objects have the required fields.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from kontend.cluster.cluster import Cluster
from kontend.cluster.startup.seed import UnknownKind
from kontend.explore.actions import patch
from kontend.explore.definitions import definitions_near
from kontend.explore.preflight import check_written, checked_cluster, initial_cluster
from kontend.explore.problems import BadScenario
from kontend.explore.scenario import Bounds, Scenario
from kontend.explore.scenario_documents import ENDINGS, scenario_documents
from kontend.kube.crd.example_object import example_object
from kontend.kube.crd.permissive import permissive_crd
from kontend.kube.meta.names import GroupVersionKind, parse_kind
from kontend.runtime.controller import Controller
from kontend.runtime.source_location import defined_at
from kontend.runtime.user_file import BadFile, controllers_in, load_file

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


def load(path: str | Path) -> ModuleType:
    """Import a Python file, which runs it."""
    try:
        return load_file(path)
    except BadFile as error:
        if isinstance(error.__cause__, BadScenario):  # it names its line
            raise error.__cause__ from None
        raise BadScenario(str(error)) from error


def scenarios_in(path: str | Path) -> dict[str, Scenario]:
    """The scenarios of a file by name; the generated one is called ``controllers``."""
    if Path(path).suffix in ENDINGS:
        return {name: scenario for name, (scenario, _) in scenario_documents(path).items()}
    module = load(path)
    found = {name: value for name, value in vars(module).items() if isinstance(value, Scenario)}
    if found:
        return found
    try:
        controllers = controllers_in(module, otherwise="define a Scenario")
    except BadFile as error:
        raise BadScenario(str(error)) from error
    if not controllers:
        raise BadScenario(f"{path}: the file defines neither a Scenario nor a Controller")
    return {"controllers": generated_scenario(controllers, definitions_near(Path(path)))}


def generated_scenario(
    controllers: list[Controller], known: Mapping[tuple[str, str], dict[str, Any]] | None = None
) -> Scenario:
    """The plainest scenario for some controllers: one object of each kind, changed once by a user.

    The ``known`` definitions, by group and kind, are used where they serve a kind; its object then has the required
    fields of the schema. Other kinds accept everything, and their objects are empty.
    """
    definitions = known or {}
    for controller in controllers:
        check_written(controller, None)
    # The scenario has no line of its own; a user can change the controllers.
    line = defined_at(type(controllers[0]))
    kinds = [parse_kind(kind) for controller in controllers for kind in controller.kinds]
    crds: dict[str, dict[str, Any]] = {}
    for kind in dict.fromkeys(kinds):
        if not _is_served(kind):
            crd = _definition(kind, definitions) or permissive_crd(str(kind))
            crds.setdefault(crd["metadata"]["name"], crd)
    objects = [_example(parse_kind(controller.kind), definitions) for controller in controllers]
    unique = {(obj["apiVersion"], obj["kind"]): obj for obj in objects}
    touched = patch(objects[0], {"metadata": {"annotations": {"kontend.example.com/touched": "1"}}})
    scenario = Scenario(
        controllers=controllers,
        crds=list(crds.values()),
        objects=list(unique.values()),
        actions=[replace(touched, line=line)],
        bounds=Bounds(lag=1, concurrent=2, states=_STATES, line=line),
        name=GENERATED,
        line=line,
    )
    try:
        initial_cluster(scenario)
    except BadScenario as error:
        raise BadScenario(f"no example object could be generated: {error.message}; define a Scenario", line) from error
    checked_cluster(scenario)
    return scenario


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
    return crd if any(each.get("name") == kind.version and each.get("served") for each in versions) else None


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
