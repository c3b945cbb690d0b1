"""The seam between a campaign and the place where its units run.

An executor carries out tasks, several at a time, and yields their results in the order in which they come. A task is
plain data, and the function that carries it out (:func:`kontend.campaign.work.carry_out`) is importable, so processes
of this machine, a Ray cluster and a Dask cluster all fit.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any, NamedTuple, Protocol

from kontend.campaign.unit import Task
from kontend.explore.search.snapshot import Snapshot

#: A snapshot of a search, or the file that is being imported.
Report = Snapshot | str


class Ended(NamedTuple):
    """A task that did not return: it raised an exception, or its process ended."""

    #: It raised an exception that is meant for users.
    is_refusal: bool
    message: str
    #: The last output of its process.
    output: str = ""
    #: The last report before.
    last: Report | None = None


class Watch(Protocol):
    """Follows the tasks that are under way. Tasks are named by their position."""

    def started(self, at: int) -> None:
        """A task begins."""

    def reported(self, at: int, report: Report) -> None:
        """A task has got so far."""

    def tick(self) -> None:
        """Some time has passed: called several times a second."""


class Executor(Protocol):
    """Carries out tasks."""

    def run(self, tasks: Sequence[Task], watch: Watch) -> Generator[tuple[int, Any], None, None]:
        """Return the results of tasks as they come, each with the position of its task; :class:`Ended` for those
        without.

        Closing the iterator ends all tasks that are under way.
        """
