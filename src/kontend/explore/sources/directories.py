"""Scenarios of a directory: finds the files below it that define scenarios or controllers.

Importing a file runs it, so only files that can matter are imported: Python files that import kontend or derive a class
from a controller of another such file, and YAML files of scenarios. Tests, hidden directories, virtual environments and
built packages are left out.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Final

from kontend.cluster.startup.manifests import BadManifest, documents_in
from kontend.explore.problems import BadScenario
from kontend.explore.scenario import Scenario
from kontend.explore.scenario_documents import ENDINGS
from kontend.explore.scenario_files import controllers_of, generated_scenarios, load, scenarios_in, written_scenarios
from kontend.explore.sources.inputs import Inputs
from kontend.runtime.controller import Controller
from kontend.runtime.source_location import defined_at

_LEFT_OUT: Final = ("__pycache__", "node_modules", "site-packages", "build", "dist", "tests", "test", "testdata")
_TESTS: Final = re.compile(r"(test_.*|.*_test|conftest|setup)\.py")
_CONTROLLER: Final = "Controller"


def scenarios_below(
    directory: Path,
    inputs: Inputs | None = None,
    *,
    loading: Callable[[Path], object] | None = None,
    broken: dict[Path, str] | None = None,
    leave_out: Iterable[Path] = (),
) -> dict[Path, dict[str, Scenario]]:
    """The scenarios of the files below a directory, by file and name. Raises :class:`BadScenario`.

    A scenario that several files import is listed with the file that makes it. One is generated for the controllers of
    a file only if some of them are in no scenario. ``loading`` is called before each file. With ``broken``, a file that
    cannot be read goes there with the reason, and the others are listed. Files to ``leave_out`` are not read.
    """
    given = inputs or Inputs()
    by_file: dict[Path, dict[str, Scenario]] = {}
    modules: dict[Path, ModuleType] = {}
    left_out = set(leave_out)
    for file in candidates(directory):
        if file in left_out:
            continue
        if loading is not None:
            loading(file)
        try:
            if file.suffix in ENDINGS:
                by_file[file] = scenarios_in(file, given)
            else:
                modules[file] = load(file)
                by_file[file] = written_scenarios(modules[file], given)
        except BadScenario as error:
            if broken is None:
                raise
            modules.pop(file, None)
            broken[file] = str(error)
    explored = {
        _name(controller)
        for scenarios in by_file.values()
        for scenario in scenarios.values()
        for controller in scenario.controllers
    }
    for file, module in modules.items():
        try:
            if not by_file[file] and _defined(file, module) - explored:
                by_file[file] = generated_scenarios(module, file, given)
        except BadScenario as error:
            if broken is None:
                raise
            broken[file] = str(error)
    makers = {(name, scenario.line) for file, name, scenario in _listed(by_file) if _makes(file, scenario)}
    chosen: dict[Path, dict[str, Scenario]] = {}
    for file, name, scenario in _listed(by_file):
        if _makes(file, scenario) or (name, scenario.line) not in makers:
            chosen.setdefault(file, {})[name] = scenario
    if not chosen and not broken and not left_out:
        raise BadScenario(f"{directory}: no file below it defines a Scenario or a Controller")
    return chosen


def candidates(directory: Path) -> list[Path]:
    """The files below a directory that can define scenarios or controllers, in the order of their names."""
    files = list(_files(directory))
    parsed = {file: tree for file in files if file.suffix == ".py" and (tree := _parsed(file)) is not None}
    controllers = {_CONTROLLER}
    chosen: set[Path] = {file for file, tree in parsed.items() if _imports_kontend(tree)}
    while True:  # until no more classes derive from those that are known
        classes = {
            (file, node.name)
            for file, tree in parsed.items()
            for node in ast.walk(tree)
            if isinstance(node, ast.ClassDef) and controllers & {_last(base) for base in node.bases}
        }
        if {name for _, name in classes} <= controllers:
            break
        controllers |= {name for _, name in classes}
    chosen |= {file for file, _ in classes}
    chosen |= {file for file in files if file.suffix in ENDINGS and _has_scenarios(file)}
    return [file for file in files if file in chosen]


def _files(directory: Path) -> Iterator[Path]:
    for parent, directories, names in os.walk(directory):
        folder = Path(parent)
        directories[:] = sorted(
            name
            for name in directories
            if not name.startswith(".") and name not in _LEFT_OUT and not (folder / name / "pyvenv.cfg").exists()
        )
        for name in sorted(names):
            if (name.endswith(".py") and not _TESTS.fullmatch(name)) or name.endswith(ENDINGS):
                yield folder / name


def _parsed(file: Path) -> ast.Module | None:
    """The syntax of a file; None for one that is not Python, which another tool may have put there."""
    try:
        return ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return None


def _imports_kontend(tree: ast.Module) -> bool:
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and not node.level:
            names.append(node.module or "")
        if any(name.partition(".")[0] == "kontend" for name in names):
            return True
    return False


def _last(base: ast.expr) -> str:
    """The last name of a base class such as ``kontend.Controller``."""
    return base.attr if isinstance(base, ast.Attribute) else base.id if isinstance(base, ast.Name) else ""


def _has_scenarios(file: Path) -> bool:
    try:
        (first, *others) = [value for _, value in documents_in(file)]
    except (BadManifest, ValueError):
        return False
    return not others and isinstance(first, Mapping) and ("controllers" in first or "scenarios" in first)


def _listed(by_file: Mapping[Path, Mapping[str, Scenario]]) -> Iterator[tuple[Path, str, Scenario]]:
    for file, scenarios in by_file.items():
        for name, scenario in scenarios.items():
            yield file, name, scenario


def _makes(file: Path, scenario: Scenario) -> bool:
    return scenario.line is not None and Path(scenario.line.file).resolve() == file.resolve()


def _defined(file: Path, module: ModuleType) -> set[object]:
    """The controllers that a file defines itself; those that a package imports from its modules are theirs."""
    names = [defined_at(type(controller)) for controller in controllers_of(module)]
    return {name for name in names if name is not None and Path(name.file).resolve() == file.resolve()}


def _name(controller: Controller | str) -> object:
    """Names the class of a controller by its line, since a file may have been imported twice."""
    if isinstance(controller, str):
        return controller
    return defined_at(type(controller)) or type(controller)
