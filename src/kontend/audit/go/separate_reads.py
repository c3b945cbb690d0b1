"""Bases that were read before the object that is sent.

`MergeFrom(old).Data(latest)` compares two whole objects, their metadata too. Where `latest` was read again and is newer
than `old`, the resourceVersions differ, so the patch carries one and the server checks it; where nobody wrote in
between, they are equal and nothing is checked. A conflict retry around such a write is therefore not dead. The usual
base, a copy of the object that is sent, never carries a version.
"""

from __future__ import annotations

from collections.abc import Iterator

from kontend.audit.go.bases import PatchSource
from kontend.audit.go.calls.write import Write
from kontend.audit.go.source import syntax
from kontend.audit.go.source.package import GoFile
from kontend.audit.go.source.scope import How, definitions, outermost_function, targets, values
from kontend.audit.go.source.syntax import Node, text
from kontend.audit.go.source.workspace import Workspace
from kontend.audit.site import Provenance

_READ = (Provenance.CACHED_GET, Provenance.LIVE_GET)
_COPIES = ("DeepCopy", "DeepCopyObject")
_HOPS = 4


def separately_read(workspace: Workspace, write: Write, made: list[PatchSource], source: Provenance) -> bool:
    """Decide whether the base is no copy of the object, so that a newer object brings its version into the patch."""
    if source not in _READ or len(made) != 1 or made[0].snapshot is None or made[0].file is not write.file:
        return False
    sent = set(_origins(workspace, write.file, write.object, 0))
    base = set(_origins(workspace, write.file, made[0].snapshot, 0))
    if not sent or not base or sent & base:
        return False
    return not _version_is_set(write.call, {name for name, _ in sent}, {name for name, _ in base})


def _origins(workspace: Workspace, file: GoFile, node: Node | None, hops: int) -> Iterator[tuple[str, int]]:
    """Yield the variables that an object is, or is a copy of: their names and the places where they are declared."""
    stripped = syntax.strip(node)
    if stripped is None or hops > _HOPS:
        return
    if stripped.type == "call_expression" and syntax.callee(stripped)[1] in _COPIES:
        yield from _origins(workspace, file, syntax.callee(stripped)[0], hops + 1)
        return
    parts = syntax.selector(stripped)
    if len(parts) != 1:
        if parts:
            yield ".".join(parts), 0
        return
    for definition in definitions(workspace, file, parts[0], stripped):
        value = syntax.strip(definition.value)
        copied = value is not None and (
            value.type in ("identifier", "selector_expression")
            or (value.type == "call_expression" and syntax.callee(value)[1] in _COPIES)
        )
        if definition.how is How.VALUE and copied:
            yield from _origins(workspace, definition.file, value, hops + 1)
        else:
            yield parts[0], definition.node.start_byte


def _version_is_set(call: Node, sent: set[str], base: set[str]) -> bool:
    """Recognise `obj.ObjectMeta = base.ObjectMeta`, which makes the versions equal again."""
    outer = outermost_function(call)
    for statement in syntax.assignments(outer) if outer is not None else ():
        if statement.type != "assignment_statement" or statement.start_byte > call.start_byte:
            continue
        for target, value in zip(targets(statement), values(statement), strict=False):
            left, right = syntax.selector(target), syntax.selector(value)
            if left[1:2] and left[-1] in ("ObjectMeta", "ResourceVersion") and left[0] in sent and right[:1]:
                return right[0] in base
    return any(
        syntax.callee(inner)[1] == "SetResourceVersion" and text(syntax.callee(inner)[0]) in sent
        for inner in (syntax.nearby_calls(outer, call) if outer is not None else ())
    )
