"""Finds out whether stamps of the time keep a run from settling.

A controller that writes the time into a status on every reconcile triggers itself, and never stops. As long as time
stands still, its second write changes nothing, and it seems to settle. So one unperturbed run is made with a clock that
advances with every stamp.
"""

from __future__ import annotations

from kontend.explore.model.knowledge import Knowledge
from kontend.explore.model.model import Model
from kontend.explore.model.settling.restless import restless
from kontend.explore.program.symbols import Assumption


def stamps_matter(model: Model) -> bool:
    """The unperturbed run settles only as long as the time stands still."""
    if restless(model) is not None or not any(program.asks_time for program in model.programs):
        return False
    knowledge = Knowledge(model.initial().state.registry)
    knowledge.assumptions = model.knowledge.assumptions - {Assumption.SETTLED_STAMPS}
    knowledge.watched = model.knowledge.watched
    return restless(Model(model.scenario, knowledge)) is not None
