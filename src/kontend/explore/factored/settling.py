"""Shows that runs can settle from every state of every set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kontend.explore.factored.local_states import LocalStates, Unprovable


@dataclass(frozen=True, slots=True)
class Ways:
    """The ways of one process on from a set."""

    #: For each local state: whether it can come to rest, the sets it leads to, and those once all others are idle.
    of_members: tuple[tuple[bool, frozenset[int], frozenset[int]], ...]
    has_timers: bool

    @classmethod
    def of(cls, members: LocalStates, number: int, quiet: list[bool], covers: Mapping[int, int]) -> Ways:
        """The ways of all members, each different one once. Some sets count as others that cover them."""
        rests = list(quiet)
        certain = [{covers.get(one, one) for one in members.certain.get(at, ())} for at in range(len(rests))]
        idle = [known | {covers.get(one, one) for one in members.idle.get(at, ())} for at, known in enumerate(certain)]
        changed = True
        while changed:
            changed = False
            for at in range(len(rests) - 1, -1, -1):
                for successor in members.successors[at]:
                    if rests[successor] and not rests[at]:
                        rests[at] = changed = True
                    for reached in (certain, idle):
                        if not reached[successor] <= reached[at]:
                            reached[at] |= reached[successor]
                            changed = True
        # Instances that share views must be able to settle with the same deliveries: with all of them, at first.
        first = [members.delivered.get(at, at) for at in range(len(rests))]
        ways = [(rests[at], frozenset(certain[at]), frozenset(idle[at])) for at in first]
        has_timers = any(instance.timers for world in members.worlds for instance in world.processes[number].instances)
        return cls(tuple(dict.fromkeys(ways)), has_timers)

    def can_settle(self, shown: set[int], *, others_have_timers: bool) -> bool:
        """Every local state can come to rest, or leads to a set that was shown, if all others are at rest."""
        return all(
            rests or not (certain if others_have_timers else idle).isdisjoint(shown)
            for rests, certain, idle in self.of_members
        )

    def leads_on(self, shown: set[int]) -> bool:
        """Every local state leads to a set that was shown, whatever the others do."""
        return all(not certain.isdisjoint(shown) for _, certain, _ in self.of_members)


def show_settling(sets: Mapping[int, list[Ways]]) -> None:
    """Show that runs can settle from every state of every set, given its instances. Raises ``Unprovable``.

    A set is shown by others that are. All instances can come to rest by themselves, or else one that cannot leads on to
    a set that was shown, if need be by a timer once the others are at rest; or one of them leads on to such sets
    whatever local state it is in.
    """
    left = list(sets)
    shown: set[int] = set()
    while left:
        rest = []
        for number in reversed(left):
            instances = sets[number]
            timers = sum(instance.has_timers for instance in instances)
            if any(instance.leads_on(shown) for instance in instances) or all(
                instance.can_settle(shown, others_have_timers=timers > instance.has_timers) for instance in instances
            ):
                shown.add(number)
            else:
                rest.append(number)
        rest.reverse()
        if len(rest) == len(left):
            raise Unprovable
        left = rest
