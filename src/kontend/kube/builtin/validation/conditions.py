"""Conditions of the common type, as many a status lists them."""

from __future__ import annotations

import re
from typing import Any, Final

from kontend.kube.builtin.validation.checks import label_name
from kontend.kube.field_errors import FieldError, duplicate, invalid, not_supported, required, too_long

_REASON: Final = r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"
_BAD_REASON: Final = (
    "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric "
    "characters or '_,:', and must end with an alphanumeric character or '_' "
    f"(e.g. 'my_name',  or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', "
    f"regex used for validation is '{_REASON}')"
)


def conditions(given: list[dict[str, Any]], path: str) -> list[FieldError]:
    """Conditions of the common type, each kind once."""
    errors: list[FieldError] = []
    seen: set[str] = set()
    for index, condition in enumerate(given):
        where, kind, status = f"{path}[{index}]", condition.get("type", ""), condition.get("status", "")
        if kind in seen:
            errors.append(duplicate(f"{where}.type", kind))
        seen.add(kind)
        errors += label_name(kind, f"{where}.type")
        if status not in ("True", "False", "Unknown"):
            errors.append(not_supported(f"{where}.status", status, ("False", "True", "Unknown")))
        generation = condition.get("observedGeneration") or 0
        if generation < 0:
            why = "must be greater than or equal to zero"
            errors.append(invalid(f"{where}.observedGeneration", generation, why))
        if condition.get("lastTransitionTime") is None:
            errors.append(required(f"{where}.lastTransitionTime"))
        reason = condition.get("reason", "")
        if not reason:
            errors.append(required(f"{where}.reason"))
        elif not re.fullmatch(_REASON, reason):
            errors.append(invalid(f"{where}.reason", reason, _BAD_REASON))
        if len(reason) > 1024:
            errors.append(too_long(f"{where}.reason", 1024))
        if len(condition.get("message", "")) > 32 * 1024:
            errors.append(too_long(f"{where}.message", 32 * 1024))
    return errors
