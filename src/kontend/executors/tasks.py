"""Independent tasks on Ray and Dask, behind ``concurrent.futures.Executor``.

Ray and Dask place them and repeat those whose worker was lost. The user's code travels with them as source text.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from concurrent.futures import Executor, Future
from contextlib import suppress
from typing import Any, Final

from kontend.executors.names import BadExecutor, ExecutorName
from kontend.executors.results import Raised, portable, result_of
from kontend.runtime.user_sources import UserCode

#: The number of times that a task is repeated whose worker was lost.
_RETRIES: Final = 3


def task_pool(engine: str, jobs: int, code: UserCode) -> Executor:
    """Run tasks on Ray or Dask, ``jobs`` at a time, with the user's code."""
    name, address = ExecutorName.of(engine)
    return _RayTasks(address, jobs, code) if name == "ray" else _DaskTasks(address, jobs, code)


def _carried_out(code: UserCode, task: bytes) -> Any:
    """Carry out a task, on a worker. It can be read once the user's modules can be imported."""
    code.install()
    function, arguments, options = pickle.loads(task)  # noqa: S301 (from the process that runs the search)
    try:
        return function(*arguments, **options)
    except Exception as error:
        return Raised(portable(error))


class _Tasks(Executor):
    """Tasks of an engine that has futures of its own."""

    def __init__(self) -> None:
        self._running: set[Any] = set()

    def _followed(self, theirs: Any, cancel: Any) -> Future[Any]:
        """Return a future that ends with one of the engine."""
        ours: Future[Any] = Future()
        ours.set_running_or_notify_cancel()
        self._running.add(cancel)

        def ended(done: Any) -> None:
            self._running.discard(cancel)
            try:
                ours.set_result(result_of(done.result()))
            except Exception as error:
                ours.set_exception(error)
            except BaseException:  # a cancelled task
                ours.set_exception(BadExecutor("the task was cancelled"))

        theirs.add_done_callback(ended)
        return ours


class _RayTasks(_Tasks):
    def __init__(self, address: str, jobs: int, code: UserCode) -> None:
        from kontend.executors.ray_cluster import ray_cluster

        super().__init__()
        self._ray = ray_cluster(address, jobs).ray
        self._run = self._ray.remote(num_cpus=1, max_retries=_RETRIES)(_carried_out)
        self._code = self._ray.put(code)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Start a task."""
        reference = self._run.remote(self._code, pickle.dumps((fn, args, kwargs)))
        return self._followed(reference.future(), reference)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002 (the interface)
        """End tasks that are under way."""
        for reference in list(self._running):
            with suppress(Exception):
                self._ray.cancel(reference, force=True)


class _DaskTasks(_Tasks):
    def __init__(self, address: str, jobs: int, code: UserCode) -> None:
        from kontend.executors.dask_cluster import dask_cluster

        super().__init__()
        self._client = dask_cluster(address, jobs).client
        self._code = code

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Start a task."""
        future = self._client.submit(_carried_out, self._code, pickle.dumps((fn, args, kwargs)), pure=False)
        return self._followed(future, future)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002 (the interface)
        """Cancel tasks that are under way."""
        with suppress(Exception):
            self._client.cancel(list(self._running), force=True)
