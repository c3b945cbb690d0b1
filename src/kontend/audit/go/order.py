"""Facts about the order of reads, changes and writes in one function.

A cached read straight after a write, an effect before its plan is stored, a status set before an Update that brings the
old one back.
"""

from __future__ import annotations

import re

from kontend.audit.go.calls.recognition import recognise
from kontend.audit.go.calls.write import Dialect, Write
from kontend.audit.go.mutations import Mutation, mutations
from kontend.audit.go.source import syntax
from kontend.audit.go.source.scope import may_reach, outermost_function
from kontend.audit.go.source.syntax import Node, line, text
from kontend.audit.go.source.workspace import Workspace
from kontend.audit.site import Fact, Target, Verb

_PLAN = re.compile(r"^status\.(\w*[pP]lan|operation|current(Task|Step|Operation)\w*)(\.\w+)?$")


def order_facts(workspace: Workspace, write: Write, changed: list[Mutation]) -> list[Fact]:
    """Return the facts about what runs before and after a write."""
    facts: list[Fact] = []
    if write.subresource == "status":
        facts += _read_after(write)
        facts += _effects_before(workspace, write, changed)
        facts += _status_before_update(workspace, write)
        facts += _written_before(workspace, write)
    return facts


def _read_after(write: Write) -> list[Fact]:
    """Find a cached read of the object after its status was written: it may return the version before the write."""
    outer = outermost_function(write.call)
    parts = syntax.selector(write.object)
    if outer is None or not parts:
        return []
    for call in syntax.nearby_calls(outer, write.call):
        operand, name = syntax.callee(call)
        args = syntax.arguments(call)
        if call.start_byte < write.call.end_byte or name != "Get" or operand is None or len(args) < 3:
            continue
        if syntax.selector(args[2]) == parts and may_reach(write.call, call) and "Reader" not in text(operand):
            said = f"{'.'.join(parts)} is read from the cache at :{line(call)} after this write"
            return [Fact("status-update-then-read-cache", line(call), said)]
    return []


def _written_before(workspace: Workspace, write: Write) -> list[Fact]:
    """Find earlier writes of the same status in the same pass: a crash between two leaves half of it."""
    outer, parts = outermost_function(write.call), syntax.selector(write.object)
    if outer is None or not parts or write.verb not in (Verb.UPDATE, Verb.PATCH):
        return []
    lines = []
    for call in syntax.nearby_calls(outer, write.call):
        if call.end_byte < write.call.start_byte and may_reach(call, write.call):
            other = recognise(workspace, write.file, call)
            same = other is not None and other.subresource == "status" and syntax.selector(other.object) == parts
            if same and other is not None and other.verb in (Verb.UPDATE, Verb.PATCH):
                lines.append(line(call))
    if not lines:
        return []
    said = f"the status of {'.'.join(parts)} is also written at {', '.join(f':{number}' for number in lines[:5])}"
    return [Fact("multiple-status-writes-per-reconcile", lines[-1], said)]


def _effects_before(workspace: Workspace, write: Write, changed: list[Mutation]) -> list[Fact]:
    """Find a plan put in status and acted upon before it is persisted: a crash loses the plan but not the effect."""
    outer = outermost_function(write.call)
    planned = [
        change
        for change in changed
        if _PLAN.match(change.path) and change.value is not None and text(change.value) != "nil"
    ]
    if outer is None or not planned:
        return []
    for call in syntax.nearby_calls(outer, write.call):
        if not planned[0].node.end_byte < call.start_byte < write.call.start_byte or not may_reach(call, write.call):
            continue
        other = recognise(workspace, write.file, call)
        if other is not None and other.subresource != "status" and other.verb in (Verb.CREATE, Verb.DELETE, Verb.APPLY):
            said = f"{other.method} at :{line(call)} runs before {planned[0].path} is persisted at :{line(write.call)}"
            return [Fact("side-effect-before-plan-persisted", line(call), said)]
    return []


def _status_before_update(workspace: Workspace, write: Write) -> list[Fact]:
    """Find an Update of the main resource between the change of status and the write of status.

    The answer to the Update is decoded into the object and carries the old status, so the change is gone.
    """
    outer = outermost_function(write.call)
    parts = syntax.selector(write.object)
    if outer is None or not parts or write.verb not in (Verb.UPDATE, Verb.PATCH):
        return []
    main = None
    for call in syntax.nearby_calls(outer, write.call):
        if call.end_byte > write.call.start_byte or not may_reach(call, write.call):
            continue
        other = recognise(workspace, write.file, call)
        if other is None or other.subresource or other.verb is not Verb.UPDATE or other.dialect is not write.dialect:
            continue
        if syntax.selector(other.object) == parts:
            main = other
    if main is None or syntax.enclosing(main.call, "func_literal") != syntax.enclosing(write.call, "func_literal"):
        return []
    if write.dialect is Dialect.CLIENT_GO:
        return _older_object(main, write, parts)
    if not _certainly_before(main.call, write.call):
        return []
    later = mutations(workspace, write.file, outer, parts[0], before=write.call.start_byte, after=main.call.end_byte)
    if any(change.target is Target.STATUS for change in later) or _handed_on(
        write, outer, parts[0], main.call.end_byte
    ):
        return []
    earlier = [
        change
        for change in mutations(workspace, write.file, outer, parts[0], before=main.call.start_byte)
        if change.target is Target.STATUS
        and may_reach(change.node, main.call)
        and change.node.type != "call_expression"
    ]
    since = _last_status_write(workspace, write, outer, parts, main.call.start_byte)
    earlier = [change for change in earlier if change.node.start_byte > since]
    if not earlier:
        return []
    said = (
        f"{earlier[-1].path} is set at :{line(earlier[-1].node)}, then Update at :{line(main.call)} decodes the "
        "server's answer, with the old status, into the same object"
    )
    return [Fact("status-lost-in-update", line(main.call), said)]


def _certainly_before(earlier: Node, later: Node) -> bool:
    """Decide whether the earlier call runs whenever the later one is reached, heads of `if` statements included."""
    block = syntax.enclosing(earlier, "block")
    return block is not None and syntax.inside(later, block)


def _handed_on(write: Write, outer: Node, name: str, after: int) -> bool:
    for call in syntax.nearby_calls(outer, write.call):
        if after <= call.start_byte < write.call.start_byte and not syntax.inside(write.call, call):
            operand, called = syntax.callee(call)
            roots = [syntax.root_identifier(arg) for arg in syntax.arguments(call)]
            if name in roots or (syntax.root_identifier(operand) == name and not called.startswith("Get")):
                return True
    return False


def _last_status_write(workspace: Workspace, write: Write, outer: Node, parts: list[str], before: int) -> int:
    last = 0
    for call in syntax.nearby_calls(outer, write.call):
        if call.end_byte < before and call.end_byte < write.call.start_byte:
            other = recognise(workspace, write.file, call)
            if other is not None and other.subresource == "status" and syntax.selector(other.object) == parts:
                last = call.end_byte
    return last


def _older_object(main: Write, write: Write, parts: list[str]) -> list[Fact]:
    """Find `UpdateStatus` of the object from before `Update`: client-go returns the new version."""
    statement = syntax.enclosing(main.call, "short_var_declaration", "assignment_statement", "expression_statement")
    assigned = [text(name) for name in syntax.children(syntax.field(statement, "left"))] if statement else []
    if parts[0] in assigned or not _certainly_before(main.call, write.call):
        return []
    said = (
        f"{parts[0]} is the object from before Update at :{line(main.call)}, whose answer holds the new resourceVersion"
    )
    return [Fact("status-lost-in-update", line(main.call), said)]
