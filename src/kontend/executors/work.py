"""The seam between independent tasks and the place where they run.

An executor carries out tasks, several at a time, and yields their results in the order in which they come. A task is
plain data, and the function that carries it out is importable, so processes of this machine (`processes`), a Ray
cluster and a Dask cluster (`engines`) all fit. The shards of one search are no tasks, because they keep states from
call to call: they have a seam of their own, on the same engines (:mod:`kontend.explore.shards.engine`).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any, NamedTuple, Protocol


class Work(NamedTuple):
    """A function that carries out tasks."""

    #: Takes a task and a function that it calls with its progress, and returns the result.
    carry_out: Callable[[Any, Callable[[Any], None]], Any]
    #: The errors whose messages are meant for users.
    refusals: tuple[type[BaseException], ...] = ()


class Ended(NamedTuple):
    """A task that did not return: it raised an exception, took too long, or its process ended."""

    #: It raised an exception that is meant for users.
    is_refusal: bool
    message: str
    #: The last output of its process.
    output: str = ""
    #: The last report before.
    last: Any = None
    #: It was ended because it took too long.
    is_late: bool = False


class Watch(Protocol):
    """Follows the tasks that are under way. Tasks are named by their position."""

    def started(self, at: int) -> None:
        """A task begins."""

    def reported(self, at: int, report: Any) -> None:
        """A task has got so far."""

    def tick(self) -> None:
        """Some time has passed: called several times a second."""


class Unwatched:
    """Follows nothing."""

    def started(self, at: int) -> None:
        """Do nothing."""

    def reported(self, at: int, report: Any) -> None:
        """Do nothing."""

    def tick(self) -> None:
        """Do nothing."""


class Executor(Protocol):
    """Carries out tasks."""

    def run(self, work: Work, tasks: Sequence[Any], watch: Watch) -> Generator[tuple[int, Any], None, None]:
        """Return the results of tasks as they come, each with the position of its task; :class:`Ended` for those
        without.

        Closing the iterator ends all tasks that are under way.
        """
