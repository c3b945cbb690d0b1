"""The explorer checks controllers against every order of calls, every lag of caches and every fault, within bounds."""

from kontend.explore.actions import Action, Writer, create, delete, patch, update
from kontend.explore.exploring import check
from kontend.explore.golang.controllers import go_controllers
from kontend.explore.problems import BadScenario
from kontend.explore.program.determinism import Nondeterminism
from kontend.explore.program.external import External, ExternalError
from kontend.explore.properties.built_in import BuiltIn
from kontend.explore.properties.property import Property, always, eventually, never, sometimes
from kontend.explore.replay.discovery import assert_discovery
from kontend.explore.replay.reproduce import reproduce
from kontend.explore.scenario import Bounds, Reductions, Scenario
from kontend.explore.trace.token import BadToken
from kontend.explore.verdict import Verdict, Violation

__all__ = [
    "Action",
    "BadScenario",
    "BadToken",
    "Bounds",
    "BuiltIn",
    "External",
    "ExternalError",
    "Nondeterminism",
    "Property",
    "Reductions",
    "Scenario",
    "Verdict",
    "Violation",
    "Writer",
    "always",
    "assert_discovery",
    "check",
    "create",
    "delete",
    "eventually",
    "go_controllers",
    "never",
    "patch",
    "reproduce",
    "sometimes",
    "update",
]
