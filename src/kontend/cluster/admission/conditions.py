"""Match conditions: CEL expressions that decide whether a webhook or policy is about a write."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kontend.cluster.admission.variables import NAMES
from kontend.kube.cel.dynamic import compile_dynamic
from kontend.kube.cel.issues import CompileError, ProgramError
from kontend.kube.cel.values import EvalError


class ConditionError(Exception):
    """A condition that has no result."""


def conditions_hold(
    conditions: Iterable[Mapping[str, Any]], values: Mapping[str, Any], names: tuple[str, ...] = NAMES
) -> bool:
    """Report whether all conditions are true. One that is false decides, whatever is wrong with the others."""
    errors = []
    for condition in conditions:
        source = str(condition.get("expression") or "")
        try:
            if compile_dynamic(source, names).evaluate(values) is not True:
                return False
        except (CompileError, ProgramError, EvalError) as error:
            errors.append(f"expression '{source}' resulted in error: {error}")
    if errors:
        raise ConditionError(errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]")
    return True
