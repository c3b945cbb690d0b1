"""The server: one event loop, one current state, the pure :func:`~kontend.cluster.handle.handle` behind it.

Everything here happens on the event loop, one request after the other, so that there is nothing to lock: a request is
complete when it gets here, is answered by ``handle`` in one go, and its answer leaves when the write is durable.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from kontend.cluster.access import rbac
from kontend.cluster.cluster import Cluster
from kontend.cluster.effects import Progress
from kontend.cluster.effects.conversion import Converted
from kontend.cluster.request import ApiRequest
from kontend.cluster.state import State
from kontend.cluster.wire.encoded import EncodedList
from kontend.cluster.wire.response import ApiResponse
from kontend.kube.errors import ApiError, NotAcceptable
from kontend.kube.golang.strconv import whole_number
from kontend.serve.clients import AnyConnection, Clients
from kontend.serve.credentials.authentication import Authenticator, impersonated
from kontend.serve.credentials.identity import Tokens
from kontend.serve.gate import Gate
from kontend.serve.http.connection import Connection
from kontend.serve.http.media import YAML_TYPE, answer_type
from kontend.serve.http.origin import check_origin
from kontend.serve.http.request_parser import Incoming
from kontend.serve.http2.connection import Http2Connection
from kontend.serve.http2.negotiation import Negotiation
from kontend.serve.inside_cluster import InsideCluster
from kontend.serve.metrics import ServerMetrics
from kontend.serve.requests import answering
from kontend.serve.requests.exchange import Answer, Client, Exchange
from kontend.serve.requests.future_reads import FutureReads
from kontend.serve.requests.list_stream import ListStream
from kontend.serve.requests.loop_budget import OverBudget
from kontend.serve.requests.off_loop import Workers, is_costly
from kontend.serve.requests.writing import Writes
from kontend.serve.storage.committing import Commits
from kontend.serve.storage.store import Store
from kontend.serve.turns import Turns
from kontend.serve.watches.publishing import Publisher
from kontend.serve.watches.watching import Hub
from kontend.serve.webhooks import Services, WebhookCalls

if TYPE_CHECKING:
    from kontend.serve.audit_log import AuditLog

#: Clients that wait until they are accepted, and those that are accepted before requests get a turn. asyncio takes one
#: number for both: four thousand handshakes that begin in one turn held the loop for 1.5 s.
_BACKLOG: Final = 4096
_AT_ONCE: Final = 64
#: Seconds that a client may take for its handshake.
_HANDSHAKE_TIME: Final = 30.0
#: Bytes of a request line from which it is parsed in a thread.
_LONG_TARGET: Final = 32 * 1024
_WATCH_TYPES: Final = (
    "only the following media types are accepted: application/json;stream=watch, "
    "application/vnd.kubernetes.protobuf;stream=watch"
)


class Server:
    """An API server on a socket."""

    def __init__(
        self,
        state: State,
        *,
        tokens: Tokens | None = None,
        store: Store | None = None,
        audit_log: AuditLog | None = None,
        read_only: bool = False,
        client_certificates: bool = False,
        services: Services | None = None,
        gate: Gate | None = None,
    ) -> None:
        """``services`` says where the services are whose webhooks are called."""
        self._gate = gate
        self._authenticator = Authenticator(Tokens() if tokens is None else tokens, certificates=client_certificates)
        self._audit = audit_log
        self._commits = Commits(state, store, lambda: self._publisher.publish_soon())
        self._turns = Turns()
        self._hub = Hub(state, self._turns)
        self._webhooks = WebhookCalls(services)
        self._metrics = ServerMetrics()
        #: Conversions of custom resources that webhooks have made.
        self._conversions: dict[bytes, Converted] = {}
        #: The open connections.
        self.clients = Clients()
        self._future_reads = FutureReads(self._give_up)
        self._listeners: list[asyncio.Server] = []
        #: Called on the event loop, soon after something has changed.
        self.when_changed: Callable[[], None] = _ignore
        self._workers = Workers()
        self._writes = Writes(
            self, self._commits, self._workers, self._webhooks, self._conversions, read_only=read_only
        )
        self._publisher = Publisher(
            self._hub,
            self._conversions,
            state=lambda: self._commits.durable,
            suspend=self._writes.suspend,
            published=self._published,
        )
        self._address = ""
        self.port = 0

    @property
    def state(self) -> State:
        """The state that readers see."""
        return self._commits.durable

    @property
    def cluster(self) -> Cluster:
        """The cluster that is served, for what runs inside the server: on its event loop, ahead of the disk."""
        return InsideCluster(self, self._commits)

    @property
    def connections(self) -> int:
        """Returns the number of connected clients."""
        return len(self.clients)

    @property
    def watches(self) -> int:
        """Returns the number of open watches."""
        return len(self._hub)

    @property
    def waiting(self) -> int:
        """Returns the number of reads that wait for a version that is not there yet."""
        return len(self._future_reads)

    @property
    def unacknowledged(self) -> int:
        """Returns the number of writes on their way to the disk."""
        return self._commits.waiting

    # Life

    async def start(self, address: str, port: int, *, tls: ssl.SSLContext | None = None) -> None:
        """Begins to serve."""
        self._address = address
        self.port = await self.listen(address, port, tls=tls)
        if self._gate is None:  # runs behind a gate must not depend on the processor, and several share a process
            self._workers.budget.start()
        self.clients.sweep()

    async def listen(self, address: str, port: int, *, tls: ssl.SSLContext | None = None) -> int:
        """Accept connections on one more port, by which a gate can tell clients apart; return it."""

        def http1() -> Connection:
            return Connection(self)

        def negotiated() -> Negotiation:
            self.clients.expect()
            return Negotiation(http1, lambda: Http2Connection(self))

        listener = await asyncio.get_running_loop().create_server(
            http1 if tls is None else negotiated,
            address,
            port,
            ssl=tls,
            ssl_handshake_timeout=None if tls is None else _HANDSHAKE_TIME,
            backlog=_AT_ONCE,
            reuse_address=True,
        )
        for listening in listener.sockets:
            with socket.fromfd(listening.fileno(), listening.family, listening.type) as same:
                same.listen(_BACKLOG)
        self._listeners.append(listener)
        return int(listener.sockets[0].getsockname()[1])

    async def stop(self) -> None:
        """Answers what has been asked, ends all watches, hangs up. Everything acknowledged is on disk afterwards."""
        for listener in self._listeners:
            listener.close()
        self.clients.stop_sweeping()
        for task in self._writes.suspended():
            task.cancel()
        self._webhooks.close()
        await self._workers.finish()
        await self._commits.finish()
        self._publisher.publish()
        self._future_reads.abort()
        self._hub.end_all(keep_alive=False)
        await self.clients.close()
        if self._audit is not None:
            self._audit.close()

    def connected(self, connection: AnyConnection) -> int:
        """Note a new client; return its number."""
        return self.clients.add(connection)

    def disconnected(self, connection: AnyConnection) -> None:
        """Forgets a client that has gone."""
        self.clients.remove(connection)

    def stalled(self, connection: AnyConnection) -> None:
        """Note a client that does not read."""
        self.clients.stalled(connection)

    def buffering(self, connection: AnyConnection, size: int) -> None:
        """Note the bytes of bodies that are kept for a client."""
        self.clients.buffering(connection, size)

    # Requests

    def admits(self, incoming: Incoming, connection: Client) -> bool:
        """Return whether a request may send a large body: one that will be refused anyway is not kept."""
        if len(incoming.target) > _LONG_TARGET:
            return True
        try:
            self._identify(self._commits.durable, Exchange(incoming, connection))
        except ApiError:
            return False
        return True

    def serve(self, incoming: Incoming, connection: Client) -> None:
        """Answers one request, now or when its write is durable."""
        if len(incoming.target) > _LONG_TARGET:
            self._workers.run(
                lambda: Exchange(incoming, connection),
                lambda done: self.guarded(done.result(), self._serve),
            )
        else:
            self.guarded(Exchange(incoming, connection), self._serve)

    def guarded(self, exchange: Exchange, step: Callable[..., None], *arguments: object) -> None:
        """Take a step towards the answer of a request; whatever it raises is the answer."""
        try:
            step(exchange, *arguments)
        except ApiError as error:
            self._answer(exchange, ApiResponse.of_error(error))
        except Exception:  # a bug of ours must not take the server down, and must not go unseen
            traceback.print_exc(file=sys.stderr)
            text = "This request caused apiserver to panic. Look in the logs for details.\n"
            self._answer(exchange, ApiResponse(500, text))

    def _serve(self, exchange: Exchange) -> None:
        if not self._authenticator.required:
            check_origin(exchange.incoming, self._address)
        self._commits.tick(int(exchange.received_at))
        state = self._commits.durable
        if not state.settings.rbac and "authorization" not in exchange.incoming.headers:
            self._identify(state, exchange)  # takes no time: there is nothing to verify
            self._serve_known(exchange)
            return
        try:
            self._workers.budget.spend(self._identify, state, exchange)
        except OverBudget:
            self._workers.run(
                lambda: self._identify(state, exchange),
                lambda done: self.guarded(exchange, self._serve_identified, done),
            )
        else:
            self._serve_known(exchange)

    def _serve_identified(self, exchange: Exchange, done: asyncio.Future[None]) -> None:
        done.result()
        self._serve_known(exchange)

    def _identify(self, state: State, exchange: Exchange) -> None:
        """Find out which user sends a request. Raises an ApiError for what that user may not do."""
        incoming = exchange.incoming
        user = self._authenticator.user_of(state, incoming.headers, exchange.connection.certificate, exchange.path)
        exchange.understand(user, impersonated(state, user, incoming))
        if state.settings.rbac:
            rbac.check(state, exchange.request)
            exchange.request = replace(exchange.request, authorized=True)

    def _serve_known(self, exchange: Exchange) -> None:
        """Answers the request of a known user, unless the gate holds it back."""
        if self._gate is None or self._gate.admits(exchange):
            self._dispatch(exchange)

    def proceed(self, exchange: Exchange) -> None:
        """Goes on with a request that the gate has held back."""
        self.guarded(exchange, self._dispatch)

    def answer(self, exchange: Exchange, response: ApiResponse) -> None:
        """Answers a request in the gate's name, past the gate."""
        exchange.send(exchange.encoded(response))

    def _dispatch(self, exchange: Exchange) -> None:
        if exchange.path == "/metrics":
            self._answer(exchange, self._metrics_page())
        elif exchange.reads or not exchange.path.startswith("/api"):
            self._read(exchange)
        else:
            self._writes.write(exchange)

    def _metrics_page(self) -> ApiResponse:
        counts = {"watches": self.watches, "connections": self.connections, "unacknowledged": self.unacknowledged}
        text = self._metrics.text(self._commits.durable, **counts)
        return ApiResponse(200, text, content_type="text/plain; version=0.0.4; charset=utf-8")

    def _read(self, exchange: Exchange, progress: Progress | None = None) -> None:
        state, known = self._commits.durable, self._conversions
        if self._gate is not None:
            state = self._gate.view(exchange, state)
        # The audit log and the gate look at whole answers.
        read = partial(answering.read, encoded=self._gate is None and self._audit is None)
        if not is_costly(state, exchange):
            try:
                outcome = self._workers.budget.spend(read, state, exchange, progress, known)
            except OverBudget:
                pass
            else:
                self._reply(exchange, *outcome)
                return
        self._workers.run(
            lambda: read(state, exchange, progress, known),
            lambda done: self.resume(exchange, self._reply, done),
        )

    def _reply(self, exchange: Exchange, response: ApiResponse, answer: Answer | None) -> None:
        """Send the answer to a read."""
        if response.suspended is not None:
            self._writes.suspend(response.suspended, lambda answered: self.guarded(exchange, self._read, answered))
        elif response.watch is not None:
            self._watch(exchange, response)
        elif isinstance(response.body, EncodedList):
            self._send_in_pieces(exchange, response)
        elif answer is not None:
            self.send(exchange, response, answer)
        elif not self._wait(exchange):
            self._answer(exchange, response)

    def resume(self, exchange: Exchange, step: Callable[..., None], done: asyncio.Future[Any]) -> None:
        """Take the next step with what a thread has made of a request."""
        self.guarded(exchange, lambda exchange: step(exchange, *done.result()))

    def request(self, request: ApiRequest) -> ApiResponse:
        """Carries out a request that did not come over a connection; its answer does not wait for the disk.

        Raises :class:`~kontend.cluster.effects.Waiting`, with the response to come, when the request has to wait.
        """
        return self._writes.request(request)

    async def saved(self) -> None:
        """Wait until everything up to now is on disk, or has failed to get there."""
        done = asyncio.get_running_loop().create_future()
        self._commits.when_durable(done.set_result)
        await done

    def _answer(self, exchange: Exchange, response: ApiResponse) -> None:
        self.send(exchange, response, exchange.encoded(response))

    def send(self, exchange: Exchange, response: ApiResponse, answer: Answer) -> None:
        if self._audit is not None:
            self._audit.complete(exchange, response)
        if self._gate is None or self._gate.releases(exchange, response, answer):
            exchange.send(answer)
        self._metrics.count(exchange.request, response.code, time.time() - exchange.received_at)

    def _send_in_pieces(self, exchange: Exchange, response: ApiResponse) -> None:
        head, pieces = exchange.pieces(response)

        def finished() -> None:
            self._metrics.count(exchange.request, response.code, time.time() - exchange.received_at)

        keep_alive = exchange.incoming.keep_alive
        ListStream(exchange.connection, self._turns, pieces, keep_alive=keep_alive, finished=finished).start(head)

    def committed(self, exchange: Exchange, before: State, after: State, response: ApiResponse) -> None:
        """Note that a write has been carried out."""
        if self._gate is not None:
            self._gate.committed(exchange, before, after, response)

    # Watches

    def _watch(self, exchange: Exchange, response: ApiResponse) -> None:
        incoming = exchange.incoming
        if answer_type(incoming.headers.get("accept", "")) == YAML_TYPE:
            raise NotAcceptable(_WATCH_TYPES)
        if not incoming.keep_alive and incoming.version != "1.1":
            self._answer(exchange, ApiResponse(505, "505 HTTP Version Not Supported: a watch needs HTTP/1.1"))
            return
        if incoming.method == "HEAD":
            self._answer(exchange, ApiResponse(200, ""))
            return
        if self._audit is not None:
            self._audit.started(exchange, response)
        watcher = self._hub.open(exchange, response, self._gate)
        if self._audit is not None:
            audit = self._audit
            watcher.when_finished(lambda: audit.complete(exchange, ApiResponse(200)))

    def _published(self, state: State) -> None:
        """Goes on with everything that has waited for a state to be published."""
        self.when_changed()
        self._writes.published(state)
        for exchange in self._future_reads.take_ready(state.resource_version):
            self.guarded(exchange, self._read)

    # Reads from the future

    def _wait(self, exchange: Exchange) -> bool:
        """Lets a read wait for the version that it wants, if that is not there yet."""
        # The answer was that this version is not there yet, so it is a number.
        wanted = whole_number(exchange.request.first("resourceVersion"))
        if wanted <= self._commits.durable.resource_version:
            return False
        self._future_reads.add(exchange, wanted)
        return True

    def _give_up(self, exchange: Exchange) -> None:
        self._answer(exchange, answering.read(self._commits.durable, exchange)[0])


def _ignore() -> None:
    """Do nothing."""
