"""The API reference is up to date, and every public name has a docstring with an example."""

from __future__ import annotations

import inspect
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tools"))
reference = import_module("make_api_reference")
sys.path.pop(0)

#: Names whose docstrings need no example of their own.
WITHOUT_EXAMPLE = {
    "kontend.plans": {"Run", "TaskStatus"},  # made by execute; an alias
    # Each is constructed and run like the others: the module has the example.
    "kontend.controllers": set(import_module("kontend.controllers").__all__),
    "kontend.explore": {"assert_discovery", "reproduce"},  # they need a counterexample: see docs/explore.md
}
NAMES = [(module, name) for module in reference.MODULES for name in import_module(module).__all__]


def test_the_pages_are_up_to_date() -> None:
    made = reference.pages()
    stored = {page.name: page.read_text() for page in reference.DIRECTORY.glob("*.md")}
    assert sorted(made) == sorted(stored)
    outdated = [name for name, text in made.items() if stored[name] != text]
    assert outdated == [], "run: make api"


@pytest.mark.parametrize(("module", "name"), NAMES)
def test_every_public_name_is_on_its_page_with_its_docstring(module: str, name: str) -> None:
    value = getattr(import_module(module), name)
    page = (reference.DIRECTORY / f"{module}.md").read_text()
    if is_error(value):
        assert f"| `{name}` |" in page
    else:
        assert f"\n### {name}\n" in page
    if inspect.isclass(value) or inspect.isfunction(value):
        assert value.__doc__
        assert not value.__doc__.startswith(f"{name}(")  # the signature that a dataclass has for want of a docstring


@pytest.mark.parametrize(("module", "name"), NAMES)
def test_every_public_name_has_an_example(module: str, name: str) -> None:
    """The doctests of the source run them."""
    value = getattr(import_module(module), name)
    if is_error(value) or name in WITHOUT_EXAMPLE.get(module, ()):
        return
    members = vars(value).values() if inspect.isclass(value) else ()
    docs = [value.__doc__, *(member.__doc__ for member in members if inspect.isfunction(member))]
    assert any(">>> " in (doc or "") for doc in docs)


def is_error(value: Any) -> bool:
    return inspect.isclass(value) and issubclass(value, BaseException)
