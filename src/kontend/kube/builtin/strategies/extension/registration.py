"""Kinds by which a cluster configures its own API server: webhooks, admission policies, priority levels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from kontend.kube.builtin.validation import flow_control
from kontend.kube.builtin.validation.admission import mutating_policies, policies, webhooks
from kontend.kube.field_errors import FieldError
from kontend.kube.json_types import Json
from kontend.kube.strategy import STATUS, Strategy, WithSpecAndStatus, metadata_of, take_over


class Registration(Strategy):
    """The rules that all kinds of admissionregistration.k8s.io share."""

    checks_finalizers = False
    namespaced = False
    allow_unconditional_update = False
    rechecks_metadata = True
    rechecks_metadata_update = False


class WebhookConfigurations(Registration):
    """Mutating and validating webhook configurations."""

    generation_fields = ("webhooks",)
    empty_fields = (("webhooks",),)

    def validate(self, obj: Json) -> list[FieldError]:
        """Validate a new configuration."""
        return webhooks.validate_webhooks(obj)

    def validate_update(self, new: Json, old: Json) -> list[FieldError]:
        """Validate a changed configuration."""
        return webhooks.validate_webhooks(new, old)


class ValidatingAdmissionPolicyBindings(Registration):
    """Bindings of validating admission policies."""

    generation_fields = ("spec",)

    def validate(self, obj: Json) -> list[FieldError]:
        """Validate a binding."""
        return policies.validate_policy_binding(obj)


class ValidatingAdmissionPolicies(Registration, WithSpecAndStatus):
    """Validating admission policies."""

    status_resets_metadata = True
    reset_fields: ClassVar = {"": STATUS, "status": (("metadata",), ("spec",))}

    def validate(self, obj: Json) -> list[FieldError]:
        """Validate a new policy."""
        return policies.validate_policy(obj)

    def validate_update(self, new: Json, old: Json) -> list[FieldError]:
        """Validate a changed policy."""
        return policies.validate_policy(new, old)

    def validate_status_update(self, new: Json, old: Json) -> list[FieldError]:  # noqa: ARG002
        """Validate a changed status."""
        return policies.validate_policy_status(new)


class MutatingAdmissionPolicies(Registration):
    """Mutating admission policies, which have no status."""

    generation_fields = ("spec",)

    def validate(self, obj: Json) -> list[FieldError]:
        """Validate a new policy."""
        return mutating_policies.validate_mutating_policy(obj)

    def validate_update(self, new: Json, old: Json) -> list[FieldError]:
        """Validate a changed policy."""
        return mutating_policies.validate_mutating_policy(new, old)


class MutatingAdmissionPolicyBindings(ValidatingAdmissionPolicyBindings):
    """Bindings of mutating admission policies."""

    def validate(self, obj: Json) -> list[FieldError]:
        """Validate a binding."""
        return mutating_policies.validate_mutating_binding(obj)


class FlowControl(WithSpecAndStatus):
    """Flow schemas and priority levels; a write to the status leaves all metadata as it is."""

    namespaced = False
    reset_fields: ClassVar = {"": STATUS, "status": (("metadata",), ("spec",))}
    rechecks_metadata = True
    rechecks_metadata_update = False

    def prepare_for_status_update(self, new: Json, old: Mapping[str, Any], now: str = "") -> None:
        """Keep everything but the status and the managed fields."""
        super().prepare_for_status_update(new, old, now)
        managed = metadata_of(new).get("managedFields")
        new["metadata"] = dict(old.get("metadata") or {})
        take_over(new["metadata"], {} if managed is None else {"managedFields": managed}, "managedFields")

    def validate_status_update(self, new: Json, old: Json) -> list[FieldError]:  # noqa: ARG002
        """Validate a changed status."""
        return flow_control.validate_flow_status(new)


class FlowSchemas(FlowControl):
    """Flow schemas."""

    def validate(self, obj: Json) -> list[FieldError]:
        """Validate a flow schema."""
        return flow_control.validate_flow_schema(obj)


class PriorityLevels(FlowControl):
    """Priority levels."""

    def validate(self, obj: Json) -> list[FieldError]:
        """Validate a priority level."""
        return flow_control.validate_priority_level(obj)


_ADMISSION: Final = "admissionregistration.k8s.io"
_FLOW: Final = "flowcontrol.apiserver.k8s.io"
STRATEGIES: Final[Mapping[tuple[str, str], Strategy]] = {
    (_ADMISSION, "MutatingWebhookConfiguration"): WebhookConfigurations(),
    (_ADMISSION, "ValidatingWebhookConfiguration"): WebhookConfigurations(),
    (_ADMISSION, "ValidatingAdmissionPolicy"): ValidatingAdmissionPolicies(),
    (_ADMISSION, "ValidatingAdmissionPolicyBinding"): ValidatingAdmissionPolicyBindings(),
    (_ADMISSION, "MutatingAdmissionPolicy"): MutatingAdmissionPolicies(),
    (_ADMISSION, "MutatingAdmissionPolicyBinding"): MutatingAdmissionPolicyBindings(),
    (_FLOW, "FlowSchema"): FlowSchemas(),
    (_FLOW, "PriorityLevelConfiguration"): PriorityLevels(),
}
