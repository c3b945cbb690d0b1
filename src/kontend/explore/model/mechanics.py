"""The mechanics of a model: the objects that carry out its steps, each with the neighbours that it calls.

A model has variants: one explores a part of a scenario, one counts generated uuids for each instance apart. Nearly
every object here holds on to others, so a variant is wired from scratch. Copying a model and exchanging the objects
that differ was tried, and left behind timers and reads that still asked the objects of the original. Whatever all
variants share (programs, the outcomes of requests, facts that were noticed) belongs to the layout.
"""

from __future__ import annotations

from dataclasses import dataclass

from kontend.explore.model.commits import Commits
from kontend.explore.model.environment.courses import Next
from kontend.explore.model.environment.faults import Faults
from kontend.explore.model.environment.futile import Futile
from kontend.explore.model.environment.timers import Timers
from kontend.explore.model.environment.users import Users
from kontend.explore.model.layout import Layout
from kontend.explore.model.part import Part
from kontend.explore.model.reconciles import Reconciles
from kontend.explore.model.similarity import Similarity
from kontend.explore.model.uuids import Uuids
from kontend.explore.model.views.delivery import Delivery
from kontend.explore.model.views.reads import Reads


@dataclass(frozen=True, slots=True)
class Variant:
    """A way to look at a scenario."""

    #: The part that is explored; None for the whole.
    part: Part | None = None
    #: Each instance is followed by itself: it generates uuids of its own, and no two states have a process in common.
    by_instance: bool = False


class Mechanics:
    """The objects that carry out the steps of one variant of a model."""

    def __init__(self, layout: Layout, variant: Variant, following: Next) -> None:
        """``following`` takes a step of the model."""
        part, alone = variant.part, variant.by_instance
        start = layout.start if part is None else part.start.state
        self.server = layout.server
        self.keys = layout.keys
        self.similarity = Similarity(layout)
        self.delivery = Delivery(layout, () if part is None else part.foreign, shares=not alone)
        self.reads = Reads(layout, self.delivery)
        self.uuids = Uuids(layout, by_instance=alone)
        self.users = Users(layout, self.delivery, None if part is None else part.ends)
        self.futile = Futile(layout, following)
        self.timers = Timers(layout, self.futile, following)
        self.faults = Faults(layout, self.delivery, self.uuids, start)
        self.commits = Commits(layout, self.delivery, part)
        self.reconciles = Reconciles(layout, self.reads, self.commits, self.uuids, self.timers, part, shares=not alone)

    def forget(self) -> None:
        """Forget what can be computed again: outcomes of requests, and what writes make of clusters and instances."""
        self.server.forget()
        self.delivery.forget()
        self.commits.forget()
        self.reconciles.forget()
