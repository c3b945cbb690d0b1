"""The source of the written object: a cached read, a live one, a list, an earlier write, or nowhere yet.

The last thing that filled the variable before the write decides. A parameter is followed into the callers, because a
reconciler reads at its top and writes in its helpers.
"""

from __future__ import annotations

import re
from itertools import islice

from kontend.audit.go.calls.reads import read_into, read_kind
from kontend.audit.go.calls.recognition import recognise
from kontend.audit.go.source import syntax
from kontend.audit.go.source.package import GoFile, GoFunction
from kontend.audit.go.source.scope import How, definitions, outermost_function, runs_in
from kontend.audit.go.source.syntax import Node, line, text
from kontend.audit.go.source.types import callers, resolve_function, type_of
from kontend.audit.go.source.workspace import Workspace
from kontend.audit.site import Provenance

_SHARED_FIELD = re.compile(r"^(Resource|Object|Obj|Instance|Owner|CR|Parent)$")
_HOPS = 3


def provenance(
    workspace: Workspace, file: GoFile, node: Node | None, use: Node, hops: int = 0, *, index: int = 0
) -> Provenance:
    """Return where the object in `node` was last filled before `use`; of a call, its result at `index`."""
    stripped = syntax.strip(node)
    if stripped is None:
        return Provenance.UNKNOWN
    if stripped.type == "composite_literal":
        return Provenance.BUILT
    parts = syntax.selector(stripped)
    if stripped.type in ("call_expression", "type_conversion_expression"):
        return _of_call(workspace, file, stripped, hops, index)
    if not parts:
        return Provenance.UNKNOWN
    if "[]" in parts:
        return Provenance.LIST_ITEM if "Items" in parts else _of_indexed(workspace, file, stripped)
    event = _last_event(workspace, file, parts, use)
    if event is not None:
        return event
    if len(parts) > 1:
        return Provenance.SHARED if _SHARED_FIELD.match(parts[-1]) else Provenance.UNKNOWN
    return _of_definition(workspace, file, stripped, hops)


def _last_event(workspace: Workspace, file: GoFile, parts: list[str], use: Node) -> Provenance | None:
    """Look for the last read into, or write of, the variable that certainly ran before the use."""
    outer = outermost_function(use)
    if outer is None:
        return None
    for call in reversed(syntax.nearby_calls(outer, use)):
        if call.end_byte > use.start_byte or not syntax.inside(use, runs_in(call)):
            continue
        operand, name = syntax.callee(call)
        args = syntax.arguments(call)
        read = read_into(workspace, file, call, parts)
        if read is not None:
            return read
        written = (
            operand is not None
            and name in ("Update", "Patch", "Create")
            and len(args) >= 2
            and syntax.selector(args[1]) == parts
        )
        if written and recognise(workspace, file, call) is not None:
            return Provenance.JUST_WRITTEN
    return None


def _of_call(workspace: Workspace, file: GoFile, call: Node, hops: int, index: int) -> Provenance:
    operand, name = syntax.callee(call)
    if name in ("DeepCopy", "DeepCopyObject") and operand is not None:
        return provenance(workspace, file, operand, call, hops)
    if name == "Get" and operand is not None:
        source = text(operand)
        return Provenance.CACHED_GET if re.search(r"[Ll]ister", source) else read_kind(operand)
    if name in ("Update", "Patch", "Create", "UpdateStatus") and operand is not None:
        return Provenance.JUST_WRITTEN
    function = resolve_function(workspace, file, call)
    if function is not None and function.body is not None and hops < _HOPS:
        built = _returned(workspace, file, call, function, hops, index)
        if built is not None:
            return built
    args = [syntax.selector(arg) for arg in syntax.arguments(call)]
    if any(parts and _SHARED_FIELD.match(parts[-1]) for parts in args) or re.search(r"Resource(As)?$", name):
        return Provenance.SHARED
    return Provenance.UNKNOWN


def _returned(
    workspace: Workspace, file: GoFile, call: Node, function: GoFunction, hops: int, index: int
) -> Provenance | None:
    """Return the provenance of a result that all return statements of a function agree on: a literal or a read.

    A function that returns its parameter, or a copy of it, returns what this call gives it.
    """
    args = syntax.arguments(call)
    answers: set[Provenance] = set()
    body = function.body
    for statement in syntax.captures(body, "(return_statement) @r", "r") if body is not None else ():
        if syntax.enclosing(statement, "func_literal", "function_declaration", "method_declaration") != function.node:
            continue
        results = syntax.children(next(iter(syntax.children(statement)), None))
        passed_on = len(results) == 1 and index > 0  # `return f(x)` gives all the results of f
        value = results[0] if passed_on else results[index] if index < len(results) else None
        if value is None or value.type == "nil":
            continue
        position = _parameter_of(workspace, function, value)
        if position is not None and position < len(args):
            answers.add(provenance(workspace, file, args[position], call, hops + 1))
        else:
            at = index if passed_on else 0
            answers.add(provenance(workspace, function.file, value, value, hops + 1, index=at))
    known = (Provenance.BUILT, Provenance.CACHED_GET, Provenance.LIVE_GET)
    return answers.pop() if len(answers) == 1 and answers <= set(known) else None


def _parameter_of(workspace: Workspace, function: GoFunction, value: Node) -> int | None:
    """Return the position of the parameter that a value is, or is a deep copy of."""
    node: Node | None = syntax.strip(value)
    for _ in range(3):
        if node is not None and node.type == "call_expression" and syntax.callee(node)[1] == "DeepCopy":
            node = syntax.strip(syntax.callee(node)[0])
        if node is None or node.type != "identifier":
            return None
        reaching = definitions(workspace, function.file, text(node), node)
        if len(reaching) != 1:
            return None
        if reaching[0].how is How.PARAMETER:
            return function.parameter_index(text(node))
        node = syntax.strip(reaching[0].value)
    return None


def read_line(workspace: Workspace, file: GoFile, node: Node | None, use: Node) -> int:
    """Return the line of the last read into the object before a use, in the same function."""
    outer, parts = outermost_function(use), syntax.selector(node)
    if outer is None or not parts:
        return 0
    for call in reversed(syntax.nearby_calls(outer, use)):
        if call.end_byte <= use.start_byte and read_into(workspace, file, call, parts) is not None:
            return line(call)
    return 0


_DELETION = re.compile(r"(?i)delet|finaliz|terminat|cleanup|clean_up|teardown|tear_down|deprovision|destroy|uninstall")
_DELETED = re.compile(r"DeletionTimestamp|IsBeingDeleted|BeingDeleted|isDeleted|IsDeleted|IsTerminating|isTerminating")


_ZERO = r"[\w.()]*DeletionTimestamp(\(\))?\.IsZero\(\)"


def _alive(condition: str) -> bool:
    """Decide whether a condition about deletion holds for objects that are not being deleted."""
    if re.search(rf"!\s*{_ZERO}|DeletionTimestamp(\(\))?\s*!=\s*nil", condition):
        return False
    if re.search(rf"{_ZERO}|DeletionTimestamp(\(\))?\s*==\s*nil", condition):
        return True
    return condition.lstrip("( ").startswith("!")


def runs_while_deleting(workspace: Workspace, file: GoFile, use: Node, hops: int = 0) -> bool:
    """Decide whether code runs for an object that is being deleted: by the conditions around it, or by its callers."""
    for parent in syntax.ancestors(use):
        if parent.type != "if_statement":
            continue
        condition = text(parent.child_by_field_name("condition"))
        if not _DELETED.search(condition):
            continue
        alive = _alive(condition)
        consequence = parent.child_by_field_name("consequence")
        in_consequence = consequence is not None and syntax.inside(use, consequence)
        return in_consequence != alive
    function = file.function_at(use)
    if function is None:
        return False
    if _returned_unless_deleted(function, use) or _uses_deletion_time(function, use):
        return True
    if _DELETION.search(function.name):
        return True
    reaching = list(islice(callers(workspace, function), 8)) if hops < 2 else []
    return bool(reaching) and all(runs_while_deleting(workspace, other, call, hops + 1) for other, call in reaching)


def _returned_unless_deleted(function: GoFunction, use: Node) -> bool:
    """Recognise `if obj.DeletionTimestamp.IsZero() { ...; return }` before the use."""
    return any(guard.end_byte <= use.start_byte for guard in _guards(function.node))


_DELETION_TIME = re.compile(r"DeletionTimestamp(\(\))?\.(Add|Sub|Time|After|Before|Unix|UTC|Format)\b")


def _uses_deletion_time(function: GoFunction, use: Node) -> bool:
    """Recognise code that takes the deletion time for granted: `releaseAt := pod.DeletionTimestamp.Add(delay)`."""
    before = (function.node.text or b"")[: use.start_byte - function.node.start_byte]
    return any(
        _DELETION_TIME.search(statement) and "if " not in statement
        for statement in before.decode("utf-8", "replace").split("\n")
        if statement.startswith("\t") and not statement.startswith("\t\t")
    )


@syntax.remembered(1024)
def _guards(function: Node) -> tuple[Node, ...]:
    """Return the statements of a function that end it for objects that are not being deleted."""
    guards = []
    for statement in syntax.captures(function, "(if_statement) @i", "i"):
        condition = text(statement.child_by_field_name("condition"))
        if _DELETED.search(condition) and _alive(condition):
            consequence = statement.child_by_field_name("consequence")
            last = syntax.children(consequence)[-1:] if consequence is not None else []
            if last and last[0].type == "statement_list":
                last = syntax.children(last[0])[-1:]
            if last and last[0].type == "return_statement":
                guards.append(statement)
    return tuple(guards)


def _of_indexed(workspace: Workspace, file: GoFile, node: Node) -> Provenance:
    base = syntax.field(node, "operand") if node.type == "index_expression" else None
    kind = type_of(workspace, file, base) if base is not None else None
    return Provenance.LIST_ITEM if kind is None or kind.slice else Provenance.UNKNOWN


def _of_definition(workspace: Workspace, file: GoFile, node: Node, hops: int) -> Provenance:
    reaching = definitions(workspace, file, text(node), node)
    for definition in reversed(reaching):
        if definition.how is How.RANGE:
            return Provenance.LIST_ITEM
        if definition.how is How.PARAMETER:
            return _of_parameter(workspace, definition.file, definition.node, text(node), hops)
        if definition.value is None:
            continue
        stripped = syntax.strip(definition.value)
        if stripped is not None and stripped.type == "composite_literal":
            return Provenance.BUILT
        if stripped is not None:
            return provenance(workspace, definition.file, stripped, definition.node, hops, index=definition.index)
    return Provenance.UNKNOWN


def _of_parameter(workspace: Workspace, file: GoFile, node: Node, name: str, hops: int) -> Provenance:
    function = file.function_at(node.child_by_field_name("body") or node)
    position = function.parameter_index(name) if function else None
    if function is None or position is None or hops >= _HOPS or node.type == "func_literal":
        return Provenance.PARAMETER
    answers = set()
    for caller, call in islice(callers(workspace, function), 20):
        args = syntax.arguments(call)
        if position < len(args):
            answers.add(provenance(workspace, caller, args[position], call, hops + 1))
    answers.discard(Provenance.UNKNOWN)
    return answers.pop() if len(answers) == 1 else Provenance.PARAMETER
