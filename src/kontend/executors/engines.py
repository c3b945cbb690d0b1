"""Executors by name, and tasks on Ray and Dask.

The engines place tasks on workers and repeat those whose worker was lost. The user's code travels with them as source
text, because the machine of a worker may not have the files.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Any, Final

from kontend.executors.names import ExecutorName
from kontend.executors.processes import Method, Processes, default_method
from kontend.executors.tasks import task_pool
from kontend.executors.work import Ended, Executor, Watch, Work
from kontend.runtime.user_sources import UserCode

_OFTEN: Final = 0.2


def executor_of(text: str, workers: int, code: UserCode, *, timeout: float | None = None) -> Executor:
    """Return the executor of a name, with ``workers`` tasks at a time; processes of this machine without a name."""
    name, _ = ExecutorName.of(text)
    if name in ("ray", "dask"):
        return OnEngine(text, workers, code)
    method: Method = "fork" if name == "fork" else "spawn" if name == "spawn" else default_method()
    return Processes(workers, method, timeout=timeout)


class OnEngine:
    """Carries out tasks on an engine by its name, such as ``ray://HOST:PORT``."""

    def __init__(self, name: str, workers: int, code: UserCode) -> None:
        """Use an engine; ``code`` is imported on workers before a task is read."""
        self._name = name
        self._workers = workers
        self._code = code

    def run(self, work: Work, tasks: Sequence[Any], watch: Watch) -> Generator[tuple[int, Any], None, None]:
        """Yield the results of tasks as they come."""
        if not tasks:
            return
        pool = task_pool(self._name, self._workers, self._code)
        try:
            running: dict[Future[Any], int] = {}
            for at, task in enumerate(tasks):
                running[pool.submit(_carried_out, work, task)] = at
                watch.started(at)
            while running:
                done, _ = wait(running, _OFTEN, return_when=FIRST_COMPLETED)
                for future in done:
                    yield running.pop(future), _result(future)
                watch.tick()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _carried_out(work: Work, task: Any) -> Any:
    """Carry out a task on a worker."""
    try:
        return work.carry_out(task, _unreported)
    except work.refusals as error:
        return Ended(True, str(error))
    except SystemExit as error:
        return Ended(False, f"user code called sys.exit({error.code!r})")


def _unreported(report: Any) -> None:
    """Progress on workers is not shown."""
    del report


def _result(future: Future[Any]) -> Any:
    error = future.exception()
    return future.result() if error is None else Ended(False, f"{type(error).__name__}: {error}")
