"""The checks of one OpenAPI schema in a definition: its keywords, and the compilation and cost of its rules.

Mistakes in a schema come before those in its rules, and rules are only compiled where the schema around them is right.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from kontend.kube.cel.cost.estimate import expression_cost
from kontend.kube.cel.field_paths import FieldPathError, find_field
from kontend.kube.cel.rules import Rule, compile_all
from kontend.kube.cel.schema_types import MOST_REQUEST_BYTES, Declaration, declare
from kontend.kube.crd.internal_form import shown
from kontend.kube.crd.structural_rules import conversion_problem
from kontend.kube.field_errors import FieldError, forbidden, internal, invalid, not_supported, required
from kontend.kube.schema.openapi_node import Node, as_mapping

#: The types of OpenAPI that a schema may name.
TYPES: Final = ("array", "boolean", "integer", "number", "object", "string")
_REASONS: Final = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
_META: Final = frozenset({"metadata", "kind", "apiVersion"})
_UNSUPPORTED: Final = ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref")
_NEWLINE: Final = re.compile(r"[\n\r]+")
_MOST_COST: Final = 10_000_000
_MOST_TOTAL_COST: Final = 100_000_000
_UNBOUNDED: Final = 2**64 - 1
_SET_ITEM: Final = "must be atomic as item of a list with x-kubernetes-list-type=set"


@dataclass(frozen=True, slots=True)
class Options:
    """The strictness of the checks: an update does not refuse what was accepted before."""

    valid_types: bool = True
    atomic_sets: bool = True
    map_keys: bool = True
    expression_cost: bool = True


@dataclass(slots=True)
class Costs:
    """The cost of all rules of a schema together."""

    total: int = 0
    most_expensive: list[tuple[int, str]] = field(default_factory=list)

    def add(self, path: str, cost: int) -> None:
        """Count one rule."""
        self.total = min(self.total + cost, _UNBOUNDED)
        if cost >= _MOST_TOTAL_COST // 100:
            self.most_expensive.append((cost, path))
            self.most_expensive.sort(key=lambda branch: -branch[0])
            del self.most_expensive[4:]

    def errors(self, path: str) -> list[FieldError]:
        """Return the error about a sum that is too high."""
        if self.total <= _MOST_TOTAL_COST:
            return []
        says = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
        errors = [forbidden(where, says) for _, where in self.most_expensive]
        name = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"
        return [*errors, forbidden(path, _too_expensive(name, self.total, _MOST_TOTAL_COST))]


@dataclass(frozen=True, slots=True)
class _Position:
    """A position in the schema, and the facts that hold there."""

    path: str
    root: bool = False
    no_defaults: str | None = None
    in_metadata: bool = False
    #: The nearest place around this one where old and new values cannot be matched.
    uncorrelated: str | None = None
    #: Rules are compiled here.
    rules: bool = True
    #: The largest number of occurrences of this value; None without a bound.
    most: int | None = 1


def schema_errors(node: Node, path: str, options: Options, costs: Costs | None) -> list[FieldError]:
    """List the errors of a schema; ``costs`` sums up its rules, which are not compiled without it."""
    schema, rules = _check(node, _Position(path, root=True, rules=costs is not None), options, costs)
    return schema + rules


_Errors = tuple[list[FieldError], list[FieldError]]


def _check(node: Node, position: _Position, options: Options, costs: Costs | None) -> _Errors:
    errors, rules = _own_errors(node, position, options), list[FieldError]()
    for child, where in _children(node, position):
        below, below_rules = _check(child, where, options, costs)
        errors += below
        rules += below_rules
    errors += _extension_errors(node, position.path, options)
    texts = node.get("x-kubernetes-validations") or []
    for index, rule in enumerate(texts):
        errors += _rule_text_errors(node, as_mapping(rule), f"{position.path}.x-kubernetes-validations[{index}]")
    # A schema that is wrong here or below would only give misleading errors of its rules.
    if texts and not errors and position.rules and costs is not None:
        rules += _rule_errors(node, texts, position, options, costs)
    return errors, rules


def _own_errors(node: Node, position: _Position, options: Options) -> list[FieldError]:
    path, kind = position.path, node.get("type") or ""
    errors: list[FieldError] = []
    if options.valid_types and kind and kind not in TYPES:
        errors.append(not_supported(f"{path}.type", kind, TYPES))
    if node.get("default") is not None and position.no_defaults is not None:
        errors.append(forbidden(f"{path}.default", f"must not be set {position.no_defaults}"))
    for name in _UNSUPPORTED:
        value = node.get(name)
        if value is not None and (value or name in ("additionalItems", "dependencies", "$ref")):
            errors.append(forbidden(f"{path}.{name}", f"{name} is not supported"))
    if kind == "null":
        says = "type cannot be set to null, use nullable as an alternative"
        errors.append(forbidden(f"{path}.type", says))
    if isinstance(node.get("items"), list) and node["items"]:
        errors.append(forbidden(f"{path}.items", "items must be a schema object and not an array"))
    if position.in_metadata and node.get("x-kubernetes-embedded-resource") is True:
        errors.append(forbidden(f"{path}.x-kubernetes-embedded-resource", "must not be used inside of resource meta"))
    if node.get("uniqueItems") is True:
        says = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        errors.append(forbidden(f"{path}.uniqueItems", says))
    if node.get("additionalProperties") not in (None, True) and node.get("properties"):
        says = "additionalProperties and properties are mutual exclusive"
        errors.append(forbidden(f"{path}.additionalProperties", says))
    return errors


def _children(node: Node, position: _Position) -> list[tuple[Node, _Position]]:
    path = position.path
    most = _most_elements(node, position.most)
    children: list[tuple[Any, _Position]] = []
    inner = replace(position, root=False, most=most)
    no_defaults = (
        "inside additionalProperties applying to object metadata" if position.in_metadata else position.no_defaults
    )
    additional = replace(inner, path=f"{path}.additionalProperties", no_defaults=no_defaults)
    children.append((node.get("additionalProperties"), additional))
    resource = position.root or node.get("x-kubernetes-embedded-resource") is True
    map_type = node.get("x-kubernetes-map-type")
    for key, child in as_mapping(node.get("properties")).items():
        below = replace(inner, path=f"{path}.properties[{key}]")
        if map_type not in (None, "granular", "atomic"):
            below = replace(below, uncorrelated=below.uncorrelated or path)
        if resource and key in _META:
            below = replace(below, in_metadata=True)
            if position.root:
                below = replace(below, no_defaults=f"in top-level {key}")
        children.append((child, below))
    nested = replace(position, root=False, rules=False)
    children.append((node.get("not"), replace(nested, path=f"{path}.not")))
    for name in ("allOf", "oneOf", "anyOf"):
        for index, branch in enumerate(node.get(name) or ()):
            children.append((branch, replace(nested, path=f"{path}.{name}[{index}]")))
    for key, child in as_mapping(node.get("definitions")).items():
        children.append((child, replace(nested, path=f"{path}.definitions[{key}]")))
    items = replace(inner, path=f"{path}.items")
    if node.get("x-kubernetes-list-type") != "map":
        items = replace(items, uncorrelated=items.uncorrelated or path)
    raw = node.get("items")
    for index, branch in enumerate(raw if isinstance(raw, list) else ()):
        children.append((branch, replace(items, path=f"{path}.items[{index}]")))
    children.append((raw, items))
    for key, child in as_mapping(node.get("dependencies")).items():
        children.append((child, replace(nested, path=f"{path}.dependencies[{key}]")))
    return [(child, where) for child, where in children if isinstance(child, Mapping)]


def _most_elements(node: Node, most: int | None) -> int | None:
    """Return how often a child of this node can occur."""
    if most is None:
        return None
    bound: int | None = 1
    if node.get("type") == "object" and node.get("additionalProperties") is not None:
        bound = node.get("maxProperties")
    elif node.get("type") == "array":
        bound = node.get("maxItems")
    return None if bound is None else _product(most, max(0, bound))


def _product(cost: int, times: int) -> int:
    return min(cost * times, _UNBOUNDED)


def _extension_errors(node: Node, path: str, options: Options) -> list[FieldError]:
    errors: list[FieldError] = []
    kind = node.get("type") or ""
    if node.get("x-kubernetes-preserve-unknown-fields") is False:
        errors.append(invalid(f"{path}.x-kubernetes-preserve-unknown-fields", False, "must be true or undefined"))
    map_type, list_type = node.get("x-kubernetes-map-type"), node.get("x-kubernetes-list-type")
    if map_type is not None and kind != "object":
        errors.append(_wrong_type(path, kind, "must be object if x-kubernetes-map-type is specified"))
    if map_type is not None and map_type not in ("atomic", "granular"):
        errors.append(not_supported(f"{path}.x-kubernetes-map-type", map_type, ("atomic", "granular")))
    items = node.get("items")
    item = as_mapping(items)
    if list_type is not None and kind != "array":
        errors.append(_wrong_type(path, kind, "must be array if x-kubernetes-list-type is specified"))
    elif options.atomic_sets and list_type == "set" and isinstance(items, Mapping):
        inner = item.get("x-kubernetes-list-type")
        if item.get("type") == "array" and inner not in (None, "atomic"):
            errors.append(invalid(f"{path}.items.x-kubernetes-list-type", inner, _SET_ITEM))
        elif item.get("type") == "object" and item.get("x-kubernetes-map-type") != "atomic":
            errors.append(invalid(f"{path}.items.x-kubernetes-map-type", inner, _SET_ITEM))
    if list_type is not None and list_type not in ("atomic", "set", "map"):
        errors.append(not_supported(f"{path}.x-kubernetes-list-type", list_type, ("atomic", "set", "map")))
    if node.get("x-kubernetes-list-map-keys"):
        says = "must be map if x-kubernetes-list-map-keys is non-empty"
        if list_type is None:
            errors.append(required(f"{path}.x-kubernetes-list-type", says))
        elif list_type != "map":
            errors.append(invalid(f"{path}.x-kubernetes-list-type", list_type, says))
    if list_type == "map":
        errors += _map_list_errors(node, items, path)
    if options.map_keys:
        errors += map_key_errors(node, path)
    return errors


def _wrong_type(path: str, kind: str, says: str) -> FieldError:
    return invalid(f"{path}.type", kind, says) if kind else required(f"{path}.type", says)


def _map_list_errors(node: Node, items: Any, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    keys = node.get("x-kubernetes-list-map-keys") or []
    if not keys:
        says = "must not be empty if x-kubernetes-list-type is map"
        errors.append(required(f"{path}.x-kubernetes-list-map-keys", says))
    if items is None:
        errors.append(required(f"{path}.items", "must have a schema if x-kubernetes-list-type is map"))
    if not isinstance(items, Mapping):
        return errors
    if items.get("type") != "object":
        says = "must be object if parent array's x-kubernetes-list-type is map"
        return [*errors, invalid(f"{path}.items.type", items.get("type") or "", says)]
    seen: set[str] = set()
    properties = as_mapping(items.get("properties"))
    for key in keys:
        if key not in properties:
            says = "entries must all be names of item properties"
            errors.append(invalid(f"{path}.x-kubernetes-list-map-keys", keys, says))
        elif as_mapping(properties[key]).get("type") in ("array", "object"):
            says = "must be a scalar type if parent array's x-kubernetes-list-type is map"
            errors.append(invalid(f"{path}.items.properties[{key}].type", "object", says))
        if key in seen:
            says = "must not contain duplicate entries"
            errors.append(invalid(f"{path}.x-kubernetes-list-map-keys", keys, says))
        seen.add(key)
    return errors


def map_key_errors(node: Node, path: str) -> list[FieldError]:
    """Items of sets and maps must be there, and so must the keys of a map."""
    items, list_type = node.get("items"), node.get("x-kubernetes-list-type")
    if not isinstance(items, Mapping) or list_type not in ("set", "map"):
        return []
    errors: list[FieldError] = []
    if items.get("nullable") is True:
        says = f"cannot be nullable when x-kubernetes-list-type is {list_type}"
        errors.append(forbidden(f"{path}.items.nullable", says))
    if list_type == "set":
        return errors
    properties = as_mapping(items.get("properties"))
    for key in node.get("x-kubernetes-list-map-keys") or ():
        if key not in properties:
            continue
        child, where = as_mapping(properties[key]), f"{path}.items.properties[{key}]"
        belongs = "this property is in x-kubernetes-list-map-keys, so it"
        if key not in (items.get("required") or ()) and child.get("default") is None:
            errors.append(required(f"{where}.default", f"{belongs} must have a default or be a required property"))
        if child.get("nullable") is True:
            errors.append(forbidden(f"{where}.nullable", f"{belongs} cannot be nullable"))
    return errors


def _rule_text_errors(node: Node, rule: Node, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    text, message = str(rule.get("rule") or ""), str(rule.get("message") or "")
    expression, position = str(rule.get("messageExpression") or ""), str(rule.get("fieldPath") or "")
    if not text.strip():
        errors.append(required(f"{path}.rule", "rule is not specified"))
    elif message and not message.strip():
        errors.append(invalid(f"{path}.message", message, "must be non-empty if specified"))
    elif _NEWLINE.search(message.strip()):
        errors.append(invalid(f"{path}.message", message, "must not contain line breaks"))
    elif _NEWLINE.search(text.strip()) and not message.strip():
        errors.append(required(f"{path}.message", "message must be specified if rule contains line breaks"))
    if expression and not expression.strip():
        says = "messageExpression must be non-empty if specified"
        errors.append(required(f"{path}.messageExpression", says))
    reason = rule.get("reason")
    if reason is not None and reason not in _REASONS:
        errors.append(not_supported(f"{path}.reason", reason, _REASONS))
    if position and not position.strip():
        errors.append(invalid(f"{path}.fieldPath", position, "must be non-empty if specified"))
    if _NEWLINE.search(position):
        errors.append(invalid(f"{path}.fieldPath", position, "must not contain line breaks"))
    if position and not conversion_problem(node):
        try:
            find_field(position, node)
        except FieldPathError:
            errors.append(invalid(f"{path}.fieldPath", position, "must be a valid path"))
    return errors


def _rule_errors(node: Node, texts: list[Any], position: _Position, options: Options, costs: Costs) -> list[FieldError]:
    resource = position.root or node.get("x-kubernetes-embedded-resource") is True
    declaration = declare(node, resource=resource)
    path = f"{position.path}.x-kubernetes-validations"
    if declaration is None:
        why = "unable to convert structural schema to CEL declarations"
        says = "internal error: failed to construct type information for x-kubernetes-validations rules"
        return [internal(path, f"{says}: {why}")]
    errors: list[FieldError] = []
    for index, (text, rule) in enumerate(zip(texts, compile_all(texts, declaration), strict=True)):
        where = f"{path}[{index}]"
        errors += _cost_errors(rule, declaration, position, where, options, costs)
        if rule.problem:
            errors.append(invalid(f"{where}.rule", shown("rule", text), rule.problem))
        if rule.message_problem:
            errors.append(invalid(f"{where}.messageExpression", shown("rule", text), rule.message_problem))
        if rule.expression is not None and rule.expression.uses_old:
            if position.uncorrelated is not None:
                says = (
                    f"oldSelf cannot be used on the uncorrelatable portion of the schema within {position.uncorrelated}"
                )
                errors.append(invalid(f"{where}.rule", text.get("rule"), says))
        elif text.get("optionalOldSelf") is not None:
            says = "may not be set if oldSelf is not used in rule"
            errors.append(invalid(f"{where}.optionalOldSelf", text["optionalOldSelf"], says))
    return errors


def _cost_errors(
    rule: Rule, declaration: Declaration, position: _Position, where: str, options: Options, costs: Costs
) -> list[FieldError]:
    errors: list[FieldError] = []
    if rule.expression is not None:
        # Without a bound on what is around it, a value occurs as often as a request has room for it.
        times = position.most if position.most is not None else MOST_REQUEST_BYTES // (declaration.min_size + 1)
        cost = _product(expression_cost(rule.expression, declaration), times)
        if options.expression_cost and cost > _MOST_COST:
            errors.append(forbidden(f"{where}.rule", _too_expensive("estimated rule cost", cost, _MOST_COST)))
        costs.add(f"{where}.rule", cost)
    if rule.message is not None:
        cost = expression_cost(rule.message, declaration)
        if options.expression_cost and cost > _MOST_COST:
            says = _too_expensive("estimated messageExpression cost", cost, _MOST_COST)
            errors.append(forbidden(f"{where}.messageExpression", says))
        costs.add(f"{where}.messageExpression", cost)
    return errors


def _too_expensive(name: str, cost: int, limit: int) -> str:
    factor = cost / limit
    shown_factor = "more than 100x" if factor > 100 else f"{factor:.6f}x" if factor < 1.5 else f"{factor:.1f}x"
    advice = (
        "try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings"
    )
    return f"{name} exceeds budget by factor of {shown_factor} ({advice} are declared)"
