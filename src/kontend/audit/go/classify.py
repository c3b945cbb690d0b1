"""From a recognised Go call to a classified `Site`.

Each question is answered by its own module (`bases`, `mutations`, `provenance`, `retries`, `outcome`, `hazards`);
this one only asks them in order and puts the answers together.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from kontend.audit.go.bases import Made, from_data, patch_type, resolve, together
from kontend.audit.go.error_handling import error_use
from kontend.audit.go.hazards import hazards
from kontend.audit.go.mutations import Mutation, mutations
from kontend.audit.go.provenance import provenance
from kontend.audit.go.retries import retry_around
from kontend.audit.go.source import syntax
from kontend.audit.go.source.package import GoFile
from kontend.audit.go.source.scope import How, definitions, outermost_function, runs_in, type_of
from kontend.audit.go.source.syntax import line, text
from kontend.audit.go.source.workspace import Workspace
from kontend.audit.go.writes import Dialect, Write
from kontend.audit.site import Base, BaseOrigin, Lock, PatchType, Role, Site, Target, Verb

_INTENT = re.compile(r"(?i)intentional|not status|on purpose|deliberate|no optimistic lock|without (an )?optimistic")


@dataclass(frozen=True, slots=True)
class Classified:
    """A site with the syntax it came from, for the analyses that look across sites."""

    site: Site
    write: Write
    made: tuple[Made, ...]
    changed: tuple[Mutation, ...]


def classify(workspace: Workspace, write: Write, role: Role) -> Classified:
    """Classify one write."""
    file, call = write.file, write.call
    made = _made(workspace, write)
    lock, kind = _lock(write, made)
    verb = Verb.APPLY if kind is PatchType.APPLY or lock is Lock.OWNED else write.verb
    changed = _changed(workspace, write, made)
    source = provenance(workspace, file, write.object, call)
    targets = _targets(write, verb, changed)
    object_type = type_of(workspace, file, write.object)
    function = file.function_at(call)
    facts = hazards(workspace, write, made, changed, source, lock)
    site = Site(
        language="go",
        path=file.path,
        line=line(call),
        end_line=call.end_point[0] + 1,
        function=function.label if function else "",
        code=" ".join(text(call).split()),
        call=_short_call(write),
        verb=verb,
        targets=targets,
        lock=lock,
        object=text(write.object),
        kind=object_type.name if object_type else _kind_in_chain(write),
        client=text(write.receiver),
        patch_type=kind,
        base=_base(file, made, lock),
        provenance=source,
        retry=retry_around(workspace, file, call, write.object),
        error=error_use(call),
        fields=tuple(sorted({each.path for each in changed if each.path and each.target in targets})),
        lists=tuple(sorted({each.path for each in changed if each.is_list and each.target in targets})),
        subresource=write.subresource,
        role=role,
        facts=tuple(facts),
        comment=_comment(write, made),
    )
    return Classified(site, write, tuple(made), tuple(changed))


def _made(workspace: Workspace, write: Write) -> list[Made]:
    """Return where the patch is made; client-go is handed raw bytes and their type."""
    if write.patch is None:
        return []
    if write.dialect is Dialect.CLIENT_GO:
        return [from_data(workspace, write.file, write.patch, patch_type(text(write.options[0])), write.patch, 0)]
    return resolve(workspace, write.file, write.patch)


def _lock(write: Write, made: list[Made]) -> tuple[Lock, PatchType | None]:
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
    if write.verb in (Verb.UPDATE, Verb.CREATE_OR_UPDATE):
        return (Lock.UNLOCKED if _version_stripped(write) else Lock.VERSIONED), None
    if write.verb is Verb.DELETE and any("Preconditions" in text(option) for option in write.options):
        return Lock.LOCKED, None
    return Lock.NONE, None


def _version_stripped(write: Write) -> bool:
    """Whether the resourceVersion of the object is emptied before a PUT, which makes the server check nothing."""
    outer = outermost_function(write.call)
    name = syntax.root_identifier(write.object)
    if outer is None or not name or outer.text is None:
        return False
    before = outer.text[: write.call.start_byte - outer.start_byte].decode("utf-8", "replace")
    emptied = rf"\b{re.escape(name)}(\.ObjectMeta)?\.(SetResourceVersion\(\s*\"\"\s*\)|ResourceVersion\s*=\s*\"\")"
    return re.search(emptied, before) is not None


def window_start(workspace: Workspace, write: Write, made: list[Made]) -> int:
    """Return the byte from which changes of the object count: after its snapshot, or after the write before this
    one."""
    outer = outermost_function(write.call)
    start = 0
    if outer is None:
        return start
    parts = syntax.selector(write.object)
    for each in made:
        if each.file is not write.file or not syntax.inside(each.node, outer) or each.snapshot is None:
            continue
        copied = syntax.strip(each.snapshot)
        if copied is not None and copied.type == "identifier":
            taken = [
                definition.node.start_byte
                for definition in definitions(workspace, write.file, text(copied), copied)
                if definition.how is How.VALUE and "DeepCopy" in text(definition.value)
            ]
            start = max([start, *taken])
        elif "DeepCopy" in text(each.snapshot):
            start = max(start, each.node.start_byte)
    if not made:
        for call in syntax.calls(outer):
            if call.end_byte > write.call.start_byte or not syntax.inside(write.call, runs_in(call)):
                continue
            args = syntax.arguments(call)
            name = syntax.callee(call)[1]
            if name in ("Update", "Patch") and len(args) >= 2 and syntax.selector(args[1]) == parts:
                start = max(start, call.end_byte)
    return start


def _changed(workspace: Workspace, write: Write, made: list[Made]) -> list[Mutation]:
    outer = outermost_function(write.call)
    name = syntax.root_identifier(write.object)
    if outer is None or not name:
        return []
    if write.dialect is Dialect.CONTROLLERUTIL:
        literal = next((option for option in write.options if option.type == "func_literal"), None)
        return mutations(workspace, write.file, literal, name) if literal is not None else []
    start = window_start(workspace, write, made)
    return mutations(workspace, write.file, outer, name, before=write.call.start_byte, after=start)


def _targets(write: Write, verb: Verb, changed: list[Mutation]) -> tuple[Target, ...]:
    if write.subresource == "status":
        return (Target.STATUS,)
    if write.dialect is Dialect.LIBRARY:
        return (Target.STATUS, Target.LABELS, Target.SPEC)
    if write.verb in (Verb.CREATE, Verb.DELETE):
        return (Target.OBJECT,)
    if write.dialect is Dialect.CLIENT_GO and write.verb is Verb.PATCH:
        return (Target.OBJECT,)
    parts = {each.target for each in changed}
    if verb is Verb.APPLY or not parts:
        return (Target.OBJECT,)
    if (
        len(parts) > 1 and write.method != "CreateOrPatch"
    ):  # the main resource does not carry status where the subresource exists
        parts.discard(Target.STATUS)
    return tuple(each for each in Target if each in parts)


def _base(file: GoFile, made: list[Made], lock: Lock) -> Base:
    if lock is Lock.MERGED:
        return Base(BaseOrigin.LIBRARY)
    if not made:
        return Base()
    chosen = next((each for each in made if each.lock is Lock.UNLOCKED), made[0]) if lock is Lock.MIXED else made[0]
    path = "" if chosen.file is file else chosen.file.path
    return Base(chosen.origin, chosen.text, chosen.line, path, text(chosen.snapshot), chosen.hops)


def _short_call(write: Write) -> str:
    if write.dialect is Dialect.CONTROLLER and write.subresource:
        return f"Status().{write.method}" if ".Status()" in text(write.call) else f"SubResource(status).{write.method}"
    return write.method


def _kind_in_chain(write: Write) -> str:
    if write.dialect is not Dialect.CLIENT_GO:
        return ""
    match = re.search(r"V\d+\w*\(\)\s*\.\s*([A-Z]\w*)\(", text(write.receiver), re.DOTALL)
    return match.group(1) if match else ""


def _comment(write: Write, made: list[Made]) -> str:
    """Return the comment above the write or its base, when it says that the choice is meant."""
    lines = write.file.source.split(b"\n")
    for start in [line(write.call), *(each.line for each in made if each.file is write.file)]:
        at, collected = start - 2, []
        while at >= 0 and lines[at].strip().startswith(b"//"):
            collected.append(lines[at].strip().lstrip(b"/ ").decode("utf-8", "replace"))
            at -= 1
        said = " ".join(reversed(collected))
        if _INTENT.search(said):
            return said[:200]
    return ""
