"""ValidatingAdmissionPolicies: rules in CEL about writes, bound to what they are about and to their parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from kontend.cluster.admission.conditions import ConditionError, conditions_hold
from kontend.cluster.admission.configurations import POLICIES, POLICY_BINDINGS
from kontend.cluster.admission.matching import matched_resource
from kontend.cluster.admission.operation import Operation
from kontend.cluster.admission.params import MissingParams, params_of
from kontend.cluster.admission.variables import NAMES, values
from kontend.cluster.memo import Memo
from kontend.cluster.resources import Resource
from kontend.cluster.state import Objects
from kontend.kube.cel.dynamic import compile_dynamic
from kontend.kube.cel.issues import CompileError, ProgramError
from kontend.kube.cel.values import EvalError
from kontend.kube.errors import ApiError, forbidden

_NAMES: Final = (*NAMES, "params", "variables")
#: HTTP codes of the reasons that a validation may give.
_CODES: Final = {"Unauthorized": 401, "Forbidden": 403, "Invalid": 422, "RequestEntityTooLarge": 413}
_MISTAKES: Final = (CompileError, ProgramError, EvalError)


@dataclass(frozen=True, slots=True)
class Failure:
    """A validation that does not hold, or that has no result."""

    message: str
    reason: str = "Invalid"


class Variables(dict[str, Any]):
    """The variables of a policy, each worked out when it is first used."""

    def __init__(self, sources: Mapping[str, str], known: Mapping[str, Any]) -> None:
        super().__init__()
        self._sources = sources
        self._known = known

    def __contains__(self, name: object) -> bool:
        return name in self._sources

    def __getitem__(self, name: str) -> Any:
        if not super().__contains__(name):
            self[name] = compile_dynamic(self._sources[name], _NAMES).evaluate({**self._known, "variables": self})
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        """Return a variable, or ``default`` where there is none of that name."""
        if name not in self:
            return default
        return self[name]


@dataclass
class Policy:
    """A policy and its bindings."""

    name: str
    spec: Mapping[str, Any]

    @cached_property
    def sources(self) -> dict[str, str]:
        """The expressions of its variables."""
        return {variable["name"]: variable["expression"] for variable in self.spec.get("variables") or ()}

    @property
    def fails_closed(self) -> bool:
        """Reports whether an expression without a result refuses the write."""
        return self.spec.get("failurePolicy") != "Ignore"


def _policies(objects: Objects) -> dict[str, Policy]:
    return {key.name: Policy(key.name, version.content().get("spec") or {}) for key, version in sorted(objects.items())}


def _bindings(objects: Objects) -> list[tuple[str, Mapping[str, Any]]]:
    return [(key.name, version.content().get("spec") or {}) for key, version in sorted(objects.items())]


_all_policies: Final = Memo(_policies)
_all_bindings: Final = Memo(_bindings)


def validate(operation: Operation) -> None:
    """Check a write against all policies; raise for the first that denies it."""
    state = operation.state
    policies = _all_policies(state.objects(POLICIES))
    denied: ApiError | None = None
    for binding_name, binding in _all_bindings(state.objects(POLICY_BINDINGS)):
        policy = policies.get(str(binding.get("policyName")))
        if policy is None:
            continue
        actions = binding.get("validationActions") or ()
        for failure in _failures(policy, binding, operation):
            where = f"ValidatingAdmissionPolicy '{policy.name}' with binding '{binding_name}'"
            if "Warn" in actions:
                operation.target.warn(f"Validation failed for {where}: {failure.message}")
            if "Deny" in actions and denied is None:
                denied = _denial(operation, f"{where} denied request: {failure.message}", failure.reason)
    if denied is not None:
        raise denied


def _failures(policy: Policy, binding: Mapping[str, Any], operation: Operation) -> Iterator[Failure]:
    resource = matched_resource(policy.spec.get("matchConstraints") or {}, operation, "resourceRules")
    narrower = binding.get("matchResources")
    if resource is None or (narrower and not _within(narrower, operation)):
        return
    known = values(operation, resource)
    try:
        parameters = params_of(operation, policy.spec.get("paramKind"), binding.get("paramRef"))
    except MissingParams as error:
        if policy.fails_closed:
            yield Failure(f"failed to configure binding: {error}")
        return
    for params in parameters:
        scope = {**known, "params": params}
        try:
            if conditions_hold(policy.spec.get("matchConditions") or (), scope, _NAMES):
                yield from _evaluated(policy, scope)
        except ConditionError as error:
            if policy.fails_closed:
                yield Failure(str(error))


def _within(constraints: Mapping[str, Any], operation: Operation) -> bool:
    """Report whether a binding is about a write; without rules, it is about all that its policy is about."""
    rules = constraints.get("resourceRules")
    everything = [{"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*", "*/*"]}]
    resource: Resource | None = matched_resource(
        {**constraints, "resourceRules": rules or everything}, operation, "resourceRules"
    )
    return resource is not None


def _evaluated(policy: Policy, known: Mapping[str, Any]) -> Iterator[Failure]:
    scope = {**known, "variables": Variables(policy.sources, known)}
    for validation in policy.spec.get("validations") or ():
        source = str(validation.get("expression") or "").strip()
        try:
            result = compile_dynamic(source, _NAMES).evaluate(scope)
        except _MISTAKES as error:
            if policy.fails_closed:
                yield Failure(f"expression '{source}' resulted in error: {error}")
            continue
        if result is not True:
            yield Failure(_message(validation, source, scope), str(validation.get("reason") or "Invalid"))


def _message(validation: Mapping[str, Any], source: str, scope: Mapping[str, Any]) -> str:
    expression = validation.get("messageExpression")
    if expression:
        try:
            text = compile_dynamic(str(expression), _NAMES).evaluate(scope)
        except _MISTAKES:
            text = None
        if isinstance(text, str) and text.strip() and "\n" not in text:
            return text.strip()
    return str(validation.get("message") or "").strip() or f"failed expression: {source}"


def _denial(operation: Operation, message: str, reason: str) -> ApiError:
    target = operation.target
    refusal = forbidden(target.resource.group, target.resource.plural, operation.object_name, message)
    details = {**(refusal.details or {}), "causes": [{"message": message}]}
    return ApiError(refusal.message, code=_CODES.get(reason, 422), reason=reason, details=details)
