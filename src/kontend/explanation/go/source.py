"""A Go file with its syntax tree."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Final

import tree_sitter_go
from tree_sitter import Language, Node, Parser

_LANGUAGE: Final = Language(tree_sitter_go.language())
_FUNCTIONS: Final = frozenset({"function_declaration", "method_declaration", "func_literal"})
_STATEMENTS: Final = re.compile(r"_(statement|declaration)$")
#: Literals that are the zero values of types that have names of their own.
_ZERO: Final = {"error": "nil", "string": '""', "bool": "false", "any": "nil"}
_NUMBER: Final = re.compile(r"u?int\d*|float\d+|byte|rune|uintptr")


class GoSource:
    """A Go file."""

    def __init__(self, text: str) -> None:
        """Parse a file. Raises ``SyntaxError``."""
        self.data = text.encode()
        self.root = Parser(_LANGUAGE).parse(self.data).root_node
        if self.root.has_error:
            raise SyntaxError("not Go")

    def text(self, node: Node) -> str:
        """Return the code of a node as it is written."""
        return self.data[node.start_byte : node.end_byte].decode()

    def indent(self, node: Node) -> str:
        """Return the white space at the start of the line on which a node begins."""
        start = self.data.rfind(b"\n", 0, node.start_byte) + 1
        line = self.data[start : node.start_byte].decode()
        return line[: len(line) - len(line.lstrip())]

    @cached_property
    def imports(self) -> dict[str, str]:
        """The names under which packages are used, by their paths."""
        found = {}
        for spec in below(self.root, "import_spec"):
            path, name = spec.child_by_field_name("path"), spec.child_by_field_name("name")
            if path is not None:
                written = self.text(path).strip('"`')
                found[written] = self.text(name) if name is not None else written.rpartition("/")[2]
        return found

    def functions(self) -> list[Node]:
        """Return the functions and methods of the file."""
        return [node for node in self.root.named_children if node.type in _FUNCTIONS]

    def statement(self, line: int) -> tuple[int, int] | None:
        """Return the first and the last line of the innermost statement on a line."""
        best: tuple[int, int] | None = None
        for node in below(self.root):
            first, last = node.start_point.row + 1, node.end_point.row + 1
            is_inner = best is None or last - first <= best[1] - best[0]
            if _STATEMENTS.search(node.type) and first <= line <= last and is_inner:
                best = first, last
        return best

    def function_of(self, node: Node) -> Node | None:
        """Return the innermost function around a node."""
        return next((outer for outer in around(node) if outer.type in _FUNCTIONS), None)

    def results(self, function: Node) -> list[str]:
        """Return the types of the results of a function."""
        result = function.child_by_field_name("result")
        if result is None:
            return []
        if result.type != "parameter_list":
            return [self.text(result)]
        types = []
        for parameter in result.named_children:
            kind = parameter.child_by_field_name("type")
            names = parameter.children_by_field_name("name")
            if kind is not None:
                types += [self.text(kind)] * max(1, len(names))
        return types

    def returned(self, function: Node, error: str) -> str | None:
        """Return a statement that ends a function with an error; None for a function without an error."""
        types = self.results(function)
        if not types or types[-1] != "error":
            return None
        return f"return {', '.join([*(_zero(kind) for kind in types[:-1]), error])}"


def _zero(kind: str) -> str:
    if kind in _ZERO:
        return _ZERO[kind]
    if _NUMBER.fullmatch(kind):
        return "0"
    return "nil" if kind.startswith(("*", "[]", "map[", "func(", "chan ", "interface{")) else f"{kind}{{}}"


def below(node: Node, kind: str = "") -> Iterator[Node]:
    """Yield the nodes of a tree in the order of the file: all, or those of one kind."""
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if not kind or one.type == kind:
            yield one
        waiting += reversed(one.named_children)


def around(node: Node) -> Iterator[Node]:
    """Yield the nodes around another, innermost first."""
    outer = node.parent
    while outer is not None:
        yield outer
        outer = outer.parent
