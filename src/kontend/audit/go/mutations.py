"""The parts of an object that a stretch of code changes: status, finalizers, owner references, labels, spec.

A write through the main resource says only `Patch(ctx, obj, patch)`; it carries what was changed on `obj` before.
Changes are assignments to fields, the well-known setters (`AddFinalizer`, `SetStatusCondition`, `SetOwnerReferences`
...), and calls of functions in sight that take the object, followed two levels deep.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from kontend.audit.go.handed_functions import function_values
from kontend.audit.go.source import syntax
from kontend.audit.go.source.package import GoFile, GoFunction, parameters
from kontend.audit.go.source.scope import How, definitions, targets, values
from kontend.audit.go.source.syntax import Node, text
from kontend.audit.go.source.types import container, resolve_function, type_of
from kontend.audit.go.source.workspace import Workspace
from kontend.audit.site import Target

_PARTS = {
    "Status": Target.STATUS,
    "Spec": Target.SPEC,
    "Finalizers": Target.FINALIZERS,
    "OwnerReferences": Target.OWNER_REFERENCES,
    "Labels": Target.LABELS,
    "Annotations": Target.LABELS,
    "ObjectMeta": Target.LABELS,
    "Data": Target.SPEC,
    "StringData": Target.SPEC,
    "BinaryData": Target.SPEC,
}
_METHODS = {
    "SetFinalizers": Target.FINALIZERS,
    "SetOwnerReferences": Target.OWNER_REFERENCES,
    "SetLabels": Target.LABELS,
    "SetAnnotations": Target.LABELS,
    "SetConditions": Target.STATUS,
    "SetStatus": Target.STATUS,
    "StatusConditions": Target.STATUS,
    "InitializeConditions": Target.STATUS,
}
_SET_PATHS = {
    "SetAnnotations": "metadata.annotations",
    "SetStatus": "status",
    "SetConditions": "status.conditions",
    "StatusConditions": "status.conditions",
    "InitializeConditions": "status.conditions",
}
_GETTERS = {"GetLabels": "Labels", "GetAnnotations": "Annotations"}
_METADATA_SETTER = re.compile(r"^(?i:try)?(?i:add|remove|set|ensure|append|delete)")
_MARKERS = re.compile(r"^(Mark[A-Z]\w*|SetSummary|SetAggregate|PropagateTo|SetMirror)")
_CONDITION = re.compile(r"[Cc]ondition")
_LIST_VALUE = re.compile(r"^\s*(append\(|\[\]|make\(\[\]|slices\.|lo\.(Filter|Map|Uniq|Union))")
_REMOVAL = re.compile(r"(?i)remove|delete|filter|without|nil$|difference|prune")
_READERS = re.compile(
    r"^(Get|List|DeepCopy|Is|Has|Find|Contains|Error|Info|V|With|Event|Eventf|Errorf|Sprintf|Equal|DeepEqual|ObjectKey"
    r"|DeepDerivative|Len|len|string|Marshal|Diff|Print|Compute|Hash|Should|Needs|Validate|Check|Count|Describe|Compare"
    r"|Same|Exists|Log|KObj|KRef|get|is|has|find|contains|should|needs|validate|check|count|log|compare|equal)"
)
_CHANGERS = ("Set", "Mark", "Add", "Remove", "Delete", "Initialize", "Propagate", "Clear", "Reset", "Update")
_ITERATORS = re.compile(r"^([ijkn]|idx|index|pos|\w*(Idx|Index))$|^\d+$")
_DEPTH = 2


@dataclass(frozen=True, slots=True)
class Mutation:
    """A change of a part of an object.

    `is_list` means that a merge patch carries a whole list; `from_object` that the new value was computed from the old
    one; `recomputed` that the old value of the same field is part of it; `removal` that entries are only taken away.
    `in_place` that memory is changed which a shallow copy of the object shares. `condition` is the type of the status
    condition that is set.
    """

    target: Target
    path: str
    node: Node
    whole: bool = False
    is_list: bool = False
    from_object: bool = False
    value: Node | None = None
    removal: bool = False
    condition: str = ""
    recomputed: bool = False
    in_place: bool = False


def json_path(parts: list[str]) -> str:
    """Turn Go field names into the JSON path they usually have.

    >>> json_path(["Status", "ReadyReplicas"])
    'status.readyReplicas'
    """
    named = [part for part in parts if part != "[]" and part != "ObjectMeta"]
    return ".".join(part if part.isupper() else part[:1].lower() + part[1:] for part in named)


@dataclass(frozen=True, slots=True)
class _Known:
    """The expressions that mean an object, or a part of it, in a stretch of code."""

    names: dict[str, list[str]]
    """Variables, with the part of the object that each one is: `status := &obj.Status`."""
    holder: tuple[str, ...] = ()
    """The field that holds the object, where a variable does not: `rc.Datacenter`."""

    def part(self, parts: list[str]) -> list[str] | None:
        """Return the path within the object that an expression means; None where it is no part of it."""
        if self.holder and tuple(parts[: len(self.holder)]) == self.holder:
            return parts[len(self.holder) :]
        if parts and parts[0] in self.names:
            return [*self.names[parts[0]], *parts[1:]]
        return None

    def held_by(self, parts: list[str]) -> tuple[str, ...] | None:
        """Return the path from an expression to the object, where it holds the object: `rc.Datacenter`."""
        length = len(parts)
        if 0 < length < len(self.holder) and self.holder[:length] == tuple(parts):
            return self.holder[length:]
        return None


def mutations(
    workspace: Workspace,
    file: GoFile,
    within: Node,
    name: str,
    *,
    before: int | None = None,
    after: int = 0,
    depth: int = 0,
    part: Sequence[str] = (),
    field: Sequence[str] = (),
) -> list[Mutation]:
    """Return what the code in `within` changes of the object called `name`, between two byte positions.

    `part` is the part of the object that the variable is, `field` the path of fields from the variable to the object.
    """
    end = within.end_byte if before is None else before
    changes: list[Mutation] = []
    names = _known(within, name, list(part), tuple(field))
    for statement in syntax.between(syntax.assignments(within), after, end):
        changes += _assigned(workspace, file, statement, names)
    for call in syntax.between(syntax.calls(within), after, end):
        changes += _called(workspace, file, call, names, depth)
    return sorted(changes, key=lambda change: change.node.start_byte)


def _known(within: Node, name: str, part: list[str], field: tuple[str, ...]) -> _Known:
    if field:
        holder = (name, *field)
        held = {text(target): list[str]() for target in _copies(within).get(holder, ())}
        return _Known(held, holder)
    aliases = {alias: [*part, *path] for alias, path in _aliases(within).get(name, {}).items()}
    # `dc := rc.Datacenter`: methods of rc change the same object
    holders = [path for path, held in _copies(within).items() if len(path) > 1 and any(text(h) == name for h in held)]
    return _Known({name: part, **aliases}, holders[0] if len(holders) == 1 and not part else ())


@syntax.remembered(1024)
def _copies(within: Node) -> dict[tuple[str, ...], list[Node]]:
    """Find `dc := rc.Datacenter`: other names of what a field points to, by the field."""
    copies: dict[tuple[str, ...], list[Node]] = {}
    for statement in syntax.assignments(within):
        if statement.type != "short_var_declaration":
            continue
        for target, value in zip(targets(statement), values(statement), strict=False):
            if value.type == "selector_expression" and (parts := syntax.selector(value)):
                copies.setdefault(tuple(parts), []).append(target)
    return copies


@syntax.remembered(1024)
def _aliases(within: Node) -> dict[str, dict[str, list[str]]]:
    """Find `status := &obj.Status` and `labels := obj.GetLabels()`, which let the code below change a part of an object
    under another name; by object."""
    aliases: dict[str, dict[str, list[str]]] = {}
    for statement in syntax.assignments(within):
        if statement.type != "short_var_declaration":
            continue
        for target, value in zip(targets(statement), values(statement), strict=False):
            parts = syntax.selector(value)
            if len(parts) > 1 and text(value).startswith("&"):
                aliases.setdefault(parts[0], {})[text(target)] = parts[1:]
            if value.type == "call_expression" and (part := _GETTERS.get(syntax.callee(value)[1])) is not None:
                owner = syntax.selector(syntax.callee(value)[0])
                if len(owner) == 1 and not syntax.arguments(value):
                    aliases.setdefault(owner[0], {})[text(target)] = [part]
    return aliases


def _assigned(workspace: Workspace, file: GoFile, statement: Node, names: _Known) -> list[Mutation]:
    if statement.type in ("var_spec", "range_clause", "short_var_declaration"):
        return []
    left = [syntax.children(statement)[0]] if statement.type == "inc_statement" else targets(statement)
    right = [] if statement.type == "inc_statement" else values(statement)
    changes: list[Mutation] = []
    for position, target in enumerate(left):
        parts = syntax.selector(target)
        path = names.part(parts)
        if not path or (len(parts) < 2 and text(target)[:1] != "*"):
            continue
        value = right[position] if position < len(right) else None
        part = _part(path)
        if part is None:
            continue
        source = text(value)
        changes.append(
            Mutation(
                part,
                json_path(path),
                statement,
                len(path) == 1,
                _carries_list(workspace, file, target, path, value),
                _mentions(value, names),
                value,
                removal=bool(_REMOVAL.search(source)) and "append(" not in source.replace("append([]", ""),
                condition=_condition_type(workspace, file, value) if "Conditions" in path else "",
                in_place="[]" in path,
                recomputed=statement.type == "inc_statement"
                or (len(path) > 1 and not _literal(value) and _reads(workspace, file, value, parts)),
            )
        )
    return changes


def _mentions(value: Node | None, names: _Known) -> bool:
    """Decide whether an expression uses the object or a part of it."""
    if value is None:
        return False
    used = syntax.descend(value, lambda node: node.type in ("identifier", "selector_expression"))
    return any(names.part(syntax.selector(node)) is not None for node in used)


def _reads(workspace: Workspace, file: GoFile, value: Node | None, parts: list[str], depth: int = 0) -> bool:
    """Decide whether a value is computed from a path of an object, directly or through local variables."""
    if value is None or depth > 3:
        return False
    for node in syntax.descend(value, lambda node: node.type in ("selector_expression", "identifier")):
        if node.type == "selector_expression":
            longer = node.parent is not None and node.parent.type == "selector_expression"
            if syntax.selector(node) == parts and not longer:
                return True
        elif node.parent is None or node.parent.type != "selector_expression":
            held = definitions(workspace, file, text(node), node)
            if any(d.how is How.VALUE and _reads(workspace, file, d.value, parts, depth + 1) for d in held):
                return True
    return False


def _literal(value: Node | None) -> bool:
    """Report if a value is a literal struct: it is replaced whole, though one of its fields may look at the old one."""
    node = syntax.strip(value)
    return node is not None and node.type == "composite_literal"


def _carries_list(workspace: Workspace, file: GoFile, target: Node, path: list[str], value: Node | None) -> bool:
    """Decide whether a merge patch of this assignment replaces a list: by the field's type, else by how it is used."""
    node: Node | None = syntax.strip(target)
    while node is not None and node.type in ("selector_expression", "index_expression"):
        if node.type == "index_expression":
            kind = container(workspace, file, syntax.field(node, "operand"))
            index = text(syntax.field(node, "index"))
            if kind == "list" or (not kind and _ITERATORS.match(index)):
                return True
        node = syntax.strip(syntax.field(node, "operand"))
    kind = container(workspace, file, target)
    if kind:
        return kind == "list"
    if path[-1] == "[]":
        return False  # an entry of a map: a merge patch sends that key alone
    assigned = type_of(workspace, file, value) if value is not None else None
    if assigned is not None and (assigned.slice or assigned.mapping):
        return assigned.slice
    return bool(_LIST_VALUE.match(text(value))) or path[-1] == "Conditions"


def _part(path: list[str]) -> Target | None:
    named = [part for part in path if part != "ObjectMeta"]
    if not named:
        return Target.LABELS
    if named[0] == "Object":  # unstructured content
        return Target.OBJECT
    return _PARTS.get(named[0])


def _called(workspace: Workspace, file: GoFile, call: Node, names: _Known, depth: int) -> list[Mutation]:
    operand, called = syntax.callee(call)
    args = syntax.arguments(call)
    changes: list[Mutation] = []
    if operand is not None:
        changes += _method(workspace, file, call, operand, called, names, depth)
    for position, arg in enumerate(args):
        parts = syntax.selector(arg)
        path = names.part(parts)
        if path is None:
            if (held := names.held_by(parts)) and depth < _DEPTH and not _READERS.match(called):
                changes += _in_callee(workspace, file, call, position, depth, held)
            continue
        if path:
            whole = depth < _DEPTH and (len(parts) == 1 or text(arg).startswith("&")) and not _READERS.match(called)
            inner = _in_callee(workspace, file, call, position, depth, part=path) if whole else []
            changes += inner or _part_passed(workspace, file, call, arg, path, args)
        elif (setter := _metadata_setter(called)) is not None:
            if setter is Target.FINALIZERS or position == (1 if re.match(r"^Set(Controller|Owner)Ref", called) else 0):
                listed = f"metadata.{setter.value}"
                removal = bool(re.match(r"(?i)^(try)?(remove|delete)", called))
                changes.append(Mutation(setter, listed, call, is_list=True, from_object=True, removal=removal))
        elif called.startswith("SetNested") or called == "RemoveNestedField":
            changes.append(Mutation(Target.OBJECT, "", call))
        elif (
            _CONDITION.search(called)
            and called.startswith(("Set", "Mark", "Update", "Remove", "Delete", "set", "mark", "update", "remove"))
        ) or ((_MARKERS.match(called) or called in ("Set", "Delete")) and _CONDITION.search(text(operand))):
            changes.append(
                Mutation(
                    Target.STATUS, "status.conditions", call, is_list=True, from_object=True, in_place=True,
                    condition=next(filter(None, (_condition_type(workspace, file, other) for other in args[1:])), ""),
                )
            )  # fmt: skip
        elif depth < _DEPTH and not _READERS.match(called):
            changes += _in_callee(workspace, file, call, position, depth)
    return changes


def _metadata_setter(called: str) -> Target | None:
    if not _METADATA_SETTER.match(called):
        return None
    if "Finalizer" in called:
        return Target.FINALIZERS
    if re.search(r"(Owner|Controller)Ref", called):
        return Target.OWNER_REFERENCES
    return None


def _part_passed(
    workspace: Workspace, file: GoFile, call: Node, arg: Node, path: list[str], args: list[Node]
) -> list[Mutation]:
    """Judge `f(&obj.Status.Conditions, ...)`: a function that only reads changes nothing."""
    operand, called = syntax.callee(call)
    if _READERS.match(called) or called in ("MergeFrom", "ObjectKeyFromObject", "append"):
        return []
    by_pointer = text(arg).startswith("&") or (operand is None and called in ("delete", "clear"))
    part = _part(path)
    if not by_pointer or part is None:
        return []
    mapping = (operand is None and called == "delete") or container(workspace, file, arg) == "map"
    listed = path[-1] == "Conditions" and not mapping
    condition = next(filter(None, (_condition_type(workspace, file, other) for other in args[1:])), "")
    if path[-1] != "Conditions":
        condition = ""
    in_place = (operand is None and called == "delete") or path[-1] == "Conditions"
    return [
        Mutation(part, json_path(path), call, is_list=listed, from_object=True, condition=condition, in_place=in_place)
    ]


def _condition_type(workspace: Workspace, file: GoFile, node: Node | None, depth: int = 0) -> str:
    """Return the constant that names a condition: from `metav1.Condition{Type: X}`, a constant, or a string."""
    inner = syntax.strip(node)
    if inner is None or depth > 3:
        return ""
    if inner.type == "composite_literal":
        for keyed in syntax.children(syntax.field(inner, "body")):
            pair = syntax.children(keyed) if keyed.type == "keyed_element" else []
            if len(pair) == 2 and text(pair[0]) == "Type":
                return _condition_type(workspace, file, next(iter(syntax.children(pair[1])), pair[1]), depth + 1)
        return ""
    if inner.type in ("interpreted_string_literal", "raw_string_literal"):
        return text(inner).strip('"`') if depth else ""
    if inner.type == "selector_expression":
        name = text(syntax.field(inner, "field"))
        owner = text(syntax.field(inner, "operand"))
        if name in ("ConditionTrue", "ConditionFalse", "ConditionUnknown"):
            return ""
        return name if owner in file.imports and (depth or _CONDITION.search(name)) else ""
    if inner.type == "identifier":
        for definition in definitions(workspace, file, text(inner), inner):
            if definition.value is not None:
                return _condition_type(workspace, definition.file, definition.value, depth + 1)
    if inner.type == "call_expression" and depth and syntax.callee(inner)[1] == "string":
        return _condition_type(workspace, file, next(iter(syntax.arguments(inner)), None), depth + 1)
    return ""


def _chained(call: Node) -> Node | None:
    """Return the call of a method of what a call returns: `obj.StatusConditions().SetTrue(kind)`."""
    selector = call.parent
    if selector is None or selector.type != "selector_expression":
        return None
    outer = selector.parent
    return outer if outer is not None and outer.type == "call_expression" else None


def _method(
    workspace: Workspace, file: GoFile, call: Node, operand: Node, called: str, names: _Known, depth: int
) -> list[Mutation]:
    parts = syntax.selector(operand)
    path = names.part(parts)
    if path is None:
        held = names.held_by(parts)
        return _in_method(workspace, file, call, depth, held) if held and not _READERS.match(called) else []
    if not path:
        if called in _METHODS:
            chained = _chained(call)
            if chained is not None and _READERS.match(syntax.callee(chained)[1]):
                return []  # `obj.StatusConditions().Get(kind)`
            call = chained or call
            part = _METHODS[called]
            listed = part is not Target.LABELS and called != "SetStatus"
            where = _SET_PATHS.get(called, f"metadata.{part.value}")
            first = next(iter(syntax.arguments(call)), None)
            removal = bool(_REMOVAL.search(text(first))) and "append(" not in text(first)
            return [Mutation(part, where, call, called == "SetStatus", listed, True, removal=removal)]
        if _MARKERS.match(called):
            return [Mutation(Target.STATUS, "status.conditions", call, is_list=True, from_object=True)]
        return _in_method(workspace, file, call, depth) if not _READERS.match(called) else []
    inner = _in_method(workspace, file, call, depth, part=path) if not _READERS.match(called) else []
    if inner:
        return inner
    part_changed = _part(path)
    if part_changed is None or _READERS.match(called) or not called[:1].isupper() or not called.startswith(_CHANGERS):
        return []
    listed = bool(_CONDITION.search(called)) or called.startswith(("Mark", "Propagate", "Initialize"))
    where = "status.conditions" if listed and path == ["Status"] else json_path(path)
    return [Mutation(part_changed, where, call, is_list=listed, from_object=True)]


def _in_method(
    workspace: Workspace, file: GoFile, call: Node, depth: int, field: Sequence[str] = (), part: Sequence[str] = ()
) -> list[Mutation]:
    """Follow a method that is in sight: of the object (`obj.Default()`), of a part of it, or of what holds it."""
    function = resolve_function(workspace, file, call) if depth < _DEPTH else None
    if function is None or function.body is None or not function.receiver:
        return []
    inner = mutations(
        workspace, function.file, function.body, function.receiver, depth=depth + 1, field=field, part=part
    )
    return [replace(change, node=call, value=None) for change in inner]


def _in_callee(
    workspace: Workspace,
    file: GoFile,
    call: Node,
    position: int,
    depth: int,
    field: Sequence[str] = (),
    part: Sequence[str] = (),
) -> list[Mutation]:
    function = resolve_function(workspace, file, call)
    if function is None:
        return _in_value(workspace, file, call, position, depth, part)
    if function.body is None or position >= len(function.parameters):
        return []
    inner = parameter_mutations(workspace, function, position, depth + 1, field, part)
    return [replace(change, node=call, value=None) for change in inner]


def _in_value(
    workspace: Workspace, file: GoFile, call: Node, position: int, depth: int, part: Sequence[str]
) -> list[Mutation]:
    """Follow a call of a variable that holds a function, or of a result: `change(obj)`, `setPhase(p)(obj)`."""
    operand, called = syntax.callee(call)
    if operand is not None and called:
        return []
    changes: list[Mutation] = []
    for where, literal in function_values(workspace, file, syntax.field(call, "function")):
        own = parameters(literal)
        if position < len(own) and own[position][0] not in ("", "_"):
            changes += mutations(workspace, where, literal, own[position][0], depth=depth + 1, part=part)
    return [replace(change, node=call, value=None) for change in changes]


def parameter_mutations(
    workspace: Workspace,
    function: GoFunction,
    position: int,
    depth: int = 0,
    field: Sequence[str] = (),
    part: Sequence[str] = (),
) -> list[Mutation]:
    """Return what a function changes of the object in one of its parameters."""
    name = function.parameters[position][0]
    if function.body is None or not name or name == "_":
        return []
    return mutations(workspace, function.file, function.body, name, depth=depth, field=field, part=part)
