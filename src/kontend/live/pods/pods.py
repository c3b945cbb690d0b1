"""The pods of a run: what a request asks of one, the answer to it, and the connections that go on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from kontend.cluster.request import Target
from kontend.cluster.state import State
from kontend.cluster.subresources.connections import checked_pod
from kontend.cluster.wire.response import ApiResponse
from kontend.kube.errors import ApiError, BadRequest
from kontend.live.pods import spdy, websocket
from kontend.live.pods.answers import ASKED, PodAnswer, Question
from kontend.live.pods.channels import STDERR, STDIN, STDOUT, Session
from kontend.live.pods.sessions import Exec, Forward, log_of
from kontend.serve.http.connection import Connection
from kontend.serve.http.websocket_frames import handshake
from kontend.serve.requests.exchange import Exchange

#: Values of query parameters that mean yes, as Go parses them.
_TRUE: Final = frozenset({"1", "t", "T", "true", "TRUE", "True"})
#: Called with the answer to a request, or with the code of one that has left HTTP, and a message.
Done = Callable[[ApiResponse], None]


class Pods:
    """Answers requests to pods."""

    def __init__(self, answers: Sequence[PodAnswer]) -> None:
        self._answers = answers
        #: The directory in which the commands of this run may keep something.
        self.directory = Path()
        self._tasks: set[asyncio.Task[None]] = set()

    def find(self, state: State, target: Target, exchange: Exchange) -> tuple[PodAnswer, Question] | None:
        """Return the answer to a request, if there is one; raises :class:`ApiError` for a request that is wrong."""
        if target.resource.key != "pods" or target.subresource not in ASKED.values():
            return None
        request = exchange.request
        pod = checked_pod(state, target, request)
        containers = (pod.get("spec") or {}).get("containers") or [{}]
        container = request.first("container") or str(containers[0].get("name", ""))
        command = request.query.get("command", ()) if target.subresource == "exec" else ()
        subject = {"exec": " ".join(command), "log": container, "portforward": request.first("ports")}
        name = f"{target.namespace}/{target.name}"
        question = Question(target.subresource, name, subject[target.subresource], container, command)
        if target.subresource == "portforward" and not question.subject:  # SPDY names the port later
            known = [each for each in self._answers if each.subresource == target.subresource]
            return (known[0], question) if known else None
        return self._answer_to(question)

    def _answer_to(self, question: Question) -> tuple[PodAnswer, Question] | None:
        return next(((answer, question) for answer in self._answers if answer.answers(question)), None)

    def answer(self, found: tuple[PodAnswer, Question], exchange: Exchange, done: Done) -> None:
        """Answer a request; ``done`` is called when a command or log has ended, or a port is connected."""
        if found[1].subresource == "log":
            task = asyncio.get_running_loop().create_task(self._log(found, exchange, done))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            return
        query = exchange.request
        if found[1].subresource == "exec":
            wanted = {name for name in (STDIN, STDOUT, STDERR) if query.first(name) in _TRUE}
            if query.first("tty") in _TRUE:
                wanted.discard(STDERR)
            session = Exec(*found, self.directory, wanted, lambda code: done(_ended(found[1], code)))
            upgraded = _upgrade(exchange, session, (), websocket.COMMAND)
            session.hang_up = upgraded.close
            return
        ports = tuple(int(port) for port in query.query.get("ports", ()) if port.isdecimal())
        forward = Forward(lambda port: self._port(found[1], port), self.directory)
        _upgrade(exchange, forward, ports, ())
        done(ApiResponse(200, {}))

    def _port(self, question: Question, port: str) -> tuple[PodAnswer, Question] | None:
        return self._answer_to(Question(question.subresource, question.pod, port, question.container))

    async def _log(self, found: tuple[PodAnswer, Question], exchange: Exchange, done: Done) -> None:
        try:
            text = await log_of(*found, self.directory)
        except OSError as error:
            done(ApiResponse.of_error(BadRequest(f"{found[0].run[0]}: {error.strerror} (--pod-exec)")))
            return
        tail = exchange.request.first("tailLines")
        if tail.isdecimal():
            lines = text.splitlines(keepends=True)
            text = "".join(lines[max(0, len(lines) - int(tail)) :])
        done(ApiResponse(200, text))

    async def stop(self) -> None:
        """End what still goes on."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


def _ended(question: Question, code: int) -> ApiResponse:
    if code == 0:
        return ApiResponse(200, {})
    return ApiResponse(200, {"message": f"{question.subject}: exit code {code}"})


def _upgrade(
    exchange: Exchange, session: Session, ports: tuple[int, ...], names: tuple[str, ...]
) -> spdy.Spdy | websocket.WebSocket:
    """Answer a request with 101, and begin the protocol that it asks for; raises :class:`ApiError` for others."""
    connection, headers = exchange.connection, exchange.incoming.headers
    asked = headers.get("upgrade", "").lower()
    if isinstance(connection, Connection) and asked == spdy.PROTOCOL.lower():
        version = _version(exchange.incoming.values("x-stream-protocol-version"), spdy.VERSIONS)
        over_spdy = spdy.Spdy(connection, session)
        over_spdy.start(spdy.head(version))
        return over_spdy
    if isinstance(connection, Connection) and asked == "websocket":
        version = _version(exchange.incoming.values("sec-websocket-protocol"), websocket.VERSIONS)
        over_websocket = websocket.WebSocket(connection, session, names, ports)
        over_websocket.start(handshake(headers.get("sec-websocket-key", ""), version))
        return over_websocket
    raise BadRequest("unable to upgrade: missing upgrade headers in request: SPDY/3.1 and websocket are spoken")


def _version(asked: Sequence[str], spoken: Sequence[str]) -> str:
    """Return the best version that both sides speak; raises :class:`ApiError` where there is none.

    >>> _version(["v4.channel.k8s.io, channel.k8s.io"], spdy.VERSIONS)
    'v4.channel.k8s.io'
    """
    wanted = [each.strip() for text in asked for each in text.split(",") if each.strip()]
    if not wanted:
        return ""
    version = next((each for each in spoken if each in wanted), None)
    if version is None:
        raise ApiError(f"unable to upgrade: {', '.join(wanted)} is not supported", code=403, reason="Forbidden")
    return version
