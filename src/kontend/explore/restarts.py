"""Starts an exploration again when one of its assumptions is refuted."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from kontend.explore.model.knowledge import Knowledge, NewKind
from kontend.explore.model.model import Model
from kontend.explore.problems import BadScenario
from kontend.explore.program.event_loop import Unsupported
from kontend.explore.program.suspended import end_suspended_runs
from kontend.explore.program.symbols import Assumption, Refuted
from kontend.explore.scenario import Scenario
from kontend.explore.stamps import stamps_matter

T = TypeVar("T")


def restarted(
    scenario: Scenario, explore: Callable[[Model], T], make: Callable[[Scenario, Knowledge | None], Model] = Model
) -> T:
    """The result of exploring a scenario, after as many restarts as it takes; ``make`` makes its model."""
    knowledge: Knowledge | None = None
    while True:
        model = make(scenario, knowledge)
        knowledge = model.knowledge
        try:
            if not knowledge.stamps_checked and stamps_matter(model):
                knowledge.refute(Assumption.SETTLED_STAMPS)
                model = make(scenario, knowledge)
            knowledge.stamps_checked = True
            return explore(model)
        except Refuted as error:
            knowledge.refute(error.assumption)
        except NewKind as error:
            knowledge.take_over(error)
        except Unsupported as error:
            raise BadScenario(str(error)) from None
        finally:
            end_suspended_runs()
