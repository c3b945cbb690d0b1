"""Validating admission policies and their bindings."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from kontend.kube.builtin.validation.admission.rules import (
    FAILURE_POLICIES,
    MATCH_POLICIES,
    expression_errors,
    match_conditions,
    named_rule,
)
from kontend.kube.builtin.validation.checks import bad, label_name, label_selector, one_of
from kontend.kube.builtin.validation.conditions import conditions
from kontend.kube.cel.admission import admission_environment, result_type, variable_type
from kontend.kube.cel.checker import Environment
from kontend.kube.cel.issues import CompileError
from kontend.kube.cel.types import BOOL, NULL, STRING, Type
from kontend.kube.field_errors import (
    FieldError,
    Verbatim,
    duplicate,
    forbidden,
    go_json,
    invalid,
    not_supported,
    required,
)
from kontend.kube.json_types import Json
from kontend.kube.meta.name_rules import dns1035_label, dns1123_subdomain, path_segment
from kontend.kube.printing import json_path

_MOST_ANNOTATIONS: Final = 20
_LONGEST_VALUE_EXPRESSION: Final = 5 * 1024
_REASONS: Final = ("Forbidden", "Invalid", "RequestEntityTooLarge")
_ACTIONS: Final = ("Audit", "Deny", "Warn")
_IDENTIFIER: Final = re.compile(r"[_a-zA-Z][_a-zA-Z0-9]*")
_RESERVED: Final = frozenset(
    {"true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import",
     "let", "loop", "package", "namespace", "return", "var", "void", "while"}
)  # fmt: skip


RuleCheck = Callable[[Sequence[Json], str], list[FieldError]]


def validate_policy(obj: Json, old: Json | None = None) -> list[FieldError]:
    """Return the mistakes in a validating admission policy; ``old`` is the one it replaces."""
    spec = obj.get("spec") or {}
    errors, variables = policy_head(spec, None if old is None else old.get("spec") or {})
    return errors + _expressions(obj, spec, spec.get("paramKind") is not None, variables)


def policy_head(
    spec: Json, before: Json | None, after_rules: RuleCheck | None = None
) -> tuple[list[FieldError], dict[str, Type] | None]:
    """Return the mistakes in what both kinds of policies begin with, and the types of the variables."""
    errors = one_of(spec.get("failurePolicy") or "", "spec.failurePolicy", FAILURE_POLICIES)
    kind = spec.get("paramKind")
    params = kind is not None
    if kind is not None:
        errors += _param_kind(kind, "spec.paramKind")
    constraints = spec.get("matchConstraints")
    if constraints is None:
        errors.append(required("spec.matchConstraints"))
    else:
        errors += match_resources(constraints, "spec.matchConstraints")
        if not constraints.get("resourceRules"):
            errors.append(required("spec.matchConstraints.resourceRules"))
        if after_rules is not None:
            errors += after_rules(constraints.get("resourceRules") or [], "spec.matchConstraints")
    if before is None or any(
        (spec.get(field) or None) != (before.get(field) or None) for field in ("paramKind", "matchConditions")
    ):
        errors += match_conditions(spec.get("matchConditions") or [], "spec.matchConditions", params=params)
    variables, variable_errors = _variables(spec.get("variables") or [], params)
    return errors + variable_errors, variables


def _variables(variables: Sequence[Json], params: bool) -> tuple[dict[str, Type] | None, list[FieldError]]:
    """Return the types of the variables, each of which sees the ones before it."""
    if not variables:
        return None, []
    known: dict[str, Type] = {}
    errors: list[FieldError] = []
    for index, variable in enumerate(variables):
        path = f"spec.variables[{index}]"
        name, source = variable.get("name") or "", variable.get("expression") or ""
        if not name.strip():
            errors.append(required(f"{path}.name", "name is not specified"))
        elif not _IDENTIFIER.fullmatch(name) or name in _RESERVED:
            errors.append(invalid(f"{path}.name", name, "must be a valid CEL identifier"))
        if not source.strip():
            errors.append(required(f"{path}.expression", "expression is not specified"))
            continue
        try:
            environment = admission_environment(params=params, authorizer=True, variables=known)
            known[name] = variable_type(result_type(source, environment))
        except CompileError as error:
            known[name] = variable_type(None)
            errors.append(invalid(f"{path}.expression", source, f"compilation failed: {error}"))
    return known, errors


def _expressions(obj: Json, spec: Json, params: bool, variables: dict[str, Type] | None) -> list[FieldError]:
    validations, annotations = spec.get("validations") or [], spec.get("auditAnnotations") or []
    if not validations and not annotations:
        why = "validations or auditAnnotations must contain at least one item"
        return [required("spec.validations", why), required("spec.auditAnnotations", why)]
    errors: list[FieldError] = []
    environment = admission_environment(params=params, authorizer=True, variables=variables)
    messages = admission_environment(params=params, authorizer=False, variables=variables)
    for index, validation in enumerate(validations):
        errors += _validation(validation, f"spec.validations[{index}]", environment, messages)
    if len(annotations) > _MOST_ANNOTATIONS:
        why = f"must not have more than {_MOST_ANNOTATIONS} auditAnnotations"
        shown = [
            {"Key": annotation.get("key", ""), "ValueExpression": annotation.get("valueExpression", "")}
            for annotation in annotations
        ]
        errors.append(invalid("spec.auditAnnotations", Verbatim(go_json(shown)), why))
    keys: set[str] = set()
    for index, annotation in enumerate(annotations):
        path = f"spec.auditAnnotations[{index}]"
        errors += _annotation(annotation, path, obj["metadata"].get("name") or "", environment)
        key = annotation.get("key") or ""
        if key in keys:
            errors.append(duplicate(f"{path}.key", key))
        keys.add(key)
    return errors


def _validation(validation: Json, path: str, environment: Environment, messages: Environment) -> list[FieldError]:
    source = validation.get("expression") or ""
    if source.strip():
        errors = expression_errors(source, f"{path}.expression", environment, (BOOL,))
    else:
        errors = [required(f"{path}.expression", "expression is not specified")]
    message_expression = validation.get("messageExpression") or ""
    if message_expression and not message_expression.strip():
        errors.append(invalid(f"{path}.messageExpression", message_expression, "must be non-empty if specified"))
    elif message_expression:
        errors += expression_errors(message_expression, f"{path}.messageExpression", messages, (STRING,))
    message = validation.get("message") or ""
    if message and not message.strip():
        errors.append(invalid(f"{path}.message", message, "must be non-empty if specified"))
    elif re.search(r"[\n\r]", message.strip()):
        errors.append(invalid(f"{path}.message", message, "must not contain line breaks"))
    reason = validation.get("reason")
    if reason is not None and reason not in _REASONS:
        errors.append(not_supported(f"{path}.reason", reason, _REASONS))
    return errors


def _annotation(annotation: Json, path: str, name: str, environment: Environment) -> list[FieldError]:
    key, source = annotation.get("key") or "", annotation.get("valueExpression") or ""
    if name:
        errors = label_name(f"{name}/{key}", f"{path}.key")
    else:
        errors = [invalid(f"{path}.key", key, "requires metadata.name be non-empty")]
    where, trimmed = f"{path}.valueExpression", source.strip()
    if not trimmed:
        return [*errors, required(where, "valueExpression is not specified")]
    if len(trimmed.encode()) > _LONGEST_VALUE_EXPRESSION:
        return [*errors, required(where, f"must not exceed {_LONGEST_VALUE_EXPRESSION} bytes in length")]
    return errors + expression_errors(trimmed, where, environment, (STRING, NULL), source)


def _param_kind(kind: Json, path: str) -> list[FieldError]:
    where, text = f"{path}.apiVersion", kind.get("apiVersion") or ""
    errors: list[FieldError] = []
    if not text:
        errors.append(required(where))
    elif text.count("/") > 1:
        errors.append(invalid(where, text, f"unexpected GroupVersion string: {text}"))
    else:
        group, _, version = ("", "", "") if text == "/" else text.rpartition("/")
        wrong = dns1123_subdomain(group) if group else []
        if wrong:
            errors.append(invalid(where, group, ",".join(wrong)))
        if not version:
            errors.append(invalid(where, text, "version must be specified"))
        elif dns1035_label(version):
            errors.append(invalid(where, version, ",".join(dns1035_label(version))))
    name = kind.get("kind") or ""
    if not name:
        errors.append(required(f"{path}.kind"))
    elif dns1035_label(name.lower()):
        says = f"may have mixed case, but should otherwise match: {','.join(dns1035_label(name.lower()))}"
        errors.append(invalid(f"{path}.kind", name, says))
    return errors


def match_resources(matcher: Json | None, path: str) -> list[FieldError]:
    """Return the requests that a policy or a binding is about."""
    if matcher is None:
        return []
    errors = one_of(matcher.get("matchPolicy") or "", f"{path}.matchPolicy", MATCH_POLICIES)
    for field in ("namespaceSelector", "objectSelector"):
        selector = matcher.get(field)
        errors += [required(f"{path}.{field}")] if selector is None else label_selector(selector, f"{path}.{field}")
    for field in ("resourceRules", "excludeResourceRules"):
        for index, rule in enumerate(matcher.get(field) or []):
            errors += named_rule(rule, f"{path}.{field}[{index}]")
    return errors


def validate_policy_status(obj: Json) -> list[FieldError]:
    """Return the mistakes in the status of a policy."""
    status = obj.get("status") or {}
    errors: list[FieldError] = []
    for index, warning in enumerate((status.get("typeChecking") or {}).get("expressionWarnings") or []):
        path = f"status.typeChecking.expressionWarnings[{index}]"
        if not warning.get("warning"):
            errors.append(required(f"{path}.warning"))
        field = (warning.get("fieldRef") or "").strip()
        if not field:
            errors.append(required(f"{path}.fieldRef"))
            continue
        try:
            json_path.parse(field)
        except json_path.BadPath as error:
            errors.append(invalid(f"{path}.fieldRef", field, f"invalid JSONPath: {error}"))
    return errors + conditions(status.get("conditions") or [], "status.conditions")


def validate_policy_binding(obj: Json) -> list[FieldError]:
    """Return the mistakes in the binding of a validating admission policy."""
    spec = obj.get("spec") or {}
    return binding_target(spec) + _actions(spec.get("validationActions") or [], "spec.validationActions")


def binding_target(spec: Json) -> list[FieldError]:
    """Return the mistakes in what both kinds of bindings bind: a policy, its parameters and requests."""
    name = spec.get("policyName") or ""
    errors = bad("spec.policyName", name, dns1123_subdomain(name)) if name else [required("spec.policyName")]
    errors += _param_ref(spec.get("paramRef"), "spec.paramRef")
    return errors + match_resources(spec.get("matchResources"), "spec.matchResources")


def _param_ref(ref: Json | None, path: str) -> list[FieldError]:
    if ref is None:
        return []
    name, selector = ref.get("name") or "", ref.get("selector")
    exclusive = "name and selector are mutually exclusive"
    errors = bad(f"{path}.name", name, path_segment(name)) if name else []
    if name and selector is not None:
        errors.append(forbidden(f"{path}.name", exclusive))
    if selector is not None:
        errors += label_selector(selector, f"{path}.selector")
        if name:
            errors.append(forbidden(f"{path}.selector", exclusive))
    if not name and selector is None:
        errors.append(required(path, "one of name or selector must be specified"))
    action, where = ref.get("parameterNotFoundAction") or "", f"{path}.parameterNotFoundAction"
    return errors + one_of(action, where, ("Deny", "Allow"))


def _actions(actions: list[str], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, action in enumerate(actions):
        if action not in _ACTIONS:
            errors.append(not_supported(f"{path}[{index}]", action, _ACTIONS))
        if action in actions[:index]:
            errors.append(duplicate(f"{path}[{index}]", action))
    if "Deny" in actions and "Warn" in actions:
        why = (
            "must not contain both Deny and Warn (repeating the same validation failure information in the API "
            "response and headers serves no purpose)"
        )
        errors.append(invalid(path, actions, why))
    return errors if actions else [*errors, required(path, "at least one validation action is required")]
