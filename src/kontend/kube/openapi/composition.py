"""``anyOf``, ``oneOf``, ``allOf`` and ``not`` of OpenAPI schemas.

When no branch of an ``anyOf`` or ``oneOf`` fits, the server reports the nearest branch: the one in which most checks
passed. Counting is only done then, by :func:`_matches`, so a valid object pays nothing for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kontend.kube import field_errors
from kontend.kube.field_errors import go_quote
from kontend.kube.openapi.checks import Check, Checks, Compile, Failure, Path, path_text
from kontend.kube.schema.openapi_node import additional_schema, as_mapping
from kontend.kube.schema.string_formats import format_check
from kontend.kube.schema.tree import MISSING


class _Branch:
    """One of the schemas that are composed, and its compiled checks."""

    __slots__ = ("checks", "compile_checks", "node")

    def __init__(self, node: Mapping[str, Any], compile_checks: Compile) -> None:
        self.node = node
        self.compile_checks = compile_checks
        self.checks: Checks = compile_checks(node)


def compile_composition(node: Mapping[str, Any], compile_checks: Compile) -> Check | None:
    """Compiles ``anyOf``, ``oneOf``, ``allOf`` and ``not`` of a node; None when it has none."""
    any_of, one_of, all_of = (_branches(node, name, compile_checks) for name in ("anyOf", "oneOf", "allOf"))
    negated = node.get("not")
    never = _Branch(negated, compile_checks) if isinstance(negated, Mapping) else None
    if not any_of and not one_of and not all_of and never is None:
        return None

    def check(value: Any, path: Path, errors: list[Failure], _old: Any) -> None:
        if any_of:
            _check_any(any_of, value, path, errors)
        if one_of:
            _check_one(one_of, value, path, errors)
        if all_of:
            results = [_run(branch, value, path) for branch in all_of]
            for result in results:
                errors.extend(result)
            if any(results):
                extra = "" if not all(results) else ". None validated"
                errors.append(_composite(path, f"must validate all the schemas (allOf){extra}"))
        if never is not None and not _run(never, value, path):
            errors.append(_composite(path, "must not validate the schema (not)"))

    return check


def _branches(node: Mapping[str, Any], name: str, compile_checks: Compile) -> list[_Branch]:
    raw = node.get(name)
    return [_Branch(as_mapping(schema), compile_checks) for schema in raw] if isinstance(raw, list) else []


def _run(branch: _Branch, value: Any, path: Path) -> list[Failure]:
    failures: list[Failure] = []
    check = branch.checks.get(type(value))
    if check is not None:
        # Old values play no part inside a composition.
        check(value, path, failures, MISSING)
    return failures


def _composite(path: Path, what: str) -> Failure:
    return Failure(f"{go_quote(path_text(path))} {what}", None, field_errors.INVALID)


def _check_any(branches: list[_Branch], value: Any, path: Path, errors: list[Failure]) -> None:
    results = []
    for branch in branches:
        result = _run(branch, value, path)
        if not result:
            return
        results.append(result)
    errors.append(_composite(path, "must validate at least one schema (anyOf)"))
    errors.extend(_nearest(branches, results, value))


def _check_one(branches: list[_Branch], value: Any, path: Path, errors: list[Failure]) -> None:
    results = [_run(branch, value, path) for branch in branches]
    valid = sum(not result for result in results)
    if valid == 1:
        return
    count_text = f"Found {valid} valid alternatives" if valid else "Found none valid"
    errors.append(_composite(path, f"must validate one and only one schema (oneOf). {count_text}"))
    if not valid:
        errors.extend(_nearest(branches, results, value))


def _nearest(branches: list[_Branch], results: list[list[Failure]], value: Any) -> list[Failure]:
    scores = [_matches(branch.node, value, branch.compile_checks) for branch in branches]
    return results[scores.index(max(scores))]


def _matches(node: Mapping[str, Any], value: Any, compile_checks: Compile) -> int:
    """Return how many checks of the server's validator pass for this value, counted as the server does."""
    typed = bool(node.get("type")) or node.get("x-kubernetes-int-or-string") is True
    known_format = format_check(str(node.get("format") or "")) is not None
    shallow = {key: node[key] for key in ("type", "format", "nullable", "x-kubernetes-int-or-string") if key in node}
    type_check = compile_checks(shallow).get(type(value)) if type(value) is not str else None
    failures: list[Failure] = []
    if type_check is not None:
        type_check(value, None, failures, MISSING)
    elif type(value) is str and typed and not known_format:
        fits = node.get("type") == "string" or node.get("x-kubernetes-int-or-string") is True
        failures = [] if fits else [Failure("", None, "")]
    if value is None:
        return 0 if failures else 1
    total = 0
    if typed or known_format:
        total += 1 if failures else 2
    total += _composition_matches(node, value, compile_checks) + 2
    total += 2  # the enumeration, and the schema as a whole
    if type(value) is str:
        total += 1 + known_format
    elif type(value) in (int, float):
        total += 2
    elif type(value) is list:
        items = node.get("items")
        total += 2 + (sum(_matches(items, item, compile_checks) for item in value) if isinstance(items, Mapping) else 0)
    elif type(value) is dict:
        total += 1
        properties = as_mapping(node.get("properties"))
        additional = additional_schema(node)
        for key, child in value.items():
            below = as_mapping(properties[key]) if key in properties else additional
            if below is not None:
                total += _matches(below, child, compile_checks)
    return total


def _composition_matches(node: Mapping[str, Any], value: Any, compile_checks: Compile) -> int:
    total = 0
    for name in ("anyOf", "oneOf"):
        branches = _branches(node, name, compile_checks)
        if not branches:
            continue
        valid = [branch for branch in branches if not _run(branch, value, None)]
        if valid and (name == "anyOf" or len(valid) == 1):
            total += _matches(valid[0].node, value, compile_checks)
        elif not valid:
            total += max(_matches(branch.node, value, compile_checks) for branch in branches)
    all_of = _branches(node, "allOf", compile_checks)
    return total + sum(_matches(branch.node, value, compile_checks) for branch in all_of)
