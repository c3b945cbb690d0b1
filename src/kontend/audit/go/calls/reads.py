"""Calls that read an object from the API: a client's `Get`, or a function of the audited code that makes one.

`FetchObject(r.Client, namespace, name, obj)` fills `obj` just as `r.Get(ctx, key, obj)` does, and so does a function
that only asks whether the object exists.
"""

from __future__ import annotations

import re

from kontend.audit.go.source import syntax
from kontend.audit.go.source.package import GoFile, GoFunction
from kontend.audit.go.source.syntax import Node, text
from kontend.audit.go.source.types import resolve_function
from kontend.audit.go.source.workspace import Workspace
from kontend.audit.site import Provenance

_LIVE = re.compile(r"api.?reader|live|uncached|direct|nocache|no_cache", re.IGNORECASE)
_HOPS = 3


def read_kind(operand: Node) -> Provenance:
    """Tell a live reader from a cached one by its name: `r.APIReader.Get`, client-go's typed getters are live."""
    source = text(operand)
    if _LIVE.search(source) or re.search(r"V\d+\w*\(\)", source):
        return Provenance.LIVE_GET
    return Provenance.CACHED_GET


def read_into(workspace: Workspace, file: GoFile, call: Node, parts: list[str], hops: int = 0) -> Provenance | None:
    """Return how a call reads into the object that `parts` names, or None when it does not."""
    operand, name = syntax.callee(call)
    args = syntax.arguments(call)
    if name == "Get" and operand is not None and len(args) >= 3 and syntax.selector(args[2]) == parts:
        return read_kind(operand)
    if name == "List" and operand is not None and len(args) >= 2 and syntax.selector(args[1]) == parts:
        return Provenance.LIST_ITEM
    position = next((at for at, arg in enumerate(args) if syntax.selector(arg) == parts), None)
    if position is None or hops >= _HOPS:
        return None
    function = resolve_function(workspace, file, call)
    return _parameter_read(workspace, function, position, hops + 1) if function is not None else None


@syntax.remembered(4096)
def _parameter_read(workspace: Workspace, function: GoFunction, position: int, hops: int) -> Provenance | None:
    """Return how a function reads into the object in one of its parameters."""
    if function.body is None or position >= len(function.parameters):
        return None
    name = function.parameters[position][0]
    if not name or name == "_":
        return None
    for call in syntax.calls(function.body):
        kind = read_into(workspace, function.file, call, [name], hops)
        if kind is not None:
            return kind
    return None
