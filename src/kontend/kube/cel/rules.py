"""``x-kubernetes-validations``: the rules in CEL that a schema puts on its values.

Rules are compiled once, into a tree that only has the places where there are rules. A rule that refers to ``oldSelf``
is a transition rule: it runs when there is an old value at the same place (or always, with ``optionalOldSelf``). Any
other rule that fails is tolerated on an update where nothing changed at its place. What rules may cost is estimated
when a definition is made (:mod:`kontend.kube.cel.cost.estimate`) and limited while they run
(:mod:`kontend.kube.cel.cost.metering`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from kontend.kube import field_errors
from kontend.kube.cel.cost.metering import OBJECT_BUDGET, PER_CALL_LIMIT, CostLimit, meter
from kontend.kube.cel.expression import Expression, compile_expression
from kontend.kube.cel.field_paths import FieldPathError, parse_field_path
from kontend.kube.cel.issues import CompileError, ProgramError
from kontend.kube.cel.schema_types import Declaration, data_problem, declare
from kontend.kube.cel.values import EvalError, NoOverload
from kontend.kube.field_errors import OMITTED, FieldError
from kontend.kube.schema.list_types import Path, field_path
from kontend.kube.schema.old_values import item_key, old_items, unchanged
from kontend.kube.schema.openapi_node import additional_schema, as_mapping
from kontend.kube.schema.tree import MISSING, Schema

_LONGEST_MESSAGE: Final = 5 * 1024
#: The nearest place around a value that has an old value: new, old and schema.
_Around = tuple[Any, Any, Mapping[str, Any]] | None


@dataclass(slots=True)
class Rule:
    """One rule, compiled, or its mistakes."""

    text: Mapping[str, Any]
    expression: Expression | None = None
    problem: str = ""
    message: Expression | None = None
    message_problem: str = ""
    path: str = ""

    @property
    def shown(self) -> str:
        """The name of the rule in messages: its own message if it has one."""
        return str(self.text.get("message") or self.text.get("rule") or "").strip()

    @property
    def default_message(self) -> str:
        """The message of a failure when the rule has none."""
        return self.shown if self.text.get("message") else f"failed rule: {self.shown}"


@dataclass(slots=True)
class RuleNode:
    """The rules at one place of a schema, and below it."""

    node: Mapping[str, Any]
    rules: list[Rule]
    properties: dict[str, RuleNode] = field(default_factory=dict)
    additional: RuleNode | None = None
    items: RuleNode | None = None
    all_of: list[RuleNode] = field(default_factory=list)

    @property
    def kind(self) -> str:
        """The type of the value, as the schema calls it."""
        return str(self.node.get("type") or "")


def compile_rules(schema: Schema) -> RuleNode | None:
    """All rules of a schema, or nothing when it has none."""
    node = as_mapping(schema.node)
    return rule_tree(node, resource=True)


def rule_tree(node: Mapping[str, Any], *, resource: bool) -> RuleNode | None:
    """Return the rules at and below a node; ``resource`` when it is the root of an object."""
    return _tree(node, node, resource) if has_rules(node) else None


def has_rules(node: Mapping[str, Any]) -> bool:
    """Report whether a node or anything below it (outside of ``allOf``, ``anyOf`` and so on) has rules."""
    if node.get("x-kubernetes-validations"):
        return True
    below = [*as_mapping(node.get("properties")).values(), node.get("items"), node.get("additionalProperties")]
    return any(isinstance(child, Mapping) and has_rules(child) for child in below)


def _tree(rules: Mapping[str, Any], node: Mapping[str, Any], resource: bool) -> RuleNode | None:
    """Return the rules of one schema on the values of another: they differ inside ``allOf``."""
    declaration = declare(node, resource=resource)
    if declaration is None:
        return None
    rule_node = RuleNode(node, compile_all(rules.get("x-kubernetes-validations"), declaration))
    children = as_mapping(node.get("properties"))
    for name, below in as_mapping(rules.get("properties")).items():
        child = children.get(name)
        if isinstance(below, Mapping) and isinstance(child, Mapping):
            tree = _tree(below, child, _embedded(child))
            if tree is not None:
                rule_node.properties[name] = tree
    rule_node.items = _below(rules.get("items"), node.get("items"))
    rule_node.additional = _below(additional_schema(rules), additional_schema(node))
    for branch in rules.get("allOf") or ():
        tree = _tree(as_mapping(branch), node, resource)
        if tree is not None:
            rule_node.all_of.append(tree)
    if rule_node.rules or rule_node.properties or rule_node.items or rule_node.additional or rule_node.all_of:
        return rule_node
    return None


def _below(rules: Any, node: Any) -> RuleNode | None:
    if isinstance(rules, Mapping) and isinstance(node, Mapping):
        return _tree(rules, node, _embedded(node))
    return None


def _embedded(node: Mapping[str, Any]) -> bool:
    return node.get("x-kubernetes-embedded-resource") is True


def compile_all(rules: Any, declaration: Declaration) -> list[Rule]:
    """Return the rules of one node."""
    return [compile_rule(as_mapping(rule), declaration) for rule in rules or ()]


def compile_rule(text: Mapping[str, Any], declaration: Declaration) -> Rule:
    """One rule, with its message; mistakes are kept, not raised."""
    rule = Rule(text)
    source = str(text.get("rule") or "")
    if not source.strip():
        return rule
    optional = text.get("optionalOldSelf") is True
    rule.expression, rule.problem = _compile(source, declaration, optional, "bool", "")
    message = text.get("messageExpression")
    if rule.expression is not None and message:
        rule.message, rule.message_problem = _compile(
            str(message), declaration, optional, "string", "messageExpression "
        )
    if text.get("fieldPath"):
        try:
            rule.path = parse_field_path(str(text["fieldPath"]), declaration.node)
        except FieldPathError:
            rule.path = ""
    return rule


def _compile(
    source: str, declaration: Declaration, optional: bool, wanted: str, prefix: str
) -> tuple[Expression | None, str]:
    try:
        expression = compile_expression(source, declaration, optional_old=optional)
    except CompileError as error:
        return None, f"{prefix}compilation failed: {error}"
    except ProgramError as error:
        return None, f"{prefix or 'program '}instantiation failed: {error}"
    if expression.type.kind != wanted:
        return None, f"{prefix or 'cel expression '}must evaluate to a {wanted}"
    return expression, ""


def rule_errors(rules: RuleNode, obj: Any, old: Any, path: Path = None, *, ratchet: bool = True) -> list[FieldError]:
    """Return the violations of the rules by a value; ``old`` is its old value, if there is one."""
    errors = _Errors()
    try:  # noqa: SIM105 - suppress() costs a microsecond, and every write of a custom resource comes here
        _walk(rules, obj, old, path, errors, None, ratchet and old is not MISSING, True)
    except _OutOfBudget:
        pass
    return errors


class _OutOfBudget(Exception):
    """Ends the validation of an object: no further rules are run."""


class _Errors(list[FieldError]):
    """The violations found so far, and what rules may still cost."""

    budget: float = OBJECT_BUDGET


def _walk(
    rules: RuleNode,
    value: Any,
    old: Any,
    path: Path,
    errors: _Errors,
    around: _Around,
    ratchet: bool,
    correlated: bool,
) -> None:
    if value is None:
        return
    if rules.rules:
        _check(rules, value, old, path, errors, around, ratchet, correlated)
    for branch in rules.all_of:
        _walk(branch, value, old, path, errors, around, ratchet, False)
    if type(value) is dict:
        if correlated and old is not MISSING:
            around = (value, old, rules.node)
        olds = old if type(old) is dict else {}
        if rules.additional is not None:
            for key, child in value.items():
                was = olds.get(key, MISSING)
                _walk(rules.additional, child, was, (path, key, "*"), errors, around, ratchet, correlated)
        for key, below in rules.properties.items():
            child = value.get(key)
            if child is not None:
                # At the root these two are set by the server, so a change of them cannot be seen.
                tolerates = ratchet and (path is not None or key not in ("apiVersion", "kind"))
                _walk(below, child, olds.get(key, MISSING), (path, key), errors, around, tolerates, correlated)
    elif type(value) is list and rules.items is not None:
        if correlated and old is not MISSING:
            around = (value, old, rules.node)
        by_key = old_items(rules.node, old) or {}
        keys = rules.node.get("x-kubernetes-list-map-keys") or []
        for index, item in enumerate(value):
            was = by_key.get(item_key(keys, item), MISSING) if by_key else MISSING
            _walk(rules.items, item, was, (path, index), errors, around, ratchet, correlated)


def _check(
    rules: RuleNode,
    value: Any,
    old: Any,
    path: Path,
    errors: _Errors,
    around: _Around,
    ratchet: bool,
    correlated: bool,
) -> None:
    before = None if old is MISSING else old
    for rule in rules.rules:
        expression = rule.expression
        if expression is None:
            if rule.problem:
                errors.append(field_errors.invalid(_position(path), rules.kind, f"rule compile error: {rule.problem}"))
            continue
        if expression.uses_old and before is None and not expression.optional_old:
            continue
        was = before
        try:
            if expression.optional_old:
                was = expression.old_value(before)
            passed = _evaluated(expression, value, was, errors, path, rules)
        except CostLimit as error:
            says = f"'{error}': no further validation rules will be run due to call cost exceeds limit for rule"
            errors.append(field_errors.invalid(_position(path), rules.kind, f"{says}: {rule.shown}"))
            raise _OutOfBudget from None
        except EvalError as error:
            problem = str(error)
            if isinstance(error, NoOverload):
                problem = data_problem(value, rules.node) or problem
            errors.append(_failed(_position(path), rules.kind, problem, rule))
            continue
        if passed is True:
            continue
        if not expression.uses_old and ratchet and _is_unchanged(value, old, rules.node, around, correlated):
            continue
        detail = _message(rule, value, was) or rule.default_message
        shown = OMITTED if rules.kind in ("object", "array") else value
        errors.append(
            _error(_position((path, rule.path) if rule.path else path), shown, detail, rule.text.get("reason"))
        )


def _evaluated(expression: Expression, value: Any, old: Any, errors: _Errors, path: Path, rules: RuleNode) -> Any:
    """Return the result of a rule; what it has cost is taken off the budget of the object."""
    left = meter(PER_CALL_LIMIT)
    try:
        return expression.evaluate(value, old, left)
    finally:
        cost = PER_CALL_LIMIT - left[0]
        errors.budget -= cost if cost < PER_CALL_LIMIT else PER_CALL_LIMIT
        if errors.budget < 0:
            says = "validation failed due to running out of cost budget, no further validation rules will be run"
            errors.append(field_errors.invalid(_position(path), rules.kind, says))
            raise _OutOfBudget


def _position(path: Path) -> str:
    return field_path(path) or "<nil>"


def _is_unchanged(value: Any, old: Any, node: Mapping[str, Any], around: _Around, correlated: bool) -> bool:
    if correlated and old is not MISSING:
        return unchanged(value, old, node)
    return around is not None and unchanged(*around)


def _failed(where: str, kind: str, problem: str, rule: Rule) -> FieldError:
    if problem.startswith("no such overload"):
        says = "call arguments did not match a supported operator, function or macro signature for rule"
        return field_errors.invalid(where, kind, f"'{problem}': {says}: {rule.shown}")
    return field_errors.invalid(where, kind, f"{problem} evaluating rule: {rule.shown}")


def _message(rule: Rule, value: Any, old: Any) -> str:
    """Return the message that the rule's own expression makes, or nothing when it fails to make one."""
    if rule.message is None:
        return ""
    try:
        made = rule.message.evaluate(value, old)
    except EvalError:
        return ""
    text = made.strip() if isinstance(made, str) else ""
    return "" if len(text.encode()) > _LONGEST_MESSAGE or "\n" in text else text


def _error(position: str, value: Any, detail: str, reason: Any) -> FieldError:
    if reason == field_errors.FORBIDDEN:
        return field_errors.forbidden(position, detail)
    if reason == field_errors.REQUIRED:
        return field_errors.required(position, detail)
    if reason == field_errors.DUPLICATE:
        return field_errors.duplicate(position, value)
    return field_errors.invalid(position, value, detail)
