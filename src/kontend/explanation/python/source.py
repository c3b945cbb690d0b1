"""A Python file with its syntax tree, and the bytes of each node."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property

from kontend.explanation.edits import Edit
from kontend.explanation.python.statements import name_of


class Source:
    """A Python file; nodes of its tree have byte ranges."""

    def __init__(self, text: str) -> None:
        """Parse a file. Raises ``SyntaxError``."""
        self.data = text.encode()
        self.tree = ast.parse(text)
        self._starts = [0]
        for line in self.data.split(b"\n"):
            self._starts.append(self._starts[-1] + len(line) + 1)
        self._parents = {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}

    def start(self, node: ast.expr | ast.stmt | ast.alias | ast.excepthandler | ast.keyword) -> int:
        """Return the first byte of a node."""
        return self._starts[node.lineno - 1] + node.col_offset

    def end(self, node: ast.expr | ast.stmt | ast.alias | ast.excepthandler | ast.keyword) -> int:
        """Return the byte after a node."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._starts[node.end_lineno - 1] + node.end_col_offset

    def text(self, node: ast.expr | ast.stmt) -> str:
        """Return the code of a node as it is written."""
        return self.data[self.start(node) : self.end(node)].decode()

    def line_start(self, line: int) -> int:
        """Return the first byte of a line."""
        return self._starts[line - 1]

    def indent(self, statement: ast.stmt) -> str:
        """Return the white space before a statement."""
        return self.data[self.line_start(statement.lineno) : self.start(statement)].decode()

    def parent(self, node: ast.AST) -> ast.AST | None:
        """Return the node around another."""
        return self._parents.get(node)

    def around(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yield the nodes around another, innermost first."""
        parent = self._parents.get(node)
        while parent is not None:
            yield parent
            parent = self._parents.get(parent)

    def statement(self, node: ast.AST) -> ast.stmt | None:
        """Return the statement that a node is in, or is."""
        return next((one for one in (node, *self.around(node)) if isinstance(one, ast.stmt)), None)

    def function(self, node: ast.AST) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
        """Return the function that a node is in."""
        functions = (ast.FunctionDef, ast.AsyncFunctionDef)
        return next((one for one in self.around(node) if isinstance(one, functions)), None)

    def class_of(self, node: ast.AST) -> ast.ClassDef | None:
        """Return the class that a node is in."""
        return next((one for one in self.around(node) if isinstance(one, ast.ClassDef)), None)

    @cached_property
    def awaited(self) -> list[ast.Call]:
        """The calls that are awaited, in the order of the file."""
        calls = [
            node.value
            for node in ast.walk(self.tree)
            if isinstance(node, ast.Await) and isinstance(node.value, ast.Call)
        ]
        return sorted(calls, key=self.start)

    def replaced(self, node: ast.expr | ast.stmt, text: str) -> Edit:
        """Return an edit that puts a text in the place of a node."""
        return Edit(self.start(node), self.end(node), text)

    def with_argument(self, call: ast.Call, argument: str) -> Edit:
        """Return an edit that adds an argument to a call."""
        arguments: list[ast.expr | ast.keyword] = [*call.args, *call.keywords]
        if not arguments:
            return Edit(self.end(call) - 1, self.end(call) - 1, argument)
        end = max(self.end(each) for each in arguments)
        return Edit(end, end, f", {argument}")

    def imported(self, name: str, module: str = "kontend") -> tuple[Edit, ...]:
        """Return the edit that imports a name, if the file does not have it yet."""
        for node in self.tree.body:
            if isinstance(node, ast.ImportFrom) and any(
                (alias.asname or alias.name) == name or (alias.name == "*" and node.module == module)
                for alias in node.names
            ):
                return ()
        for node in self.tree.body:
            if isinstance(node, ast.ImportFrom) and node.module == module and node.level == 0:
                at = self.end(node.names[-1])
                return (Edit(at, at, f", {name}"),)
        imports = [node for node in self.tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
        at = self.line_start((imports[-1].end_lineno or 0) + 1) if imports else 0
        return (Edit(at, at, f"from {module} import {name}\n"),)


def receiver_names(call: ast.Call) -> tuple[str, ...]:
    """Return the attributes between a name and the method that is called.

    >>> receiver_names(ast.parse("api.live.get(k, r)", mode="eval").body)
    ('api', 'live')
    """
    names: list[str] = []
    node = call.func.value if isinstance(call.func, ast.Attribute) else None
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name):
        names.append(node.id)
    return tuple(reversed(names))


def called(call: ast.Call, *names: str) -> bool:
    """Return whether a call of a method of one of these names."""
    return isinstance(call.func, ast.Attribute) and name_of(call) in names
