"""Actions of users in a state: which can be taken, and which one a step takes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from kontend.cluster.cluster import Cluster
from kontend.explore.actions import Action, Condition, Writer
from kontend.explore.model.layout import Layout
from kontend.explore.model.state.world import World
from kontend.explore.model.step import Step
from kontend.explore.model.views.delivery import Delivery
from kontend.explore.problems import BadScenario
from kontend.explore.program.pure_functions import PureFunction
from kontend.explore.program.user_code import UserCode


class Users:
    """The users of a model."""

    def __init__(self, layout: Layout, delivery: Delivery, ends: Sequence[int] | None = None) -> None:
        """``ends`` says for each user how many actions take part; None for all."""
        self._ends = [len(user.actions) for user in layout.users] if ends is None else ends
        self._server = layout.server
        self._delivery = delivery
        self._users = layout.users
        self._answers: dict[tuple[int, int], bool] = {}
        self._conditions: dict[int, PureFunction] = {}
        #: For each user, the position of its first action among those of all.
        self._first = [sum(len(user.actions) for user in layout.users[:at]) for at in range(len(layout.users))]
        self.all_actions = [action for user in layout.users for action in user.actions]

    def steps(self, world: World) -> list[Step]:
        """The actions that can be taken in a state, one of each user."""
        return [Step("act", at=at) for at in range(len(self._users)) if self._can_act(world, at)]

    def of(self, world: World, step: Step) -> tuple[Writer, Action]:
        """The user who acts in a step, and the action."""
        user = self._users[step.at]
        return user, user.actions[world.acted[step.at]]

    def cost(self, world: World, step: Step) -> int:
        """1 for an action that perturbs, else 0.

        A user may act before the controllers have done their work, but not in the middle of a reconcile. A user who
        changes an object again before the controllers have settled after the last change perturbs them, too: they
        may never see the state in between. After a delete there is nothing left that it could matter for; and an
        action with a condition says itself when it is taken.
        """
        if not world.is_resting:
            return 1
        action = self._users[step.at].actions[world.acted[step.at]]
        if action.deletes or action.retry or action.when is not None or not self._acted_on(world, action):
            return 0
        return int(not self._delivery.is_settled(world))

    @property
    def can_hurry(self) -> bool:
        """Some object is changed again by users, who might not wait for the controllers in between."""
        objects = [(action.kind, action.key) for action in self.all_actions]
        return any(
            not action.deletes and objects.count(thing) > 1
            for action, thing in zip(self.all_actions, objects, strict=True)
        )

    def unused(self, world: World, tried: Collection[int]) -> Iterator[str]:
        """Describe the actions that never happen in runs from a state; ``tried`` are the positions of the others."""
        for user, first, begin, end in zip(self._users, self._first, world.acted, self._ends, strict=True):
            blocking: Action | None = None
            for action in (user.actions[at] for at in range(begin, end) if first + at not in tried):
                if blocking is not None:
                    why = f"it comes after {blocking.text!r}"
                elif action.when is not None:
                    why = "its condition never holds" + " where the server accepts it" * action.retry
                else:
                    why = "the server never accepts it"
                blocking = blocking or action
                yield f"{f'{action.line}: ' if action.line else ''}the action {action.text!r} never happens: {why}"

    def _acted_on(self, world: World, action: Action) -> bool:
        """A user has acted on the object of an action before."""
        return any(
            (earlier.kind, earlier.key) == (action.kind, action.key)
            for user, count in zip(self._users, world.acted, strict=True)
            for earlier in user.actions[:count]
        )

    def position(self, world: World, step: Step) -> int:
        """The position of the action of a step among those of all users."""
        return self._first[step.at] + world.acted[step.at]

    def _can_act(self, world: World, at: int) -> bool:
        user = self._users[at]
        if world.acted[at] >= self._ends[at]:
            return False
        action = user.actions[world.acted[at]]
        if action.when is not None and not self._holds(world, action, action.when):
            return False
        return not action.retry or not self._server.act(world, user, action)[0].answer.refusal

    def _holds(self, world: World, action: Action, when: Condition) -> bool:
        question = (id(action), world.objects)
        answer = self._answers.get(question)
        if answer is None:
            what = f"the condition of {action.text!r}"
            condition = self._conditions.setdefault(id(action), PureFunction(what, UserCode()))
            try:
                answer = condition.answer(lambda: bool(when(Cluster(state=world.state))))
            except Exception as error:
                message = f"{what} raised {type(error).__name__}: {error}"
                raise BadScenario(f"{message}; it must handle every cluster", action.line) from error
            self._answers[question] = answer
        return answer
