"""Which parts of an object a stretch of code changes: status, finalizers, owner references, labels, spec.

A write through the main resource says only `Patch(ctx, obj, patch)`; what it carries is what was changed on `obj`
before. Changes are assignments to fields, the well-known setters (`AddFinalizer`, `SetStatusCondition`,
`SetOwnerReferences` ...), and calls of functions in sight that take the object, followed two levels deep.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from kontend.audit.go.source import syntax
from kontend.audit.go.source.package import GoFile, GoFunction
from kontend.audit.go.source.scope import resolve_function, targets, values
from kontend.audit.go.source.syntax import Node, text
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
_OBJECT_SETTERS = {
    "AddFinalizer": Target.FINALIZERS,
    "RemoveFinalizer": Target.FINALIZERS,
    "SetControllerReference": Target.OWNER_REFERENCES,
    "SetOwnerReference": Target.OWNER_REFERENCES,
    "RemoveControllerReference": Target.OWNER_REFERENCES,
    "RemoveOwnerReference": Target.OWNER_REFERENCES,
    "EnsureOwnerRef": Target.OWNER_REFERENCES,
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
_MARKERS = re.compile(r"^(Mark[A-Z]\w*|SetSummary|SetAggregate|PropagateTo|SetMirror)")
_CONDITION = re.compile(r"[Cc]ondition")
_LIST_VALUE = re.compile(r"^\s*(append\(|\[\]|make\(\[\]|slices\.|lo\.(Filter|Map|Uniq|Union))")
_READERS = re.compile(
    r"^(Get|List|DeepCopy|Is|Has|Find|Contains|Error|Info|V|With|Event|Eventf|Errorf|Sprintf|Equal|DeepEqual|ObjectKey|Len|len|string)"
)


@dataclass(frozen=True, slots=True)
class Mutation:
    """One change of a part of an object."""

    target: Target
    path: str
    node: Node
    whole: bool = False
    is_list: bool = False
    from_object: bool = False
    value: Node | None = None


def json_path(parts: list[str]) -> str:
    """Turn Go field names into the JSON path they usually have.

    >>> json_path(["Status", "ReadyReplicas"])
    'status.readyReplicas'
    """
    named = [part for part in parts if part != "[]" and part != "ObjectMeta"]
    return ".".join(part if part.isupper() else part[:1].lower() + part[1:] for part in named)


def mutations(
    workspace: Workspace,
    file: GoFile,
    within: Node,
    name: str,
    *,
    before: int | None = None,
    after: int = 0,
    depth: int = 0,
) -> list[Mutation]:
    """Return what the code in `within` changes of the object called `name`, between two byte positions."""
    end = within.end_byte if before is None else before
    found: list[Mutation] = []
    names: dict[str, list[str]] = {name: [], **_aliases(within, name)}
    for statement in syntax.assignments(within):
        if not after <= statement.start_byte < end:
            continue
        found += _assigned(statement, names)
    for call in syntax.calls(within):
        if after <= call.start_byte < end:
            found += _called(workspace, file, call, names, depth)
    return sorted(found, key=lambda each: each.node.start_byte)


def _aliases(within: Node, name: str) -> dict[str, list[str]]:
    """Find `status := &obj.Status`, which lets the code below change status under another name."""
    found: dict[str, list[str]] = {}
    for statement in syntax.assignments(within):
        if statement.type != "short_var_declaration":
            continue
        for target, value in zip(targets(statement), values(statement), strict=False):
            parts = syntax.selector(value)
            if parts[:1] == [name] and text(value).startswith("&") and len(parts) > 1:
                found[text(target)] = parts[1:]
    return found


def _assigned(statement: Node, names: dict[str, list[str]]) -> list[Mutation]:
    if statement.type in ("var_spec", "range_clause"):
        return []
    left = [syntax.children(statement)[0]] if statement.type == "inc_statement" else targets(statement)
    right = [] if statement.type == "inc_statement" else values(statement)
    found: list[Mutation] = []
    for position, target in enumerate(left):
        parts = syntax.selector(target)
        if not parts or parts[0] not in names or (len(parts) < 2 and not (names[parts[0]] and text(target)[:1] == "*")):
            continue
        path = [*names[parts[0]], *parts[1:]]
        value = right[position] if position < len(right) else None
        part = _part(path)
        if part is None:
            continue
        source = text(value)
        is_list = bool(_LIST_VALUE.match(source)) or path[-1] == "Conditions"
        own = any(re.search(rf"\b{re.escape(each)}\b", source) for each in names)
        found.append(Mutation(part, json_path(path), statement, len(path) == 1, is_list, own, value))
    return found


def _part(path: list[str]) -> Target | None:
    named = [each for each in path if each != "ObjectMeta"]
    if not named:
        return Target.LABELS
    if named[0] == "Object":  # unstructured content
        return Target.OBJECT
    return _PARTS.get(named[0])


def _called(workspace: Workspace, file: GoFile, call: Node, names: dict[str, list[str]], depth: int) -> list[Mutation]:
    operand, called = syntax.callee(call)
    args = syntax.arguments(call)
    found: list[Mutation] = []
    if operand is not None:
        found += _method(call, operand, called, names)
    for position, arg in enumerate(args):
        parts = syntax.selector(arg)
        if not parts or parts[0] not in names:
            continue
        path = [*names[parts[0]], *parts[1:]]
        if path:
            by_pointer = (
                text(arg).startswith("&") or not parts[1:] or (operand is None and called in ("delete", "clear"))
            )
            part = _part(path)
            if by_pointer and part is not None:
                found.append(Mutation(part, json_path(path), call, is_list=path[-1] == "Conditions", from_object=True))
        elif called in _OBJECT_SETTERS and position == (1 if called.startswith("Set") else 0):
            part = _OBJECT_SETTERS[called]
            found.append(Mutation(part, f"metadata.{part.value}", call, is_list=True, from_object=True))
        elif called.startswith("SetNested") or called == "RemoveNestedField":
            found.append(Mutation(Target.OBJECT, "", call))
        elif (
            _CONDITION.search(called)
            and called.startswith(("Set", "Mark", "Update", "Remove", "Delete", "set", "mark", "update", "remove"))
        ) or (_MARKERS.match(called) and _CONDITION.search(text(operand))):
            found.append(Mutation(Target.STATUS, "status.conditions", call, is_list=True, from_object=True))
        elif depth < 2 and not _READERS.match(called):
            found += _in_callee(workspace, file, call, position, depth)
    return found


def _method(call: Node, operand: Node, called: str, names: dict[str, list[str]]) -> list[Mutation]:
    parts = syntax.selector(operand)
    if not parts or parts[0] not in names:
        return []
    path = [*names[parts[0]], *parts[1:]]
    if not path:
        if called in _METHODS:
            set_part = _METHODS[called]
            listed = set_part is not Target.LABELS and called != "SetStatus"
            where = "status.conditions" if set_part is Target.STATUS else f"metadata.{set_part.value}"
            return [Mutation(set_part, where, call, called == "SetStatus", listed, True)]
        if _MARKERS.match(called):
            return [Mutation(Target.STATUS, "status.conditions", call, is_list=True, from_object=True)]
        return []
    part = _part(path)
    if part is None or _READERS.match(called) or not called[:1].isupper():
        return []
    if called.startswith(
        ("Set", "Mark", "Add", "Remove", "Delete", "Initialize", "Propagate", "Clear", "Reset", "Update")
    ):
        listed = bool(_CONDITION.search(called)) or called.startswith(("Mark", "Propagate", "Initialize"))
        return [Mutation(part, json_path(path), call, is_list=listed, from_object=True)]
    return []


def _in_callee(workspace: Workspace, file: GoFile, call: Node, position: int, depth: int) -> list[Mutation]:
    function = resolve_function(workspace, file, call)
    if function is None or function.body is None or position >= len(function.parameters):
        return []
    inner = parameter_mutations(workspace, function, position, depth + 1)
    return [Mutation(each.target, each.path, call, each.whole, each.is_list, each.from_object) for each in inner]


def parameter_mutations(workspace: Workspace, function: GoFunction, position: int, depth: int = 0) -> list[Mutation]:
    """Return what a function changes of the object in one of its parameters."""
    name = function.parameters[position][0]
    if function.body is None or not name or name == "_":
        return []
    return mutations(workspace, function.file, function.body, name, depth=depth)
