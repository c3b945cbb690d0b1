"""Calls of helpers that write for their caller: `MutateAndPatchStatus(ctx, c, obj, func(o) {...})`, `UpdateStatus(c,
obj)`.

A helper that takes the object, and takes the change as a function or makes none itself, is only a verb: what is
written, from which read, in which retry and with what error handling is decided where it is called. So each call is a
site too, marked with `via`, with the lock that the helper uses.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from kontend.audit.go.classify import Classified
from kontend.audit.go.error_handling import error_use
from kontend.audit.go.mutations import Mutation, mutations
from kontend.audit.go.provenance import provenance, runs_while_deleting
from kontend.audit.go.retries import retry_around
from kontend.audit.go.source import syntax
from kontend.audit.go.source.package import GoFile, GoFunction, parameters
from kontend.audit.go.source.scope import outermost_function
from kontend.audit.go.source.scope import targets as assigned
from kontend.audit.go.source.syntax import Node, line, text
from kontend.audit.go.source.types import callers, type_of
from kontend.audit.go.source.workspace import Workspace
from kontend.audit.site import BaseOrigin, Fact, Location, Role, Site, Target, Verb


def helper_calls(workspace: Workspace, found: list[Classified], roles: dict[str, Role]) -> Iterator[Site]:
    """Yield a site for every call of a function that writes on behalf of its caller."""
    seen: set[int] = set()
    rejected: set[tuple[int, str, Verb, BaseOrigin]] = set()
    for each in found:
        function = each.write.file.function_at(each.write.call)
        if function is None or id(function) in seen:
            continue
        asked = (id(function), text(each.write.object), each.site.verb, each.site.base.origin)
        if asked in rejected:
            continue
        helper = _as_helper(workspace, each, function)
        if helper is None:
            rejected.add(asked)
            continue
        seen.add(id(function))
        position, callback = helper
        for file, call in callers(workspace, function):
            yield _site(
                workspace, each, function, file, call, position, callback, roles.get(file.path, Role.PRODUCTION)
            )


def _as_helper(workspace: Workspace, each: Classified, function: GoFunction) -> tuple[int, int | None] | None:
    """Return the positions of the object and of the change, when a function only writes for others."""
    site = each.site
    if site.base.origin is BaseOrigin.PARAMETER:
        return None
    if site.verb is Verb.CREATE_OR_UPDATE:  # the change is whatever the callback given to the helper does
        callback = _callback(function)
        return (-1, callback) if callback is not None and not site.fields else None
    if site.verb not in (Verb.UPDATE, Verb.PATCH):
        return None
    parts = syntax.selector(each.write.object)
    position = function.parameter_index(parts[0]) if len(parts) == 1 else None
    if position is None or function.body is None:
        return None
    callback = _callback(function)
    if callback is not None:
        return position, callback
    if mutations(workspace, function.file, function.body, parts[0]):
        return None
    kind = function.file.type_of_node(function.parameters[position][1], function.type_parameters)
    anything = kind is not None and kind.name in ("Object", "Unstructured")
    return (position, None) if anything and not function.receiver_type else None


def _callback(function: GoFunction) -> int | None:
    """Return the position of a parameter of function type that the body calls."""
    for position, (name, kind) in enumerate(function.parameters):
        if kind.type != "function_type" or function.body is None or not name:
            continue
        if any(syntax.callee(call) == (None, name) for call in syntax.calls(function.body)):
            return position
    return None


def _site(
    workspace: Workspace,
    each: Classified,
    function: GoFunction,
    file: GoFile,
    call: Node,
    position: int,
    callback: int | None,
    role: Role,
) -> Site:
    args = syntax.arguments(call)
    target = args[position] if 0 <= position < len(args) else None
    change = args[callback] if callback is not None and callback < len(args) else None
    changed = _changes(workspace, file, call, target, change)
    kind = type_of(workspace, file, target)
    around = file.function_at(call)
    base = each.site.base
    if callback is not None:
        base = replace(base, origin=BaseOrigin.HELPER)
    targets = each.site.targets
    if each.site.verb is Verb.CREATE_OR_UPDATE or Target.STATUS not in targets:
        targets = tuple(part for part in Target if any(found.target is part for found in changed)) or targets
    listed = [change for change in changed if change.target in (Target.FINALIZERS, Target.OWNER_REFERENCES)]
    code = " ".join(text(call).split())
    return replace(
        each.site,
        path=file.path,
        line=line(call),
        end_line=call.end_point[0] + 1,
        function=around.label if around else "",
        code=code,
        call=function.name,
        targets=targets,
        object=text(target) or each.site.object,
        kind=kind.name if kind else each.site.kind if target is None else "",
        client="",
        base=replace(base, path=base.path or each.site.path) if base.line else base,
        provenance=provenance(workspace, file, target, call),
        retry=retry_around(workspace, file, call, target),
        error=error_use(call),
        fields=tuple(sorted({change.path for change in changed if change.target in targets and change.path})),
        lists=tuple(sorted({change.path for change in changed if change.is_list and change.target in targets})),
        via=function.name,
        role=role,
        facts=tuple(_dropped_early(workspace, file, call, target, change)) if change is not None else (),
        comment="",
        conditions=tuple(sorted({mutation.condition for mutation in changed if mutation.condition})),
        removal=bool(listed) and all(mutation.removal for mutation in listed),
        deleting=runs_while_deleting(workspace, file, call),
        helper=Location(each.site.path, each.site.line, function.label),
        read_line=0,
    )


def _changes(
    workspace: Workspace, file: GoFile, call: Node, target: Node | None, change: Node | None
) -> list[Mutation]:
    if change is not None and change.type == "func_literal":
        names = [name for name, _ in parameters(change)] or [syntax.root_identifier(target)]
        if target is None:
            names = sorted(
                {syntax.root_identifier(left) for each in syntax.assignments(change) for left in assigned(each)}
            )
        return [found for name in names for found in mutations(workspace, file, change, name)]
    outer = outermost_function(call)
    name = syntax.root_identifier(target)
    return mutations(workspace, file, outer, name, before=call.start_byte) if outer is not None and name else []


def _dropped_early(workspace: Workspace, file: GoFile, call: Node, target: Node | None, change: Node) -> list[Fact]:
    """A helper that snapshots on entry never sends what its caller changed just before the call."""
    outer = outermost_function(call)
    name = syntax.root_identifier(target)
    statement = syntax.enclosing(
        call, "expression_statement", "short_var_declaration", "assignment_statement", "return_statement"
    )
    previous = syntax.previous(statement) if statement is not None else None
    if outer is None or previous is None or not name or change.type != "func_literal":
        return []
    early = [
        each
        for each in mutations(workspace, file, previous, name)
        if each.node == previous or each.node.parent == previous
    ]
    if not early or early[-1].path.startswith("metadata"):
        return []
    said = f"{early[-1].path} is changed at :{line(early[-1].node)}, before the helper takes its snapshot"
    return [Fact("base-after-mutation", line(early[-1].node), said)]
