"""Changes of the order and the conditions of writes in a function."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Final

from kontend.explanation.change import Change
from kontend.explanation.edits import Edit
from kontend.explanation.python.source import Source, called, receiver_names
from kontend.explanation.python.statements import name_of
from kontend.explanation.remedies import Remedy

_WRITES: Final = ("create", "update", "patch", "apply", "delete", "delete_all_of", "scale")


def _orders(source: Source, function: ast.AST) -> Iterator[Change]:
    """Make one write before another that now comes first."""
    for node in ast.walk(function):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
                yield from _swaps(source, function, block)


def _swaps(source: Source, function: ast.AST, block: list[ast.stmt]) -> Iterator[Change]:
    calls = _writes(source, function)
    writing = [at for at, statement in enumerate(block) if any(call in set(ast.walk(statement)) for call in calls)]
    starts = [_group(block, at, writing) for at in writing]
    for one, first in enumerate(starts):
        for other in range(one + 1, len(starts)):
            begin, end = starts[other], writing[other]
            moved = source.data[
                source.line_start(block[begin].lineno) : source.line_start((block[end].end_lineno or 0) + 1)
            ]
            cut = Edit(source.line_start(block[begin].lineno), source.line_start((block[end].end_lineno or 0) + 1), "")
            at = source.line_start(block[first].lineno)
            if cut.start > at and moved.endswith(b"\n"):
                edits = (Edit(at, at, moved.decode()), cut)
                yield Change(Remedy.RECORD_FIRST, block[begin].lineno, edits)


def _writes(source: Source, function: ast.AST) -> list[ast.Call]:
    """Return the awaited writes of a function, and the helpers that it awaits: these may write."""
    inside = set(ast.walk(function))
    return [
        call
        for call in source.awaited
        if call in inside and (called(call, *_WRITES) or receiver_names(call) == ("self",))
    ]


def _group(block: list[ast.stmt], at: int, writing: list[int]) -> int:
    """Return the first of the plain assignments that prepare a write."""
    while at > 0 and at - 1 not in writing and isinstance(block[at - 1], ast.Assign) and not _waits(block[at - 1]):
        at -= 1
    return at


def _waits(statement: ast.stmt) -> bool:
    return any(isinstance(node, ast.Await) for node in ast.walk(statement))


# Less


def _joins(source: Source, function: ast.AST) -> Iterator[Change]:
    """Leave out a write that a later one of the same object repeats."""
    writes = [
        (call, statement)
        for call in _writes(source, function)
        if isinstance(statement := source.statement(call), ast.Expr) and call.args
    ]
    for at, (call, statement) in enumerate(writes):
        target = (receiver_names(call), ast.dump(call.args[0]))
        if any((receiver_names(later), ast.dump(later.args[0])) == target for later, _ in writes[at + 1 :]):
            yield Change(Remedy.JOIN_WRITES, statement.lineno, (source.replaced(statement, "pass"),))


def _early_ends(source: Source, function: ast.AST) -> Iterator[Change]:
    """End the reconcile after a write."""
    if not isinstance(function, ast.AsyncFunctionDef) or function.name != "reconcile":
        return
    for call in _writes(source, function):
        statement = source.statement(call)
        if not isinstance(statement, ast.Expr | ast.Assign) or name_of(call) in ("delete", "delete_all_of"):
            continue
        at = source.end(statement)
        text = f"\n{source.indent(statement)}return None"
        yield Change(Remedy.END_AFTER_WRITE, statement.lineno, (Edit(at, at, text),))


def _conditions(source: Source, function: ast.AST) -> Iterator[Change]:
    """Do always what depends on a sign that an earlier run may have left."""
    for node in ast.walk(function):
        if isinstance(node, ast.If) and not node.orelse and not _is_setting(node.test):
            if len(node.body) == 1 and isinstance(node.body[0], ast.Return) and node.body[0].value is None:
                yield Change(Remedy.DO_ALWAYS, node.lineno, (_lines(source, node, ""),))
            elif any(call in set(ast.walk(node)) for call in _writes(source, function)):
                yield Change(Remedy.DO_ALWAYS, node.lineno, (_lines(source, node, _dedented(source, node, node.body)),))
        elif isinstance(node, ast.Try) and len(node.handlers) == 1 and not node.orelse and not node.finalbody:
            handler = node.handlers[0]
            made = [call for call in _writes(source, function) if call in set(ast.walk(handler))]
            if made:
                # The handler makes what was not found: an apply makes it again without harm.
                text = _dedented(source, node, handler.body, [call for call in made if called(call, "create")])
                yield Change(Remedy.DO_ALWAYS, node.lineno, (_lines(source, node, text),))


def _is_setting(test: ast.expr) -> bool:
    """Return whether a condition on attributes of the controller alone: somebody has set it so, and no run has left
    it."""
    names = {node.id for node in ast.walk(test) if isinstance(node, ast.Name)}
    return names <= {"self"} and not any(isinstance(node, ast.Call) for node in ast.walk(test))


def _dedented(source: Source, outer: ast.stmt, body: list[ast.stmt], creates: list[ast.Call] | None = None) -> str:
    """Return the lines of a block, as far to the left as the statement around it; creates become applies."""
    start, end = source.line_start(body[0].lineno), source.line_start((body[-1].end_lineno or 0) + 1)
    data = source.data[start:end]
    for call in sorted(creates or (), key=source.start, reverse=True):
        assert isinstance(call.func, ast.Attribute)
        at = source.end(call.func) - start
        data = data[: at - len("create")] + b"apply" + data[at:]
    inner, indent = source.indent(body[0]), source.indent(outer)
    lines = data.decode().splitlines(keepends=True)
    return "".join(indent + line.removeprefix(inner) if line.startswith(inner) else line for line in lines)


def _lines(source: Source, statement: ast.stmt, text: str) -> Edit:
    """Return an edit that replaces the lines of a statement."""
    start, end = source.line_start(statement.lineno), source.line_start((statement.end_lineno or 0) + 1)
    return Edit(start, end, text)


FLOW: Final[tuple[Callable[[Source, ast.AST], Iterator[Change]], ...]] = (_orders, _joins, _early_ends, _conditions)
