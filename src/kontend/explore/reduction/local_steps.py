"""Local steps of a process, computed once for the same situation.

Deliveries, starts and cached reads depend on the process and on the objects alone. So they are computed once, and
applied again wherever a process in the same situation meets the same objects, whatever others have done meanwhile.
"""

from __future__ import annotations

from kontend.explore.model.state.process import InFlight, Instance, Process
from kontend.explore.model.state.world import World
from kontend.explore.model.step import Step
from kontend.explore.program.progress import Failure
from kontend.explore.reduction.reducible import ProcessKeys, ProcessSimilarity, Views


class LocalSteps:
    """Some local steps of one process, in a form that does not depend on resourceVersions."""

    __slots__ = (
        "_delivered",
        "_process",
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
        number: int,
        keys: ProcessKeys,
        similarity: ProcessSimilarity,
        resources: list[str],
        *,
        steps: tuple[Step, ...],
        failure: Failure | None,
        stale: int,
        timer: float,
        is_half_way: bool,
    ) -> None:
        """Record the steps from one state to another that differs only in the process ``number``."""
        self.steps = steps
        self.failure = failure
        #: The number of perturbations, apart from the start and from a timer that only others can make early.
        self.stale = stale
        #: The seconds of that timer; 0 for none.
        self.timer = timer
        #: Its reconciles have neither ended nor reached a request to the server.
        self.is_half_way = is_half_way
        state, old, new = before.state, before.processes[number], after.processes[number]
        self._process = new
        #: The key of the process after these steps, as it is and without counters.
        self.key = keys.of_process(after, number)
        self.similarity = similarity.of_process(after, number)
        #: For each view, how many events were delivered.
        self._delivered = tuple(
            len(old.undelivered(state, at, resources[at])) - len(new.undelivered(state, at, resources[at]))
            for at in range(len(old.views))
        )
        # The versions that were read, in relation to the process as it was before.
        self._versions = tuple(
            tuple(
                (version[0], version[1], keys.which_version(state, number, old, version))
                for version in (now.running[0].versions[_known(then) :] if now.running else ())
            )
            for then, now in zip(old.instances, new.instances, strict=True)
        )

    @property
    def has_bugs(self) -> bool:
        """Some reconcile of the process has raised a programming error."""
        return any(instance.bugs for instance in self._process.instances)

    def applied(self, world: World, number: int, keys: ProcessKeys, resources: list[str], delivery: Views) -> Process:
        """The process after the same steps, in a state in which its situation is the same; made once for each."""
        followers = world.processes[number].followers(world.state)
        after = followers.get(self)
        if after is None:
            after = followers[self] = self._applied(world, number, keys, resources, delivery)
        return after

    def _applied(self, world: World, number: int, keys: ProcessKeys, resources: list[str], delivery: Views) -> Process:
        state, process = world.state, world.processes[number]
        views = process.views
        if any(self._delivered):
            moved = list(views)
            for at, count in enumerate(self._delivered):
                if count:
                    pending = process.undelivered(state, at, resources[at])
                    moved[at] = pending[count - 1].resource_version if count < len(pending) else state.resource_version
            views = tuple(moved)
        instances = []
        for instance, like, met in zip(process.instances, self._process.instances, self._versions, strict=True):
            running: tuple[InFlight, ...] = ()
            if like.running:
                in_flight = like.running[0]
                known = instance.running[0].versions if instance.running else ()
                versions = tuple(keys.version_at(state, number, process, version) for version in met)
                running = (InFlight(in_flight.start, in_flight.node, (*known, *versions), in_flight.uuids),)
            instances.append(like.changed(running=running))
        after = delivery.without_seen(number, Process(views, tuple(instances), process.own))
        after.attach(state, self.key, self.similarity)
        return after


def _known(instance: Instance) -> int:
    """The number of versions that the reconcile of an instance had met."""
    return len(instance.running[0].versions) if instance.running else 0
