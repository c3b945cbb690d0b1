"""Targets of ``kontend explore``: files, directories and ``pkg.mod:name``, with inputs from YAML files."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from kontend.cli.command import Parser, UsageError, usage_errors
from kontend.explore.explain.explanation import Origin
from kontend.explore.problems import BadScenario, not_among
from kontend.explore.scenario import Scenario
from kontend.explore.scenario_documents import ENDINGS, scenario_documents
from kontend.explore.scenario_files import scenarios_in
from kontend.explore.sources.directories import scenarios_below
from kontend.explore.sources.generated import GENERATED
from kontend.explore.sources.inputs import Inputs, read_inputs
from kontend.kube.meta.names import kind_of
from kontend.runtime.controller import Controller
from kontend.runtime.user_file import BadFile, file_of_module


@dataclass(frozen=True, slots=True)
class Target:
    """A scenario to explore."""

    scenario: Scenario
    #: The file as it was given, and the name of the scenario in it.
    file: Path
    name: str
    inputs: Inputs
    #: The plan that the file has for the scenario, as a document.
    plan: Any = None

    @property
    def origin(self) -> Origin:
        """The origin of the scenario, for traces."""
        return Origin(self.file.resolve(), self.name, self.inputs.to_json())


def add_options(parser: Parser) -> None:
    """Add the options that select what is explored."""
    add = parser.add_argument_group("what is explored").add_argument
    add(
        "targets",
        metavar="TARGET",
        nargs="*",
        help="a Python file that defines scenarios or controllers, a YAML file of scenarios, a directory of such "
        "files, a module (pkg.mod), or a scenario or a controller of one (FILE:name, pkg.mod:name)",
    )
    add(
        "--go",
        action="append",
        default=[],
        metavar="PACKAGE",
        help="a directory with a Go package whose tests call kontend.Explore (repeatable)",
    )
    add("--scenario", metavar="NAME", help="explore only this scenario (default: all)")
    for name, what in (
        ("crds", "CustomResourceDefinitions, beside those of the scenario"),
        ("objects", "objects to start with, instead of those of the scenario or of generated ones"),
        (
            "actions",
            "actions of the user, instead of those of the scenario: a list of create:, patch:, update:, apply: "
            "and delete:",
        ),
        ("properties", "properties in CEL, beside those of the scenario: a list such as - {always: CEL, name: NAME}"),
    ):
        text = f"a YAML file or directory of {what} (repeatable)"
        add(f"--{name}", action="append", type=Path, default=[], metavar="PATH", help=text)
    add(
        "--ignore",
        action="append",
        default=[],
        metavar="KIND.PATH",
        help="a field in which final states may differ, such as ConfigMap.data.next (repeatable)",
    )


def find_targets(options: Namespace) -> dict[str, Target]:
    """Return the scenarios to explore, by title: their names, with the file before it where there are several files."""
    if not options.targets and not options.go:
        raise UsageError("name a TARGET, or a Go package with --go")
    with usage_errors(BadScenario, BadFile):
        inputs = read_inputs(options.crds, options.objects, options.actions, options.ignore, options.properties)
        targets = [target for text in options.targets for target in _find(text, inputs)]
        for text in options.go:
            targets += _go_targets(text, inputs, options.scenario)
    single = len({target.file for target in targets}) == 1
    titled = {target.name if single else f"{target.file}:{target.name}": target for target in targets}
    if options.scenario is None:
        return titled
    chosen = {title: target for title, target in titled.items() if options.scenario in (title, target.name)}
    if not chosen:
        raise UsageError(f"--scenario: {not_among('scenario', options.scenario, titled)}")
    return chosen


def _find(text: str, inputs: Inputs) -> Iterator[Target]:
    path, name = Path(text), ""
    if path.is_dir():
        for file, scenarios in scenarios_below(path, inputs).items():
            yield from _targets(file, scenarios, inputs)
        return
    if not path.exists():
        path, name = _module(text)
    scenarios = scenarios_in(path, inputs, names=[name] if name else [])
    if name and name not in scenarios:
        raise UsageError(f"{text}: {not_among('scenario', name, scenarios)}")
    yield from _targets(path, {name: scenarios[name]} if name else scenarios, inputs)


def _targets(file: Path, scenarios: dict[str, Scenario], inputs: Inputs) -> Iterator[Target]:
    documents = scenario_documents(file) if file.suffix in ENDINGS else {}
    for name, scenario in scenarios.items():
        yield Target(scenario, file, name, inputs, documents[name][1] if name in documents else None)


def _go_targets(text: str, inputs: Inputs, chosen: str | None) -> Iterator[Target]:
    path = Path(text)
    if not path.is_dir():
        raise UsageError(f"--go {text}: expected the directory of a Go package, such as ./internal/controller")
    yield from _targets(path, scenarios_in(path, inputs, names=[chosen] if chosen else []), inputs)


def _module(text: str) -> tuple[Path, str]:
    """Return the file of ``FILE:name``, ``pkg.mod`` or ``pkg.mod:name``, and the name.

    A path that does not exist stays as it is.
    """
    file, _, name = text.rpartition(":")
    if file and Path(file).is_file():
        return Path(file), name
    module, _, name = text.partition(":")
    if not all(part.isidentifier() for part in module.split(".")) or text.endswith((".py", *ENDINGS)):
        return Path(text), ""
    return file_of_module(module), name


def shown_inputs(target: Target) -> str:
    """Show in one line what was generated; empty for a scenario that a file defines."""
    scenario = target.scenario
    if scenario.name != GENERATED:
        return ""
    parts = []
    if not target.inputs.objects:
        parts += [*map(_described, scenario.objects), *_watched_in_vain(scenario)]
    parts += [] if target.inputs.crds else [_summary(crd) for crd in scenario.crds]
    if not target.inputs.actions:
        done = " and ".join(action.text for action in scenario.actions)
        parts.append(f"the user {done}" if done else "no user")
    written = "" if target.file.is_dir() else "; kontend init writes it down"
    return f"generated: {'; '.join(parts)} (--crds, --objects and --actions give others{written})\n"


def _watched_in_vain(scenario: Scenario) -> list[str]:
    """Name the watched kinds of which there is no object: without any, a controller may have nothing to do."""
    controllers = [controller for controller in scenario.controllers if isinstance(controller, Controller)]
    watched = {kind for controller in controllers for kind in controller.watches}
    there = {str(kind_of(obj)) for obj in scenario.objects if isinstance(obj, Mapping)}
    return [f"no object of {kind}" for kind in sorted(watched - there)]


def _described(obj: Any) -> str:
    """An object in a few words: its kind and name, and its fields as flow-style YAML."""
    fields = {name: value for name, value in obj.items() if value and name not in ("apiVersion", "kind", "metadata")}
    shown = yaml.safe_dump(fields, default_flow_style=True, width=10_000, sort_keys=False).strip() if fields else ""
    return f"{obj['kind']} {obj['metadata']['name']}" + (f" {shown}" if shown else "")


def _summary(crd: Any) -> str:
    versions = crd["spec"]["versions"]
    free = all("properties" not in (version.get("schema") or {}).get("openAPIV3Schema", {}) for version in versions)
    return f"{crd['metadata']['name']} ({'accepts everything' if free else 'from a file of the project'})"


def with_bounds(target: Target, bounds: Any) -> Target:
    """A target with other bounds."""
    if bounds is target.scenario.bounds:
        return target
    return replace(target, scenario=replace(target.scenario, bounds=bounds))
