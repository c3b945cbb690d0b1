"""Comparisons with a shallow copy of a status, which shares the maps and lists that are changed in place.

`old := obj.Status` copies the struct and not what its maps and slices point to. A condition that is set in place, or a
key of a map, is then changed in both, `DeepEqual(old, obj.Status)` holds, and the write behind it is skipped.
"""

from __future__ import annotations

from kontend.audit.go.calls.write import Write
from kontend.audit.go.mutations import Mutation, mutations
from kontend.audit.go.source import syntax
from kontend.audit.go.source.scope import How, definitions, outermost_function
from kontend.audit.go.source.syntax import Node, line, text
from kontend.audit.go.source.workspace import Workspace
from kontend.audit.site import Fact, Target


def shallow_copy(workspace: Workspace, write: Write) -> list[Fact]:
    """Find a status that is compared with a shallow copy of itself after a change in place."""
    outer, parts = outermost_function(write.call), syntax.selector(write.object)
    if outer is None or not parts:
        return []
    for call in syntax.nearby_calls(outer, write.call):
        if call.start_byte > write.call.start_byte or syntax.callee(call)[1] != "DeepEqual":
            continue
        copied = _compared(call, parts)
        made = _made(workspace, write, copied, parts) if copied is not None else None
        if copied is None or made is None:
            continue
        changed = mutations(workspace, write.file, outer, parts[0], before=call.start_byte, after=made.end_byte)
        shared = next((change for change in changed if _shared(change, changed)), None)
        if shared is not None:
            said = (
                f"{text(copied)} at :{line(made)} is a shallow copy and shares {shared.path}, which is changed in "
                f"place at :{line(shared.node)} before the comparison at :{line(call)}"
            )
            return [Fact("base-after-mutation", line(made), said)]
    return []


def _compared(call: Node, parts: list[str]) -> Node | None:
    """Return the variable that the status of the written object is compared with."""
    arguments = syntax.arguments(call)
    if len(arguments) != 2:
        return None
    for one, other in (arguments, arguments[::-1]):
        if syntax.selector(one) == [*parts, "Status"] and other.type == "identifier":
            return other
    return None


def _made(workspace: Workspace, write: Write, copied: Node, parts: list[str]) -> Node | None:
    """Return the statement that copies the status into a variable without what it points to."""
    reaching = definitions(workspace, write.file, text(copied), copied)
    if len(reaching) != 1 or reaching[0].how is not How.VALUE or reaching[0].value is None:
        return None
    value = reaching[0].value
    plain = value.type == "selector_expression" and syntax.selector(value) == [*parts, "Status"]
    return reaching[0].node if plain else None


def _shared(change: Mutation, changed: list[Mutation]) -> bool:
    """Decide whether a change reaches the copy: the map or list was not replaced by a new one before."""
    if change.target is not Target.STATUS or not change.in_place:
        return False
    return not any(
        other.path == change.path and not other.in_place and other.node.start_byte < change.node.start_byte
        for other in changed
    )
