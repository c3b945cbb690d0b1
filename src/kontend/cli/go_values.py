"""Expressions of Go code that mean the same in a test of another package.

Those of a ``main`` are made of packages that it imports, of literals, of its manager, and of variables that hold such
expressions. What comes from flags or the environment has no value here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from kontend.audit.go.source import syntax
from kontend.audit.go.source.package import GoFile, is_predeclared

#: The manager in the tests that are written, and usually in main.
_MANAGER: Final = "mgr"
#: What every package has beside the types.
_BUILT_IN: Final = frozenset({"new", "make", "true", "false", "nil"})
#: Packages of flags and of the environment: their values are those of one call of main.
_OUTSIDE: Final = frozenset({"flag", "os", "github.com/spf13/pflag"})
#: Variables within variables that are followed.
_DEEPEST: Final = 3


@dataclass(frozen=True, slots=True)
class Value:
    """An expression, and the packages that it needs: their paths by alias."""

    text: str
    imports: Mapping[str, str] = field(default_factory=dict)


def value_of(file: GoFile, node: syntax.Node, package: str, depth: int = 0) -> Value | None:
    """Return an expression as a test of a package writes it, by its import path; None where it means nothing there."""
    if node.type == "func_literal" or file.imports.get(syntax.text(node)) in _OUTSIDE:
        return None
    if node.type == "identifier":
        name = syntax.text(node)
        plain = name == _MANAGER or name in _BUILT_IN or is_predeclared(name)
        return Value(name) if plain else _variable(file, node, package, depth)
    if node.type == "type_identifier":
        return Value(syntax.text(node)) if not package or is_predeclared(syntax.text(node)) else None
    if node.type in ("selector_expression", "qualified_type"):
        qualified = _qualified(file, node, package)
        if qualified is not None:
            return qualified
    return _together(file, node, package, depth)


def _qualified(file: GoFile, node: syntax.Node, package: str) -> Value | None:
    """Return a name of another package; None for a field or a method of something else."""
    operand = syntax.field(node, "operand") or syntax.field(node, "package")
    name = syntax.field(node, "field") or syntax.field(node, "name")
    path = file.imports.get(syntax.text(operand)) if operand is not None and not operand.named_children else None
    if path is None or path in _OUTSIDE:
        return None
    if path == package:
        return Value(syntax.text(name))
    return Value(syntax.text(node), {syntax.text(operand): path})


def _together(file: GoFile, node: syntax.Node, package: str, depth: int) -> Value | None:
    """Return an expression with its parts replaced."""
    if not node.children:
        return Value(syntax.text(node))
    text, at = "", node.start_byte
    imports: dict[str, str] = {}
    is_pair = node.type == "keyed_element"
    for number, child in enumerate(node.children):
        plain = (is_pair and number == 0) or child.type in ("field_identifier", "comment")
        part = Value(syntax.text(child)) if plain else value_of(file, child, package, depth)
        if part is None or any(imports.get(alias, path) != path for alias, path in part.imports.items()):
            return None
        text += file.source[at : child.start_byte].decode() + part.text
        imports |= part.imports
        at = child.end_byte
    return Value(text, imports)


def _variable(file: GoFile, node: syntax.Node, package: str, depth: int) -> Value | None:
    """Return the expression that a variable was declared with, if it was declared with one alone."""
    name, function = syntax.text(node), file.function_at(node)
    if function is None or depth >= _DEEPEST:
        return None
    declared = syntax.captures(function.node, "(short_var_declaration) @v", "v")
    made = [each for each in declared if syntax.text(syntax.field(each, "left")) == name]
    right = syntax.field(made[0], "right") if len(made) == 1 else None
    if right is None or len(right.named_children) != 1 or made[0].start_byte > node.start_byte:
        return None
    return value_of(file, right.named_children[0], package, depth + 1)
