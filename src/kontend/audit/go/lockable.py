"""Obstacles to a lock on the base of a patch: would it do more than refuse the stale writes of others?

A locked base names the version of its snapshot. Where the controller itself writes the object after the snapshot was
taken, or where a retry keeps a snapshot from before the loop, that version is old by the controller's own doing, and a
lock would refuse every attempt.

A lock also changes the bytes of the patch: `patch.Data(obj)` of a locked base holds the resourceVersion and is never
`{}`. Code that compares, measures or logs those bytes would change its behaviour; a guard against empty patches would
never fire again, and a status with a time stamp would be written without end.
"""

from __future__ import annotations

from kontend.audit.go.bases import PatchSource
from kontend.audit.go.calls.reads import read_into
from kontend.audit.go.calls.recognition import recognise
from kontend.audit.go.calls.write import Write
from kontend.audit.go.source import syntax
from kontend.audit.go.source.package import GoFile, GoFunction
from kontend.audit.go.source.scope import How, definitions, may_reach, outermost_function, targets
from kontend.audit.go.source.syntax import Node, text
from kontend.audit.go.source.types import callers, resolve_function
from kontend.audit.go.source.workspace import Workspace
from kontend.audit.site import Obstacle, Retry, Verb

_PATCH_READS = ("Data",)
_CALLS_DEEP = 3


def obstacle(workspace: Workspace, write: Write, made: list[PatchSource], retry: Retry | None) -> Obstacle:
    """Return what keeps a lock from being added to the base of a patch without a change anywhere else."""
    if not made or not _as_new_as_object(workspace, write, made[0], retry):
        return Obstacle.STALE_BASE
    holders = [(write.file, write.patch), *((source.file, _holder(source.node)) for source in made)]
    if any(_data_read(workspace, file, node, write.call) for file, node in holders):
        return Obstacle.DATA_READ
    return Obstacle.NONE


def _holder(constructor: Node) -> Node | None:
    """Return the variable that a constructor is assigned to."""
    for parent in syntax.ancestors(constructor):
        if parent.type in ("short_var_declaration", "assignment_statement", "var_spec"):
            named = targets(parent)
            return named[0] if named else None
        if parent.type == "call_expression":  # an argument: the value is held under the callee's own name
            return None
    return None


def _data_read(workspace: Workspace, file: GoFile, patch: Node | None, write: Node, depth: int = 0) -> bool:
    """Decide whether code around the variable of a patch reads its bytes, itself or in a function that it calls.

    A function that is not in sight counts as one that reads: a fix that is withheld costs a line of typing, one that
    ends a guard costs an endless loop of writes.
    """
    stripped = syntax.strip(patch)
    outer = outermost_function(stripped) if stripped is not None else None
    if stripped is None or outer is None or stripped.type != "identifier":
        return False
    name = text(stripped)
    for call in syntax.calls(outer):
        operand, called = syntax.callee(call)
        if called in _PATCH_READS and syntax.selector(operand) == [name]:
            return True
        position = next((at for at, arg in enumerate(syntax.arguments(call)) if syntax.selector(arg) == [name]), None)
        if position is None or call == write or recognise(workspace, file, call) is not None:
            continue
        function = resolve_function(workspace, file, call)
        if function is None or function.body is None or position >= len(function.parameters) or depth >= _CALLS_DEEP:
            return True
        if _parameter_read(workspace, function, position, write, depth):
            return True
    return False


def _parameter_read(workspace: Workspace, function: GoFunction, position: int, write: Node, depth: int) -> bool:
    name = function.parameters[position][0]
    if not name or name == "_" or function.body is None:
        return False
    use = next(syntax.descend(function.body, lambda node: node.type == "identifier" and text(node) == name), None)
    return use is not None and _data_read(workspace, function.file, use, write, depth + 1)


def _as_new_as_object(workspace: Workspace, write: Write, source: PatchSource, retry: Retry | None) -> bool:
    """Decide whether the base names the version that the object has when it is written."""
    snapshot = syntax.root_identifier(_original(source.snapshot))
    if not snapshot or source.file is not write.file:
        return True
    copied = "DeepCopy" in text(source.snapshot)
    if retry is not None and not copied and _from_before(workspace, write, source, retry):
        return False
    start = source.node.start_byte if copied else _taken(workspace, write.file, source.snapshot, write.call)
    names = {syntax.root_identifier(write.object)} - ({snapshot} if not copied else set())
    return not _written(workspace, write.file, write.call, names, start) and not _written_by_callers(
        workspace, write, source
    )


def _original(snapshot: Node | None) -> Node | None:
    stripped = syntax.strip(snapshot)
    if stripped is not None and stripped.type == "call_expression":
        return syntax.callee(stripped)[0]
    return stripped


def _taken(workspace: Workspace, file: GoFile, snapshot: Node | None, use: Node) -> int:
    """Return the byte at which the variable of a snapshot got its value: its definition, or the last read into it."""
    node = syntax.strip(snapshot)
    outer = outermost_function(use)
    if node is None or outer is None:
        return 0
    start = max(
        (
            definition.node.start_byte
            for definition in definitions(workspace, file, syntax.root_identifier(node), node)
            if definition.how is not How.PARAMETER
        ),
        default=0,
    )
    for call in syntax.nearby_calls(outer, use):
        if call.end_byte <= use.start_byte and read_into(workspace, file, call, syntax.selector(node)) is not None:
            start = max(start, call.start_byte)
    return start


def _written(workspace: Workspace, file: GoFile, use: Node, names: set[str], start: int) -> bool:
    """Find a write of one of the named objects between a position and a use."""
    outer = outermost_function(use)
    if outer is None:
        return False
    for call in syntax.nearby_calls(outer, use):
        if not start < call.start_byte < use.start_byte or syntax.inside(use, call) or not may_reach(call, use):
            continue
        other = recognise(workspace, file, call)
        if (
            other is not None
            and other.verb in (Verb.UPDATE, Verb.PATCH, Verb.CREATE)
            and syntax.root_identifier(other.object) in names
        ):
            return True
    return False


def _written_by_callers(workspace: Workspace, write: Write, source: PatchSource) -> bool:
    """Find a caller that takes the snapshot, writes the object, and only then calls the function that patches."""
    function = write.file.function_at(write.call)
    base, target = syntax.root_identifier(source.snapshot), syntax.root_identifier(write.object)
    if function is None:
        return False
    at_base, at_object = function.parameter_index(base), function.parameter_index(target)
    if at_base is None or at_object is None:
        return False
    for file, call in callers(workspace, function)[:20]:
        args = syntax.arguments(call)
        if max(at_base, at_object) >= len(args):
            continue
        start = _taken(workspace, file, args[at_base], call)
        if start and _written(workspace, file, call, {syntax.root_identifier(args[at_object])}, start):
            return True
    return False


def _from_before(workspace: Workspace, write: Write, source: PatchSource, retry: Retry) -> bool:
    """Decide whether a retry starts every attempt from a snapshot that was taken before it."""
    node = syntax.strip(source.snapshot)
    closure = next(
        (
            parent
            for parent in syntax.ancestors(write.call)
            if parent.type in ("func_literal", "for_statement") and _begins(parent, retry)
        ),
        None,
    )
    if node is None or closure is None:
        return False
    if any(read_into(workspace, write.file, call, syntax.selector(node)) is not None for call in syntax.calls(closure)):
        return False
    reaching = definitions(workspace, write.file, syntax.root_identifier(node), node)
    return bool(reaching) and all(not syntax.inside(definition.node, closure) for definition in reaching)


def _begins(node: Node, retry: Retry) -> bool:
    call = syntax.enclosing(node, "call_expression") if node.type == "func_literal" else node
    return call is not None and call.start_point[0] + 1 == retry.line
