"""A Python module as the auditor needs it: functions with their parents, imports, and the bindings of names."""

from __future__ import annotations

import ast
import warnings
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePath

Function = ast.FunctionDef | ast.AsyncFunctionDef


class Unparsable(Exception):
    """Source that is no Python of any version; the message is one line."""


@dataclass(eq=False)
class Module:
    """One parsed file."""

    path: str
    tree: ast.Module
    source: str
    parents: dict[ast.AST, ast.AST] = field(default_factory=dict)
    _walked: dict[ast.AST, list[ast.AST]] = field(default_factory=dict)
    _values: dict[ast.AST, dict[str, list[ast.expr]]] = field(default_factory=dict)
    _changing: dict[ast.AST, dict[str, list[ast.Assign | ast.Call | ast.Delete]]] = field(default_factory=dict)

    @property
    def stem(self) -> str:
        """The name of the file without its suffix."""
        return PurePath(self.path).stem

    @cached_property
    def line_starts(self) -> list[int]:
        """The byte at which each line begins; columns of `ast` are bytes too."""
        starts, at = [0], 0
        for line in self.source.encode().split(b"\n"):
            at += len(line) + 1
            starts.append(at)
        return starts

    @cached_property
    def functions(self) -> list[Function]:
        """Every function and method, nested ones included."""
        return [node for node in ast.walk(self.tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]

    @cached_property
    def values_at_top(self) -> dict[str, list[ast.expr]]:
        """Values of the names assigned at the top level."""
        values: dict[str, list[ast.expr]] = {}
        for statement in self.tree.body:
            if isinstance(statement, ast.Assign):
                for target in statement.targets:
                    if isinstance(target, ast.Name):
                        values.setdefault(target.id, []).append(statement.value)
        return values

    @cached_property
    def classes(self) -> list[ast.ClassDef]:
        """Every class."""
        return [node for node in ast.walk(self.tree) if isinstance(node, ast.ClassDef)]

    @cached_property
    def calls(self) -> list[ast.Call]:
        """Every call."""
        return [node for node in ast.walk(self.tree) if isinstance(node, ast.Call)]

    def nodes_in(self, scope: ast.AST) -> list[ast.AST]:
        """Return the nodes of a function or of the module, walked once."""
        if scope not in self._walked:
            self._walked[scope] = list(ast.walk(scope))
        return self._walked[scope]

    def values_of(self, scope: ast.AST) -> dict[str, list[ast.expr]]:
        """Return the values that names are bound to in a scope, in the order of the walk."""
        if scope not in self._values:
            by_name: dict[str, list[ast.expr]] = {}
            for node in self.nodes_in(scope):
                if isinstance(node, ast.Assign):
                    for target in node.targets:
                        if isinstance(target, ast.Name):
                            by_name.setdefault(target.id, []).append(node.value)
                elif isinstance(node, ast.AnnAssign | ast.NamedExpr) and isinstance(node.target, ast.Name):
                    by_name.setdefault(node.target.id, []).extend([node.value] if node.value is not None else [])
            for values in by_name.values():
                values.sort(key=lambda value: (value.lineno, value.col_offset))
            self._values[scope] = by_name
        return self._values[scope]

    def changing_in(self, scope: ast.AST) -> dict[str, list[ast.Assign | ast.Call | ast.Delete]]:
        """Return the statements of a scope that may change a dictionary, by the name that they start from."""
        if scope not in self._changing:
            changing: dict[str, list[ast.Assign | ast.Call | ast.Delete]] = {}
            for node in self.nodes_in(scope):
                if isinstance(node, ast.Assign | ast.Delete):
                    roots = {root_name(target) for target in node.targets if not isinstance(target, ast.Name)}
                elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                    roots = {root_name(node.func.value)}
                else:
                    continue
                for root in roots:
                    if root:
                        changing.setdefault(root, []).append(node)
            for nodes in changing.values():
                nodes.sort(key=lambda node: (node.lineno, node.col_offset))
            self._changing[scope] = changing
        return self._changing[scope]

    def changes_before(self, scope: ast.AST, name: str, line: int) -> list[ast.Assign | ast.Call | ast.Delete]:
        """Return the statements that may change a dictionary before a line, the nearest ones."""
        nodes = self.changing_in(scope).get(name, [])
        return nodes[: bisect_right(nodes, line, key=lambda node: node.lineno)][-_NEAREST:]

    @cached_property
    def imports(self) -> dict[str, str]:
        """Local names of imported modules and objects, to their dotted origin."""
        imports: dict[str, str] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    imports[alias.asname or alias.name.split(".")[0]] = alias.name
            elif isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    imports[alias.asname or alias.name] = f"{node.module or ''}.{alias.name}"
        return imports

    def uses(self, *packages: str) -> bool:
        """Decide whether the module imports one of some packages."""
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
    """Parse a file of any Python version, or raise `Unparsable` with one line.

    `ast.parse` is several times faster, so what the running interpreter understands goes to it.
    """
    try:
        text = source.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = source.decode("latin-1")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = _parsed(text, path)
        module = Module(path, tree, text)
        for parent in ast.walk(tree):
            for child in ast.iter_child_nodes(parent):
                module.parents[child] = parent
    except (ValueError, RecursionError, MemoryError, UnicodeError) as error:
        raise Unparsable(f"does not parse as Python: {type(error).__name__}") from error
    return module


def _parsed(text: str, path: str) -> ast.Module:
    try:
        return ast.parse(text, filename=path)
    except SyntaxError as error:
        from kontend.audit.python.source.grammar import parse_any

        tree, broken = parse_any(text.encode())
        if broken:
            raise Unparsable(f"line {error.lineno or broken}: does not parse as Python: {error.msg}") from error
        return tree


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


def root_name(node: ast.AST | None) -> str:
    """Return the name that a chain of attributes, subscripts and calls starts from."""
    while node is not None:
        if isinstance(node, ast.Name):
            return node.id
        if isinstance(node, ast.Attribute | ast.Subscript | ast.Await | ast.Starred):
            node = node.value
        elif isinstance(node, ast.Call):
            node = node.func
        else:
            return ""
    return ""


_NEAREST = 50
"""Names that are bound thousands of times are generated code; only the bindings nearest to a use are followed."""


def bindings(module: Module, name: str, use: ast.AST) -> list[ast.expr]:
    """Return the values a local name was bound to before a use, in the function around it (or the module)."""
    scope: ast.AST = module.function_of(use) or module.tree
    line = getattr(use, "lineno", 0)
    values = module.values_of(scope).get(name, [])
    assigned = values[: bisect_right(values, line, key=lambda value: value.lineno)][-_NEAREST:]
    if not assigned and not isinstance(scope, ast.Module) and name not in parameters(scope):
        return module.values_at_top.get(name, [])[-_NEAREST:]
    return assigned


def loops(module: Module, name: str, use: ast.AST) -> list[ast.expr]:
    """Return the iterables of the loops that bind a name around a use."""
    return [
        parent.iter
        for parent in module.above(use)
        if isinstance(parent, ast.For | ast.AsyncFor)
        and any(isinstance(inner, ast.Name) and inner.id == name for inner in ast.walk(parent.target))
    ]


def parameters(function: ast.AST) -> list[str]:
    """Return the parameter names of a function in order."""
    if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
        return []
    given = function.args
    return [argument.arg for argument in (*given.posonlyargs, *given.args, *given.kwonlyargs)]


def argument(call: ast.Call, position: int, *names: str) -> ast.expr | None:
    """Return an argument by keyword or by position."""
    for keyword in call.keywords:
        if keyword.arg in names:
            return keyword.value
    return call.args[position] if 0 <= position < len(call.args) else None


def entries(node: ast.AST) -> dict[str, ast.expr]:
    """Return the values of a dictionary by the keys that are constants: `{"op": x}` and `dict(op=x)`.

    >>> list(entries(ast.parse("dict(op='test', path=p)", mode="eval").body))
    ['op', 'path']
    """
    if isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        return {constant(key): value for key, value in pairs if key is not None}
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "dict":
        return {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
    return {}


def constant(node: ast.AST | None) -> str:
    """Return the text of a string constant, or nothing."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
