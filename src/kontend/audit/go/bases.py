"""From a patch argument to the place where its base was made, and whether that base carries a resourceVersion.

`r.Status().Patch(ctx, obj, patch)` says nothing by itself: `patch` may be made inline, in a local variable far above,
outside a closure, in a caller (up to three calls up, all callers are asked), in a helper that returns it, or in a
struct field. Every possibility is followed and the answers are put together: locked everywhere, nowhere, or on some
paths only.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from kontend.audit.go.raw_patches import emptied_versions, raw_patch
from kontend.audit.go.source import syntax
from kontend.audit.go.source.package import GoFile
from kontend.audit.go.source.scope import Definition, How, definitions, outermost_function
from kontend.audit.go.source.syntax import Node, line, text
from kontend.audit.go.source.types import callers, resolve_function
from kontend.audit.go.source.workspace import Workspace
from kontend.audit.site import BaseOrigin, Lock, PatchType

_HOPS = 3
_LOCK = "MergeFromWithOptimisticLock"
_PATCH_TYPES = (
    ("JSONPatchType", PatchType.JSON),
    ("StrategicMergePatchType", PatchType.STRATEGIC),
    ("MergePatchType", PatchType.MERGE),
    ("ApplyPatchType", PatchType.APPLY),
    ("ApplyYAMLPatchType", PatchType.APPLY),
)


@dataclass(frozen=True, slots=True)
class PatchSource:
    """A place that a patch can come from."""

    lock: Lock
    patch_type: PatchType
    origin: BaseOrigin
    file: GoFile
    node: Node
    snapshot: Node | None = None
    data: Node | None = None
    hops: int = 0

    @property
    def text(self) -> str:
        """The constructor as written, on one line."""
        return " ".join(text(self.node).split())

    @property
    def line(self) -> int:
        """The line of the constructor."""
        return line(self.node)


def resolve(workspace: Workspace, file: GoFile, node: Node, *, hops: int = 0, depth: int = 0) -> list[PatchSource]:
    """Return every place the patch in `node` can have been made."""
    stripped = syntax.strip(node)
    if stripped is None or depth > 12:
        return []
    if stripped.type in ("call_expression", "type_conversion_expression"):
        return _from_call(workspace, file, stripped, hops, depth)
    if stripped.type == "identifier":
        sources: list[PatchSource] = []
        reaching = definitions(workspace, file, text(stripped), stripped)
        for definition in reaching:
            sources += _from_definition(workspace, definition, stripped, len(reaching) > 1, hops, depth)
        return sources
    if stripped.type == "selector_expression":
        return _from_selector(workspace, file, stripped, hops, depth)
    if stripped.type == "composite_literal":  # a hand-made client.Patch
        return [PatchSource(Lock.UNKNOWN, PatchType.UNKNOWN, BaseOrigin.INLINE, file, stripped, hops=hops)]
    return []


def _from_definition(
    workspace: Workspace, definition: Definition, use: Node, several: bool, hops: int, depth: int
) -> list[PatchSource]:
    if definition.how is How.PARAMETER:
        return _from_callers(workspace, definition, text(use), hops, depth)
    if definition.value is None:
        return []
    origin = BaseOrigin.LOCAL
    if several or definition.reassigned:
        origin = BaseOrigin.REASSIGNED
    elif definition.closure:
        origin = BaseOrigin.CLOSURE
    made = resolve(workspace, definition.file, definition.value, hops=hops, depth=depth + 1)
    return [replace(source, origin=origin) if source.origin is BaseOrigin.INLINE else source for source in made]


def _from_callers(workspace: Workspace, definition: Definition, name: str, hops: int, depth: int) -> list[PatchSource]:
    if hops >= _HOPS:
        return []
    if definition.node.type == "func_literal":
        return _from_literal_calls(workspace, definition, name, hops, depth)
    function = definition.file.function_at(definition.node.child_by_field_name("body") or definition.node)
    position = function.parameter_index(name) if function is not None else None
    if function is None or position is None:
        return []
    sources: list[PatchSource] = []
    for file, call in callers(workspace, function):
        args = syntax.arguments(call)
        if position >= len(args):
            continue
        for source in resolve(workspace, file, args[position], hops=hops + 1, depth=depth + 1):
            sources.append(replace(source, origin=BaseOrigin.PARAMETER))
    return sources


def _from_literal_calls(
    workspace: Workspace, definition: Definition, name: str, hops: int, depth: int
) -> list[PatchSource]:
    """A function literal kept in a variable is called by that name in the function around it."""
    literal = definition.node
    statement = syntax.enclosing(literal, "short_var_declaration", "assignment_statement", "var_spec")
    outer = outermost_function(literal)
    if statement is None or outer is None:
        return []
    holder = next(iter(text(syntax.field(statement, "left") or syntax.field(statement, "name")).split(",")), "")
    names = [parameter for parameter, _ in _literal_parameters(literal)]
    sources: list[PatchSource] = []
    for call in syntax.nearby_calls(outer, literal):
        operand, called = syntax.callee(call)
        args = syntax.arguments(call)
        if operand is None and called == holder and name in names and names.index(name) < len(args):
            made = resolve(workspace, definition.file, args[names.index(name)], hops=hops + 1, depth=depth + 1)
            sources += [replace(source, origin=BaseOrigin.PARAMETER) for source in made]
    return sources


def _literal_parameters(literal: Node) -> list[tuple[str, Node]]:
    from kontend.audit.go.source.package import parameters

    return parameters(literal)


def _from_selector(workspace: Workspace, file: GoFile, node: Node, hops: int, depth: int) -> list[PatchSource]:
    operand, name = syntax.field(node, "operand"), text(syntax.field(node, "field"))
    if name == "Apply" and operand is not None and text(operand) in file.imports:
        return [PatchSource(Lock.OWNED, PatchType.APPLY, BaseOrigin.INLINE, file, node, hops=hops)]
    if name == "Merge" and operand is not None and text(operand) in file.imports:
        # `client.Merge` sends the object as it is, with the resourceVersion it was read at
        return [PatchSource(Lock.LOCKED, PatchType.MERGE, BaseOrigin.INLINE, file, node, hops=hops)]
    sources: list[PatchSource] = []
    for sibling in workspace.package(file.directory).files:
        if name.encode() not in sibling.source or b"MergeFrom" not in sibling.source:
            continue
        for value in _field_values(sibling, name):
            sources += resolve(workspace, sibling, value, hops=hops, depth=depth + 1)
    return [replace(made, origin=BaseOrigin.FIELD) for made in sources]


def _field_values(file: GoFile, name: str) -> list[Node]:
    values: list[Node] = []
    for keyed in syntax.captures(file.root, "(keyed_element) @k", "k"):
        pair = syntax.children(keyed)
        if len(pair) == 2 and text(pair[0]) == name:
            values += syntax.children(pair[1])[:1]
    for statement in syntax.assignments(file.root):
        left, right = syntax.field(statement, "left"), syntax.field(statement, "right")
        for target, value in zip(syntax.children(left), syntax.children(right), strict=False):
            if target.type == "selector_expression" and text(syntax.field(target, "field")) == name:
                values.append(value)
    return values


def _from_call(workspace: Workspace, file: GoFile, call: Node, hops: int, depth: int) -> list[PatchSource]:
    _, name = syntax.callee(call)
    args = syntax.arguments(call)
    if name in ("MergeFrom", "MergeFromWithOptions", "StrategicMergeFrom") and args:
        kind = PatchType.STRATEGIC if name.startswith("Strategic") else PatchType.MERGE
        lock = _emptied(call, args[:1]) or _options_lock(workspace, file, args[1:], depth)
        return [PatchSource(lock, kind, BaseOrigin.INLINE, file, call, args[0], hops=hops)]
    if name in ("RawPatch", "ConstantPatch") and len(args) == 2:
        return [from_data(workspace, file, args[1], patch_type(text(args[0])), call, hops)]
    if name == "MergeFromWithOptimisticLock" and args:
        return [PatchSource(Lock.LOCKED, PatchType.MERGE, BaseOrigin.INLINE, file, call, args[0], hops=hops)]
    function = resolve_function(workspace, file, call)
    if function is None or function.body is None or hops >= _HOPS:
        return []
    sources: list[PatchSource] = []
    for statement in syntax.captures(function.body, "(return_statement) @r", "r"):
        if syntax.enclosing(statement, "func_literal", "function_declaration", "method_declaration") != function.node:
            continue
        for value in syntax.children(next(iter(syntax.children(statement)), None))[:1]:
            if value.type == "nil":
                continue
            sources += resolve(workspace, function.file, value, hops=hops + 1, depth=depth + 1)
    emptied = _emptied(call, args)
    return [replace(made, origin=BaseOrigin.HELPER, lock=emptied or made.lock) for made in sources]


def _emptied(call: Node, bases: list[Node]) -> Lock | None:
    """Return the lock of a diff whose base has had its version taken away: the diff carries that of the object.

    `base.SetResourceVersion("")` is how code locked before there was an option for it, and how helpers lock on request.
    """
    outer = outermost_function(call)
    names = {syntax.root_identifier(base) for base in bases} - {""}
    for node in emptied_versions(outer, names) if outer is not None and names else ():
        if node.start_byte < call.start_byte:
            around = syntax.enclosing(node, "if_statement")
            asked = around is not None and not syntax.inside(call, around)
            return Lock.MIXED if asked else Lock.LOCKED
    return None


def _options_lock(workspace: Workspace, file: GoFile, options: list[Node], depth: int) -> Lock:
    """Decide whether the options of a base ask for the lock, following variables that hold them."""
    unknown = False
    for option in options:
        if syntax.mentions(option, _LOCK):
            return Lock.LOCKED
        node = syntax.strip(option)
        while node is not None and node.type in ("variadic_argument",):
            node = next(iter(syntax.children(node)), None)
        if node is None or node.type != "identifier" or depth > 6:
            continue
        answers = []
        for definition in definitions(workspace, file, text(node), node):
            if definition.how is How.PARAMETER:
                answers += _argument_locks(workspace, definition, text(node), depth)
            elif definition.value is not None:
                answers.append(Lock.LOCKED if syntax.mentions(definition.value, _LOCK) else Lock.UNLOCKED)
        if answers and all(answer is Lock.LOCKED for answer in answers):
            return Lock.LOCKED
        if Lock.LOCKED in answers:
            return Lock.MIXED
        unknown = unknown or not answers
    return Lock.UNKNOWN if unknown else Lock.UNLOCKED


def _argument_locks(workspace: Workspace, definition: Definition, name: str, depth: int) -> list[Lock]:
    function = definition.file.function_at(definition.node.child_by_field_name("body") or definition.node)
    position = function.parameter_index(name) if function else None
    if function is None or position is None:
        return []
    return [
        _options_lock(workspace, file, syntax.arguments(call)[position:], depth + 1)
        for file, call in callers(workspace, function)
    ]


def patch_type(source: str) -> PatchType:
    """Return the patch type a constant names: `types.JSONPatchType`."""
    return next((kind for word, kind in _PATCH_TYPES if word in source), PatchType.UNKNOWN)


def from_data(workspace: Workspace, file: GoFile, data: Node, kind: PatchType, node: Node, hops: int) -> PatchSource:
    """Judge raw patch bytes by how the function builds them: a diff has a base, a literal body has none."""
    if kind is PatchType.APPLY:
        return PatchSource(Lock.OWNED, kind, BaseOrigin.INLINE, file, node, hops=hops)
    made = raw_patch(workspace, file, data)
    if not made.known:
        return PatchSource(Lock.UNKNOWN, kind, BaseOrigin.INLINE, file, node, None, data, hops)
    origin = BaseOrigin.INLINE if made.is_diff else BaseOrigin.BODY
    return PatchSource(made.lock(workspace, kind), kind, origin, file, node, made.snapshot, data, hops)


def together(made: list[PatchSource]) -> Lock:
    """Put the locks of several possible bases together."""
    locks = {source.lock for source in made}
    if not locks:
        return Lock.UNKNOWN
    if len(locks) == 1:
        return next(iter(locks))
    if Lock.UNLOCKED in locks or Lock.MIXED in locks:
        return Lock.MIXED if Lock.LOCKED in locks or Lock.MIXED in locks else Lock.UNLOCKED
    return Lock.UNKNOWN if Lock.UNKNOWN in locks else Lock.LOCKED
