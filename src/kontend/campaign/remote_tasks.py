"""Tasks on Ray and Dask, which place them on workers and repeat those whose worker was lost.

The user's code travels with a unit. A unit does not go on from a checkpoint there: workers may not have the directory.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import replace
from typing import Any, Final

from kontend.campaign.executor import Ended, Report, Watch
from kontend.campaign.unit import Exploration, Listed, Outcome, Task
from kontend.campaign.work import REFUSALS, carry_out
from kontend.executors.tasks import task_pool
from kontend.explore.problems import BadScenario
from kontend.runtime.user_sources import UserCode

_OFTEN: Final = 0.2


class RemoteTasks:
    """Carries out units on an executor by its name, such as ``ray://HOST:PORT``."""

    def __init__(self, name: str, workers: int) -> None:
        self._name = name
        self._workers = workers

    def run(self, tasks: Sequence[Task], watch: Watch) -> Generator[tuple[int, Any], None, None]:
        """Yield the results of tasks as they come. Raises :class:`BadScenario` for a task that needs this machine."""
        units = [task for task in tasks if isinstance(task, Exploration)]
        if len(units) < len(tasks):
            raise BadScenario(f"live commands run on this machine: leave --executor {self._name} out")
        if not units:
            return
        pool = task_pool(self._name, self._workers, UserCode())
        try:
            running: dict[Future[Any], int] = {}
            for at, unit in enumerate(units):
                running[pool.submit(_carried_out, replace(unit, checkpoint=""))] = at
                watch.started(at)
            while running:
                done, _ = wait(running, _OFTEN, return_when=FIRST_COMPLETED)
                for future in done:
                    yield running.pop(future), _result(future)
                watch.tick()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _carried_out(unit: Exploration) -> Outcome | Listed | Ended:
    """Carry out a unit on a worker."""
    unit.sources.install()
    try:
        return carry_out(unit, _unreported)
    except REFUSALS as error:
        return Ended(True, str(error))
    except SystemExit as error:
        return Ended(False, f"user code called sys.exit({error.code!r})")


def _unreported(report: Report) -> None:
    """Progress on workers is not shown."""
    del report


def _result(future: Future[Any]) -> Any:
    error = future.exception()
    return future.result() if error is None else Ended(False, f"{type(error).__name__}: {error}")
