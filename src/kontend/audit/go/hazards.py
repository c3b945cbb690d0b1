"""Facts about a write that only the code around it tells: a base taken too late, a locked base used twice, a shared
object.

Each gives a `Fact` under the name of the rule that speaks about it. Whether that is a finding, and how bad, is the
policy's business.
"""

from __future__ import annotations

import re

from kontend.audit.go.bases import PatchSource
from kontend.audit.go.calls.recognition import recognise
from kontend.audit.go.calls.write import Write
from kontend.audit.go.error_handling import error_path
from kontend.audit.go.mutations import Mutation, mutations
from kontend.audit.go.order import order_facts
from kontend.audit.go.raw_patches import raw_patch
from kontend.audit.go.shallow_copies import shallow_copy
from kontend.audit.go.source import syntax
from kontend.audit.go.source.api_types import merges_by_key
from kontend.audit.go.source.package import GoFile, GoFunction
from kontend.audit.go.source.scope import How, definitions, may_reach, outermost_function, runs_in
from kontend.audit.go.source.syntax import Node, line, text
from kontend.audit.go.source.types import resolve_function, type_of
from kontend.audit.go.source.workspace import Workspace
from kontend.audit.site import BaseOrigin, Fact, Lock, PatchType, Provenance, Target, Verb

_INDEXED = re.compile(r"/\d+(?=[\"'/`]|$)|/%d|/-\b|strconv\.Itoa")


def hazards(
    workspace: Workspace, write: Write, made: list[PatchSource], changed: list[Mutation], source: Provenance, lock: Lock
) -> list[Fact]:
    """Return the facts about a write."""
    facts: list[Fact] = []
    status = write.subresource == "status"
    if write.verb is Verb.PATCH:
        facts += _late_base(workspace, write, made, changed)
        facts += _indexed_json_patch(workspace, write, made, lock)
        if lock in (Lock.UNLOCKED, Lock.MIXED) and not status:
            facts += _rebuilt_list(write, _replaced(workspace, write, made, changed))
        facts += _list_in_body(workspace, write, made)
        if any(source.lock is Lock.LOCKED for source in made):
            facts += _reused_base(workspace, write, made)
    if status and source is Provenance.SHARED:
        facts.append(Fact("status-write-in-task", line(write.call), _SHARED.format(object=text(write.object))))
    if status and source is Provenance.LIST_ITEM:
        facts.append(
            Fact("status-write-of-list-item", line(write.call), f"{text(write.object)} is an element of a list")
        )
    if status:
        facts += shallow_copy(workspace, write)
    facts += order_facts(workspace, write, changed)
    facts += _error_facts(write)
    if write.verb is Verb.DELETE and lock is Lock.NONE and write.method == "Delete":
        facts.append(Fact("delete-without-preconditions", line(write.call), "no uid or resourceVersion precondition"))
    return facts


_SHARED = (
    "{object} is the reconciler's own object, reached through a shared pointer: the reconciler's later status flush "
    "starts from a base that this write has made stale"
)


def _error_facts(write: Write) -> list[Fact]:
    """Find a checked error whose place another variable takes, and a conflict answered with success."""
    path = error_path(write.call)
    facts: list[Fact] = []
    if path.wrong_variable:
        said = f"the error is checked, but :{path.wrong_line} returns {path.wrong_variable}, which was handled before"
        facts.append(Fact("wrong-error-returned", path.wrong_line, said))
    if path.conflict_line:
        said = f"a conflict is answered with success and no requeue at :{path.conflict_line}"
        facts.append(Fact("requeue-lost-after-conflict", path.conflict_line, said))
    return facts


def _snapshot_position(workspace: Workspace, write: Write, made: PatchSource, outer: Node) -> tuple[int, str] | None:
    """Return where the snapshot behind a base was taken in this function, and of which variable."""
    if made.file is not write.file or not syntax.inside(made.node, outer) or made.snapshot is None:
        return None
    node = syntax.strip(made.snapshot)
    if node is not None and node.type == "identifier":
        for definition in definitions(workspace, write.file, text(node), node):
            if definition.how is How.VALUE and definition.value is not None and syntax.takes_copy(definition.value):
                return definition.node.start_byte, syntax.root_identifier(_copied(definition.value))
        return None
    if node is not None and syntax.takes_copy(node):
        return node.start_byte, syntax.root_identifier(_copied(node))
    return None


def _copied(node: Node) -> Node | None:
    stripped = syntax.strip(node)
    return syntax.callee(stripped)[0] if stripped is not None and stripped.type == "call_expression" else stripped


def _late_base(workspace: Workspace, write: Write, made: list[PatchSource], changed: list[Mutation]) -> list[Fact]:
    """A base taken after the change: the diff does not contain it, so the change is never sent."""
    outer = outermost_function(write.call)
    name = syntax.root_identifier(write.object)
    if outer is None or len(made) != 1:
        return []
    same = syntax.selector(made[0].snapshot)
    if (
        same
        and same == syntax.selector(write.object)
        and made[0].file is write.file
        and not _copied_between(write, made[0], name)
    ):
        said = (
            f"the base at :{made[0].line} is {text(made[0].snapshot)} itself and not a copy, so the "
            "diff is always empty"
        )
        return [Fact("base-after-mutation", made[0].line, said)]
    taken = _snapshot_position(workspace, write, made[0], outer)
    if taken is None or taken[1] != name or _restored(workspace, write, made[0], outer):
        return []
    wanted = Target.STATUS if write.subresource == "status" else None
    since = _repeated(workspace, write, outer, name, changed, taken[0])
    if any((change.target is wanted or wanted is None) and change not in since for change in changed) or _passed_on(
        write, outer, name, taken[0], since
    ):
        return []
    start = _last_sync(workspace, write, outer, name, taken[0])
    early = mutations(workspace, write.file, outer, name, before=taken[0], after=start)
    lost = [change for change in early if wanted in (None, change.target) and may_reach(change.node, write.call)]
    if not lost:
        return []
    where = line(lost[-1].node)
    return [
        Fact(
            "base-after-mutation",
            where,
            f"{lost[-1].path} is changed at :{where}, before the base is taken at :{made[0].line}",
        )
    ]


def _repeated(
    workspace: Workspace, write: Write, outer: Node, name: str, changed: list[Mutation], taken: int
) -> list[Mutation]:
    """Return the changes after a base that repeat a change before it, and so change nothing.

    `if AddFinalizer(obj, f) { base := obj.DeepCopy(); AddFinalizer(obj, f); Patch }` takes its base from an object that
    has the finalizer already.
    """
    early = mutations(workspace, write.file, outer, name, before=taken)
    done = {" ".join(text(change.node).split()) for change in early if change.node.type == "call_expression"}
    return [change for change in changed if " ".join(text(change.node).split()) in done]


def _restored(workspace: Workspace, write: Write, made: PatchSource, outer: Node) -> bool:
    """Recognise `base := obj.DeepCopy(); base.Status = *old`: the old part is put back, so the diff has the change."""
    snapshot = syntax.root_identifier(made.snapshot)
    return bool(snapshot) and bool(mutations(workspace, write.file, outer, snapshot, before=write.call.start_byte))


def _copied_between(write: Write, made: PatchSource, name: str) -> bool:
    """Recognise a variable pointed at a copy after the base was made: `base := MergeFrom(obj); obj =
    obj.DeepCopy()`."""
    outer = outermost_function(write.call)
    if outer is None:
        return False
    return any(
        made.node.end_byte < statement.start_byte < write.call.start_byte
        for statement, _ in syntax.assignments_by_name(outer).get(name, ())
    )


def _replaced(workspace: Workspace, write: Write, made: list[PatchSource], changed: list[Mutation]) -> list[Mutation]:
    """Return the changes whose lists the patch replaces: a strategic merge patch merges some by a key, as the schema of
    the kind says, and is refused for kinds that are not in it."""
    if not made or any(source.patch_type is not PatchType.STRATEGIC for source in made):
        return changed
    kind = type_of(workspace, write.file, write.object)
    return [change for change in changed if kind is not None and merges_by_key(kind, change.path) is False]


def _rebuilt_list(write: Write, changed: list[Mutation]) -> list[Fact]:
    """A list of the spec rebuilt from what was read (`append(node.Spec.Taints, taint)`), then sent whole with no
    lock."""
    for change in changed:
        if change.is_list and change.from_object and change.target is Target.SPEC and change.value is not None:
            said = f"{change.path} is rebuilt from the read at :{line(change.node)}"
            return [Fact("list-merge-patch-without-lock", line(write.call), said)]
    for change in changed:
        listed = change.is_list and change.target is Target.SPEC and change.value is not None
        literal = change.value is not None and change.value.type == "composite_literal"
        if listed and not literal and not re.search(r"(?i)cabundle|\[\]byte", f"{change.path} {text(change.value)}"):
            said = f"{change.path} is replaced whole at :{line(change.node)}"
            return [Fact("list-replaced-without-lock", line(write.call), said)]
    return []


def _list_in_body(workspace: Workspace, write: Write, made: list[PatchSource]) -> list[Fact]:
    """A list of the status that was read, in the bytes of an unlocked merge patch."""
    for source in made:
        if source.lock is not Lock.UNLOCKED or source.patch_type is not PatchType.MERGE or source.data is None:
            continue
        found = raw_patch(workspace, source.file, source.data).read_list(workspace)
        if found is not None and source.origin is BaseOrigin.BODY:
            path, expression = found
            said = f"{path} in the body was read at :{line(expression)}"
            return [Fact("list-merge-patch-without-lock", line(write.call), said)]
    return []


def _passed_on(write: Write, outer: Node, name: str, after: int, without: list[Mutation]) -> bool:
    """Decide whether the object is handed to other code between its snapshot and the write, which may change it."""
    for call in syntax.nearby_calls(outer, write.call):
        if not after < call.start_byte < write.call.start_byte or syntax.inside(write.call, call):
            continue
        if any(change.node == call for change in without):
            continue
        operand, called = syntax.callee(call)
        if called in ("DeepCopy", "DeepCopyObject", "MergeFrom", "MergeFromWithOptions", "DeepEqual"):
            continue
        if syntax.root_identifier(operand) == name or any(
            syntax.root_identifier(arg) == name for arg in syntax.arguments(call)
        ):
            return True
    return False


def _last_sync(workspace: Workspace, write: Write, outer: Node, name: str, before: int) -> int:
    """Return the end of the last read or write of the object before a position."""
    last = 0
    for call in syntax.nearby_calls(outer, write.call):
        if call.end_byte > before:
            continue
        args = syntax.arguments(call)
        called = syntax.callee(call)[1]
        if called == "Get" and len(args) >= 3 and syntax.root_identifier(args[2]) == name:
            last = call.end_byte
        written = called in ("Update", "Patch", "Create") and len(args) >= 2 and syntax.root_identifier(args[1]) == name
        if written and recognise(workspace, write.file, call) is not None:
            last = call.end_byte
    return last


def _reused_base(workspace: Workspace, write: Write, made: list[PatchSource]) -> list[Fact]:
    """A locked base used after another write of the same object: the server answers 409 to the controller's own
    write."""
    outer = outermost_function(write.call)
    name = syntax.root_identifier(write.object)
    if outer is None or len(made) != 1 or not name:
        return []
    taken = _snapshot_position(workspace, write, made[0], outer)
    if taken is None:
        return []
    for call in syntax.nearby_calls(outer, write.call):
        if not taken[0] < call.start_byte < write.call.start_byte or syntax.inside(write.call, call):
            continue
        if not may_reach(call, write.call) or _taken_again(outer, made[0].snapshot, call, write.call):
            continue
        other = recognise(workspace, write.file, call)
        if (
            other is not None
            and other.verb in (Verb.UPDATE, Verb.PATCH)
            and syntax.root_identifier(other.object) == name
        ):
            return [
                Fact(
                    "locked-base-reused",
                    line(call),
                    f"{name} is written at :{line(call)}, after the base of :{made[0].line} was taken",
                )
            ]
        position = next((at for at, arg in enumerate(syntax.arguments(call)) if syntax.selector(arg) == [name]), None)
        if other is None and position is not None:
            function = resolve_function(workspace, write.file, call)
            # A callee that answers with more than an error usually tells its caller to stop after it wrote.
            if function is not None and len(function.results) <= 1 and writes_parameter(workspace, function, position):
                said = f"{function.name} at :{line(call)} writes {name}, after the base of :{made[0].line} was taken"
                return [Fact("locked-base-reused", line(call), said)]
    return []


def _taken_again(outer: Node, snapshot: Node | None, call: Node, use: Node) -> bool:
    """Decide whether the variable of a snapshot gets a new one wherever a write in between ran."""
    name = text(syntax.strip(snapshot))
    return any(
        call.end_byte < statement.start_byte < use.start_byte and syntax.inside(call, runs_in(statement))
        for statement, _ in syntax.assignments_by_name(outer).get(name, ())
    )


def writes_parameter(workspace: Workspace, function: GoFunction, position: int, depth: int = 0) -> bool:
    """Decide whether a function tries to write the object in a parameter, itself or one call down."""
    if function.body is None or position >= len(function.parameters):
        return False
    name = function.parameters[position][0]
    if not name or name == "_":
        return False
    for call in syntax.calls(function.body):
        other = recognise(workspace, function.file, call)
        if other is not None and other.verb in (Verb.UPDATE, Verb.PATCH) and syntax.selector(other.object) == [name]:
            return True
        if other is None and depth < 1:
            at = next((at for at, arg in enumerate(syntax.arguments(call)) if syntax.selector(arg) == [name]), None)
            callee = resolve_function(workspace, function.file, call) if at is not None else None
            if (
                callee is not None
                and at is not None
                and callee is not function
                and writes_parameter(workspace, callee, at, depth + 1)
            ):
                return True
    return False


def _indexed_json_patch(workspace: Workspace, write: Write, made: list[PatchSource], lock: Lock) -> list[Fact]:
    """A JSON patch that removes or replaces a list element by its index, with no `test` operation in front of it."""
    data = write.patch if not made else made[0].data
    kind_text = text(write.options[0]) if write.options and not made else (made[0].text if made else "")
    if data is None or lock is Lock.LOCKED or "JSONPatchType" not in kind_text:
        return []
    source = _literal_text(workspace, write.file if not made else made[0].file, data)
    match = _INDEXED.search(source)
    if match is None or match.group(0) == "/-":
        return []
    return [Fact("json-patch-index-without-test", line(write.call), "a list element is addressed by its index")]


def _literal_text(workspace: Workspace, file: GoFile, node: Node) -> str:
    source = text(node)
    for identifier in syntax.descend(node, lambda child: child.type == "identifier"):
        for definition in definitions(workspace, file, text(identifier), identifier):
            if definition.value is not None:
                source += "\n" + text(definition.value)
                for inner in syntax.descend(definition.value, lambda child: child.type == "identifier"):
                    source += "".join(
                        "\n" + text(more.value)
                        for more in definitions(workspace, file, text(inner), inner)
                        if more.value is not None
                    )
    return source
