"""Scenarios in YAML, for controllers that are Python classes named by import path.

A file is one scenario, or ``scenarios:`` with a list of them. Kinds that neither the server nor ``crds`` define get a
permissive definition. Properties are CEL expressions (:mod:`kontend.explore.properties.expressions`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, replace
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from kontend.cluster.cluster import Cluster
from kontend.cluster.startup.manifests import BadManifest, Manifest, read, read_definitions
from kontend.cluster.startup.seed import UnknownKind
from kontend.explore.problems import BadScenario, not_among
from kontend.explore.properties.expressions import property_of
from kontend.explore.scenario import Bounds, Scenario
from kontend.explore.sources.action_documents import actions_of
from kontend.explore.sources.yaml_file import read_yaml
from kontend.kube.crd.permissive import is_definable, permissive_crd
from kontend.kube.meta.named import shown
from kontend.kube.meta.names import kind_of
from kontend.runtime.controller import Controller
from kontend.runtime.guards import Guards
from kontend.runtime.source_location import working_directory

#: The endings of files that are read as YAML.
ENDINGS: Final = (".yaml", ".yml", ".json")
_FIELDS: Final = (
    "name",
    "controllers",
    "crds",
    "objects",
    "actions",
    "properties",
    "bounds",
    "guards",
    "processes",
    "ignore",
    "plan",
    "enforced",
)


def scenario_documents(path: str | Path) -> dict[str, tuple[Scenario, Any]]:
    """The scenarios of a file by name, each with its plan (None where it has none)."""
    document = read_yaml(path)
    listed = document.get("scenarios") if isinstance(document, Mapping) and "scenarios" in document else [document]
    if not isinstance(listed, list) or not listed:
        raise BadScenario(f"{path}: scenarios: expected a list of scenarios, found {listed!r}")
    scenarios: dict[str, tuple[Scenario, Any]] = {}
    directory = (working_directory() / path).resolve().parent
    with _importable(directory):
        for at, item in enumerate(listed):
            where = f"{path}: scenarios[{at}]" if len(listed) > 1 else str(path)
            objects = [
                each
                for each in (item if isinstance(item, list) else [item])
                if isinstance(each, Mapping) and "apiVersion" in each
            ]
            if objects:
                raise BadScenario(
                    f"{where}: expected a scenario with controllers: [...], found {shown(objects[0])}; objects are "
                    "given beside one: kontend explore FILE.py --objects ..."
                )
            if not isinstance(item, Mapping):
                raise BadScenario(f"{where}: expected a scenario with controllers: [...], found {item!r}")
            name = str(item.get("name") or f"scenario{at + 1}")
            if name in scenarios:
                raise BadScenario(f"{where}: two scenarios are called {name}")
            scenarios[name] = (_scenario(item, where, directory), item.get("plan"))
    return scenarios


def _scenario(document: Mapping[str, Any], where: str, base: Path) -> Scenario:
    for name in document:
        if name not in _FIELDS:
            raise BadScenario(f"{where}: {not_among('field', str(name), _FIELDS)}")
    for name in ("controllers", "crds", "objects", "actions", "properties", "enforced", "ignore"):
        if not isinstance(document.get(name, []), list):
            raise BadScenario(f"{where}: {name}: expected a list, found {document[name]!r}")
    controllers = [_controller(controller, where) for controller in document.get("controllers", [])]
    objects = _read(document.get("objects", []), base, read)
    given = _read(document.get("crds", []), base, read_definitions)
    actions = actions_of(document.get("actions", []), f"{where}: actions", objects)
    kinds = [str(kind_of(obj)) for obj in objects if isinstance(obj, Mapping)]
    kinds += [action.kind for action in actions]
    kinds += [kind for controller in controllers if isinstance(controller, Controller) for kind in controller.kinds]
    crds = [*given, *_missing(kinds, given)]
    every = tuple(dict.fromkeys(kinds))
    return Scenario(
        controllers=controllers,
        crds=crds,
        objects=objects,
        actions=actions,
        properties=[
            property_of(item, f"{where}: properties[{at}]", every)
            for at, item in enumerate(document.get("properties", []))
        ],
        bounds=_options(Bounds, Bounds(), document.get("bounds"), f"{where}: bounds"),
        guards=_options(Guards, Guards(fencing=False), document.get("guards"), f"{where}: guards"),
        name=str(document.get("name") or ""),
        processes=document.get("processes") or {},
        enforced=[str(field) for field in document.get("enforced", [])],
        ignore=document.get("ignore", []),
    )


def _read(given: list[Any], base: Path, reader: Callable[[Iterable[Path]], list[Manifest]]) -> list[Any]:
    """Objects as they are given, and those of files and directories that are named beside the scenario's file."""
    try:
        return [
            obj
            for item in given
            for obj in ([manifest.obj for manifest in reader([base / item])] if isinstance(item, str) else [item])
        ]
    except BadManifest as error:
        raise BadScenario(str(error)) from error


def _controller(path: Any, where: str) -> Controller | str:
    if not isinstance(path, str):
        raise BadScenario(f"{where}: controllers: expected module:Class or the name of a built-in one, found {path!r}")
    module, colon, name = path.partition(":")
    if not colon:
        return path
    try:
        cls = getattr(import_module(module), name)
        made = cls()
    except Exception as error:
        raise BadScenario(f"{where}: controllers: {path}: {type(error).__name__}: {error}") from error
    if not isinstance(made, Controller):
        raise BadScenario(f"{where}: controllers: {path} is not a Controller")
    return made


def _missing(kinds: list[str], crds: list[Any]) -> Iterator[Mapping[str, Any]]:
    """Permissive definitions of kinds that neither the server nor the file defines."""
    cluster = Cluster()
    defined = {
        (crd.get("spec", {}).get("group"), crd.get("spec", {}).get("names", {}).get("kind"))
        for crd in crds
        if isinstance(crd, Mapping)
    }
    for kind in dict.fromkeys(kinds):
        name, _, rest = kind.partition(".")
        if (rest.partition("/")[0], name) in defined:
            continue
        try:
            cluster.list(kind)
        except UnknownKind:
            if is_definable(kind):
                yield permissive_crd(kind)


def _options(cls: type, default: Any, document: Any, where: str) -> Any:
    if document is None:
        return default
    names = [field.name for field in fields(cls) if field.name != "line"]
    if not isinstance(document, Mapping):
        raise BadScenario(f"{where}: expected fields and values, found {document!r}")
    for name in document:
        if name not in names:
            raise BadScenario(f"{where}: {not_among('field', str(name), names)}")
    return replace(default, **document)


@contextmanager
def _importable(directory: Path) -> Iterator[None]:
    """Modules beside the file can be imported."""
    sys.path.insert(0, str(directory))
    try:
        yield
    finally:
        sys.path.remove(str(directory))
