"""The explorer checks controllers against every order of their calls and every lag of their caches, within bounds."""

# Two of these functions have the names of their modules. Importing them here, before anyone can import the modules,
# makes kontend.explore.check and kontend.explore.reproduce the functions, whatever is imported later.
from kontend.explore.check import check
from kontend.explore.determinism import Nondeterminism
from kontend.explore.reproduce import reproduce
from kontend.explore.scenario import (
    BadScenario,
    Bounds,
    Reductions,
    Scenario,
    always,
    create,
    delete,
    eventually,
    never,
    patch,
    sometimes,
    update,
)
from kontend.explore.verdict import Verdict, Violation

__all__ = [
    "BadScenario",
    "Bounds",
    "Nondeterminism",
    "Reductions",
    "Scenario",
    "Verdict",
    "Violation",
    "always",
    "check",
    "create",
    "delete",
    "eventually",
    "never",
    "patch",
    "reproduce",
    "sometimes",
    "update",
]
