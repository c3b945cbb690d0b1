"""A Python module as the auditor needs it: functions with their parents, imports, and what a name was last bound to."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

Function = ast.FunctionDef | ast.AsyncFunctionDef


class Unparsable(Exception):
    """Source that is no Python of this interpreter; the message is one line."""


@dataclass(eq=False)
class Module:
    """One parsed file."""

    path: str
    tree: ast.Module
    source: str
    parents: dict[ast.AST, ast.AST] = field(default_factory=dict)

    @cached_property
    def functions(self) -> list[Function]:
        """Every function and method, nested ones included."""
        return [node for node in ast.walk(self.tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]

    @cached_property
    def imports(self) -> dict[str, str]:
        """Local names of imported modules and objects, to their dotted origin."""
        found: dict[str, str] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    found[alias.asname or alias.name.split(".")[0]] = alias.name
            elif isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    found[alias.asname or alias.name] = f"{node.module or ''}.{alias.name}"
        return found

    def uses(self, *packages: str) -> bool:
        """Whether the module imports one of some packages."""
        return any(origin.split(".")[0] in packages for origin in self.imports.values())

    def function_of(self, node: ast.AST) -> Function | None:
        """Return the innermost function around a node."""
        for parent in self.above(node):
            if isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef):
                return parent
        return None

    def above(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yield the parents of a node, innermost first."""
        current = self.parents.get(node)
        while current is not None:
            yield current
            current = self.parents.get(current)

    def label(self, function: Function | None) -> str:
        """Return a function's name with its class."""
        if function is None:
            return ""
        holder = self.parents.get(function)
        return f"{holder.name}.{function.name}" if isinstance(holder, ast.ClassDef) else function.name

    def text(self, node: ast.AST | None) -> str:
        """Return an expression as normalised source."""
        return ast.unparse(node) if node is not None else ""


def parse(path: str, source: bytes) -> Module:
    """Parse a file, or raise `Unparsable` with one line."""
    try:
        text = source.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = source.decode("latin-1")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text, filename=path)
        module = Module(path, tree, text)
        for parent in ast.walk(tree):
            for child in ast.iter_child_nodes(parent):
                module.parents[child] = parent
    except SyntaxError as error:
        raise Unparsable(f"line {error.lineno or 0}: does not parse as Python: {error.msg}") from error
    except (ValueError, RecursionError, MemoryError, UnicodeError) as error:
        raise Unparsable(f"does not parse as Python: {type(error).__name__}") from error
    return module


def dotted(node: ast.AST | None) -> str:
    """Return `a.b.c` for a chain of names and attributes; calls and subscripts in between are written through.

    >>> dotted(ast.parse("self.api().status.patch", mode="eval").body)
    'self.api.status.patch'
    """
    parts: list[str] = []
    while node is not None:
        if isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        elif isinstance(node, ast.Call):
            node = node.func
        elif isinstance(node, ast.Subscript | ast.Await):
            node = node.value
        elif isinstance(node, ast.Name):
            parts.append(node.id)
            break
        else:
            break
    return ".".join(reversed(parts))


def unwrapped(node: ast.AST | None) -> ast.AST | None:
    """Remove what does not change a value: `await x`, `cast(T, x)`, `copy.deepcopy(x)`, `dict(x)`, `x.copy()`, `x
    or {}`."""
    while node is not None:
        if isinstance(node, ast.Await):
            node = node.value
        elif isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or):
            node = node.values[0]
        elif isinstance(node, ast.Call):
            name = dotted(node.func).split(".")[-1]
            if name == "cast" and len(node.args) == 2:
                node = node.args[1]
            elif name in ("deepcopy", "dict", "ChainMap", "thaw", "Body") and len(node.args) == 1:
                node = node.args[0]
            elif (
                name in ("copy", "to_dict", "model_dump", "json")
                and not node.args
                and isinstance(node.func, ast.Attribute)
            ):
                node = node.func.value
            else:
                return node
        else:
            return node
    return None


def bindings(module: Module, name: str, use: ast.AST) -> list[ast.expr]:
    """Return the values a local name was bound to before a use, in the function around it (or the module)."""
    scope: ast.AST = module.function_of(use) or module.tree
    line = getattr(use, "lineno", 0)
    found: list[ast.expr] = []
    for node in ast.walk(scope):
        if getattr(node, "lineno", 0) > line:
            continue
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name) and target.id == name:
                    found.append(node.value)
        elif isinstance(node, ast.AnnAssign | ast.NamedExpr) and node.value is not None:
            found += [node.value] if isinstance(node.target, ast.Name) and node.target.id == name else []
    if not found and not isinstance(scope, ast.Module) and name not in parameters(scope):
        return [value for statement in module.tree.body for value in _module_value(statement, name)]
    return found


def _module_value(statement: ast.stmt, name: str) -> list[ast.expr]:
    if isinstance(statement, ast.Assign) and any(
        isinstance(each, ast.Name) and each.id == name for each in statement.targets
    ):
        return [statement.value]
    return []


def loops(module: Module, name: str, use: ast.AST) -> list[ast.expr]:
    """Return the iterables of the loops that bind a name around a use."""
    return [
        parent.iter
        for parent in module.above(use)
        if isinstance(parent, ast.For | ast.AsyncFor)
        and any(isinstance(each, ast.Name) and each.id == name for each in ast.walk(parent.target))
    ]


def parameters(function: ast.AST) -> list[str]:
    """Return the parameter names of a function in order."""
    if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
        return []
    given = function.args
    return [each.arg for each in (*given.posonlyargs, *given.args, *given.kwonlyargs)]


def argument(call: ast.Call, position: int, *names: str) -> ast.expr | None:
    """Return an argument by keyword or by position."""
    for keyword in call.keywords:
        if keyword.arg in names:
            return keyword.value
    return call.args[position] if 0 <= position < len(call.args) else None


def constant(node: ast.AST | None) -> str:
    """Return the text of a string constant, or nothing."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
