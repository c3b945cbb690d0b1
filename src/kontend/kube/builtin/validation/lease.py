"""Leases."""

from __future__ import annotations

from kontend.kube.builtin.validation.checks import NEGATIVE, bad
from kontend.kube.field_errors import FieldError, forbidden, invalid, not_supported
from kontend.kube.json_types import Json
from kontend.kube.meta.name_rules import qualified_name


def validate_lease(obj: Json) -> list[FieldError]:
    """Validate a lease."""
    spec = obj.get("spec") or {}
    errors: list[FieldError] = []
    duration, transitions = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
    if duration is not None and duration <= 0:
        errors.append(invalid("spec.leaseDurationSeconds", duration, "must be greater than 0"))
    if transitions is not None and transitions < 0:
        errors.append(invalid("spec.leaseTransitions", transitions, NEGATIVE))
    strategy = spec.get("strategy")
    if strategy is not None:
        if "/" in strategy:
            errors += bad("spec.strategy.strategy", strategy, qualified_name(strategy))
        elif strategy != "OldestEmulationVersion":
            errors.append(not_supported("spec.strategy.strategy", strategy, ("OldestEmulationVersion",)))
    if spec.get("preferredHolder") and not strategy:
        errors.append(forbidden("spec.preferredHolder", "may only be specified if `strategy` is defined"))
    return errors
