"""Calls of helpers that write for their caller: `MutateAndPatchStatus(ctx, c, obj, func(o) {...})`, `UpdateStatus(c,
obj)`.

A helper that takes the object, and takes the change as a function or makes none itself, is only a verb: what is
written, from which read, in which retry and with what error handling is decided where it is called. So each call is a
site too, marked with `via`, with the lock that the helper uses.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from kontend.audit.go.classify import Classified, paths_of
from kontend.audit.go.error_handling import conflict_branch, error_use
from kontend.audit.go.handed_functions import Callback, callback_calls, function_values, handed, parts_given
from kontend.audit.go.mutations import Mutation, mutations
from kontend.audit.go.provenance import provenance, runs_while_deleting
from kontend.audit.go.retries import retry_around
from kontend.audit.go.source import syntax
from kontend.audit.go.source.package import FunctionKey, GoFile, GoFunction, parameters
from kontend.audit.go.source.scope import outermost_function
from kontend.audit.go.source.scope import targets as assigned
from kontend.audit.go.source.syntax import Node, line, text
from kontend.audit.go.source.types import callers, type_of
from kontend.audit.go.source.workspace import Workspace
from kontend.audit.site import BaseOrigin, Content, ErrorUse, Fact, Location, Provenance, Role, Site, Target, Verb

_LEVELS = 3
"""Helpers of helpers are followed this far from the write."""


@dataclass(frozen=True, slots=True)
class Helper:
    """A function that writes for its callers: which arguments are the object and the change, and the calls below."""

    function: GoFunction
    position: int
    callback: Callback | None
    chain: tuple[Location, ...] = ()


def helper_calls(
    workspace: Workspace, writes: list[Classified], roles: dict[str, Role], seen: set[FunctionKey]
) -> Iterator[Site]:
    """Yield a site for every call of a function that writes on behalf of its caller, helpers of helpers included.

    `seen` holds the helpers whose calls were given already, also for the writes of other files.
    """
    rejected: set[tuple[FunctionKey, str, Verb, BaseOrigin]] = set()
    for write in writes:
        function = write.write.file.function_at(write.write.call)
        if function is None or function.key in seen:
            continue
        asked = (function.key, text(write.write.object), write.site.verb, write.site.base.origin)
        if asked in rejected:
            continue
        helper = _as_helper(workspace, write, function)
        if helper is None:
            rejected.add(asked)
            continue
        seen.add(function.key)
        yield from _calls_of(workspace, write, helper, roles, seen)


def _calls_of(
    workspace: Workspace, write: Classified, helper: Helper, roles: dict[str, Role], seen: set[FunctionKey]
) -> Iterator[Site]:
    for file, call in callers(workspace, helper.function):
        yield _site(workspace, write, helper, file, call, roles.get(file.path, Role.PRODUCTION))
        outer = _forwarding(helper, file, call) if len(helper.chain) < _LEVELS else None
        if outer is not None and outer.function.key not in seen:
            seen.add(outer.function.key)
            yield from _calls_of(workspace, write, outer, roles, seen)


def _forwarding(helper: Helper, file: GoFile, call: Node) -> Helper | None:
    """Return the function around a call of a helper, when the change that it passes on is its caller's."""
    around, args = file.function_at(call), syntax.arguments(call)
    if around is None or helper.callback is None or helper.callback.position >= len(args):
        return None
    change = args[helper.callback.position]
    if change.type == "variadic_argument":
        change = next(iter(syntax.children(change)), change)
    called = {text(change): helper.callback.parts} if change.type == "identifier" else {}
    if change.type == "func_literal":
        called = {
            name: {**parts_given(inner), **{at: [*path] for at, path in helper.callback.parts.items()}}
            for inner in syntax.calls(change)
            for operand, name in [syntax.callee(inner)]
            if operand is None
        }
    passed = next((index for index, (name, _) in enumerate(around.parameters) if name and name in called), None)
    if passed is None:
        return None
    callback = Callback(passed, called[around.parameters[passed][0]], helper.callback.repeated)
    target = args[helper.position] if 0 <= helper.position < len(args) else None
    position = around.parameter_index(syntax.root_identifier(target))
    place = Location(file.path, line(call), around.label)
    return Helper(around, -1 if position is None else position, callback, (*helper.chain, place))


def _as_helper(workspace: Workspace, write: Classified, function: GoFunction) -> Helper | None:
    """Return the helper that a function is, when it only writes for others."""
    site = write.site
    if site.base.origin is BaseOrigin.PARAMETER:
        return None
    if site.verb is Verb.CREATE_OR_UPDATE:  # the change is whatever the callback given to the helper does
        callback = _callback(function)
        return Helper(function, -1, callback) if callback is not None and not site.content.fields else None
    if site.verb not in (Verb.UPDATE, Verb.PATCH, Verb.APPLY):
        return None
    parts = syntax.selector(write.write.object)
    if not parts or function.body is None:
        return None
    position = function.parameter_index(parts[0]) if len(parts) == 1 else None
    callback = _callback(function, parts[0])
    if callback is not None:
        return Helper(function, -1 if position is None else position, callback)
    if position is None or site.verb is Verb.APPLY:
        return None
    if mutations(workspace, function.file, function.body, parts[0]):
        return None
    kind = function.file.type_of_node(function.parameters[position][1], function.type_parameters)
    anything = kind is not None and kind.name in ("Object", "Unstructured")
    return Helper(function, position, None) if anything and not function.receiver_type else None


_QUESTION = re.compile(
    r"(?i)equal|compare|predicate|match|filter|should|needs|skip|semantic|valid|^is[A-Z_]|^has[A-Z_]"
)
"""Callbacks that answer a question about the object instead of changing it."""


def _callback(function: GoFunction, changed: str = "") -> Callback | None:
    """Return the parameter that the body calls with an object, or with nothing that it could change instead."""
    for position, (name, kind) in enumerate(function.parameters):
        if function.body is None or not name or _QUESTION.search(name) or _QUESTION.search(text(kind)):
            continue
        for call, repeated in callback_calls(function, name):
            given = [syntax.root_identifier(argument) for argument in syntax.arguments(call)]
            if not changed or changed in given or set(given) <= {"ctx"}:
                return Callback(position, parts_given(call), repeated)
    return None


def _site(workspace: Workspace, write: Classified, helper: Helper, file: GoFile, call: Node, role: Role) -> Site:
    args = syntax.arguments(call)
    function, position, callback = helper.function, helper.position, helper.callback
    target = args[position] if 0 <= position < len(args) else None
    change = args[callback.position] if callback is not None and callback.position < len(args) else None
    changed = _changes(workspace, file, call, target, callback if change is not None else None)
    kind = type_of(workspace, file, target)
    around = file.function_at(call)
    base = write.site.base
    if callback is not None:
        base = replace(base, origin=BaseOrigin.HELPER)
    targets = write.site.content.targets
    if write.site.verb is Verb.CREATE_OR_UPDATE or Target.STATUS not in targets:
        targets = tuple(part for part in Target if any(mutation.target is part for mutation in changed)) or targets
    listed = [change for change in changed if change.target in (Target.FINALIZERS, Target.OWNER_REFERENCES)]
    code = " ".join(text(call).split())
    return replace(
        write.site,
        place=replace(
            write.site.place,
            path=file.path,
            line=line(call),
            end_line=call.end_point[0] + 1,
            function=around.label if around else "",
            code=code,
            role=role,
            comment="",
        ),
        resource=replace(
            write.site.resource, kind=kind.name if kind else write.site.resource.kind if target is None else ""
        ),
        content=Content(
            targets,
            fields=paths_of(change for change in changed if change.target in targets),
            lists=paths_of(change for change in changed if change.is_list and change.target in targets),
            recomputed=paths_of(change for change in changed if change.recomputed and change.target in targets),
            conditions=tuple(sorted({mutation.condition for mutation in changed if mutation.condition})),
            removal=bool(listed) and all(mutation.removal for mutation in listed),
        ),
        route=replace(
            write.site.route,
            via=function.name,
            helper=Location(write.site.place.path, write.site.place.line, function.label),
            chain=helper.chain,
        ),
        making=replace(write.site.making, creates_or_patches=callback is not None and _creates(write)),
        call=function.name,
        object=text(target) or write.site.object,
        client="",
        base=replace(base, path=base.path or write.site.place.path) if base.line else base,
        provenance=provenance(workspace, file, target, call),
        retry=retry_around(workspace, file, call, target),
        error=error_use(call) if _returns_error(function) else ErrorUse.HANDLED,
        conflict_branch=conflict_branch(call),
        facts=tuple(_dropped_early(workspace, file, call, target, change)) if change is not None else (),
        deleting=runs_while_deleting(workspace, file, call),
        read_line=0,
    )


def _creates(write: Classified) -> bool:
    """Decide whether the function of a write reads the object and creates it where it is missing."""
    function = write.write.file.function_at(write.write.call)
    read = write.site.provenance in (Provenance.CACHED_GET, Provenance.LIVE_GET)
    calls = syntax.calls(function.body) if function is not None and function.body is not None else ()
    return read and any(syntax.callee(call)[1] == "Create" for call in calls)


def _returns_error(function: GoFunction) -> bool:
    return any(syntax.mentions(result, "error") for result in function.results)


def _changes(
    workspace: Workspace, file: GoFile, call: Node, target: Node | None, callback: Callback | None
) -> list[Mutation]:
    if callback is None:
        outer = outermost_function(call)
        name = syntax.root_identifier(target)
        return mutations(workspace, file, outer, name, before=call.start_byte) if outer is not None and name else []
    return [
        mutation
        for value in handed(call, callback)
        for where, change in function_values(workspace, file, value)
        for mutation in _of_change(workspace, where, change, target, callback)
    ]


def _of_change(
    workspace: Workspace, file: GoFile, change: Node, target: Node | None, callback: Callback
) -> list[Mutation]:
    """Return what a function that is handed to a helper changes of the object that the helper writes."""
    own = [(position, name) for position, (name, _) in enumerate(parameters(change)) if name not in ("", "_")]
    if own:
        changed = [
            mutation
            for position, name in own
            for mutation in mutations(workspace, file, change, name, part=callback.parts.get(position, ()))
        ]
        outside, *field = syntax.selector(target) or [""]
        if outside and outside not in dict(parameters(change)):  # the object itself is in sight of a literal, too
            changed += mutations(workspace, file, change, outside, field=field)
        return changed
    names = [syntax.root_identifier(target)]
    if target is None:
        names = sorted(
            {syntax.root_identifier(left) for assignment in syntax.assignments(change) for left in assigned(assignment)}
        )
    return [mutation for name in names for mutation in mutations(workspace, file, change, name)]


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
        mutation
        for mutation in mutations(workspace, file, previous, name)
        if mutation.node == previous or mutation.node.parent == previous
    ]
    if not early or early[-1].path.startswith("metadata"):
        return []
    said = f"{early[-1].path} is changed at :{line(early[-1].node)}, before the helper takes its snapshot"
    return [Fact("base-after-mutation", line(early[-1].node), said)]
