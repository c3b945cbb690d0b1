"""A backend that talks to a server over HTTP: ``kontend serve`` or a real cluster.

A request is sent again only where that cannot do harm: reads always; writes when no connection could be made, when
the server said that it did not look (429 or 503 with ``Retry-After``), or when it did not know us (401) and there are
newer credentials. A write whose answer was lost may have happened: that is raised as :class:`AnswerLost`, and the next
reconcile reads what became of it.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

import orjson

from kontend.cluster.startup.seed import UnknownKind
from kontend.kube.errors import ApiError, InternalError, NotFound, ServiceUnavailable, Timeout, from_status
from kontend.kube.json_types import Object
from kontend.kube.meta.names import parse_kind, version_path
from kontend.runtime.client.call import METHODS, AnswerLost, Call, check_namespace, path_of
from kontend.runtime.client.connection import BrokenOff, NotConnected, Pool, Response
from kontend.runtime.client.credentials import Credentials
from kontend.runtime.client.kubeconfig import Config
from kontend.runtime.telemetry.metrics import Metrics

_TRIES: Final = 5
_PAGE: Final = "500"
#: The server gives up on a request after a minute; wait a little longer for it to say so.
_PATIENCE: Final = 65.0


class Unreachable(ServiceUnavailable):
    """The server cannot be reached: the request was not sent."""


class SilentWatch(Timeout):
    """The server sent nothing on a watch for so long that the connection may be dead."""


class ServedKind(NamedTuple):
    """The plural and the scope of a kind, from discovery."""

    plural: str
    namespaced: bool


class HttpBackend:
    """Carries out calls on a server, over HTTP."""

    def __init__(
        self,
        config: Config | str,
        *,
        agent: str = "kontend",
        metrics: Metrics | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.config = Config(config.rstrip("/")) if isinstance(config, str) else config
        self.metrics = metrics if metrics is not None else Metrics()
        self._agent = agent
        self._sleep = sleep
        self._credentials = Credentials(self.config)
        self._pool: Pool | None = None
        self._shown: tuple[str, str] | None = None
        self._kinds: dict[str, ServedKind] = {}

    # Backend

    async def call(self, call: Call) -> Any:
        """Send a call and return the response. This backend has no cache: every read is live."""
        served = await self.served(call.kind)
        check_namespace(call, namespaced=served.namespaced)
        path = path_of(call, served.plural, namespaced=served.namespaced)
        query = {name: value for name, value in call.query if name != "index"}
        return await self._send(METHODS[call.verb], path, query, call.body, call.content_type)

    def is_namespaced(self, kind: str) -> bool:
        """Return True for a namespaced kind, and for a kind not used so far, until its first call."""
        known = self._kinds.get(kind)
        return known.namespaced if known is not None else True

    def now(self) -> str:
        """Return the time of this machine."""
        return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def uuid(self) -> str:
        """Return a random uuid."""
        return str(uuid.uuid4())

    # Source of an informer

    async def list(self, kind: str, query: Mapping[str, str]) -> tuple[list[Object], int]:
        """Read all objects of a kind, in pages, and the version of the list."""
        served = await self.served(kind)
        path = path_of(Call("list", kind), served.plural, namespaced=served.namespaced)
        items: list[Object] = []
        page = {**query, "limit": _PAGE}
        while True:
            response = await self._send("GET", path, page)
            items += response.get("items") or ()
            token = response["metadata"].get("continue")
            if not token:
                return items, int(response["metadata"]["resourceVersion"])
            page = {"limit": _PAGE, "continue": token}

    async def watch(self, kind: str, version: int, *, idle: float) -> AsyncIterator[tuple[str, Object]]:
        """Yield the events of a kind after a version, until the server ends the stream.

        A connection on which nothing arrives for ``idle`` seconds, not even a bookmark, counts as broken.
        """
        served = await self.served(kind)
        path = path_of(Call("list", kind), served.plural, namespaced=served.namespaced)
        query = {"watch": "1", "allowWatchBookmarks": "true", "resourceVersion": str(version), "timeoutSeconds": "540"}
        rest = b""
        headers = await self._headers()
        stream = self._connected().stream(path, query, headers, idle=idle)
        try:
            async for part in stream:
                if isinstance(part, Response):
                    self._count("WATCH", part.status)
                    if part.status != 200:
                        raise _error(part.status, part.body)
                    continue
                *lines, rest = (rest + part).split(b"\n")
                for line in lines:
                    event = _parsed(line)
                    if event["type"] == "ERROR":
                        raise from_status(event["object"])
                    yield event["type"], event["object"]
        except TimeoutError as error:
            raise SilentWatch(f"watch of {kind}: nothing arrived for {idle:g} s") from error
        except ConnectionError as error:
            raise Unreachable(f"watch of {kind} at {self.config.server}: {error}") from error
        finally:
            await stream.aclose()

    async def served(self, kind: str) -> ServedKind:
        """Discover the plural and the scope of a kind. Raises :class:`UnknownKind`."""
        known = self._kinds.get(kind)
        if known is not None:
            return known
        parsed = parse_kind(kind)
        path = version_path(parsed.group, parsed.version)
        hint = f"is its CustomResourceDefinition installed on {self.config.server}?"
        try:
            response = await self._send("GET", path, {})
        except NotFound:
            raise UnknownKind(f'no version "{parsed.api_version}" is served: {hint}') from None
        for resource in response.get("resources") or ():
            if "/" not in resource["name"]:
                name = str(parsed._replace(kind=resource["kind"]))
                self._kinds[name] = ServedKind(resource["name"], bool(resource.get("namespaced")))
        if kind not in self._kinds:
            raise UnknownKind(f'no kind "{parsed.kind}" is served for version "{parsed.api_version}": {hint}')
        return self._kinds[kind]

    def close(self) -> None:
        """Close all connections."""
        if self._pool is not None:
            self._pool.close()
            self._pool = None

    # Sending

    def _connected(self) -> Pool:
        # An exec plugin may have brought a new certificate.
        if self._pool is None or self._shown is not self._credentials.pair:
            self.close()
            tls = self._credentials.tls()
            self._shown = self._credentials.pair
            self._pool = Pool(self.config.server, tls, server_name=self.config.tls_server_name)
        return self._pool

    async def _headers(self, content_type: str = "") -> dict[str, str]:
        changing = self.config.exec is not None or self.config.token_file is not None
        identity = await asyncio.to_thread(self._credentials.headers) if changing else self._credentials.headers()
        headers = {"User-Agent": self._agent, "Accept": "application/json", **identity}
        if content_type:
            headers["Content-Type"] = content_type
        return headers

    async def _send(
        self, method: str, path: str, query: Mapping[str, str], body: bytes = b"", content_type: str = ""
    ) -> Any:
        known = True
        for attempt in range(1, _TRIES + 1):
            last = attempt == _TRIES
            headers = await self._headers(content_type if body else "")
            try:
                response = await self._connected().request(method, path, query, headers, body, patience=_PATIENCE)
            except NotConnected as error:
                if last:
                    raise Unreachable(f"{method} {self.config.server}{path}: {error}") from error
                await self._sleep(0.1 * 2**attempt)
                continue
            except (BrokenOff, TimeoutError) as error:
                if method != "GET" or last:
                    reason = str(error) or f"no response within {_PATIENCE:g} s"
                    raise AnswerLost(f"{method} {self.config.server}{path}: {reason}") from error
                await self._sleep(0.1 * 2**attempt)
                continue
            code = response.status
            self._count(method, code)
            after = _retry_after(response)
            if code in (429, 503) and after is not None and not last:
                await self._sleep(after)
                continue
            if code == 401 and known and self._credentials.expire():
                known = False
                continue
            if code >= 400:
                raise _error(code, response.body)
            return _parsed(response.body)
        raise AssertionError("the last try returns or raises")

    def _count(self, method: str, code: int) -> None:
        self.metrics.requests.add(method=method, code=str(code))


def _parsed(body: bytes) -> Any:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise InternalError(f"the server's response is not JSON: {error}") from None


def _error(code: int, content: bytes) -> ApiError:
    """Return the error of a Status, or the one that the code stands for when the body is not a Status."""
    try:
        status = orjson.loads(content)
    except orjson.JSONDecodeError:
        status = None
    if not isinstance(status, dict) or status.get("kind") != "Status":
        status = {"message": content.decode(errors="replace").strip()[:500]}
    return from_status({"code": code, **status})


def _retry_after(response: Response) -> float | None:
    text = response.headers.get("retry-after", "")
    return min(float(text), 30.0) if text.isdecimal() else None
