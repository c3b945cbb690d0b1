"""Scenarios whose answers were wrong once, each reduced to its essence.

``python -m explore.oracle.cases`` (with ``tests`` on the path) asks the oracle and the explorer about each of them and
prints whether they agree.
"""

from explore.oracle.cases import (
    alike_objects,
    false_about_names,
    false_about_steps,
    missed_across_kinds,
    missed_by_functions,
    missed_in_final_states,
    several_at_once,
)
from explore.oracle.cases.common import CASES

__all__ = [
    "CASES",
    "alike_objects",
    "false_about_names",
    "false_about_steps",
    "missed_across_kinds",
    "missed_by_functions",
    "missed_in_final_states",
    "several_at_once",
]
