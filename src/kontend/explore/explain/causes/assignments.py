"""Lines on which a controller sets one of its attributes."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path

from kontend.runtime.controller import Controller
from kontend.runtime.source_location import SourceLocation


def assignment_of(controller: Controller, name: str) -> SourceLocation | None:
    """The first line outside ``__init__`` that sets an attribute or an element of it; None where there is none.

    The classes of a controller are searched in the order in which Python looks up attributes.
    """
    for cls in type(controller).__mro__:
        if cls is Controller:
            break
        try:
            file = inspect.getsourcefile(cls)
            lines, first = inspect.getsourcelines(cls)
        except (OSError, TypeError):
            continue
        if file is None:
            continue
        line = min(_lines(_parsed(lines), name), default=None)
        if line is not None:
            return SourceLocation(str(Path(file)), first + line - 1)
    return None


def _parsed(lines: list[str]) -> ast.AST:
    try:
        return ast.parse(inspect.cleandoc("\n" + "".join(lines)) if lines[0][:1].isspace() else "".join(lines))
    except SyntaxError:
        return ast.Module(body=[], type_ignores=[])


def _lines(tree: ast.AST, name: str) -> Iterator[int]:
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) or function.name == "__init__":
            continue
        for node in ast.walk(function):
            targets: list[ast.expr] = []
            if isinstance(node, ast.Assign):
                targets = node.targets
            elif isinstance(node, ast.AnnAssign | ast.AugAssign):
                targets = [node.target]
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                targets = [node.func.value]  # self.names.append(…)
            targets = [
                part for target in targets for part in (target.elts if isinstance(target, ast.Tuple) else [target])
            ]
            if any(_is_attribute(target, name) for target in targets):
                yield node.lineno  # type: ignore[attr-defined]


def _is_attribute(target: ast.expr, name: str) -> bool:
    while isinstance(target, ast.Subscript):
        target = target.value
    return (
        isinstance(target, ast.Attribute)
        and target.attr == name
        and isinstance(target.value, ast.Name)
        and target.value.id == "self"
    )
