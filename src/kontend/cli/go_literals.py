"""The places of a Go module at which a struct type of one of its packages is made.

A test of a controller has to give its fields the values that ``main`` gives them, and a generic type the types. Both
are found where the module makes one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from kontend.audit.go.source import syntax
from kontend.audit.go.source.package import GoFile
from kontend.cli.go_values import Value, value_of

#: Directories without code of the module itself.
_SKIPPED: Final = frozenset({"vendor", "testdata", "node_modules"})
#: The usual names of functions that add kinds to a scheme.
_ADDING: Final = ("AddToScheme", "Install")
#: The largest file that is read: longer ones are generated.
_LARGEST: Final = 500_000


@dataclass(frozen=True, slots=True)
class Made:
    """A literal of a type."""

    #: The file, relative to the module, and the line.
    place: str
    #: The functions that add kinds to a scheme there: the import path and the alias of the package, and the name.
    schemes: tuple[tuple[str, str, str], ...]
    #: The types that stand for type parameters, as they are written, with the imports that they need: alias to path.
    types: str
    imports: tuple[tuple[str, str], ...]
    #: Values of its fields that mean the same in a test of its package.
    values: Mapping[str, Value] = field(default_factory=dict)


def literals_of(directory: Path, name: str) -> list[Made]:
    """Return the literals of a type in the production code of its module, those in other packages first."""
    directory = directory.resolve()
    root = _root(directory)
    within = directory.relative_to(root).as_posix()
    pattern = re.compile(rb"\b%s\b[^\n]*\{" % re.escape(name.encode()))
    found: list[tuple[bool, str, int, Made]] = []
    for path in _files(root):
        text = path.read_bytes()
        if pattern.search(text):
            file = GoFile(str(path), text, str(path.parent))
            own = path.parent == directory
            place = path.relative_to(root).as_posix()
            found += [(own, place, line, made) for line, made in _in(file, name, "" if own else within, place)]
    return [made for *_, made in sorted(found, key=lambda each: each[:3])]


def module_of(directory: Path) -> str:
    """Return the import path of the module that a directory is in; empty without one."""
    file = _root(directory.resolve()) / "go.mod"
    lines = file.read_text().splitlines() if file.exists() else []
    return next((line.split()[1] for line in lines if line.startswith("module ") and len(line.split()) > 1), "")


def _root(directory: Path) -> Path:
    return next((each for each in (directory, *directory.parents) if (each / "go.mod").exists()), directory)


def _files(root: Path) -> Iterator[Path]:
    waiting = [root]
    while waiting:
        for path in sorted(waiting.pop().iterdir()):
            if path.is_dir():
                is_other = path.name in _SKIPPED or path.name.startswith((".", "_")) or (path / "go.mod").exists()
                waiting += [] if is_other or path.is_symlink() else [path]
            elif path.suffix == ".go" and not path.name.endswith("_test.go") and path.stat().st_size <= _LARGEST:
                yield path


def _in(file: GoFile, name: str, package: str, place: str) -> Iterator[tuple[int, Made]]:
    """Yield the literals in a file. ``package`` is the directory of the type in the module, empty for its own files."""
    schemes = tuple(_schemes(file))
    for literal in syntax.captures(file.root, "(composite_literal) @made", "made"):
        node = syntax.field(literal, "type")
        kind = file.type_of_node(node)
        if kind is None or kind.name != name or kind.slice or kind.mapping:
            continue
        path = kind.package
        if path.startswith("dir:") if package else not path.startswith("dir:"):
            continue
        if package and not path.endswith(f"/{package}"):
            continue
        types = syntax.field(node, "type_arguments") if node is not None and node.type == "generic_type" else None
        used = {syntax.text(syntax.field(each, "package")) for each in _qualified(types)}
        imports = tuple((alias, where) for alias, where in file.imports.items() if alias in used)
        own = "" if path.startswith("dir:") else path
        line = syntax.line(literal)
        yield line, Made(f"{place}:{line}", schemes, syntax.text(types), imports, dict(_values(file, literal, own)))


def _schemes(file: GoFile) -> Iterator[tuple[str, str, str]]:
    """Yield the functions that are called with a scheme alone."""
    for name in _ADDING:
        for call in file.calls_of(name):
            operand = syntax.text(syntax.field(call, "function", "operand"))
            given = [syntax.text(argument) for argument in syntax.arguments(call)]
            # Charts are installed, too.
            if operand in file.imports and len(given) == 1 and given[0].lower().endswith(("scheme", "scheme()")):
                yield file.imports[operand], operand, name


def _values(file: GoFile, literal: syntax.Node, package: str) -> Iterator[tuple[str, Value]]:
    """Yield the fields of a literal whose values can be written in a test of the package."""
    for element in syntax.children(syntax.field(literal, "body")):
        parts = syntax.children(element) if element.type == "keyed_element" else []
        value = value_of(file, parts[1], package) if len(parts) == 2 else None
        if value is not None:
            yield syntax.text(parts[0]), value


def _qualified(node: syntax.Node | None) -> list[syntax.Node]:
    return syntax.captures(node, "(qualified_type) @q", "q") if node is not None else []
