"""What becomes of the error of a write: returned, only logged, dropped, or handled in some other way."""

from __future__ import annotations

import re

from kontend.audit.go.source import syntax
from kontend.audit.go.source.syntax import Node, text
from kontend.audit.site import ErrorUse

_LOGGED = re.compile(
    r"\b(log|logger|logf|klog|slog|Log|Logger|ctxLog|ctxLogger|l|lg)\b.*\.(Error|Info|Warn|Warning|Debug|V|Errorf|Infof|Warnf)",
    re.DOTALL,
)
_STATEMENTS = ("statement_list", "block", "expression_case", "default_case", "type_case", "communication_case")


def error_use(call: Node) -> ErrorUse:
    """Classify the use of the error that a call returns."""
    node, parent = call, call.parent
    while parent is not None:
        if parent.type == "return_statement":
            return ErrorUse.RETURNED
        if parent.type in ("short_var_declaration", "assignment_statement", "var_spec"):
            return _assigned(parent)
        if parent.type == "expression_statement":
            return ErrorUse.DROPPED if node == call else ErrorUse.HANDLED
        if parent.type in ("defer_statement", "go_statement"):
            return ErrorUse.DROPPED
        if parent.type in _STATEMENTS:
            return ErrorUse.HANDLED
        if parent.type == "if_statement":
            return _branch(parent, "")
        node, parent = parent, parent.parent
    return ErrorUse.HANDLED


def _assigned(statement: Node) -> ErrorUse:
    left = syntax.field(statement, "left") or syntax.field(statement, "name")
    names = [text(each) for each in syntax.children(left)] or [text(left)]
    error = names[-1]
    if error == "_":
        return ErrorUse.DROPPED
    outer = statement.parent
    if outer is not None and outer.type == "if_statement":
        return _branch(outer, error)
    following = statement.next_named_sibling
    while following is not None:
        if following.type == "return_statement" and re.search(rf"\b{re.escape(error)}\b", text(following)):
            return ErrorUse.RETURNED
        if following.type == "if_statement" and re.search(
            rf"\b{re.escape(error)}\b", text(syntax.field(following, "condition"))
        ):
            return _branch(following, error)
        if following.type in ("expression_switch_statement",) and re.search(
            rf"\b{re.escape(error)}\b", text(following)
        ):
            return ErrorUse.HANDLED
        following = following.next_named_sibling
    return ErrorUse.HANDLED


def _branch(statement: Node, error: str) -> ErrorUse:
    """Judge the branch taken when the error is set (`err != nil`); `err == nil` has it in the else branch or after."""
    condition = text(syntax.field(statement, "condition"))
    body = syntax.field(statement, "consequence")
    if re.search(r"==\s*nil", condition) and "!=" not in condition:
        body = syntax.field(statement, "alternative")
        if body is None:
            after = statement.next_named_sibling
            while after is not None:
                if after.type == "return_statement" and error and re.search(rf"\b{re.escape(error)}\b", text(after)):
                    return ErrorUse.RETURNED
                after = after.next_named_sibling
            return ErrorUse.HANDLED
    if body is None:
        return ErrorUse.HANDLED
    for statement_ in syntax.captures(body, "(return_statement) @r", "r"):
        source = text(statement_)
        if not error or re.search(rf"\b{re.escape(error)}\b", source) or re.search(r"[eE]rr|Requeue", source):
            return ErrorUse.RETURNED
    source = text(body)
    if re.search(
        r"\bappend\(\s*\w*[eE]rr|errors\.Join|multierr|\berrs?\w*(\[[^\]]*\])?\s*=|<-\s*\w*err|panic\(|Fatal|\w*[eE]rr\w*\s*=\s",
        source,
    ):
        return ErrorUse.RETURNED
    if _LOGGED.search(source):
        return ErrorUse.LOGGED
    return ErrorUse.LOGGED if re.search(r"\.(Error|Errorf|Info|Warn|Event|Eventf)\(", source) else ErrorUse.HANDLED
