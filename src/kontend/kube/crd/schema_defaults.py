"""The defaults in a schema must themselves obey it: they are checked when a definition is made, not when used."""

from __future__ import annotations

from collections.abc import Mapping

from kontend.kube.cel.rules import rule_errors, rule_tree
from kontend.kube.field_errors import FieldError, invalid
from kontend.kube.openapi.embedded_resources import compile_embedded
from kontend.kube.openapi.value_validation import compile_checks, value_errors
from kontend.kube.schema.old_values import same_json
from kontend.kube.schema.openapi_node import Node, as_mapping
from kontend.kube.schema.pruning import prune_copy
from kontend.kube.schema.structural import structural_node
from kontend.kube.schema.tree import MISSING


def default_errors(node: Node, path: str, *, pruned: bool) -> list[FieldError]:
    """List the errors in the defaults in a schema; ``pruned`` also refuses unknown fields in them."""
    return _errors(node, path, pruned, root=True, metadata=False)


def _errors(node: Node, path: str, pruned: bool, *, root: bool, metadata: bool) -> list[FieldError]:
    resource = root or node.get("x-kubernetes-embedded-resource") is True
    if resource:
        metadata = False
    errors: list[FieldError] = []
    if node.get("default") is not None:
        errors += _default_errors(node, f"{path}.default", pruned and not metadata, resource)
    items = node.get("items")
    if isinstance(items, Mapping):
        errors += _errors(items, f"{path}.items", pruned, root=False, metadata=metadata)
    for key, child in as_mapping(node.get("properties")).items():
        inside = metadata or (resource and key in ("metadata", "apiVersion", "kind"))
        errors += _errors(as_mapping(child), f"{path}.properties[{key}]", pruned, root=False, metadata=inside)
    return errors


def _default_errors(node: Node, path: str, pruned: bool, resource: bool) -> list[FieldError]:
    value = node["default"]
    schema = structural_node(node)
    errors: list[FieldError] = []
    if pruned and not same_json(prune_copy(value, schema), value):
        errors.append(invalid(path, value, "must not have unknown fields"))
    check = compile_embedded(schema)
    embedded: list[FieldError] = []
    if check is not None:
        check(value, path, embedded)
    if embedded:
        return errors + embedded
    problems = value_errors(value, node, compile_checks(node), MISSING, path)
    if problems:
        return errors + problems
    rules = rule_tree(node, resource=resource)
    if rules is None:
        return errors
    where = (None, path)
    # A default is a new value, but it may also be what was there before: both must pass.
    problems = rule_errors(rules, value, value, where, ratchet=False)
    return errors + (problems or rule_errors(rules, value, MISSING, where))
