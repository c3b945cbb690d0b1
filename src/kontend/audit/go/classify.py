"""From a recognised Go call to a classified `Site`.

Each question is answered by its own module (`bases`, `mutations`, `provenance`, `versions`, `retries`,
`error_handling`, `hazards`); this one asks them in order and puts the answers together.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from kontend.audit.go.bases import PatchSource, from_data, patch_type, resolve, together
from kontend.audit.go.calls.write import VERBS, Dialect, Write
from kontend.audit.go.error_handling import conflict_branch, error_use
from kontend.audit.go.hazards import hazards
from kontend.audit.go.lockable import insertion, obstacle
from kontend.audit.go.mutations import Mutation, mutations
from kontend.audit.go.provenance import provenance, read_line, runs_while_deleting
from kontend.audit.go.retries import retry_around
from kontend.audit.go.separate_reads import separately_read
from kontend.audit.go.source import syntax
from kontend.audit.go.source.package import GoFile, GoFunction, GoType
from kontend.audit.go.source.scope import How, definitions, may_reach, outermost_function, runs_in
from kontend.audit.go.source.scope import targets as assigned
from kontend.audit.go.source.syntax import Node, line, text
from kontend.audit.go.source.types import resolve_function, type_of
from kontend.audit.go.source.workspace import Workspace
from kontend.audit.go.versions import replaces_created, without_version
from kontend.audit.site import (
    Base,
    BaseOrigin,
    Content,
    Lock,
    Making,
    Obstacle,
    PatchType,
    Place,
    Provenance,
    Resource,
    Retry,
    Role,
    Route,
    Site,
    Target,
    Verb,
)

_REMOVES = re.compile(r"(?i)(remove|strip|drop|clear)\w*finalizer")
_ADDS = re.compile(r"(?i)(add|ensure|insert)\w*finalizer|set\w*finalizer\b|append\([\w.()]*finalizers")
_UNORDERED = (Lock.UNLOCKED, Lock.MIXED)
_INTENT = re.compile(
    r"(?i)intentional|not status|on purpose|deliberate|no optimistic lock|without (an )?optimistic"
    r"|only touch(es)? (our|its)"
    r"|(our|its) own fields|sole writer|only writer|never clobber"
)


@dataclass(frozen=True, slots=True)
class Classified:
    """A site with the syntax it came from, for the analyses that look across sites."""

    site: Site
    write: Write
    made: tuple[PatchSource, ...]
    changed: tuple[Mutation, ...]


def classify(workspace: Workspace, write: Write, role: Role) -> Classified:
    """Classify one write."""
    file, call = write.file, write.call
    made = _made(workspace, write)
    source = provenance(workspace, file, write.object, call)
    lock, kind = _lock(workspace, write, made, source)
    verb = Verb.APPLY if kind is PatchType.APPLY or lock is Lock.OWNED else write.verb
    changed = _changed(workspace, write, made)
    targets = _targets(write, verb, changed)
    object_type = type_of(workspace, file, write.object)
    function = file.function_at(call)
    facts = hazards(workspace, write, made, changed, source, lock)
    deleting = runs_while_deleting(workspace, file, call) or _finalized(workspace, file, changed)
    retry = retry_around(workspace, file, call, write.object)
    apart = separately_read(workspace, write, made, source)
    site = Site(
        place=Place(
            language="go",
            path=file.path,
            line=line(call),
            end_line=call.end_point[0] + 1,
            function=function.label if function else "",
            code=" ".join(text(call).split()),
            role=role,
            comment=_comment(workspace, write, made),
        ),
        resource=_resource(workspace, write, object_type),
        content=Content(
            targets,
            fields=paths_of(change for change in changed if change.target in targets),
            lists=paths_of(change for change in changed if change.is_list and change.target in targets),
            recomputed=paths_of(change for change in changed if change.recomputed and change.target in targets),
            conditions=tuple(sorted({change.condition for change in changed if change.condition})),
            removal=_only_removes(changed, deleting=deleting) or bool(function and _REMOVES.search(function.name)),
        ),
        route=Route(of_client=function is not None and _of_client(function)),
        making=Making(
            owner_reference=_owner_reference(workspace, write, changed),
            replaces_created=lock is Lock.UNLOCKED and replaces_created(workspace, write),
        ),
        call=_short_call(write),
        verb=verb,
        lock=lock,
        object=_one_line(text(write.object)),
        client=text(write.receiver),
        patch_type=kind,
        base=replace(_base(workspace, file, made, lock), read_apart=separately_read(workspace, write, made, source)),
        provenance=source,
        retry=retry,
        error=error_use(call),
        facts=tuple(facts),
        conflict_branch=conflict_branch(call),
        deleting=deleting,
        read_line=read_line(workspace, file, write.object, call),
        obstacle=_obstacle(workspace, write, made, retry, apart=apart) if lock in _UNORDERED else Obstacle.NONE,
    )
    return Classified(site, write, tuple(made), tuple(changed))


def paths_of(changes: Iterable[Mutation]) -> tuple[str, ...]:
    """Return the paths that changes are known to be of, once each."""
    return tuple(sorted({change.path for change in changes if change.path}))


def _resource(workspace: Workspace, write: Write, kind: GoType | None) -> Resource:
    file = write.file
    return Resource(
        kind=kind.name if kind else _kind_in_chain(write),
        subresource=write.subresource,
        custom=_custom(workspace, file, kind),
        group=_group(kind),
        local_kind=kind is not None and workspace.directory_of(kind.package, file.directory) is not None,
    )


def _obstacle(
    workspace: Workspace, write: Write, made: list[PatchSource], retry: Retry | None, *, apart: bool
) -> Obstacle:
    found = obstacle(workspace, write, made, retry)
    # A lock sends the version of the base, which the retry does not read again: every attempt would be refused.
    return Obstacle.STALE_BASE if found is Obstacle.NONE and apart else found


def _custom(workspace: Workspace, file: GoFile, kind: GoType | None) -> bool | None:
    """Decide whether a type is of a custom resource: the types of Kubernetes itself are in modules of `k8s.io`.

    Other modules may serve their types from an aggregated API server, which may allow what a custom resource does not,
    so only a type that the audited tree declares counts.
    """
    if kind is None or not kind.package or kind.name in ("Object", "Unstructured"):
        return None
    if kind.package.startswith("k8s.io/"):
        return False
    struct = workspace.type(kind, file.directory)
    return True if struct is not None and "ObjectMeta" in struct.fields else None


def _group(kind: GoType | None) -> str:
    """Return the group that the package of a type stands for: `core` of `apis/core/v1beta1`, nothing of `api/v1`."""
    parts = [part for part in (kind.package.removeprefix("dir:") if kind is not None else "").split("/") if part]
    if parts and re.fullmatch(r"v\d+((alpha|beta)\d+)?", parts[-1]):
        parts.pop()
    return parts[-1] if parts and parts[-1] not in ("api", "apis", "types") else ""


def _of_client(function: GoFunction) -> bool:
    """Recognise a method that a client must have: `func (c *client) Patch(ctx, obj, patch, opts...)`."""
    named = function.name in VERBS and bool(function.receiver_type)
    return named and len(function.parameters) > 1 and text(function.parameters[0][1]).endswith("Context")


def _one_line(source: str) -> str:
    joined = " ".join(source.split())
    return joined if len(joined) <= 60 else joined[:57] + "..."


def _finalized(workspace: Workspace, file: GoFile, changed: list[Mutation]) -> bool:
    """Decide whether finalizers change only where the object is being deleted, though the write may run at any time."""
    listed = [change for change in changed if change.target is Target.FINALIZERS]
    return bool(listed) and all(
        change.removal and runs_while_deleting(workspace, file, change.node) for change in listed
    )


def _only_removes(changed: list[Mutation], *, deleting: bool) -> bool:
    """Decide whether entries are only taken away; finalizers of an object that is being deleted cannot be added."""
    listed = [change for change in changed if change.target in (Target.FINALIZERS, Target.OWNER_REFERENCES)]
    return bool(listed) and all(
        change.removal or (deleting and change.target is Target.FINALIZERS and not _ADDS.search(text(change.node)))
        for change in listed
    )


def _owner_reference(workspace: Workspace, write: Write, changed: list[Mutation]) -> bool | None:
    """Decide whether a created object carries an owner reference; None where its making cannot be seen."""
    if write.verb not in (Verb.CREATE, Verb.UPDATE):
        return None
    if any(change.target is Target.OWNER_REFERENCES for change in changed):
        return True
    node = syntax.strip(write.object)
    if node is not None and node.type == "identifier":
        reaching = definitions(workspace, write.file, text(node), node)
        node = syntax.strip(reaching[0].value) if len(reaching) == 1 and reaching[0].how is How.VALUE else None
    if node is None:
        return None
    if node.type == "composite_literal":
        source = text(node)
        if re.search(r"OwnerReferences\s*:", source):
            return True
        return False if re.search(r"\bNamespace\s*:", source) else None
    if node.type == "call_expression":
        function = resolve_function(workspace, write.file, node)
        body = text(function.body) if function is not None else ""
        return True if re.search(r"OwnerRef|ControllerRef", body) else None
    return None


def _made(workspace: Workspace, write: Write) -> list[PatchSource]:
    """Return where the patch is made; client-go is handed raw bytes and their type."""
    if write.patch is None:
        return []
    if write.dialect is Dialect.CLIENT_GO:
        return [from_data(workspace, write.file, write.patch, patch_type(text(write.options[0])), write.patch, 0)]
    return resolve(workspace, write.file, write.patch)


def _lock(
    workspace: Workspace, write: Write, made: list[PatchSource], source: Provenance
) -> tuple[Lock, PatchType | None]:
    if write.dialect is Dialect.LIBRARY:
        return Lock.MERGED, PatchType.MERGE
    if write.verb is Verb.PATCH:
        if write.dialect is Dialect.CLIENT_GO:
            return together(made), patch_type(text(write.options[0]))
        return together(made), made[0].patch_type if made else PatchType.UNKNOWN
    if write.verb is Verb.APPLY:
        return Lock.OWNED, PatchType.APPLY
    if write.method == "CreateOrPatch":  # two plain merge patches, of the object and of its status
        return Lock.UNLOCKED, PatchType.MERGE
    if write.verb is Verb.CREATE_OR_UPDATE:
        return Lock.VERSIONED, None
    if write.verb is Verb.UPDATE:
        return (Lock.UNLOCKED if without_version(workspace, write, source) else Lock.VERSIONED), None
    if write.verb is Verb.DELETE and any(syntax.mentions(option, "Preconditions") for option in write.options):
        return Lock.LOCKED, None
    return Lock.NONE, None


def window_start(workspace: Workspace, write: Write, made: list[PatchSource]) -> int:
    """Return the byte from which changes of the object count: after its snapshot, or after the write before this
    one."""
    outer = outermost_function(write.call)
    start = 0
    if outer is None:
        return start
    parts = syntax.selector(write.object)
    for source in made:
        if source.file is not write.file or not syntax.inside(source.node, outer) or source.snapshot is None:
            continue
        copied = syntax.strip(source.snapshot)
        if copied is not None and copied.type == "identifier":
            taken = [
                definition.node.start_byte
                for definition in definitions(workspace, write.file, text(copied), copied)
                if definition.how is How.VALUE and syntax.takes_copy(definition.value)
            ]
            start = max([start, *taken])
        elif syntax.takes_copy(source.snapshot):
            start = max(start, source.node.start_byte)
    if write.dialect is Dialect.LIBRARY:
        return _helper_made(outer, write)
    if not made:
        for call in syntax.nearby_calls(outer, write.call):
            if call.end_byte > write.call.start_byte or not syntax.inside(write.call, runs_in(call)):
                continue
            args = syntax.arguments(call)
            name = syntax.callee(call)[1]
            if name in ("Update", "Patch") and len(args) >= 2 and syntax.selector(args[1]) == parts:
                start = max(start, call.end_byte)
    return start


def _helper_made(outer: Node, write: Write) -> int:
    """Return the byte after which a patch library's helper notices changes: where it was made for the object."""
    parts, start = syntax.selector(write.object), 0
    for call in syntax.nearby_calls(outer, write.call):
        if call.end_byte <= write.call.start_byte and syntax.callee(call)[1] in ("NewHelper", "NewSerialPatcher"):
            args = syntax.arguments(call)
            if args and syntax.selector(args[0]) == parts:
                start = call.end_byte
    return start


def _changed(workspace: Workspace, write: Write, made: list[PatchSource]) -> list[Mutation]:
    outer = outermost_function(write.call)
    name, *field = syntax.selector(write.object) or [""]
    if "[]" in field:
        field = []
    if outer is None or not name:
        return []
    if write.dialect is Dialect.CONTROLLERUTIL:
        literal = next((option for option in write.options if option.type == "func_literal"), None)
        return mutations(workspace, write.file, literal, name) if literal is not None else []
    start = window_start(workspace, write, made)
    if _deferred(write.call):
        return mutations(workspace, write.file, outer, name, before=outer.end_byte, after=start, field=field)
    changes = mutations(workspace, write.file, outer, name, before=write.call.start_byte, after=start, field=field)
    return [change for change in changes if may_reach(change.node, write.call)]


def _status_kept(write: Write) -> bool:
    """Decide whether the status is kept for another write: one that follows, or one by the caller."""
    outer, parts = outermost_function(write.call), syntax.selector(write.object)
    if outer is None or not parts:
        return False
    restored = syntax.between(syntax.assignments(outer), write.call.end_byte, outer.end_byte)
    if any(syntax.selector(target) == [*parts, "Status"] for change in restored for target in assigned(change)):
        return True
    for call in syntax.nearby_calls(outer, write.call):
        operand, name = syntax.callee(call)
        args = syntax.arguments(call)
        later = call.start_byte > write.call.end_byte and name in ("Update", "Patch", "UpdateStatus") and len(args) > 1
        if (
            later
            and (syntax.mentions(operand, "Status") or name == "UpdateStatus")
            and syntax.selector(args[1]) == parts
        ):
            return True
    return False


def _deferred(call: Node) -> bool:
    """Recognise a write in a deferred function, which sends what the rest of the function changes."""
    return any(parent.type == "defer_statement" for parent in syntax.ancestors(call))


def _targets(write: Write, verb: Verb, changed: list[Mutation]) -> tuple[Target, ...]:
    if write.subresource == "status":
        return (Target.STATUS,)
    if write.dialect is Dialect.LIBRARY:
        parts = {change.target for change in changed} | {Target.STATUS, Target.LABELS, Target.SPEC}
        return tuple(part for part in Target if part in parts)
    if write.verb in (Verb.CREATE, Verb.DELETE):
        return (Target.OBJECT,)
    if write.dialect is Dialect.CLIENT_GO and write.verb is Verb.PATCH:
        return (Target.OBJECT,)
    if write.subresource:
        return (Target.SPEC,) if write.subresource == "scale" else (Target.OBJECT,)
    parts = {change.target for change in changed}
    if verb is Verb.APPLY or not parts:
        return (Target.OBJECT,)
    if parts == {Target.STATUS} and _status_kept(write):
        return (Target.OBJECT,)  # the status that was set is kept for the write that follows
    if (
        len(parts) > 1 and write.method != "CreateOrPatch"
    ):  # the main resource does not carry status where the subresource exists
        parts.discard(Target.STATUS)
    return tuple(target for target in Target if target in parts)


def _base(workspace: Workspace, file: GoFile, made: list[PatchSource], lock: Lock) -> Base:
    if lock is Lock.MERGED:
        return Base(BaseOrigin.LIBRARY)
    if not made:
        return Base()
    chosen = (
        next((source for source in made if source.lock is Lock.UNLOCKED), made[0]) if lock is Lock.MIXED else made[0]
    )
    path = "" if chosen.file is file else chosen.file.path
    span = (chosen.node.start_byte, chosen.node.end_byte)
    return Base(
        chosen.origin,
        chosen.text,
        chosen.line,
        path,
        text(chosen.snapshot),
        chosen.hops,
        span,
        insertion(chosen, workspace),
    )


def _short_call(write: Write) -> str:
    if write.dialect is Dialect.CONTROLLER and write.subresource:
        status = write.subresource == "status" and syntax.mentions(syntax.field(write.call, "function"), "Status")
        return f"Status().{write.method}" if status else f"SubResource({write.subresource}).{write.method}"
    return write.method


def _kind_in_chain(write: Write) -> str:
    if write.dialect is not Dialect.CLIENT_GO:
        return ""
    match = re.search(r"V\d+\w*\(\)\s*\.\s*([A-Z]\w*)\(", text(write.receiver), re.DOTALL)
    return match.group(1) if match else ""


def _comment(workspace: Workspace, write: Write, made: list[PatchSource]) -> str:
    """Return the comment above the write or its base, when it says that the choice is meant."""
    lines = write.file.lines
    starts = [line(write.call), *(source.line for source in made if source.file is write.file)]
    for source in made:
        snapshot = syntax.strip(source.snapshot)
        if source.file is write.file and snapshot is not None and snapshot.type == "identifier":
            starts += [
                line(definition.node) for definition in definitions(workspace, source.file, text(snapshot), snapshot)
            ]
    for start in starts:
        at, collected = start - 2, []
        while at >= 0 and lines[at].strip().startswith(b"//"):
            collected.append(lines[at].strip().lstrip(b"/ ").decode("utf-8", "replace"))
            at -= 1
        said = " ".join(reversed(collected))
        if _INTENT.search(said):
            return said[:200]
    return ""
