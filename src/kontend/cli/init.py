"""``kontend init FILE``: writes first scenarios and a test for the controllers of a file.

The scenarios are those that ``kontend explore FILE`` generates, as code to change. Both files lie beside the
controllers, where plain imports find them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import orjson

from kontend.cli.command import ExitCode, Parser, UsageError, usage_errors, write
from kontend.cli.init_go import TEST_FILE, go_test
from kontend.explore.problems import BadScenario
from kontend.explore.scenario import Scenario
from kontend.explore.scenario_files import generated_scenarios, load, written_scenarios
from kontend.explore.sources.definitions import definitions_near
from kontend.explore.sources.generated import COLLECTOR
from kontend.explore.sources.inputs import Inputs
from kontend.runtime.controller import BadController, Controller
from kontend.runtime.user_file import BadFile
from kontend.safe_files import write_whole

_ERRORS: Final = (BadScenario, BadController, BadFile)
_TOUCHED: Final = "kontend.example.com/touched"
_WIDTH: Final = 100
#: Names that the written files have already.
_TAKEN: Final = ("create", "delete", "deleted", "patch", "recreated", "replace")
#: Stops the search of two instances, whose space can be large.
_SECONDS: Final = 60


def parser() -> Parser:
    """Return the parser of the options."""
    made = Parser(
        prog="kontend init",
        description="Write first scenarios and a test for the controllers of a Python file. This runs the file.",
        examples={
            "scenarios and a test beside the file": "kontend init widgets.py",
            "a test for the controllers of a Go package": "kontend init --go internal/controller",
            "again, over files that exist": "kontend init widgets.py --force",
        },
        topic="explore",
        epilog="Exit codes: 0 both files are written, 2 usage error.",
    )
    made.add_argument("file", metavar="FILE", type=Path, nargs="?", help="a Python file that defines controllers")
    made.add_argument(
        "--go", metavar="DIR", type=Path, help="write the test for the controllers of a Go package instead"
    )
    made.add_argument("--force", action="store_true", help="overwrite files that exist, without asking")
    return made


def run(argv: Sequence[str]) -> int:
    """Run ``kontend init``."""
    options = parser().parse_args(list(argv))
    if (options.file is None) == (options.go is None):
        raise UsageError("name a Python FILE, or a Go package with --go")
    if options.go is not None:
        return _for_go(options.go, force=options.force)
    file: Path = options.file
    with usage_errors(*_ERRORS):
        module = load(file)
        if written_scenarios(module, Inputs()):
            raise UsageError(f"{file} defines scenarios already; explore them: kontend explore {file}")
        scenario = generated_scenarios(module, file, Inputs()).get("controllers")
        if scenario is None:
            raise UsageError(f"{file}: the file defines no Controller")
        package = module.__name__.rpartition(".")[0]
        files = _contents(file, scenario, package)
    for path in files:
        _check_free(path, force=options.force)
    for path, content in files.items():
        try:
            write_whole(path, content)
        except OSError as error:
            raise UsageError(f"{path}: {error.strerror}") from error
    scenarios, test = files
    write(
        f"wrote {scenarios}: scenarios with {_counted(scenario)}; change them to what your users do\n"
        f"wrote {test}: a test of them\n"
        f"Next: kontend explore {scenarios}\n"
        f"      pytest {test}\n"
    )
    return ExitCode.OK


def _for_go(directory: Path, *, force: bool) -> int:
    """Write the test of a Go package."""
    if not any(directory.glob("*.go")):
        raise UsageError(f"--go {directory}: expected the directory of a Go package")
    text = go_test(directory)
    path = directory / TEST_FILE
    _check_free(path, force=force)
    try:
        write_whole(path, text)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error
    write(f"wrote {path}: a test that hands the controllers to the explorer\nNext: kontend explore --go {directory}\n")
    return ExitCode.OK


def _counted(scenario: Scenario) -> str:
    many = len(scenario.objects)
    return f"{many} object{'s' * (many != 1)}: {', '.join(_named(obj) for obj in scenario.objects)}"


def _named(obj: Mapping[str, Any]) -> str:
    return f"{obj['kind']} {obj['metadata']['name']}"


def _check_free(path: Path, *, force: bool) -> None:
    """Ask before a file is overwritten; without a terminal nothing is."""
    if force or not os.path.lexists(path):
        return
    if not sys.stdin.isatty():
        raise UsageError(f"{path} exists already; nothing is written (--force overwrites it)")
    sys.stderr.write(f"{path} exists already. Overwrite it? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise UsageError("nothing is written")


def _contents(file: Path, scenario: Scenario, package: str) -> dict[Path, str]:
    """The two files and what is written to them."""
    stem = file.stem
    if not stem.isidentifier():
        raise UsageError(
            f"{file}: other files cannot import it under this name; rename it, such as {_importable(stem)}"
        )
    if not package and stem in sys.stdlib_module_names:
        raise UsageError(
            f"{file}: Python has a module {stem} of its own; rename the file, or make it a part of a package"
        )
    beside = "." if package else ""
    module = f"{stem}_scenarios"
    scenarios = "\n".join(_scenario_lines(file, scenario, f"{beside}{stem}")) + "\n"
    test = "\n".join(_test_lines(file, f"{beside}{module}")) + "\n"
    return {file.with_name(f"{module}.py"): scenarios, file.with_name(f"test_{module}.py"): test}


def _importable(stem: str) -> str:
    name = "".join(letter if letter.isidentifier() or letter.isdecimal() else "_" for letter in stem)
    return f"{name if name.isidentifier() else f'_{name}'}.py"


def _scenario_lines(file: Path, scenario: Scenario, module: str) -> Iterator[str]:
    controllers = [controller for controller in scenario.controllers if isinstance(controller, Controller)]
    names = [type(controller).__name__ for controller in controllers]
    definitions = _definitions(file, scenario)
    yield f'"""Scenarios for the controllers of {file.name}: ``kontend explore {file.stem}_scenarios.py``."""'
    yield ""
    yield "from dataclasses import replace"
    yield ""
    imports = ["from kontend.explore import Bounds, Scenario, create, delete, patch"]
    if any("permissive_crd" in text for text in definitions):
        imports.append("from kontend.testing import permissive_crd")
    own = f"from {module} import {', '.join(sorted(names))}"
    yield from ([*imports, "", own] if module.startswith(".") else sorted([*imports, own]))
    yield ""
    variables = _variables(scenario.objects)
    for name, obj in variables.items():
        yield f"{name} = {_literal(obj)}"
    yield ""
    first = next(iter(variables))
    yield "one_instance = Scenario("
    yield f"    controllers=[{', '.join(f'{name}()' for name in names)}],"
    if definitions:
        yield f"    crds=[{', '.join(definitions)}],"
    yield f"    objects=[{', '.join(variables)}],"
    yield "    # Users act at any time, in this order. There are create, update, patch, apply and delete."
    yield f'    actions=[patch({first}, {{"metadata": {{"annotations": {{"{_TOUCHED}": "1"}}}}}})],'
    yield "    # Lost updates, diverged final states, livelocks and the like are always checked. Say what else has to"
    yield "    # hold, with a function of the cluster: properties=[eventually(is_ready)]"
    yield "    bounds=Bounds(lag=1),"
    yield ")"
    yield "# As while leadership changes hands. The space is larger, so the search has a limit of time."
    yield f"two_instances = replace(one_instance, bounds=Bounds(lag=1, concurrent=2, seconds={_SECONDS}))"
    yield ""
    yield "# A user deletes the object, and creates another one of that name. Children go away with their owner."
    yield "deleted = replace("
    yield "    one_instance,"
    yield f'    controllers=[*one_instance.controllers, "{COLLECTOR}"],'
    yield f"    actions=[delete({first})],"
    yield f"    bounds=Bounds(lag=1, seconds={_SECONDS}),"
    yield ")"
    yield f"recreated = replace(deleted, actions=[delete({first}), create({first}, retry=True)])"


def _test_lines(file: Path, module: str) -> Iterator[str]:
    yield f'"""The controllers of {file.name} under every order of calls, cache lag and single fault."""'
    yield ""
    yield "import pytest"
    imports = ["from kontend.explore import Scenario, check"]
    own = f"from {module} import deleted, one_instance, recreated, two_instances"
    yield from ([*imports, "", own] if module.startswith(".") else sorted([*imports, own]))
    yield ""
    yield ""
    yield "def test_one_instance() -> None:"
    yield "    assert check(one_instance)"
    yield ""
    yield ""
    names = ("two_instances", "deleted", "recreated")
    listed = ", ".join(names), ", ".join(f'"{name}"' for name in names)
    yield f'@pytest.mark.parametrize("scenario", [{listed[0]}], ids=[{listed[1]}])'
    yield "def test_no_violation(scenario: Scenario) -> None:"
    yield '    """A search that stops at its limit of time is no failure; a violation is."""'
    yield "    verdict = check(scenario)"
    yield "    assert not verdict.violations, str(verdict)"


def _variables(objects: Sequence[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Names for the objects: their kinds."""
    named: dict[str, Mapping[str, Any]] = {}
    for obj in objects:
        name = kind = "".join(letter for letter in obj["kind"].lower() if letter.isalnum() or letter == "_")
        number = 2
        while (
            name in named
            or not name.isidentifier()
            or name in ("create", "delete", "deleted", "patch", "recreated", "replace")
        ):
            name, number = f"{kind}{number}", number + 1
        named[name] = obj
    return named


def _literal(value: Any, indent: str = "") -> str:
    """A value as code, formatted as ruff and black do."""
    if isinstance(value, str):
        return orjson.dumps(value).decode() if "\x7f" not in value else repr(value)
    if not value or not isinstance(value, (Mapping, list)):
        return repr(value)
    items: list[tuple[str, Any]] = list(value.items()) if isinstance(value, Mapping) else [("", item) for item in value]
    opening, closing = ("{", "}") if isinstance(value, Mapping) else ("[", "]")
    deeper = f"{indent}    "
    names = [f"{_literal(name)}: " if opening == "{" else "" for name, _ in items]
    short = ", ".join(f"{name}{_literal(item)}" for name, (_, item) in zip(names, items, strict=True))
    if "\n" not in short and indent and len(indent) + len(short) < _WIDTH:
        return f"{opening}{short}{closing}"
    lines = [f"{deeper}{name}{_literal(item, deeper)}," for name, (_, item) in zip(names, items, strict=True)]
    return "\n".join([opening, *lines, f"{indent}{closing}"])


def _definitions(file: Path, scenario: Scenario) -> list[str]:
    """Return the definitions as code: the path of their file, or a permissive one."""
    near = {manifest.obj["metadata"]["name"]: manifest.source for manifest in definitions_near(file).values()}
    expressions: list[str] = []
    for crd in scenario.crds:
        source = near.get(crd["metadata"]["name"])
        if source is not None:
            path = os.path.relpath(source, file.resolve().parent)
            expressions.append(f'"{Path(path).as_posix()}"')
            continue
        spec = crd["spec"]
        expressions.append(f'permissive_crd("{spec["names"]["kind"]}.{spec["group"]}/{spec["versions"][0]["name"]}")')
    return list(dict.fromkeys(expressions))
