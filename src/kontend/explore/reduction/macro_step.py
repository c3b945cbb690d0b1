"""A macro-step: several steps that are taken as one."""

from __future__ import annotations

from kontend.explore.model.answer import Refusal
from kontend.explore.model.environment.faults import OPTIONAL
from kontend.explore.model.state.world import World
from kontend.explore.model.step import Step, Transition
from kontend.explore.program.progress import Failure
from kontend.explore.reduction.local_steps import LocalSteps
from kontend.explore.reduction.reducible import Reducible

#: A write: the number of steps up to and with it, the state before it, and the transition.
Write = tuple[int, World, Transition]


class MacroStep:
    """Some steps that are taken as one."""

    __slots__ = ("cost", "failure", "refused", "steps", "timer", "world", "writes", "wrote")

    def __init__(
        self,
        world: World,
        steps: tuple[Step, ...] = (),
        cost: int = 0,
        writes: tuple[Write, ...] = (),
        failure: Failure | None = None,
        refused: Refusal | None = None,
        *,
        wrote: bool = False,
        timer: float = 0.0,
    ) -> None:
        #: The state after it.
        self.world = world
        self.steps = steps
        #: The number of perturbations.
        self.cost = cost
        #: The writes that are to be judged; something may also have been written that was judged elsewhere.
        self.writes = writes
        self.wrote = wrote or bool(writes)
        #: The exception with which a reconcile ended.
        self.failure = failure
        #: The server's answer to a user's action that it has refused.
        self.refused = refused
        #: The seconds of a timer that fired when its own instance had nothing else to do; 0 for none.
        self.timer = timer

    @property
    def is_optional(self) -> bool:
        """It need not be taken, however long a run goes on: it ends with a fault."""
        return self.steps[-1].action in OPTIONAL

    def then(self, step: Step, transition: Transition) -> MacroStep:
        """This macro-step with one more step."""
        steps = (*self.steps, step)
        writes = self.writes
        if transition.calls:
            writes = (*writes, *((len(steps), before, part) for before, part in transition.calls if part.changes))
        elif transition.changes:
            writes = (*writes, (len(steps), self.world, transition))
        return MacroStep(
            transition.world,
            steps,
            self.cost + transition.cost,
            writes,
            transition.failure or self.failure,
            transition.refused or self.refused,
            timer=self.timer,
        )


class LocalMacroStep(MacroStep):
    """Local steps of one process and nothing else. The state after them is made only where it is asked for."""

    __slots__ = ("_model", "_origin", "local", "number")

    def __init__(self, origin: World, number: int, local: LocalSteps, cost: int, model: Reducible) -> None:
        """``origin`` is the state before it, ``cost`` the number of perturbations in it."""
        self.steps = local.steps
        self.cost = cost
        self.writes = ()
        self.wrote = False
        self.failure = local.failure
        self.refused = None
        self.timer = 0.0
        self.number = number
        self.local = local
        self._origin = origin
        self._model = model

    def __getattr__(self, name: str) -> World:
        """Make the state after it: the attribute is not set before."""
        if name != "world":
            raise AttributeError(name)
        self.world = after_local_steps(self._origin, self.number, self.local, self._model)
        return self.world


def after_local_steps(world: World, number: int, local: LocalSteps, model: Reducible) -> World:
    """The state after local steps of a process."""
    keys, delivery = model.mechanics.keys, model.mechanics.delivery
    process = local.applied(world, number, keys, model.layout.processes[number].resources, delivery)
    return world.with_process(number, process)
