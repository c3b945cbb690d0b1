"""The rules by which webhooks and policies choose requests: groups, versions, resources, operations, conditions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from kontend.kube.builtin.validation.checks import bad, label_name
from kontend.kube.cel.admission import admission_environment, result_type
from kontend.kube.cel.checker import Environment
from kontend.kube.cel.issues import CompileError
from kontend.kube.cel.types import BOOL, Type
from kontend.kube.field_errors import FieldError, duplicate, invalid, not_supported, required, too_many
from kontend.kube.json_types import Json
from kontend.kube.meta.name_rules import path_segment

FAILURE_POLICIES: Final = ("Fail", "Ignore")
MATCH_POLICIES: Final = ("Equivalent", "Exact")
REINVOCATION_POLICIES: Final = ("IfNeeded", "Never")
_OPERATIONS: Final = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_SCOPES: Final = ("*", "Cluster", "Namespaced")
_MOST_CONDITIONS: Final = 64


def choice(value: str | None, path: str, allowed: Sequence[str]) -> list[FieldError]:
    """Return an optional value out of an enumeration."""
    return [] if value is None or value in allowed else [not_supported(path, value, allowed)]


def rule_with_operations(rule: Json, path: str) -> list[FieldError]:
    """Return the requests that a webhook or a policy wants to see."""
    operations = rule.get("operations") or []
    errors = [] if operations else [required(f"{path}.operations")]
    if len(operations) > 1 and "*" in operations:
        errors.append(invalid(f"{path}.operations", operations, "if '*' is present, must not specify other operations"))
    for index, operation in enumerate(operations):
        errors += choice(operation, f"{path}.operations[{index}]", _OPERATIONS)
    groups, versions = rule.get("apiGroups") or [], rule.get("apiVersions") or []
    errors += _wildcard_list(groups, f"{path}.apiGroups", "API groups")
    errors += _wildcard_list(versions, f"{path}.apiVersions", "API versions")
    errors += [required(f"{path}.apiVersions[{index}]") for index, version in enumerate(versions) if not version]
    errors += _resources(rule.get("resources") or [], f"{path}.resources")
    return errors + choice(rule.get("scope"), f"{path}.scope", _SCOPES)


def _wildcard_list(texts: list[str], path: str, what: str) -> list[FieldError]:
    if not texts:
        return [required(path)]
    if len(texts) > 1 and "*" in texts:
        return [invalid(path, texts, f"if '*' is present, must not specify other {what}")]
    return []


def _resources(resources: list[str], path: str) -> list[FieldError]:
    errors = [] if resources else [required(path)]
    all_below: set[str] = set()
    everywhere: set[str] = set()
    plain = False
    for index, text in enumerate(resources):
        if not text:
            errors.append(required(f"{path}[{index}]"))
            continue
        resource, slash, below = text.partition("/")
        if not slash:
            plain = text != "*"
            continue
        where = f"{path}[{index}]"
        if resource in all_below:
            errors.append(invalid(where, text, f"if '{resource}/*' is present, must not specify {text}"))
        if below in everywhere:
            errors.append(invalid(where, text, f"if '*/{below}' is present, must not specify {text}"))
        if below == "*":
            all_below.add(resource)
        if resource == "*":
            everywhere.add(below)
    if len(resources) > 1 and "*/*" in resources:
        errors.append(invalid(path, resources, "if '*/*' is present, must not specify other resources"))
    if "*" in resources and plain:
        why = "if '*' is present, must not specify other resources without subresources"
        errors.append(invalid(path, resources, why))
    return errors


def named_rule(rule: Json, path: str) -> list[FieldError]:
    """Return a rule of a policy, which may name single objects."""
    errors: list[FieldError] = []
    names = rule.get("resourceNames") or []
    for index, name in enumerate(names):
        errors += bad(f"{path}.resourceNames[{index}]", name, path_segment(name))
        if name in names[:index]:
            errors.append(duplicate(f"{path}.resourceNames[{index}]", name))
    return errors + rule_with_operations(rule, path)


def match_conditions(conditions: Sequence[Json], path: str, *, params: bool) -> list[FieldError]:
    """Expressions that must hold for a request to be looked at."""
    errors: list[FieldError] = []
    if len(conditions) > _MOST_CONDITIONS:
        errors.append(too_many(path, len(conditions), _MOST_CONDITIONS))
    environment = admission_environment(params=params, authorizer=True)
    names: set[str] = set()
    for index, condition in enumerate(conditions):
        where = f"{path}[{index}]"
        source, name = (condition.get("expression") or "").strip(), condition.get("name") or ""
        if source:
            errors += expression_errors(source, f"{where}.expression", environment, (BOOL,))
        else:
            errors.append(required(f"{where}.expression"))
        errors += label_name(name, f"{where}.name") if name else [required(f"{where}.name")]
        if name and name in names:
            errors.append(duplicate(f"{where}.name", name))
        names.add(name)
    return errors


def expression_errors(
    source: str, path: str, environment: Environment, results: Sequence[Type], shown: str | None = None
) -> list[FieldError]:
    """Return the mistakes of an expression that must evaluate to one of some types; ``shown`` replaces it in the
    message."""
    try:
        evaluated = result_type(source, environment)
    except CompileError as error:
        return [invalid(path, source if shown is None else shown, f"compilation failed: {error}")]
    if evaluated in results:
        return []
    names = [_result_name(result) for result in results]
    wanted = names[0] if len(names) == 1 else f"one of [{' '.join(names)}]"
    says = f"must evaluate to {wanted} but got {_result_name(evaluated)}"
    return [invalid(path, source if shown is None else shown, says)]


def _result_name(kind: Type) -> str:
    # Where the checker's messages say "null", the type itself is called "null_type".
    return "null_type" if kind.kind == "null" else str(kind)


def ignores_conditions(new: Sequence[Mapping[str, Any]], old: Sequence[Mapping[str, Any]]) -> bool:
    """Tell that no webhook has changed its match conditions."""
    return [hook.get("matchConditions") or [] for hook in new] == [hook.get("matchConditions") or [] for hook in old]
