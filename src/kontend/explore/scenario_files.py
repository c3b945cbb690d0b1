"""Scenarios from a Python file: those it defines, or generated ones for its controllers.

A file that defines scenarios (module-level values that are a :class:`Scenario`) is explored as it says. A file that
only defines controllers gets the plainest scenarios: one object of each kind that is reconciled, and a user who changes
it once, deletes it, or deletes it and creates it again. The definitions of their kinds are taken from YAML files beside
it, and objects have the required fields.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from kontend.explore.problems import BadScenario
from kontend.explore.scenario import Scenario
from kontend.explore.scenario_documents import ENDINGS, scenario_documents
from kontend.explore.sources.definitions import definitions_near
from kontend.explore.sources.generated import basis_of
from kontend.explore.sources.generated import generated_scenarios as generated
from kontend.explore.sources.go_packages import go_scenarios
from kontend.explore.sources.inputs import Inputs
from kontend.runtime.controller import Controller
from kontend.runtime.source_location import working_directory
from kontend.runtime.user_file import BadFile, controllers_in, load_file


def load(path: str | Path) -> ModuleType:
    """Import a Python file, which runs it."""
    try:
        return load_file(path)
    except BadFile as error:
        if isinstance(error.__cause__, BadScenario):  # it names its line
            raise error.__cause__ from None
        raise BadScenario(str(error)) from error


def scenarios_in(path: str | Path, inputs: Inputs | None = None, *, names: Iterable[str] = ()) -> dict[str, Scenario]:
    """The scenarios of a file by name, with the ``inputs``.

    Where the file has none, some are generated for all its controllers: ``controllers``, ``controllers/deleted`` and
    so on. For each of the ``names`` that begins with a controller's class, they are generated for this controller
    alone. A directory is a Go package.
    """
    given = inputs or Inputs()
    if Path(path).is_dir():
        return go_scenarios(Path(path), given, names)
    if Path(path).suffix in ENDINGS:
        return {name: given.applied(scenario) for name, (scenario, _) in scenario_documents(path).items()}
    module = load(path)
    scenarios = written_scenarios(module, given)
    bases = dict.fromkeys(basis_of(name) for name in names)
    single = [name for name in bases if name not in scenarios and _is_controller(vars(module).get(name))]
    if not scenarios or single:
        scenarios |= generated_scenarios(module, Path(path), given, names=single)
    if not scenarios:
        raise BadScenario(f"{path}: the file defines neither a Scenario nor a Controller")
    return scenarios


def written_scenarios(module: ModuleType, inputs: Inputs) -> dict[str, Scenario]:
    """The scenarios that a module defines, with the ``inputs``."""
    return {name: inputs.applied(value) for name, value in vars(module).items() if isinstance(value, Scenario)}


def generated_scenarios(
    module: ModuleType, path: Path, inputs: Inputs, *, names: Iterable[str] = ()
) -> dict[str, Scenario]:
    """Generated scenarios of all controllers of a module, or of each of those that are named; none without any."""
    controllers = controllers_of(module)
    known = {kind: dict(manifest.obj) for kind, manifest in definitions_near(working_directory() / path).items()}
    known |= {_served_by(crd): dict(crd) for crd in inputs.crds}
    chosen = {
        name: [controller for controller in controllers if type(controller) is vars(module)[name]] for name in names
    }
    scenarios: dict[str, Scenario] = {}
    for name, several in (chosen or {"controllers": controllers}).items():
        if several:
            scenarios |= generated(name, several, known, inputs)
    return scenarios


def _is_controller(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, Controller)


def controllers_of(module: ModuleType) -> list[Controller]:
    """One controller of each class that a module defines. Raises :class:`BadScenario`."""
    try:
        return controllers_in(module, otherwise="define a Scenario")
    except BadFile as error:
        raise BadScenario(str(error)) from error


def _served_by(crd: Mapping[str, Any]) -> tuple[str, str]:
    try:
        return crd["spec"]["group"], crd["spec"]["names"]["kind"]
    except (KeyError, TypeError) as error:
        name = (crd.get("metadata") or {}).get("name")
        raise BadScenario(f"CustomResourceDefinition {name}: it has no spec.group or no spec.names.kind") from error
