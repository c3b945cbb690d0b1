"""The users of a scenario: who can act in a state, what an action does, and who is in a hurry."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from explore.oracle.answers import Answers
from explore.oracle.identifiers import numbered
from explore.oracle.model import Step, World
from kontend.cluster.cluster import Cluster
from kontend.explore import Scenario
from kontend.explore.actions import Action
from kontend.kube.errors import ApiError


@dataclass(frozen=True, slots=True)
class User:
    """Somebody who takes some actions, one after the other."""

    name: str
    actions: Sequence[Action]


def users_of(scenario: Scenario) -> list[User]:
    """The user of the scenario's actions, and its writers; each action of one without an order is a user's own."""
    users = [User("user", scenario.actions)]
    for writer in scenario.writers:
        groups = [writer.actions] if writer.ordered else [[action] for action in writer.actions]
        users += [User(writer.name, group) for group in groups]
    return users


class Users(Answers):
    """Lets users act."""

    users: Sequence[User]

    def _actions(self, world: World, busy: bool) -> Iterator[Step]:
        """The next action of each user, as far as it can be taken."""
        for number, user in enumerate(self.users):
            if world.acted[number] < len(user.actions):
                action = user.actions[world.acted[number]]
                if action.when is None or action.when(Cluster(state=world.state)):
                    yield from self._act(world, number, action, busy)

    def _act(self, world: World, number: int, action: Action, busy: bool) -> Iterator[Step]:
        user = self.users[number]
        taken = tuple(count + (at == number) for at, count in enumerate(world.acted))
        cluster = Cluster(state=numbered(world.state, world.issued), manager=user.name)
        text = f"{user.name} {action.text}"
        try:
            action.perform(cluster, user.name)
        except ApiError:
            if not action.retry:
                yield Step(f"{text}: refused", replace(world, acted=taken), perturbs=busy, acts=True)
            return
        after = self._committed(replace(world, acted=taken), cluster.state)
        changed = world.state.resource_version != after.state.resource_version
        writes = ((world.state, after.state),) if changed else ()
        hurries = not busy and self._hurries(world, action)
        step = Step(text, after, wrote=changed, writes=writes, acts=True, hurries=hurries)
        yield replace(step, perturbs=busy or hurries)

    def _hurries(self, world: World, action: Action) -> bool:
        """A user changes an object again while something is left to do after the last change."""
        earlier = {
            (action.kind, action.key)
            for user, count in zip(self.users, world.acted, strict=True)
            for action in user.actions[:count]
        }
        if action.deletes or action.retry or action.when or (action.kind, action.key) not in earlier:
            return False
        for instance in world.instances:
            if instance.queue:
                return True
            for kind in self.controllers[instance.controller].kinds:
                for change in self.pending(world.state, kind, dict(instance.positions)[kind]):
                    instance = self._delivered(world.state, instance, kind, change)
            if instance.queue:
                return True
        return False
