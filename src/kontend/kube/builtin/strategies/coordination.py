"""Leases, by which processes agree on a leader."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kontend.kube.builtin.validation.lease import validate_lease
from kontend.kube.field_errors import FieldError
from kontend.kube.json_types import Json
from kontend.kube.strategy import Strategy

#: Fields of coordinated leader election, which is switched off in this version.
_SWITCHED_OFF: Final = ("strategy", "preferredHolder")


class Leases(Strategy):
    """Leases."""

    checks_finalizers = False
    allow_unconditional_update = False
    allow_create_on_update = True

    def prepare_for_create(self, obj: Json) -> None:
        """Drop what is switched off."""
        for field in _SWITCHED_OFF:
            (obj.get("spec") or {}).pop(field, None)

    def prepare_for_update(self, new: Json, old: Mapping[str, Any]) -> None:
        """Drop what is switched off, unless it is there already."""
        for field in _SWITCHED_OFF:
            if (old.get("spec") or {}).get(field) is None:
                (new.get("spec") or {}).pop(field, None)

    def validate(self, obj: Json) -> list[FieldError]:
        """Validate a lease."""
        return validate_lease(obj)


class LeaseCandidates(Strategy):
    """Candidates of coordinated leader election."""

    checks_finalizers = False
    allow_unconditional_update = False
    allow_create_on_update = True


_GROUP: Final = "coordination.k8s.io"
STRATEGIES: Final[Mapping[tuple[str, str], Strategy]] = {
    (_GROUP, "Lease"): Leases(),
    (_GROUP, "LeaseCandidate"): LeaseCandidates(),
}
