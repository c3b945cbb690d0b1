"""Public names: what users may import, and that everything the docs mention is among it."""

from __future__ import annotations

import ast
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

import kontend

ROOT = Path(__file__).parent.parent
PUBLIC = (
    "kontend",
    "kontend.controllers",
    "kontend.explore",
    "kontend.plans",
    "kontend.predicates",
    "kontend.testing",
)
#: Pages for users. The architecture page is about the inside, and the API reference is generated.
#: Private names that the docs explain: the pure function of the design, and a state of the explorer.
EXPLAINED = {"World", "handle"}
PAGES = [
    ROOT / "README.md",
    *(
        page
        for page in sorted((ROOT / "docs").rglob("*.md"))
        if "api" not in page.relative_to(ROOT).parts and page.name != "architecture.md"
    ),
]


@pytest.mark.parametrize("module", PUBLIC)
def test_every_public_name_can_be_imported(module: str) -> None:
    public = import_module(module)
    names = public.__all__
    assert sorted(set(names)) == sorted(names)
    for name in names:
        assert getattr(public, name) is not None


def test_dir_lists_the_public_names_and_nothing_else() -> None:
    assert dir(kontend) == sorted(import_module("kontend").__all__)


def test_no_name_has_two_public_homes() -> None:
    names = [name for module in PUBLIC for name in import_module(module).__all__]
    assert sorted(set(names)) == sorted(names)


@pytest.mark.parametrize("name", ["create", "update", "patch", "delete", "check", "Scenario"])
def test_names_that_moved_are_reported_with_their_new_home(name: str) -> None:
    with pytest.raises(AttributeError, match=rf"^kontend\.{name} moved to kontend\.explore\.{name}$"):
        getattr(kontend, name)
    assert getattr(import_module("kontend.explore"), name) is not None


def test_every_moved_name_exists_in_its_new_home() -> None:
    for home, names in vars(kontend)["_MOVED"].items():
        assert set(names) <= set(import_module(home).__all__)
        assert not set(names) & set(import_module("kontend").__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"^module 'kontend' has no attribute 'nothing'$"):
        kontend.nothing  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.parametrize("package", [module for module in PUBLIC if hasattr(import_module(module), "__path__")])
def test_a_public_name_is_never_hidden_by_a_module_of_the_same_name(package: str) -> None:
    """An import of ``package.name`` the module must not replace ``name`` the function in the package."""
    names = import_module(package).__all__
    modules = {module.name for module in pkgutil.iter_modules(import_module(package).__path__)}
    for name in sorted(modules & set(names)):
        code = f"import {package}.{name}; from {package} import {name}; print(type({name}).__name__)"
        ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert ran.stdout != "module\n"


def test_importing_kontend_loads_nothing_else() -> None:
    code = "import sys, kontend; print(sorted(name for name in sys.modules if name.startswith('kontend.')))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def _blocks() -> Iterator[tuple[Path, ast.Module]]:
    for page in PAGES:
        for block in re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL):
            yield page, ast.parse(block)


def test_every_import_in_the_docs_is_of_a_public_name() -> None:
    count = 0
    for page, block in _blocks():
        for statement in ast.walk(block):
            if isinstance(statement, ast.ImportFrom) and (statement.module or "").split(".")[0] == "kontend":
                assert statement.module in PUBLIC, f"{page.name}: {statement.module} is not public"
                for alias in statement.names:
                    assert alias.name in import_module(statement.module).__all__, f"{page.name}: {alias.name}"
                    count += 1
    assert count > 10


@pytest.mark.parametrize("file", sorted((ROOT / "examples").glob("*.py")), ids=lambda file: file.name)
def test_the_examples_import_public_names_only(file: Path) -> None:
    for statement in ast.walk(ast.parse(file.read_text())):
        if isinstance(statement, ast.ImportFrom) and (statement.module or "").split(".")[0] == "kontend":
            assert statement.module in PUBLIC
            assert {alias.name for alias in statement.names} <= set(import_module(statement.module).__all__)


def test_every_class_and_function_that_the_docs_name_is_public() -> None:
    """Names in code spans, and names that code blocks use, if the source defines a class or function of that name."""
    public = {name for module in PUBLIC for name in import_module(module).__all__}
    members = {member for name in public for member in dir(_find(name))}
    private = _defined() - public - members - EXPLAINED
    named: set[tuple[str, str]] = set()
    for page in PAGES:
        for span in re.findall(r"`([^`\n]+)`", page.read_text()):
            named |= {(page.name, name) for name in re.findall(r"(?<![.\w/-])[A-Z]\w+(?=[(]|$)", span)}
            named |= {(page.name, name) for name in re.findall(r"(?<![.\w/-])[a-z]\w+(?=\()", span)}
    for page, block in _blocks():
        called = [node.func for node in ast.walk(block) if isinstance(node, ast.Call)]
        local = {node.name for node in ast.walk(block) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))}
        named |= {(page.name, node.id) for node in called if isinstance(node, ast.Name) and node.id not in local}
    missing = sorted((page, name) for page, name in named if name in private)
    assert missing == []
    assert ("runtime.md", "InProcessManager") in named


def _find(name: str) -> object:
    return next(getattr(import_module(module), name) for module in PUBLIC if name in import_module(module).__all__)


def _defined() -> set[str]:
    """Classes and functions at the top of the modules that users of the runtime and the explorer can meet."""
    names = set()
    for package in ("runtime", "explore", "cluster"):
        for file in sorted((ROOT / "src" / "kontend" / package).rglob("*.py")):
            for node in ast.parse(file.read_text()).body:
                if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
                    names.add(node.name)
    return {name for name in names if not name.startswith("_")}
