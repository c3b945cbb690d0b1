"""Local steps of an instance, computed once for the same situation.

Deliveries, starts and cached reads depend on the instance and on the objects alone. So they are computed once, and
applied again wherever an instance in the same situation meets the same objects, whatever others have done meanwhile.
"""

from __future__ import annotations

from kontend.explore.model.similarity import Similarity
from kontend.explore.model.state.key import Keys
from kontend.explore.model.state.world import InFlight, Instance, World
from kontend.explore.model.step import Step
from kontend.explore.model.views.delivery import Delivery
from kontend.explore.program.progress import Failure
from kontend.kube.meta.names import Key


class LocalSteps:
    """Some local steps of one instance, in a form that does not depend on resourceVersions."""

    __slots__ = (
        "_delivered",
        "_instance",
        "_versions",
        "failure",
        "is_half_way",
        "key",
        "similarity",
        "stale",
        "steps",
        "timer",
    )

    def __init__(
        self,
        before: World,
        after: World,
        index: int,
        keys: Keys,
        similarity: Similarity,
        resources: list[str],
        *,
        steps: tuple[Step, ...],
        failure: Failure | None,
        stale: int,
        timer: float,
        is_half_way: bool,
    ) -> None:
        """Record the steps from one state to another that differs only in the instance ``index``."""
        self.steps = steps
        self.failure = failure
        #: The number of perturbations, apart from the start and from a timer that only others can make early.
        self.stale = stale
        #: The seconds of that timer; 0 for none.
        self.timer = timer
        #: The reconcile has neither ended nor reached a request to the server.
        self.is_half_way = is_half_way
        state, old, new = before.state, before.instances[index], after.instances[index]
        self._instance = new
        #: The key of the instance after these steps, as it is and without counters.
        self.key = keys.of_instance(after, index)
        self.similarity = similarity.of_instance(after, index)
        #: For each view, how many events were delivered.
        self._delivered = tuple(
            len(old.undelivered(state, at, resources[at])) - len(new.undelivered(state, at, resources[at]))
            for at in range(len(old.views))
        )
        # The versions that were read, in relation to the instance as it was before.
        known = old.running[0].versions if old.running else ()
        met = new.running[0].versions[len(known) :] if new.running else ()
        self._versions = tuple(
            (version[0], version[1], keys.which_version(state, index, old, version)) for version in met
        )

    @property
    def bugs(self) -> frozenset[tuple[Key, str, int]]:
        """The programming errors that the instance has raised after these steps."""
        return self._instance.bugs

    def applied(self, world: World, index: int, keys: Keys, resources: list[str], delivery: Delivery) -> Instance:
        """The instance after the same steps, in a state in which its situation is the same; made once for each."""
        followers = world.instances[index].followers(world.state)
        after = followers.get(self)
        if after is None:
            after = followers[self] = self._applied(world, index, keys, resources, delivery)
        return after

    def _applied(self, world: World, index: int, keys: Keys, resources: list[str], delivery: Delivery) -> Instance:
        state, instance = world.state, world.instances[index]
        views = instance.views
        if any(self._delivered):
            moved = list(views)
            for at, count in enumerate(self._delivered):
                if count:
                    pending = instance.undelivered(state, at, resources[at])
                    moved[at] = pending[count - 1].resource_version if count < len(pending) else state.resource_version
            views = tuple(moved)
        like = self._instance
        running: tuple[InFlight, ...] = ()
        if like.running:
            in_flight = like.running[0]
            known = instance.running[0].versions if instance.running else ()
            met = tuple(keys.version_at(state, index, instance, version) for version in self._versions)
            running = (InFlight(in_flight.start, in_flight.node, (*known, *met), in_flight.uuids),)
        after = delivery.without_seen(
            index, Instance(views, like.queue, like.delayed, running, like.memory, instance.own, like.bugs, like.timers)
        )
        after.attach(state, self.key, self.similarity)
        return after
