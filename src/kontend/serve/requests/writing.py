"""Writes: carried out one after the other, on the loop or beside it, and acknowledged when they are durable.

A write starts from the newest state. One that may take long is carried out in a thread
(:mod:`~kontend.serve.requests.off_loop`); one that webhooks must see is resumed with their answers, and one that needs
an object that is not there yet when the object has come (:mod:`~kontend.serve.requests.arrivals`).
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from typing import Any, Final, Protocol

from kontend.cluster.effects import Progress, Suspension, Waiting
from kontend.cluster.effects.conversion import Converted
from kontend.cluster.handle import handle
from kontend.cluster.request import ApiRequest
from kontend.cluster.state import State
from kontend.cluster.wire.response import ApiResponse
from kontend.kube.errors import ApiError, Forbidden, internal_error
from kontend.serve.requests import answering
from kontend.serve.requests.arrivals import Arrivals
from kontend.serve.requests.exchange import Answer, Exchange
from kontend.serve.requests.loop_budget import OverBudget
from kontend.serve.requests.off_loop import Workers, is_costly
from kontend.serve.storage.committing import Commits
from kontend.serve.webhooks import WebhookCalls

#: The number of times that a costly write is repeated because another came first, before others are held back.
_ATTEMPTS: Final = 3


class Shell(Protocol):
    """The parts of :class:`~kontend.serve.server.Server` that writes use."""

    def guarded(self, exchange: Exchange, step: Callable[..., None], *arguments: object) -> None:
        """Take a step towards the answer of a request; whatever it raises is the answer."""

    def resume(self, exchange: Exchange, step: Callable[..., None], done: asyncio.Future[Any]) -> None:
        """Take the next step with what a thread has made of a request."""

    def send(self, exchange: Exchange, response: ApiResponse, answer: Answer) -> None:
        """Send an answer."""

    def committed(self, exchange: Exchange, before: State, after: State, response: ApiResponse) -> None:
        """Note that a write has been carried out."""


class Writes:
    """Carries out the writes of a server."""

    def __init__(
        self,
        shell: Shell,
        commits: Commits,
        workers: Workers,
        webhooks: WebhookCalls,
        conversions: dict[bytes, Converted],
        *,
        read_only: bool,
    ) -> None:
        self._shell = shell
        self._commits = commits
        self._workers = workers
        self._webhooks = webhooks
        self._conversions = conversions
        self._read_only = read_only
        self._arrivals = Arrivals()
        #: Requests that wait for the answers of webhooks, or for an object.
        self._suspended: set[asyncio.Task[None]] = set()
        #: Writes that wait until a costly one has been carried out.
        self._held: deque[tuple[Exchange, Progress | None]] | None = None

    def suspended(self) -> list[asyncio.Task[None]]:
        """Return the tasks of the requests that wait."""
        return list(self._suspended)

    def published(self, state: State) -> None:
        """Goes on with the requests whose objects are there."""
        self._arrivals.notice(state)

    def write(self, exchange: Exchange, progress: Progress | None = None, attempt: int = 0) -> None:
        """Carries out a write and acknowledges it when it is durable."""
        if self._held is not None and not attempt:
            self._held.append((exchange, progress))
            return
        in_thread = False
        try:
            in_thread = self._start(exchange, progress, attempt)
        finally:
            if not in_thread:
                self._release(attempt)

    def _start(self, exchange: Exchange, progress: Progress | None, attempt: int) -> bool:
        """Carries out a write, or lets a thread do so; returns whether a thread does."""
        request = exchange.request
        if self._read_only and request.first("dryRun") != "All":
            raise Forbidden("this server is read-only: it was started with --read-only")
        if request.method != "DELETE" and not self._commits.has_room():
            raise ApiError("etcdserver: mvcc: database space exceeded", code=500)
        base = self._commits.newest
        if not is_costly(base, exchange):
            try:
                outcome = self._workers.budget.spend(answering.write, base, exchange, progress, self._conversions)
            except OverBudget:
                pass
            else:
                self._commit(exchange, *outcome)
                return False
        if attempt >= _ATTEMPTS and self._held is None:
            self._held = deque()
        self._workers.run(
            lambda: (base, *answering.write(base, exchange, progress, self._conversions)),
            lambda done: self._finish_write(exchange, progress, attempt, done),
        )
        return True

    def _finish_write(
        self, exchange: Exchange, progress: Progress | None, attempt: int, done: asyncio.Future[Any]
    ) -> None:
        """Lets a write count that was carried out in a thread, unless another came first: then try again."""

        def finish(exchange: Exchange, base: State, state: State, response: ApiResponse, answer: Answer) -> None:
            newest = self._commits.newest
            if state is base:
                self._commit(exchange, newest, response, answer)
            elif answering.differ_in_time_only(newest, base):
                self._commit(exchange, state.replace(now=max(state.now, newest.now)), response, answer)
            else:
                self.write(exchange, progress, attempt + 1)
                return
            self._release(attempt)

        if done.cancelled() or done.exception() is not None:
            self._release(attempt)
        self._shell.resume(exchange, finish, done)

    def _release(self, attempt: int) -> None:
        """Carries out the writes that were held back for a write at its last attempt."""
        if attempt < _ATTEMPTS:
            return
        held, self._held = self._held, None
        for exchange, progress in held or ():
            self._shell.guarded(exchange, self.write, progress)

    def _commit(self, exchange: Exchange, state: State, response: ApiResponse, answer: Answer) -> None:
        before = self._commits.newest
        self._commits.advance(state)
        if response.suspended is not None:
            self.suspend(response.suspended, lambda answered: self._shell.guarded(exchange, self.write, answered))
            return
        self._shell.committed(exchange, before, state, response)
        # Encoded while the answer was what it is; sent when nothing can take it back.
        self._commits.when_durable(lambda saved: self._acknowledge(exchange, response, answer, saved))

    def request(self, request: ApiRequest, progress: Progress | None = None) -> ApiResponse:
        """Carries out a request that did not come over a connection; its answer does not wait for the disk.

        Raises :class:`Waiting`, with the response to come, when the request has to wait.
        """
        self._commits.tick(int(time.time()))
        state, response = handle(self._commits.newest, request, progress, wait=True, known=self._conversions)
        self._commits.advance(state)
        if response.suspended is None:
            return response
        later: asyncio.Future[ApiResponse] = asyncio.get_running_loop().create_future()
        waiting = Waiting(later)
        self.suspend(response.suspended, lambda answered: self._answer_later(request, answered, later, waiting))
        raise waiting

    def _answer_later(
        self, request: ApiRequest, progress: Progress, later: asyncio.Future[ApiResponse], waiting: Waiting
    ) -> None:
        before = self._commits.newest
        try:
            response = self.request(request, progress)
        except Waiting as further:
            next_answer = further

            def take_over(done: asyncio.Future[ApiResponse]) -> None:
                waiting.states = next_answer.states
                later.set_result(done.result())

            asyncio.ensure_future(next_answer.response).add_done_callback(take_over)
        else:
            waiting.states = (before, self._commits.newest)
            later.set_result(response)

    def suspend(self, suspension: Suspension, resume: Callable[[Progress], None]) -> None:
        """Asks webhooks, or waits for an object, while other requests go on, and resumes with the answers."""

        async def wait() -> None:
            answers = await self._webhooks.answers(suspension.calls)
            if suspension.about is not None:
                suspension.about.learn(answers)
            if suspension.expected is not None:
                await self._arrivals.wait(suspension.expected, self._commits.newest)
            self._commits.tick(int(time.time()))
            resume(suspension.answered(answers))

        task = asyncio.get_running_loop().create_task(wait())
        self._suspended.add(task)
        task.add_done_callback(self._suspended.discard)

    def _acknowledge(self, exchange: Exchange, response: ApiResponse, answer: Answer, saved: bool) -> None:
        if not saved:
            response = ApiResponse.of_error(internal_error(f"the write could not be saved: {self._commits.failure}"))
            answer = exchange.encoded(response)
        self._shell.send(exchange, response, answer)
