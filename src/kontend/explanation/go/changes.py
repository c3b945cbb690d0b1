"""Changes of Go code with which controllers are repaired, each at every place of a function where it applies.

They are made from the syntax alone. What a change means is not decided here: it is compiled and explored. So a rule may
be wrong about a type, as long as it is right often; the compiler refuses the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from tree_sitter import Node

from kontend.explanation.change import Change
from kontend.explanation.edits import Edit
from kontend.explanation.go.calls import CLIENT, insertion, method_call, new_change, request_of, whole_lines
from kontend.explanation.go.flow import FLOW
from kontend.explanation.go.reads import live_read, live_reads
from kontend.explanation.go.source import GoSource, around, below
from kontend.explanation.remedies import Remedy

_BLOCKS: Final = ("block", "statement_list")
_UNSTRUCTURED: Final = "unstructured.Unstructured"


def changes_of(source: GoSource, lines: frozenset[int]) -> list[Change]:
    """Return the changes of the functions that have one of the lines.

    The base of a patch may be made in another function than the one that sends it, so locks come from the whole file.
    """
    found: dict[tuple[Edit, ...], Change] = {}
    for function in source.functions():
        is_meant = any(function.start_point.row < line <= function.end_point.row + 1 for line in lines)
        rules = _RULES if is_meant else _RULES_ELSEWHERE
        for node in below(function):
            for rule in rules:
                for change in rule(source, node):
                    found.setdefault(change.edits, change)
        for change in live_reads(source, function) if is_meant else ():
            found.setdefault(change.edits, change)
    return list(found.values())


def _lock_patch(source: GoSource, node: Node) -> Iterator[Change]:
    package, name, given = method_call(source, node)
    if name not in ("MergeFrom", "StrategicMergeFrom", "MergeFromWithOptions"):
        return
    if len(given) != 1 or package != source.imports.get(CLIENT, package):
        return
    edits = [insertion(given[0].end_byte, f", {package}.MergeFromWithOptimisticLock{{}}")]
    if name == "MergeFrom":
        callee = node.child_by_field_name("function")
        assert callee is not None
        edits.append(Edit(callee.end_byte - len(name), callee.end_byte, "MergeFromWithOptions"))
    yield new_change(Remedy.LOCK_PATCH, source, *edits)


def _keep_version(source: GoSource, node: Node) -> Iterator[Change]:
    """Leave out what empties the resourceVersion before an update."""
    if node.type == "expression_statement":
        child = node.named_children[0] if node.named_children else None
        _, name, given = method_call(source, child) if child is not None else ("", "", [])
        if name != "SetResourceVersion" or [source.text(each) for each in given] != ['""']:
            return
    elif node.type == "assignment_statement":
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if left is None or right is None or source.text(right) != '""':
            return
        if not source.text(left).endswith("ResourceVersion"):
            return
    else:
        return
    yield new_change(Remedy.LOCK_UPDATE, source, whole_lines(source, node))


def _delete_exactly(source: GoSource, node: Node) -> Iterator[Change]:
    _, _, given = request_of(source, node, frozenset({"Delete"}))
    package = source.imports.get(CLIENT)
    if not given or package is None or any("Preconditions" in source.text(each) for each in given):
        return
    target = source.text(given[1]).removeprefix("&")
    if given[1].type not in ("identifier", "selector_expression", "unary_expression", "index_expression"):
        return
    end = given[-1].end_byte
    uid = f"UID: &{target}.UID"
    yield new_change(Remedy.DELETE_WITH_UID, source, insertion(end, f", {package}.Preconditions{{{uid}}}"))
    version = f"ResourceVersion: &{target}.ResourceVersion"
    yield new_change(
        Remedy.READ_BEFORE_DELETE, source, insertion(end, f", {package}.Preconditions{{{uid}, {version}}}")
    )


def _ignore(source: GoSource, node: Node) -> Iterator[Change]:
    """Go on where what is made is there, or what is wanted or deleted is gone."""
    package = source.imports.get(CLIENT)
    _, name, given = request_of(source, node, frozenset({"Create", "Delete", "Update", "Patch"}))
    if package is None or not given or any(source.text(each).startswith(f"{package}.Ignore") for each in around(node)):
        return
    ignored = "IgnoreAlreadyExists" if name == "Create" else "IgnoreNotFound"
    remedy = Remedy.TREAT_AS_FOUND if name == "Create" else Remedy.HANDLE_ABSENCE
    edits = insertion(node.start_byte, f"{package}.{ignored}("), insertion(node.end_byte, ")")
    yield new_change(remedy, source, *edits)


def _read_in_retry(source: GoSource, node: Node) -> Iterator[Change]:
    """Read again at the start of each attempt."""
    _, name, given = method_call(source, node)
    package = source.imports.get(CLIENT)
    if name != "RetryOnConflict" or not given or given[-1].type != "func_literal" or package is None:
        return
    body = given[-1].child_by_field_name("body")
    if body is None:
        return
    for call in below(body, "call_expression"):
        receiver, _, arguments = request_of(source, call, frozenset({"Update", "Patch"}))
        if not arguments or _reads_first(source, body, call):
            continue
        reader, context, target = receiver.removesuffix(".Status()"), *map(source.text, arguments[:2])
        inner = source.indent(node) + "\t"
        read = f"{reader}.Get({context}, {package}.ObjectKeyFromObject({target}), {target})"
        text = f"\n{inner}if err := {read}; err != nil {{\n{inner}\treturn err\n{inner}}}"
        yield new_change(Remedy.RECOMPUTE_AFTER_CONFLICT, source, insertion(body.start_byte + 1, text))


def _reads_first(source: GoSource, body: Node, call: Node) -> bool:
    return any(
        request_of(source, each, frozenset({"Get"}))[2]
        for each in below(body, "call_expression")
        if each.start_byte < call.start_byte
    )


def _own_fields(source: GoSource, node: Node) -> Iterator[Change]:
    """Apply without force."""
    package = source.imports.get(CLIENT)
    if node.type != "selector_expression" or source.text(node) != f"{package}.ForceOwnership" or node.parent is None:
        return
    before = source.data.rfind(b",", 0, node.start_byte)
    if node.parent.type == "argument_list" and before > node.parent.start_byte:
        yield new_change(Remedy.APPLY_OWN_FIELDS, source, Edit(before, node.end_byte, ""))


def _derive_name(source: GoSource, node: Node) -> Iterator[Change]:
    """Give an object the name that was the beginning of a generated one."""
    if node.type == "keyed_element" and len(node.named_children) == 2:
        key, value = node.named_children
    elif node.type == "assignment_statement":
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if left is None or right is None:
            return
        key, value = left, right
    else:
        return
    name = b"GenerateName"
    if not source.text(key).endswith(name.decode()):
        return
    edits = Edit(key.end_byte - len(name), key.end_byte, "Name"), insertion(value.end_byte, ' + "0"')
    yield new_change(Remedy.DERIVE_NAME, source, *edits)


def _all_events(source: GoSource, node: Node) -> Iterator[Change]:
    """Watch without predicates."""
    _, name, given = method_call(source, node)
    if name == "WithPredicates" and node.parent is not None and node.parent.type == "argument_list":
        before = source.data.rfind(b",", 0, node.start_byte)
        if before > node.parent.start_byte:
            yield new_change(Remedy.CHECK_PREDICATE, source, Edit(before, node.end_byte, ""))
    elif name == "WithEventFilter" and given:
        callee = node.child_by_field_name("function")
        operand = callee.child_by_field_name("operand") if callee is not None else None
        if operand is not None:
            yield new_change(Remedy.CHECK_PREDICATE, source, Edit(operand.end_byte, node.end_byte, ""))


def _apply_with_uid(source: GoSource, node: Node) -> Iterator[Change]:
    """Apply to the very object that was read, which an apply would otherwise create again."""
    _, _, given = request_of(source, node, frozenset({"Apply", "Patch"}))
    function, statement = source.function_of(node), _statement(node)
    if not given or function is None or statement is None:
        return
    read = [name for name, kind in _parameters(source, function) if kind == f"*{_UNSTRUCTURED}"]
    for target in (argument for argument in given[1:] if argument.type == "identifier"):
        for name in read:
            if name != source.text(target) and _is_assigned(source, function, source.text(target)):
                line = f"{source.text(target)}.SetUID({name}.GetUID())"
                edit = insertion(statement.start_byte, f"{line}\n{source.indent(statement)}")
                yield new_change(Remedy.APPLY_WITH_UID, source, edit)


def _statement(node: Node) -> Node | None:
    """Return the statement of a block that a node is in."""
    return next(
        (each for each in (node, *around(node)) if each.parent is not None and each.parent.type in _BLOCKS), None
    )


def _parameters(source: GoSource, function: Node) -> Iterator[tuple[str, str]]:
    """Yield the names and types of the parameters of a function."""
    parameters = function.child_by_field_name("parameters")
    for parameter in parameters.named_children if parameters is not None else ():
        kind = parameter.child_by_field_name("type")
        for name in parameter.children_by_field_name("name") if kind is not None else ():
            yield source.text(name), source.text(kind)  # type: ignore[arg-type]


def _is_assigned(source: GoSource, function: Node, name: str) -> bool:
    """Return whether a function makes a variable."""
    return any(
        name in source.text(left).split(", ")
        for declared in below(function, "short_var_declaration")
        if (left := declared.child_by_field_name("left")) is not None
    )


Rule = Callable[[GoSource, Node], Iterator[Change]]
#: What may be wrong in another function of the file than those of the trace.
_RULES_ELSEWHERE: Final[tuple[Rule, ...]] = (_lock_patch, _all_events)
_RULES: Final[tuple[Rule, ...]] = (
    *_RULES_ELSEWHERE,
    _keep_version,
    _delete_exactly,
    live_read,
    _ignore,
    _read_in_retry,
    _own_fields,
    _apply_with_uid,
    _derive_name,
    *FLOW,
)
