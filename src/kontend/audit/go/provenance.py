"""Where the written object came from: a cached read, a live one, a list, an earlier write, or nowhere yet.

The last thing that filled the variable before the write decides. A parameter is followed into the callers, because a
reconciler reads at its top and writes in its helpers.
"""

from __future__ import annotations

import re

from kontend.audit.go.source import syntax
from kontend.audit.go.source.package import GoFile
from kontend.audit.go.source.scope import How, definitions, outermost_function, runs_in, type_of
from kontend.audit.go.source.syntax import Node, text
from kontend.audit.go.source.workspace import Workspace
from kontend.audit.go.writes import recognise
from kontend.audit.site import Provenance

_LIVE = re.compile(r"api.?reader|live|uncached|direct|nocache|no_cache", re.IGNORECASE)
_SHARED_FIELD = re.compile(r"^(Resource|Object|Obj|Instance|Owner|CR|Parent)$")
_HOPS = 3


def provenance(workspace: Workspace, file: GoFile, node: Node | None, use: Node, hops: int = 0) -> Provenance:
    """Return where the object in `node` was last filled before `use`."""
    stripped = syntax.strip(node)
    if stripped is None:
        return Provenance.UNKNOWN
    if stripped.type == "composite_literal":
        return Provenance.BUILT
    parts = syntax.selector(stripped)
    if stripped.type in ("call_expression", "type_conversion_expression"):
        return _of_call(workspace, file, stripped, hops)
    if not parts:
        return Provenance.UNKNOWN
    if "[]" in parts:
        return Provenance.LIST_ITEM if "Items" in parts else _of_indexed(workspace, file, stripped)
    event = _last_event(workspace, file, parts, use)
    if event is not None:
        return event
    if len(parts) > 1:
        return Provenance.SHARED if _SHARED_FIELD.match(parts[-1]) else Provenance.UNKNOWN
    return _of_definition(workspace, file, stripped, hops)


def _last_event(workspace: Workspace, file: GoFile, parts: list[str], use: Node) -> Provenance | None:
    """Look for the last read into, or write of, the variable that certainly ran before the use."""
    outer = outermost_function(use)
    if outer is None:
        return None
    for call in reversed(syntax.calls(outer)):
        if call.end_byte > use.start_byte or not syntax.inside(use, runs_in(call)):
            continue
        operand, name = syntax.callee(call)
        args = syntax.arguments(call)
        if operand is None:
            continue
        if name == "Get" and len(args) >= 3 and syntax.selector(args[2]) == parts:
            return read_kind(operand)
        if name == "List" and len(args) >= 2 and syntax.selector(args[1]) == parts:
            return Provenance.LIST_ITEM
        written = name in ("Update", "Patch", "Create") and len(args) >= 2 and syntax.selector(args[1]) == parts
        if written and recognise(workspace, file, call) is not None:
            return Provenance.JUST_WRITTEN
    return None


def read_kind(operand: Node) -> Provenance:
    """Tell a live reader from a cached one by its name: `r.APIReader.Get`, client-go's typed getters are live."""
    source = text(operand)
    if _LIVE.search(source) or re.search(r"V\d+\w*\(\)", source):
        return Provenance.LIVE_GET
    return Provenance.CACHED_GET


def _of_call(workspace: Workspace, file: GoFile, call: Node, hops: int) -> Provenance:
    operand, name = syntax.callee(call)
    if name in ("DeepCopy", "DeepCopyObject") and operand is not None:
        return provenance(workspace, file, operand, call, hops)
    if name == "Get" and operand is not None:
        source = text(operand)
        return Provenance.CACHED_GET if re.search(r"[Ll]ister", source) else read_kind(operand)
    if name in ("Update", "Patch", "Create", "UpdateStatus") and operand is not None:
        return Provenance.JUST_WRITTEN
    args = [syntax.selector(arg) for arg in syntax.arguments(call)]
    if any(parts and _SHARED_FIELD.match(parts[-1]) for parts in args) or re.search(r"Resource(As)?$", name):
        return Provenance.SHARED
    return Provenance.UNKNOWN


def _of_indexed(workspace: Workspace, file: GoFile, node: Node) -> Provenance:
    base = syntax.field(node, "operand") if node.type == "index_expression" else None
    kind = type_of(workspace, file, base) if base is not None else None
    return Provenance.LIST_ITEM if kind is None or kind.slice else Provenance.UNKNOWN


def _of_definition(workspace: Workspace, file: GoFile, node: Node, hops: int) -> Provenance:
    reaching = definitions(workspace, file, text(node), node)
    for definition in reversed(reaching):
        if definition.how is How.RANGE:
            return Provenance.LIST_ITEM
        if definition.how is How.PARAMETER:
            return _of_parameter(workspace, definition.file, definition.node, text(node), hops)
        if definition.value is None:
            continue
        stripped = syntax.strip(definition.value)
        if stripped is not None and stripped.type == "composite_literal":
            return Provenance.BUILT
        if stripped is not None:
            return provenance(workspace, definition.file, stripped, definition.node, hops)
    return Provenance.UNKNOWN


def _of_parameter(workspace: Workspace, file: GoFile, node: Node, name: str, hops: int) -> Provenance:
    function = file.function_at(node.child_by_field_name("body") or node)
    position = function.parameter_index(name) if function else None
    if function is None or position is None or hops >= _HOPS or node.type == "func_literal":
        return Provenance.PARAMETER
    answers = set()
    for caller, call in workspace.callers(function)[:20]:
        args = syntax.arguments(call)
        if position < len(args):
            answers.add(provenance(workspace, caller, args[position], call, hops + 1))
    answers.discard(Provenance.UNKNOWN)
    return answers.pop() if len(answers) == 1 else Provenance.PARAMETER
