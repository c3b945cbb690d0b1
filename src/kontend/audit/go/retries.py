"""The loop around a write that repeats it on a conflict, and the read that each repeat starts from.

Three mistakes live here: a closure that never reads again (every attempt sends the same stale version), one that
reads from a cache that may still be stale, and one that reads again and then lays a whole status computed before the
loop over what it just read, which defeats the very check that made it retry.
"""

from __future__ import annotations

import re

from kontend.audit.go.calls.reads import read_into, read_kind
from kontend.audit.go.outdated import outdated
from kontend.audit.go.source import syntax
from kontend.audit.go.source.package import GoFile
from kontend.audit.go.source.scope import How, definitions, targets, values
from kontend.audit.go.source.syntax import Node, line, text
from kontend.audit.go.source.types import resolve_function
from kontend.audit.go.source.workspace import Workspace
from kontend.audit.go.version_changes import version_changes, version_given
from kontend.audit.site import Provenance, Retry

_WRAPPERS = re.compile(
    r"^(RetryOnConflict|RetryUpdateConflicts|OnError|RetryOnError|RetryConflict\w*|retryOnConflict|UpdateWithRetry\w*)$"
)
_POLLS = re.compile(r"^(ExponentialBackoff(WithContext)?|Poll(UntilContext(Timeout|Cancel)|Immediate\w*)?)$")


def retry_around(workspace: Workspace, file: GoFile, call: Node, target: Node | None) -> Retry | None:
    """Return the conflict retry around a write, or None."""
    loop = _loop(call)
    if loop is not None:
        reads = _reads(workspace, file, loop, [])
        outside = _object_outside(workspace, file, loop, target)
        blind = _blind(file, loop, call, syntax.selector(target), bool(reads))
        return Retry(
            "the loop on conflict", line(loop), bool(reads) or not outside, Provenance.LIVE_GET in reads, blind
        )
    literal = syntax.enclosing(call, "func_literal")
    while literal is not None:
        wrapper = _wrapper(workspace, file, literal)
        if wrapper is not None:
            return _retry(workspace, file, wrapper, literal, call, target)
        literal = syntax.enclosing(literal, "func_literal")
    return None


def _loop(call: Node) -> Node | None:
    """Return the hand-written loop that goes round again when a write conflicts."""
    for parent in syntax.ancestors(call):
        if parent.type in ("func_literal", "function_declaration", "method_declaration"):
            return None
        if parent.type == "for_statement":
            return parent if _repeats_on_conflict(parent) else None
    return None


@syntax.remembered(256)
def _repeats_on_conflict(loop: Node) -> bool:
    ranges = any(child.type == "range_clause" for child in loop.named_children)
    return not ranges and syntax.makes_call(loop, "IsConflict")


def _wrapper(workspace: Workspace, file: GoFile, literal: Node) -> Node | None:
    parent = literal.parent
    if parent is not None and parent.type == "argument_list":
        call = parent.parent
        if call is not None and (_WRAPPERS.match(syntax.callee(call)[1]) or _own_wrapper(workspace, file, call)):
            return call
        if call is not None and _POLLS.match(syntax.callee(call)[1]) and syntax.mentions(literal, "IsConflict"):
            return call
    statement = syntax.enclosing(literal, "short_var_declaration")
    outer = syntax.enclosing(literal, "function_declaration", "method_declaration")
    if statement is None or outer is None or literal not in values(statement):
        return None
    holder = text(targets(statement)[0])
    for call in syntax.nearby_calls(outer, literal):
        if _WRAPPERS.match(syntax.callee(call)[1]) and any(text(arg) == holder for arg in syntax.arguments(call)):
            return call
    return None


def _own_wrapper(workspace: Workspace, file: GoFile, call: Node) -> bool:
    """Recognise a function of the audited code that runs the function it is given again on a conflict."""
    name = syntax.callee(call)[1]
    if not re.search(r"(?i)retry|conflict|backoff", name):
        return False
    function = resolve_function(workspace, file, call)
    body = function.body if function is not None else None
    if body is None:
        return False
    loops = any(syntax.descend(body, lambda node: node.type == "for_statement"))
    return syntax.makes_call(body, "RetryOnConflict") or (loops and syntax.makes_call(body, "IsConflict"))


def _always_true(wrapper: Node) -> bool:
    """Recognise `func(error) bool { return true }` as the predicate of a retry."""
    for argument in syntax.arguments(wrapper):
        if argument.type == "func_literal" and text(syntax.field(argument, "result")) == "bool":
            answers = list(syntax.descend(argument, lambda node: node.type == "return_statement"))
            if answers and all(text(answer).split() == ["return", "true"] for answer in answers):
                return True
    return False


def _asks_for_conflict(wrapper: Node) -> bool:
    """Decide whether a predicate that is given to a retry is, or calls, `IsConflict`."""
    for argument in syntax.arguments(wrapper):
        if argument.type == "selector_expression" and text(syntax.field(argument, "field")) == "IsConflict":
            return True
        if argument.type == "func_literal" and text(syntax.field(argument, "result")) == "bool":
            return any(syntax.callee(call)[1] == "IsConflict" for call in syntax.calls(argument))
    return False


def _retry(workspace: Workspace, file: GoFile, wrapper: Node, literal: Node, call: Node, target: Node | None) -> Retry:
    operand, name = syntax.callee(wrapper)
    label = f"{text(operand)}.{name}" if operand is not None else name
    if _POLLS.match(name):
        label += " on conflict"
    parts = syntax.selector(target)
    reads = _reads(workspace, file, literal, parts[:1]) or _reads(workspace, file, literal, parts)
    live = any(kind is Provenance.LIVE_GET for kind in reads)
    if not reads and parts:  # an object built in the closure from what the closure reads
        reads = _built_from_read(workspace, file, literal, target) or _replaced_by_read(workspace, file, literal, parts)
    blind = _blind(file, literal, call, parts, bool(reads))
    fresh = bool(reads) or bool(blind) or not _object_outside(workspace, file, literal, target)
    if _own_wrapper(workspace, file, wrapper):
        label += " (on conflict)"
    repeats = name not in ("OnError", "RetryOnError") or _asks_for_conflict(wrapper)
    return Retry(
        label,
        line(wrapper),
        fresh,
        live,
        blind,
        outdated(workspace, file, literal, call, parts) if reads else "",
        _always_true(wrapper),
        repeats,
    )


def _reads(workspace: Workspace, file: GoFile, literal: Node, parts: list[str]) -> list[Provenance]:
    provenances: list[Provenance] = []
    for call in syntax.calls(literal):
        operand, name = syntax.callee(call)
        args = syntax.arguments(call)
        read = read_into(workspace, file, call, parts) if parts and name not in ("Get", "List") else None
        if read is not None:  # a function of the audited code that reads into the object
            provenances.append(read)
            continue
        if name in ("Get", "get", "Refresh", "refresh") and operand is not None:
            if any(
                syntax.mentions(arg, "GetOptions") for arg in args
            ):  # client-go answers with what it read, from the server
                provenances.append(Provenance.LIVE_GET)
                continue
            if len(args) >= 3 and parts and syntax.selector(args[2])[:1] != parts:
                continue
            provenances.append(read_kind(operand))
        elif re.match(r"(?i)^(get|fetch|refetch|reload|refresh|load|read|lookup)", name):
            function = resolve_function(workspace, file, call)
            if function is None or syntax.makes_call(function.body, "Get"):
                provenances.append(Provenance.CACHED_GET)
    return provenances


def _replaced_by_read(workspace: Workspace, file: GoFile, literal: Node, parts: list[str]) -> list[Provenance]:
    """Find `obj = latest` or `obj = latest.DeepCopy()` after the write, where the closure reads `latest`."""
    for statement, position in syntax.assignments_by_name(literal).get(parts[0], ()):
        right = values(statement)
        value = syntax.strip(right[position]) if position < len(right) else None
        if value is not None and value.type == "call_expression" and syntax.callee(value)[1] == "DeepCopy":
            value = syntax.strip(syntax.callee(value)[0])
        if value is not None and value.type == "identifier":
            reads = _reads(workspace, file, literal, [text(value)])
            if reads:
                return reads
    return []


def _built_from_read(workspace: Workspace, file: GoFile, literal: Node, target: Node | None) -> list[Provenance]:
    stripped = syntax.strip(target)
    if stripped is None or stripped.type != "identifier":
        return []
    for definition in definitions(workspace, file, text(stripped), stripped):
        value = definition.value
        if definition.how is not How.VALUE or value is None or not syntax.inside(definition.node, literal):
            continue
        if syntax.makes_call(value, "DeepCopy"):
            return _reads(workspace, file, literal, [syntax.root_identifier(syntax.callee(value)[0])])
    return []


def _object_outside(workspace: Workspace, file: GoFile, literal: Node, target: Node | None) -> bool:
    """Decide whether the object comes from outside the closure, so that repeats send the same version."""
    stripped = syntax.strip(target)
    name = syntax.root_identifier(stripped)
    if stripped is None or not name:
        return False
    reaching = definitions(workspace, file, name, stripped)
    return bool(reaching) and all(
        not syntax.inside(definition.node, literal) or definition.node == literal for definition in reaching
    )


def _blind(file: GoFile, literal: Node, call: Node, parts: list[str], rereads: bool) -> str:
    """Find `latest.Status = desired.Status` where `desired` was computed before the loop."""
    if not parts:
        return ""
    if syntax.mentions(call, "Status", "UpdateStatus"):
        borrowed = next((change for change in version_changes(literal, call, parts[0]) if _borrows(change)), None)
        if borrowed is not None:
            return text(borrowed)
    if not rereads:
        return ""
    for statement in syntax.assignments(literal):
        if statement.type != "assignment_statement" or statement.start_byte > call.start_byte:
            continue
        for target, value in zip(targets(statement), values(statement), strict=False):
            left, right = syntax.selector(target), syntax.selector(_copied(value))
            if left[:1] != parts[:1] or left[1:] != ["Status"] or not right:
                continue
            if right[0] != left[0] and not _declared_in(literal, right[0]) and right[0] not in file.imports:
                return f"{text(target)} = {text(value)}"
    return ""


def _borrows(change: Node) -> bool:
    """Recognise a change of a version that takes the version of another object."""
    return any(
        len(syntax.selector(taken)) > 1 or syntax.makes_call(taken, "GetResourceVersion")
        for taken in version_given(change)
        if syntax.mentions(taken, "ResourceVersion", "GetResourceVersion")
    )


def _copied(value: Node) -> Node | None:
    """`*desired.Status.DeepCopy()` is still the status computed before."""
    stripped = syntax.strip(value)
    if stripped is not None and stripped.type == "call_expression" and syntax.callee(stripped)[1] == "DeepCopy":
        return syntax.callee(stripped)[0]
    return stripped


def _declared_in(literal: Node, name: str) -> bool:
    return any(
        any(text(target) == name for target in targets(statement))
        for statement in syntax.assignments(literal)
        if statement.type != "assignment_statement"
    )
