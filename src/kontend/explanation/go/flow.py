"""Changes of the order and the ends of a Go function: what is returned, and which write comes first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tree_sitter import Node

from kontend.explanation.change import Change
from kontend.explanation.edits import Edit
from kontend.explanation.go.calls import (
    CLIENT,
    READS,
    WRITES,
    insertion,
    new_change,
    request_of,
    statement_before,
    statements_after,
    statements_of,
)
from kontend.explanation.go.source import GoSource, around, below
from kontend.explanation.remedies import Remedy


def _ignore_returned(source: GoSource, node: Node) -> Iterator[Change]:
    """Return no error of a read that finds nothing."""
    package = source.imports.get(CLIENT)
    outer = next((each for each in around(node) if each.type == "if_statement"), None)
    if node.type != "return_statement" or outer is None or package is None:
        return
    start = outer.child_by_field_name("initializer") or statement_before(outer)
    reads = start is not None and any(request_of(source, each, READS)[2] for each in below(start, "call_expression"))
    error = next(iter(below(node, "expression_list")), None)
    last = error.named_children[-1] if error is not None and error.named_children else None
    if reads and last is not None and source.text(last) == "err":
        edit = Edit(last.start_byte, last.end_byte, f"{package}.IgnoreNotFound(err)")
        yield new_change(Remedy.HANDLE_ABSENCE, source, edit)


def _return_error(source: GoSource, node: Node) -> Iterator[Change]:
    """Return an error that is dropped: after a test of it, or of a request whose result nobody looks at."""
    function = source.function_of(node)
    if function is None:
        return
    back = source.returned(function, "err")
    if back is None:
        return
    if node.type == "if_statement":
        condition, block = node.child_by_field_name("condition"), node.child_by_field_name("consequence")
        if condition is None or block is None or not _names_error(source, condition):
            return
        inner = list(statements_of(block))
        if inner and inner[-1].type in ("return_statement", "continue_statement", "break_statement"):
            yield from _return_instead(source, inner[-1], back)
            return
        edit = insertion(block.end_byte - 1, f"\t{back}\n{source.indent(node)}")
        yield new_change(Remedy.END_ON_ERROR, source, edit)
    elif node.type in ("expression_statement", "assignment_statement"):
        left, value = node.child_by_field_name("left"), node.child_by_field_name("right")
        if node.type == "assignment_statement" and (left is None or source.text(left) != "_"):
            return
        value = value or node
        call = value.named_children[0] if value.named_children else None
        if call is None or not request_of(source, call, WRITES)[2]:
            return
        indent = source.indent(node)
        text = f"if err := {source.text(call)}; err != nil {{\n{indent}\t{back}\n{indent}}}"
        yield new_change(Remedy.END_ON_ERROR, source, Edit(node.start_byte, node.end_byte, text))


def _names_error(source: GoSource, condition: Node) -> bool:
    return any(source.text(name) == "err" for name in below(condition, "identifier"))


def _return_instead(source: GoSource, last: Node, back: str) -> Iterator[Change]:
    """Return the error in place of none."""
    if last.type == "return_statement":
        values = next(iter(below(last, "expression_list")), None)
        none = values.named_children[-1] if values is not None and values.named_children else None
        if none is not None and source.text(none) == "nil":
            yield new_change(Remedy.END_ON_CONFLICT, source, Edit(none.start_byte, none.end_byte, "err"))
    elif last.type == "continue_statement":
        yield new_change(Remedy.END_ON_ERROR, source, Edit(last.start_byte, last.end_byte, back))


def _end_after_write(source: GoSource, node: Node) -> Iterator[Change]:
    """Leave what comes after a write to the next run."""
    function = source.function_of(node)
    if node.type != "if_statement" or function is None or node.parent is None or node.next_named_sibling is None:
        return
    start = node.child_by_field_name("initializer") or statement_before(node)
    back = source.returned(function, "nil")
    if start is None or back is None or function.type == "func_literal":
        return
    if any(request_of(source, each, WRITES)[2] for each in below(start, "call_expression")):
        text = f"\n{source.indent(node)}{back}"
        followers = [each for each in statements_after(node) if each.type != "comment"]
        if followers:
            # What follows would be unreachable, and its variables unused: the compiler takes that, vet would not.
            edit = Edit(node.end_byte, followers[-1].end_byte, text)
            yield new_change(Remedy.END_AFTER_WRITE, source, edit)


def _record_first(source: GoSource, node: Node) -> Iterator[Change]:
    """Exchange two writes that follow one another."""
    if node.type != "if_statement" or node.child_by_field_name("initializer") is None:
        return
    after = node.next_named_sibling
    while after is not None and after.type == "comment":
        after = after.next_named_sibling
    if after is None or after.type != "if_statement" or after.child_by_field_name("initializer") is None:
        return
    if all(
        any(request_of(source, each, WRITES)[2] for each in below(statement, "call_expression"))
        for statement in (node, after)
    ):
        edits = (
            Edit(node.start_byte, node.end_byte, source.text(after)),
            Edit(after.start_byte, after.end_byte, source.text(node)),
        )
        yield new_change(Remedy.RECORD_FIRST, source, *edits)


def _run_again(source: GoSource, node: Node) -> Iterator[Change]:
    """Ask for another run where a reconcile ends without an error."""
    values = next(iter(below(node, "expression_list")), None) if node.type == "return_statement" else None
    if values is None or len(values.named_children) != 2 or source.text(values.named_children[1]) != "nil":
        return
    result = values.named_children[0]
    kind, body = result.child_by_field_name("type"), result.child_by_field_name("body")
    if result.type != "composite_literal" or kind is None or body is None or body.named_children:
        return
    if source.text(kind).rpartition(".")[2] == "Result":
        edit = Edit(body.start_byte, body.end_byte, "{Requeue: true}")
        yield new_change(Remedy.RUN_AGAIN, source, edit)


FLOW: Final = (_ignore_returned, _return_error, _end_after_write, _record_first, _run_again)
