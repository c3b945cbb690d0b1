"""Iteration over sets in user code: its order differs from one process to the next.

Runs within one process cannot show this, so the code is read. Only what is plain from the text is reported: a loop, or
a conversion to something ordered, over a set display, a set comprehension, ``set(...)`` or ``frozenset(...)``, an
operation on these, or a variable that only ever holds one of them. Names and attributes that a function does not set
itself have a value by then: it is looked at.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any, Final

from kontend.explore.program.user_code import UserCode
from kontend.runtime.controller import Controller
from kontend.runtime.source_location import SourceLocation

#: Functions whose result does not depend on the order of their argument.
_ORDERLESS: Final = frozenset(
    {"sorted", "len", "sum", "min", "max", "any", "all", "set", "frozenset", "bool", "dict", "Counter"}
)
_ORDERING: Final = frozenset({"list", "tuple", "iter", "enumerate", "join", "next", "reversed", "extend"})
#: Functions that go through their arguments in order, when they are gone through themselves.
_LAZY: Final = frozenset({"map", "filter", "zip"})
_SET_METHODS: Final = frozenset({"union", "intersection", "difference", "symmetric_difference", "copy"})
_SETS: Final = (set, frozenset)
_SCALARS: Final = (str, bytes, int, float, bool, type(None))
_OPERATORS: Final = (ast.BitOr, ast.BitAnd, ast.Sub, ast.BitXor)
_MOST: Final = 3


def iterated_sets(controller: Controller, code: UserCode) -> list[str]:
    """Describes the lines of a controller that depend on the order of a set."""
    described: dict[str, None] = {}
    for function in _functions(controller, code):
        function_code = getattr(inspect.unwrap(function), "__code__", function.__code__)
        file = function_code.co_filename
        for number in _dependent_lines(function_code, file, _sets_in_reach(controller, function)):
            line = SourceLocation(file, number)
            described[f"{line.short} depends on the order of a set, which differs from one process to the next"] = None
    return list(described)[:_MOST]


@lru_cache(maxsize=1024)
def _dependent_lines(code: CodeType, file: str, sets: frozenset[str]) -> tuple[int, ...]:
    """The lines of a function that depend on the order of a set; equal code may be in another ``file``.

    ``sets`` are the names and attributes from outside of the function that are sets.
    """
    del file
    try:
        lines, first = inspect.getsourcelines(code)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, TypeError, SyntaxError):
        return ()
    return tuple(first + node.lineno - 1 for node in _Order(tree, sets).dependent())


def _sets_in_reach(controller: Controller, function: FunctionType) -> frozenset[str]:
    """The names that a function uses and does not set, and attributes of these and of ``self``, that are sets."""
    names = _names_in(function.__code__)
    values: dict[str, object] = {name: function.__globals__[name] for name in names & function.__globals__.keys()}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with suppress(ValueError):  # it is empty
            values[name] = cell.cell_contents
    found = {name for name, value in values.items() if isinstance(value, _SETS)}
    for name, owner in {**values, "self": controller}.items():
        if isinstance(owner, _SCALARS):
            continue
        for attribute in names:
            if isinstance(inspect.getattr_static(owner, attribute, None), _SETS):
                found.add(f"{name}.{attribute}")
    return frozenset(found)


def _names_in(code: CodeType) -> set[str]:
    """The names in a function and in those that it defines."""
    names = {*code.co_names, *code.co_freevars}
    return names.union(*(_names_in(inner) for inner in code.co_consts if isinstance(inner, CodeType)))


def _functions(controller: Controller, code: UserCode) -> Iterator[FunctionType]:
    """The methods of a controller, and the user's functions that they name."""
    pending: list[FunctionType] = []
    for cls in type(controller).__mro__:
        if cls is not Controller and issubclass(cls, Controller):
            pending += [value for value in vars(cls).values() if isinstance(value, FunctionType)]
    seen: set[Callable[..., Any]] = set()
    while pending:
        function = pending.pop()
        if function in seen or not code.has(function.__code__.co_filename):
            continue
        seen.add(function)
        yield function
        for name in function.__code__.co_names:
            value = function.__globals__.get(name)
            if isinstance(value, FunctionType):
                pending.append(value)


class _Order:
    """Looks for what depends on the order of a set in one function."""

    def __init__(self, tree: ast.AST, sets: frozenset[str]) -> None:
        self._tree = tree
        self._sets = sets
        self._assigned: dict[str, list[ast.expr | None]] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    self._assign(target, node.value)
            elif (isinstance(node, ast.AnnAssign) and node.value is not None) or isinstance(node, ast.NamedExpr):
                self._assign(node.target, node.value)
            elif isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
                self._assign(node.target, None)
            elif isinstance(node, ast.arg):
                self._assigned.setdefault(node.arg, []).append(None)
            elif isinstance(node, ast.withitem) and node.optional_vars is not None:
                self._assign(node.optional_vars, None)

    def _assign(self, target: ast.expr, value: ast.expr | None) -> None:
        if isinstance(target, ast.Name):
            self._assigned.setdefault(target.id, []).append(value)
        else:
            for node in ast.walk(target):
                if isinstance(node, ast.Name):
                    self._assigned.setdefault(node.id, []).append(None)

    def dependent(self) -> Iterator[ast.expr]:
        """The expressions that depend on the order of a set."""
        orderless = {
            id(argument)
            for node in ast.walk(self._tree)
            if isinstance(node, ast.Call) and _name(node.func) in _ORDERLESS
            for argument in node.args
        }
        for node in ast.walk(self._tree):
            if isinstance(node, (ast.For, ast.AsyncFor)) and self._is_set(node.iter):
                yield node.iter
            elif isinstance(node, (ast.ListComp, ast.GeneratorExp, ast.DictComp)):
                if id(node) not in orderless and not isinstance(node, ast.DictComp):
                    yield from (part.iter for part in node.generators if self._is_set(part.iter))
            elif isinstance(node, ast.Call):
                name = _name(node.func)
                if name in _ORDERING and id(node) not in orderless:
                    yield from (argument for argument in node.args if self._is_set(argument))
                elif isinstance(node.func, ast.Attribute) and name == "pop" and self._is_set(node.func.value):
                    yield node.func.value
            elif isinstance(node, (ast.List, ast.Tuple)) and isinstance(node.ctx, ast.Load):
                starred = (part.value for part in node.elts if isinstance(part, ast.Starred))
                yield from (value for value in starred if self._is_set(value))

    def _is_set(self, node: ast.expr, depth: int = 0) -> bool:
        if isinstance(node, (ast.Set, ast.SetComp)):
            return True
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name) and node.func.id in _LAZY:
                return any(self._is_set(argument, depth) for argument in node.args)
            if isinstance(node.func, ast.Name):
                return node.func.id in ("set", "frozenset")
            return (
                isinstance(node.func, ast.Attribute)
                and node.func.attr in _SET_METHODS
                and self._is_set(node.func.value, depth)
            )
        if isinstance(node, ast.BinOp) and isinstance(node.op, _OPERATORS):
            sides = (node.left, node.right)
            return any(_is_keys(side) or self._is_set(side, depth) for side in sides)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            is_own = node.value.id == "self" or node.value.id not in self._assigned
            return is_own and f"{node.value.id}.{node.attr}" in self._sets
        if isinstance(node, ast.Name) and depth < 5:
            values = self._assigned.get(node.id)
            if not values:
                return node.id in self._sets
            return all(value is not None and self._is_set(value, depth + 1) for value in values or ())
        return False


def _is_keys(node: ast.expr) -> bool:
    """Reports whether this is a view of the keys of a dict: an operation on it makes a set."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "keys"


def _name(function: ast.expr) -> str:
    if isinstance(function, ast.Name):
        return function.id
    return function.attr if isinstance(function, ast.Attribute) else ""
