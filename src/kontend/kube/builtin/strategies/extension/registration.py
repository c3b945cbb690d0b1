"""Kinds by which a cluster configures its own API server: webhooks and admission policies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

from kontend.kube.builtin.validation.admission import mutating_policies, policies, webhooks
from kontend.kube.field_errors import FieldError
from kontend.kube.json_types import Json
from kontend.kube.strategy import STATUS, Strategy, WithSpecAndStatus


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


_ADMISSION: Final = "admissionregistration.k8s.io"
STRATEGIES: Final[Mapping[tuple[str, str], Strategy]] = {
    (_ADMISSION, "MutatingWebhookConfiguration"): WebhookConfigurations(),
    (_ADMISSION, "ValidatingWebhookConfiguration"): WebhookConfigurations(),
    (_ADMISSION, "ValidatingAdmissionPolicy"): ValidatingAdmissionPolicies(),
    (_ADMISSION, "ValidatingAdmissionPolicyBinding"): ValidatingAdmissionPolicyBindings(),
    (_ADMISSION, "MutatingAdmissionPolicy"): MutatingAdmissionPolicies(),
    (_ADMISSION, "MutatingAdmissionPolicyBinding"): MutatingAdmissionPolicyBindings(),
}
