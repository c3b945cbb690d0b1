"""Kinds by which a cluster configures its own API server: webhooks, admission policies, priority levels, certificates.

They have no validation here; what matters is how they are versioned.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from kontend.kube.json_types import Json
from kontend.kube.strategy import STATUS, Strategy, WithOwnFieldLabels, WithSpecAndStatus, metadata_of, take_over


class WebhookConfigurations(Strategy):
    """Mutating and validating webhook configurations."""

    namespaced = False
    allow_unconditional_update = False
    generation_fields = ("webhooks",)


class AdmissionPolicyBindings(Strategy):
    """Bindings of admission policies, and mutating admission policies, which have no status."""

    namespaced = False
    allow_unconditional_update = False
    generation_fields = ("spec",)


class ValidatingAdmissionPolicies(WithSpecAndStatus):
    """Validating admission policies."""

    namespaced = False
    allow_unconditional_update = False


class FlowControl(WithSpecAndStatus):
    """Flow schemas and priority levels; a write to the status leaves all metadata as it is."""

    namespaced = False
    reset_fields: ClassVar = {"": STATUS, "status": (("metadata",), ("spec",))}

    def prepare_for_status_update(self, new: Json, old: Mapping[str, Any], now: str = "") -> None:
        """Keeps everything but the status and the managed fields."""
        super().prepare_for_status_update(new, old, now)
        managed = metadata_of(new).get("managedFields")
        new["metadata"] = dict(old.get("metadata") or {})
        take_over(new["metadata"], {} if managed is None else {"managedFields": managed}, "managedFields")


class CertificateSigningRequests(WithOwnFieldLabels):
    """Certificate signing requests, whose spec never changes."""

    namespaced = False
    zero_status: ClassVar = {}
    reset_fields: ClassVar = {
        "": (("spec",), ("status",)),
        "status": (("spec",), ("status", "conditions")),
        "approval": (("spec",), ("status", "certificate")),
    }
    selectable = ("spec.signerName",)

    def set_requester(self, obj: Json, user: Mapping[str, Any]) -> None:
        """Let the spec say who asks, whatever the request says."""
        spec = obj.setdefault("spec", {})
        take_over(spec, user, "username", "uid", "groups", "extra")

    def prepare_for_update(self, new: Json, old: Mapping[str, Any]) -> None:
        """Keeps all but the metadata."""
        take_over(new, old, "spec", "status")

    def prepare(self, subresource: str, new: Json, old: Mapping[str, Any], now: str = "") -> None:
        """Lets ``approval`` change the conditions."""
        if subresource != "approval":
            super().prepare(subresource, new, old, now)
            return
        conditions = (new.get("status") or {}).get("conditions")
        take_over(new, old, "spec", "status")
        new["status"] = {**(new.get("status") or {}), **({"conditions": conditions} if conditions else {})}

    def field_labels(self, obj: Mapping[str, Any]) -> Mapping[str, str]:
        """The values of the selectable fields."""
        return {**super().field_labels(obj), "spec.signerName": (obj.get("spec") or {}).get("signerName", "")}

    def canonical_field_label(self, label: str) -> str | None:
        """Certificate signing requests are not in a namespace."""
        return None if label == "metadata.namespace" else super().canonical_field_label(label)


_ADMISSION: Final = "admissionregistration.k8s.io"
_FLOW: Final = "flowcontrol.apiserver.k8s.io"
STRATEGIES: Final[Mapping[tuple[str, str], Strategy]] = {
    (_ADMISSION, "MutatingWebhookConfiguration"): WebhookConfigurations(),
    (_ADMISSION, "ValidatingWebhookConfiguration"): WebhookConfigurations(),
    (_ADMISSION, "ValidatingAdmissionPolicy"): ValidatingAdmissionPolicies(),
    (_ADMISSION, "ValidatingAdmissionPolicyBinding"): AdmissionPolicyBindings(),
    (_ADMISSION, "MutatingAdmissionPolicy"): AdmissionPolicyBindings(),
    (_ADMISSION, "MutatingAdmissionPolicyBinding"): AdmissionPolicyBindings(),
    (_FLOW, "FlowSchema"): FlowControl(),
    (_FLOW, "PriorityLevelConfiguration"): FlowControl(),
    ("certificates.k8s.io", "CertificateSigningRequest"): CertificateSigningRequests(),
}
