"""The fate of a write's error: returned, only logged, dropped, or handled in some other way.

An error that is thrown away matters only where the function then reports success. `_ = c.Status().Update(ctx, obj)`
followed by `return ctrl.Result{}, err` runs again anyway, because of the other error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from kontend.audit.go.source import syntax
from kontend.audit.go.source.conditions import asks, compared_with_nil, named_like, only_failure
from kontend.audit.go.source.scope import targets, values
from kontend.audit.go.source.syntax import Node, line, text
from kontend.audit.site import ErrorUse

_LOGGED = re.compile(r"^(Error|Info|Warn|Warning|Debug|V|Print|Event)(f|ln|S|w)?$")
_ERROR = re.compile(r"[eE]rr")
_ERROR_OR_REQUEUE = re.compile(r"[eE]rr|Requeue")
_NEAREST = 60
_STATEMENTS = ("statement_list", "block", "expression_case", "default_case", "type_case", "communication_case")
_FUNCTIONS = ("func_literal", "function_declaration", "method_declaration")


@dataclass(frozen=True, slots=True)
class ErrorPath:
    """The use of an error, and two mistakes on its path.

    `wrong_variable` names the variable that is returned in place of the error that was checked; `conflict_line` is
    where a conflict is answered with success and no requeue.
    """

    use: ErrorUse
    wrong_variable: str = ""
    wrong_line: int = 0
    conflict_line: int = 0


def error_use(call: Node) -> ErrorUse:
    """Classify the use of the error that a call returns."""
    return error_path(call).use


def conflict_branch(call: Node) -> int:
    """Return the line at which the error of a call is asked whether it is a conflict, or 0."""
    statement = syntax.enclosing(call, "short_var_declaration", "assignment_statement", "var_spec")
    names = [text(name) for name in syntax.children(syntax.field(statement, "left"))] if statement is not None else []
    if statement is None or not names or not syntax.inside(call, syntax.field(statement, "right") or statement):
        return 0
    holder = statement.parent
    around = holder if holder is not None and holder.type == "if_statement" else None
    following = [around] if around is not None else list(_following(statement))[:3]
    for node in following:
        if node is None:
            continue
        for asked in syntax.calls(node):
            arguments = [text(argument) for argument in syntax.arguments(asked)]
            if syntax.callee(asked)[1] == "IsConflict" and names[-1] in arguments:
                return line(asked)
        if any(names[-1] == text(name) for name in syntax.children(syntax.field(node, "left"))):
            return 0  # another error from here on
    return 0


def error_path(call: Node) -> ErrorPath:
    """Follow the error that a call returns."""
    node, parent = call, call.parent
    while parent is not None:
        if parent.type == "return_statement":
            return ErrorPath(ErrorUse.RETURNED)
        if parent.type in ("short_var_declaration", "assignment_statement", "var_spec"):
            return _assigned(parent, call)
        if parent.type == "expression_statement":
            return ErrorPath(_after(call) if node == call else ErrorUse.HANDLED)
        if parent.type in ("defer_statement", "go_statement"):
            return ErrorPath(ErrorUse.DROPPED)
        if parent.type in _STATEMENTS:
            return ErrorPath(ErrorUse.HANDLED)
        if parent.type == "if_statement":
            return _branch(parent, "")
        node, parent = parent, parent.parent
    return ErrorPath(ErrorUse.HANDLED)


def _following(node: Node) -> Iterator[Node]:
    """Yield the statements after a node in its block, the nearest ones; blocks of thousands are generated code."""
    sibling = node.next_named_sibling
    for _ in range(_NEAREST):
        if sibling is None:
            return
        yield sibling
        sibling = sibling.next_named_sibling


def _after(call: Node) -> ErrorUse:
    """Judge a discarded error by what the function returns next: it is dropped where that is success."""
    node: Node | None = call
    while node is not None and node.type not in _FUNCTIONS:
        for following in _following(node):
            if following.type == "return_statement":
                return ErrorUse.DROPPED if _succeeds(following) else ErrorUse.HANDLED
            if following.type in ("continue_statement", "break_statement", "goto_statement"):
                break
        node = node.parent
    return ErrorUse.DROPPED


def _succeeds(statement: Node) -> bool:
    """Tell `return ctrl.Result{}, nil` from a return that carries an error or asks for another pass."""
    if any(_requeues(element) for element in syntax.captures(statement, "(keyed_element) @e", "e")):
        return False
    returned = syntax.children(next(iter(syntax.children(statement)), None))
    if not returned:
        return not _named_error(statement)
    last = returned[-1]
    return last.type in ("nil", "true", "false", "interpreted_string_literal", "int_literal") or (
        last.type != "nil" and not _returns_error(statement)
    )


def _requeues(element: Node) -> bool:
    """Recognise `Requeue: true` and `RequeueAfter: delay` in the result of a reconcile."""
    asked = text(syntax.field(element, "key")) in ("Requeue", "RequeueAfter")
    return asked and text(syntax.field(element, "value")) != "false"


def _function(node: Node) -> Node | None:
    return syntax.enclosing(node, *_FUNCTIONS)


def _result_types(function: Node | None) -> list[Node]:
    result = syntax.field(function, "result")
    if result is None:
        return []
    return syntax.children(result) if result.type == "parameter_list" else [result]


def _returns_error(node: Node) -> bool:
    results = _result_types(_function(node))
    return bool(results) and text(results[-1]).split()[-1] == "error"


def _named_error(node: Node) -> bool:
    results = _result_types(_function(node))
    return bool(results) and len(text(results[-1]).split()) > 1 and _returns_error(node)


def _assigned(statement: Node, call: Node) -> ErrorPath:
    left = syntax.field(statement, "left") or syntax.field(statement, "name")
    names = [text(name) for name in syntax.children(left)] or [text(left)]
    error = names[-1]
    if error == "_":
        return ErrorPath(_after(call))
    outer = statement.parent
    if outer is not None and outer.type == "if_statement":
        return _branch(outer, error)
    for following in _following(statement):
        if following.type == "return_statement" and syntax.mentions(following, error):
            return ErrorPath(ErrorUse.RETURNED)
        if following.type == "if_statement" and syntax.mentions(syntax.field(following, "condition"), error):
            return _branch(following, error)
        if following.type == "expression_switch_statement" and syntax.mentions(following, error):
            return ErrorPath(ErrorUse.HANDLED)
    return ErrorPath(ErrorUse.HANDLED)


def _branch(statement: Node, error: str) -> ErrorPath:
    """Judge the branch taken when the error is set (`err != nil`); `err == nil` has it in the else branch or after."""
    condition = syntax.field(statement, "condition")
    body = syntax.field(statement, "consequence")
    compared = [is_nil for _, is_nil in compared_with_nil(condition)]
    if compared and all(compared):
        body = syntax.field(statement, "alternative")
        if body is None:
            for after in _following(statement):
                if after.type == "return_statement" and error and syntax.mentions(after, error):
                    return ErrorPath(ErrorUse.RETURNED)
            return ErrorPath(ErrorUse.HANDLED)
    if body is None:
        return ErrorPath(ErrorUse.HANDLED)
    conflict = _swallowed_conflict(statement, body, error)
    wrong, wrong_line = _other_variable(body, error, condition)
    for returned in syntax.captures(body, "(return_statement) @r", "r"):
        if not error or syntax.mentions(returned, error) or named_like(returned, _ERROR_OR_REQUEUE):
            return ErrorPath(ErrorUse.RETURNED, wrong, wrong_line, conflict)
    if _collected(body):
        return ErrorPath(ErrorUse.RETURNED, conflict_line=conflict)
    logged = any(_LOGGED.match(syntax.callee(call)[1]) for call in syntax.calls(body))
    return ErrorPath(ErrorUse.LOGGED if logged else ErrorUse.HANDLED, conflict_line=conflict)


def _collected(body: Node) -> bool:
    """Decide whether a branch keeps an error for somebody: in a variable, a list or a channel, or as a panic."""
    for call in syntax.calls(body):
        operand, name = syntax.callee(call)
        if name == "panic" or name.startswith("Fatal") or (name == "Join" and text(operand) == "errors"):
            return True
    for statement in syntax.descend(body, lambda node: node.type in ("assignment_statement", "send_statement")):
        kept = syntax.field(statement, "left") or syntax.field(statement, "value")
        if named_like(kept, _ERROR) or _accumulates(statement):
            return True
    return False


def _accumulates(statement: Node) -> bool:
    """Recognise `failures = append(failures, err)` and the same with a library's collection of errors."""
    for target, value in zip(targets(statement), values(statement), strict=False):
        given = syntax.arguments(value) if value.type in syntax.CALL_TYPES else []
        if given and text(given[0]) == text(target) and any(named_like(each, _ERROR) for each in given[1:]):
            return True
    return False


def _other_variable(body: Node, error: str, condition: Node | None) -> tuple[str, int]:
    """Find `if patchErr := Patch(); patchErr != nil { return err }`, where `err` is nil at that point."""
    if not error or only_failure(condition) != error:
        return "", 0
    statements = syntax.children(body)
    if statements and statements[-1].type == "statement_list":
        statements = syntax.children(statements[-1])
    if not statements or statements[-1].type != "return_statement":
        return "", 0
    if any(syntax.mentions(statement, error) for statement in _wrapping(statements)):
        return "", 0
    returned = syntax.children(next(iter(syntax.children(statements[-1])), None))
    if not returned or not _returns_error(body) or returned[-1].type != "identifier":
        return "", 0
    other = text(returned[-1])
    if other == error or not _ERROR.search(other) or not _already_handled(body, other):
        return "", 0
    return other, line(statements[-1])


def _wrapping(statements: list[Node]) -> list[Node]:
    """Return the statements that put the error somewhere before the return, other than a log or an event."""
    return [
        statement
        for statement in statements[:-1]
        if statement.type in ("assignment_statement", "short_var_declaration", "if_statement")
    ]


def _already_handled(body: Node, other: str) -> bool:
    """Decide whether the other error was checked and returned before, so that it says nothing here."""
    node: Node | None = body
    while node is not None and node.type not in _FUNCTIONS:
        if node.type == "if_statement" and _about_failure(syntax.field(node, "condition"), other):
            return False
        previous = node.prev_named_sibling
        for _ in range(_NEAREST):
            if previous is None:
                break
            check: Node | None = previous
            while check is not None and check.type == "if_statement":  # an if and its else-ifs
                checked = only_failure(check.child_by_field_name("condition")) == other
                if checked and _returns(check.child_by_field_name("consequence")):
                    return True
                check = check.child_by_field_name("alternative")
            if previous.type in ("short_var_declaration", "assignment_statement"):
                assigned = [text(name) for name in syntax.children(syntax.field(previous, "left"))]
                if other in assigned:
                    return False
            previous = previous.prev_named_sibling
        node = node.parent
    return False


def _about_failure(condition: Node | None, error: str) -> bool:
    """Decide whether a condition asks for an error to be there, or asks a function about it."""
    if any(not is_nil and text(compared) == error for compared, is_nil in compared_with_nil(condition)):
        return True
    asked = syntax.calls(condition) if condition is not None else ()
    return any(text(argument) == error for call in asked for argument in syntax.arguments(call)[:1])


def _returns(block: Node | None) -> bool:
    return block is not None and any(syntax.descend(block, lambda node: node.type == "return_statement"))


def _swallowed_conflict(statement: Node, body: Node, error: str) -> int:
    """Find `if IsConflict(err) { return ctrl.Result{}, nil }` after a write: nothing runs the reconcile again."""
    candidates = [statement, *syntax.captures(body, "(if_statement) @i", "i")]
    for check in candidates:
        if not asks(syntax.field(check, "condition"), "IsConflict", argument=error):
            continue
        consequence = syntax.field(check, "consequence")
        statements = syntax.children(consequence)
        if statements and statements[-1].type == "statement_list":
            statements = syntax.children(statements[-1])
        returned = statements[-1] if statements and statements[-1].type == "return_statement" else None
        if (
            returned is not None
            and _returns_error(returned)
            and _succeeds(returned)
            and syntax.mentions(returned, "Result")
        ):
            return line(returned)
    return 0
