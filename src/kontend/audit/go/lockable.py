"""Obstacles to a lock on the base of a patch: would it do more than refuse the stale writes of others?

A locked base names the version of its snapshot. Where the controller itself writes the object after the snapshot was
taken, or where a retry keeps a snapshot from before the loop, that version is old by the controller's own doing, and a
lock would refuse every attempt.

A lock also changes the bytes of the patch: `patch.Data(obj)` of a locked base holds the resourceVersion and is never
`{}`. Code that compares, measures or logs those bytes would change its behaviour; a guard against empty patches would
never fire again, and a status with a time stamp would be written without end (`patch_uses`).

And a lock adds an error where there was none: nobody may drop it on its way up (`reported`), and the base must have a
resourceVersion in the first place.
"""

from __future__ import annotations

from itertools import islice

from kontend.audit.go.bases import PatchSource
from kontend.audit.go.calls.reads import read_into
from kontend.audit.go.calls.recognition import recognise
from kontend.audit.go.calls.typed_clients import looks_like_context
from kontend.audit.go.calls.write import Write
from kontend.audit.go.patch_uses import uses_of
from kontend.audit.go.provenance import provenance
from kontend.audit.go.reported import reported
from kontend.audit.go.source import syntax
from kontend.audit.go.source.package import GoFile, GoFunction
from kontend.audit.go.source.scope import How, definitions, may_reach, outermost_function, targets, values
from kontend.audit.go.source.syntax import Node, text
from kontend.audit.go.source.types import callers, resolve_function
from kontend.audit.go.source.workspace import Workspace
from kontend.audit.site import Obstacle, Provenance, Retry, Verb

_CALLS_DEEP = 4
_READERS = ("Get", "List")
_CONSTRUCTOR = "MergeFrom"
_FIRST_WITH_LOCKS = (0, 6)


def obstacle(workspace: Workspace, write: Write, made: list[PatchSource], retry: Retry | None) -> Obstacle:
    """Return what keeps a lock from being added to the base of a patch without a change anywhere else."""
    if not made:
        return Obstacle.STALE_BASE
    uses = [uses_of(workspace, source.file, source.node) for source in made]
    if any(use.read for use in uses):
        return Obstacle.DATA_READ
    if _read_apart(workspace, write, made[0]):
        return Obstacle.READ_APART
    if any(use.repeated for use in uses) or not _as_new_as_object(workspace, write, made[0], retry):
        return Obstacle.STALE_BASE
    if any(_without_version(workspace, source) for source in made):
        return Obstacle.NO_VERSION
    if not reported(workspace, write.file, write.call):
        return Obstacle.ERROR_LOST
    return Obstacle.NONE


def insertion(source: PatchSource, workspace: Workspace) -> tuple[int, int, str] | None:
    """Return where the name of a plain constructor ends, where its arguments end, and the package it is called from.

    None where the call is not `client.MergeFrom` of controller-runtime, or of a version that has no locks: the edit
    must build.
    """
    function = syntax.field(source.node, "function")
    operand, name = syntax.callee(source.node)
    arguments = syntax.arguments(source.node)
    if function is None or operand is None or name != _CONSTRUCTOR or len(arguments) != 1:
        return None
    path = source.file.imports.get(text(operand), "")
    version = workspace.required("sigs.k8s.io/controller-runtime", source.file.directory)
    if not path.endswith("controller-runtime/pkg/client") or (version is not None and version < _FIRST_WITH_LOCKS):
        return None
    return function.end_byte, arguments[0].end_byte, text(operand)


def _without_version(workspace: Workspace, source: PatchSource) -> bool:
    """Decide whether a base is an object that was never read: a lock on it is an error before anything is sent."""
    origin = _original(source.snapshot)
    return origin is not None and provenance(workspace, source.file, origin, source.node) is Provenance.BUILT


def _as_new_as_object(workspace: Workspace, write: Write, source: PatchSource, retry: Retry | None) -> bool:
    """Decide whether the base names the version that the object has when it is written."""
    snapshot = syntax.root_identifier(_original(source.snapshot))
    if not snapshot or source.file is not write.file:
        return True
    copied = syntax.takes_copy(source.snapshot)
    if retry is not None and not copied and _from_before(workspace, write, source, retry):
        return False
    start = source.node.start_byte if copied else _taken(workspace, write.file, source.snapshot, write.call)
    names = _same_object(write.call, write.object) | _same_object(write.call, source.snapshot)
    names -= {snapshot} if not copied else set()
    return not _written(workspace, write.file, write.call, names, start) and not _written_by_callers(
        workspace, write, source
    )


def _same_object(use: Node, node: Node | None) -> set[str]:
    """Return the variables of a function that hold an object or a copy of it, in either direction."""
    outer = outermost_function(use)
    name = syntax.root_identifier(_original(node))
    names = {name} if name else set[str]()
    pairs = _copies(outer) if outer is not None else ()
    while grown := {other for pair in pairs if not names.isdisjoint(pair) for other in pair} - names:
        names |= grown
    return names


@syntax.remembered(256)
def _copies(outer: Node) -> tuple[tuple[str, str], ...]:
    """Return the variables that copies of objects are kept in, with the variables they are copied from."""
    pairs = []
    for statement in syntax.assignments(outer):
        for target, value in zip(targets(statement), values(statement), strict=False):
            if syntax.takes_copy(value) and target.type == "identifier":
                source = syntax.root_identifier(_original(syntax.strip(value)))
                pairs.append((text(target), source or text(target)))
    return tuple(pairs)


def _read_apart(workspace: Workspace, write: Write, source: PatchSource) -> bool:
    """Decide whether the base was read here, and the object that is sent is no copy of it.

    The patch carries a version where the two differ, so an older object is refused. With the version of the base, which
    is the newer one, the server would accept it.
    """
    node, outer = syntax.strip(source.snapshot), outermost_function(write.call)
    if node is None or outer is None or source.file is not write.file or syntax.takes_copy(node):
        return False
    parts = syntax.selector(node)
    read = any(
        call.end_byte <= write.call.start_byte and read_into(workspace, write.file, call, parts) is not None
        for call in syntax.nearby_calls(outer, write.call)
    )
    sent = _same_object(write.call, write.object)
    return read and sent.isdisjoint(_same_object(write.call, source.snapshot))


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
    """Find a write of one of the named objects between a position and a use, here or in a function called between.

    A function that is not in sight and gets the object together with a context may write it.
    """
    outer = outermost_function(use)
    if outer is None:
        return False
    for call in syntax.calls(outer):
        if not start < call.start_byte < use.start_byte or syntax.inside(use, call) or not may_reach(call, use):
            continue
        if any(_writes(workspace, file, call, name, 0) for name in names if name):
            return True
    return False


def _writes(workspace: Workspace, file: GoFile, call: Node, name: str, depth: int) -> bool:
    """Decide whether a call may write the object of a name."""
    other = recognise(workspace, file, call)
    if other is not None:
        writing = other.verb in (Verb.UPDATE, Verb.PATCH, Verb.CREATE)
        return writing and syntax.root_identifier(other.object) == name
    args = syntax.arguments(call)
    position = next((at for at, arg in enumerate(args) if syntax.selector(arg) == [name]), None)
    if position is None or syntax.callee(call)[1] in _READERS:
        return False
    function = resolve_function(workspace, file, call)
    if function is None or depth >= _CALLS_DEEP:
        return any(looks_like_context(workspace, file, arg) for arg in args)
    return _writes_parameter(workspace, function, position, depth + 1)


@syntax.remembered(4096)
def _writes_parameter(workspace: Workspace, function: GoFunction, position: int, depth: int) -> bool:
    if function.body is None or position >= len(function.parameters):
        return False
    name = function.parameters[position][0]
    return bool(name) and any(
        _writes(workspace, function.file, call, name, depth) for call in syntax.calls(function.body)
    )


def _written_by_callers(workspace: Workspace, write: Write, source: PatchSource) -> bool:
    """Find a caller that takes the snapshot, writes the object, and only then calls the function that patches."""
    function = write.file.function_at(write.call)
    base, target = syntax.root_identifier(source.snapshot), syntax.root_identifier(write.object)
    if function is None:
        return False
    at_base, at_object = function.parameter_index(base), function.parameter_index(target)
    if at_base is None or at_object is None:
        return False
    for file, call in islice(callers(workspace, function), 20):
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
