"""Certificate signing requests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final

from kontend.kube.builtin.validation import certificates
from kontend.kube.field_errors import FieldError
from kontend.kube.json_types import Json
from kontend.kube.strategy import Strategy, WithOwnFieldLabels, take_over

_REQUESTER: Final = ("username", "uid", "groups", "extra")


def any_name(name: str) -> list[str]:  # noqa: ARG001 - the signature is the contract
    """Accept every name."""
    return []


class CertificateSigningRequests(WithOwnFieldLabels):
    """Certificate signing requests, whose spec never changes."""

    namespaced = False
    name_rule = staticmethod(any_name)
    zero_status: ClassVar = {}
    reset_fields: ClassVar = {
        "": (("spec",), ("status",)),
        "status": (("spec",), ("status", "conditions")),
        "approval": (("spec",), ("status", "certificate")),
    }
    selectable = ("spec.signerName",)
    rechecks_metadata = True

    def set_requester(self, obj: Json, user_info: Callable[[], Mapping[str, Any]]) -> None:
        """Note who asks; nobody can ask in the name of another."""
        spec = obj.setdefault("spec", {})
        take_over(spec, {field: value for field, value in user_info().items() if value}, *_REQUESTER)

    def prepare_for_update(self, new: Json, old: Mapping[str, Any]) -> None:
        """Keep all but the metadata."""
        take_over(new, old, "spec", "status")

    def prepare(self, subresource: str, new: Json, old: Mapping[str, Any], now: str = "") -> None:
        """Lets ``approval`` change the conditions, and ``status`` all others than those that decide."""
        if subresource == "":
            super().prepare(subresource, new, old, now)
            return
        conditions = (new.get("status") or {}).get("conditions") or []
        before = (old.get("status") or {}).get("conditions") or []
        if subresource == "status":
            conditions = _keep_decisions(conditions, before)
        for condition in conditions:
            _set_times(condition, before, now)
        take_over(new, old, "spec")
        if subresource == "approval":
            take_over(new, old, "status")
        status = dict(new.get("status") or {})
        status.pop("conditions", None)
        new["status"] = {**status, "conditions": conditions} if conditions else status

    def validate(self, obj: Json) -> list[FieldError]:
        """Validate a new request."""
        return certificates.validate_request(obj)

    def validate_changes(self, subresource: str, new: Json, old: Json) -> list[FieldError]:
        """Validate a change of the request, its approval or its certificate."""
        return certificates.validate_request_update(new, old, subresource)

    def field_labels(self, obj: Mapping[str, Any]) -> Mapping[str, str]:
        """Return the values of the selectable fields."""
        return {**super().field_labels(obj), "spec.signerName": (obj.get("spec") or {}).get("signerName", "")}

    def canonical_field_label(self, label: str) -> str | None:
        """Certificate signing requests are not in a namespace."""
        return None if label == "metadata.namespace" else super().canonical_field_label(label)


def _keep_decisions(conditions: list[Json], before: list[Json]) -> list[Json]:
    """Give approvals and denials back their old values, unless their number has changed."""
    kept = list(conditions)
    for kind in ("Approved", "Denied"):
        old = [condition for condition in before if condition.get("type") == kind]
        places = [index for index, condition in enumerate(kept) if condition.get("type") == kind]
        if len(old) == len(places):
            for index, condition in zip(places, old, strict=True):
                kept[index] = dict(condition)
    return kept


def _set_times(condition: Json, before: list[Json], now: str) -> None:
    if not condition.get("lastUpdateTime"):
        condition["lastUpdateTime"] = now
    if condition.get("lastTransitionTime"):
        return
    same = [
        old["lastTransitionTime"]
        for old in before
        if all(old.get(field) == condition.get(field) for field in ("type", "status")) and old.get("lastTransitionTime")
    ]
    condition["lastTransitionTime"] = same[0] if same else now


STRATEGIES: Final[Mapping[tuple[str, str], Strategy]] = {
    ("certificates.k8s.io", "CertificateSigningRequest"): CertificateSigningRequests(),
}
