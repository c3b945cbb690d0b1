"""Mutating admission policies and their bindings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kontend.kube.builtin.validation.admission.policies import binding_target, policy_head
from kontend.kube.builtin.validation.admission.rules import REINVOCATION_POLICIES
from kontend.kube.builtin.validation.checks import one_of
from kontend.kube.cel.issues import CompileError
from kontend.kube.cel.syntax.parser import parse
from kontend.kube.field_errors import FieldError, invalid, not_supported, required
from kontend.kube.json_types import Json

_OPERATIONS: Final = ("*", "CONNECT", "CREATE", "UPDATE")
_PATCHES: Final = {"JSONPatch": "jsonPatch", "ApplyConfiguration": "applyConfiguration"}


def validate_mutating_policy(obj: Json, old: Json | None = None) -> list[FieldError]:
    """Validate a mutating admission policy; ``old`` is the one it replaces.

    Expressions that make objects are parsed, but their types are not checked: those types are the objects' own.
    """
    spec = obj.get("spec") or {}
    errors, _ = policy_head(spec, ((old or {}).get("spec") or {}) if old is not None else None, after_rules=_mutates)
    mutations = spec.get("mutations") or []
    if not mutations:
        errors.append(required("spec.mutations", "mutations must contain at least one item"))
    for index, mutation in enumerate(mutations):
        errors += _mutation(mutation, f"spec.mutations[{index}]")
    return errors + one_of(spec.get("reinvocationPolicy") or "", "spec.reinvocationPolicy", REINVOCATION_POLICIES)


def _mutates(rules: Sequence[Json], path: str) -> list[FieldError]:
    """Only creations, updates and connections can be mutated."""
    operations = [operation for rule in rules for operation in rule.get("operations") or []]
    return [
        not_supported(f"{path}.resourceRules.operations", operation, _OPERATIONS)
        for operation in operations
        if operation not in _OPERATIONS
    ]


def _mutation(mutation: Json, path: str) -> list[FieldError]:
    kind = mutation.get("patchType") or ""
    if not kind:
        return [required(f"{path}.patchType")]
    if kind not in _PATCHES:
        return [not_supported(f"{path}.patchType", kind, ("ApplyConfiguration", "JSONPatch"))]
    field = _PATCHES[kind]
    other = next(name for name in _PATCHES.values() if name != field)
    errors: list[FieldError] = []
    if mutation.get(field) is None:
        errors.append(required(f"{path}.{field}", f"must be specified when patchType is {kind}"))
    else:
        errors += _expression(mutation[field].get("expression") or "", f"{path}.{field}.expression")
    if mutation.get(other) is not None:
        why = f"must not be specified when patchType is {kind}"
        errors.append(invalid(f"{path}.{other}", f"{{{other}}}", why))
    return errors


def _expression(source: str, path: str) -> list[FieldError]:
    if not source.strip():
        return [required(path)]
    try:
        parse(source.strip())
    except CompileError as error:
        return [invalid(path, source.strip(), f"compilation failed: {error}")]
    return []


def validate_mutating_binding(obj: Json) -> list[FieldError]:
    """Validate the binding of a mutating admission policy."""
    spec = obj.get("spec") or {}
    rules = (spec.get("matchResources") or {}).get("resourceRules") or []
    return binding_target(spec) + _mutates(rules, "spec.matchResources")
