"""Calls of webhooks over HTTPS: the effects that suspended requests wait for.

A service has no address here, so ``--service NAMESPACE/NAME[:PORT]=URL`` says where it is; its certificate must still
be for ``NAME.NAMESPACE.svc`` and from the authority of the configuration, as in a cluster. Errors read as those of Go's
HTTP client do, because they end up in the answer to the client.
"""

from __future__ import annotations

import asyncio
import re
import ssl
from base64 import b64decode
from collections.abc import Callable, Iterable, Mapping
from typing import Final
from urllib.parse import urlsplit

import orjson

from kontend.cluster.effects import Answer, WebhookCall
from kontend.kube.field_errors import go_quote
from kontend.runtime.client.connection import BrokenOff, NotConnected, Pool, Response, TooLarge

_HEADERS: Final = {
    "Content-Type": "application/json",
    "Accept": "application/json, */*",
    "User-Agent": "kube-apiserver",
}
#: URLs by ``NAMESPACE/NAME:PORT`` or ``NAMESPACE/NAME``, or a function that returns the URL for ``NAMESPACE/NAME:PORT``
#: as it is at the time of a call.
Services = Mapping[str, str] | Callable[[str], str | None]
_SERVICE: Final = re.compile(r"([a-z0-9-]+)/([a-z0-9-]+)(?::(\d+))?")
#: The number of addresses for which connections are kept.
_MOST_POOLS: Final = 64
#: Bytes of an answer that is read. The answer to a conversion of many objects is about as long as the question.
_LARGEST: Final = 16 * 1024 * 1024
_TIMES_THE_QUESTION: Final = 8


class BadService(ValueError):
    """A ``--service`` that cannot be understood."""


def parse_services(texts: Iterable[str]) -> dict[str, str]:
    """Return the addresses of services, as the command line gives them; without a port, any port.

    >>> parse_services(["default/hooks:443=https://127.0.0.1:9443", "a/b=http://127.0.0.1:1"])
    {'default/hooks:443': 'https://127.0.0.1:9443', 'a/b': 'http://127.0.0.1:1'}
    """
    services = {}
    for text in texts:
        name, equals, url = text.partition("=")
        parts = urlsplit(url)
        if not equals or not _SERVICE.fullmatch(name) or parts.scheme not in ("http", "https") or not parts.hostname:
            raise BadService(
                f"{text!r}: expected NAMESPACE/NAME[:PORT]=URL, such as default/hooks=https://127.0.0.1:9443"
            )
        services[name] = url.rstrip("/")
    return services


class WebhookCalls:
    """Makes calls, several at once, and keeps connections for the next ones."""

    def __init__(self, services: Services | None = None) -> None:
        self._services = services or {}
        self._pools: dict[tuple[str, str, str], Pool] = {}

    async def answers(self, calls: Iterable[WebhookCall]) -> dict[bytes, Answer]:
        """Return the answers to calls."""
        made = list(calls)
        answers = await asyncio.gather(*(self._answer(call) for call in made))
        return {call.key: answer for call, answer in zip(made, answers, strict=True)}

    def close(self) -> None:
        """Close the connections that are kept."""
        for pool in self._pools.values():
            pool.close()

    async def _answer(self, call: WebhookCall) -> Answer:
        try:
            async with asyncio.timeout(call.timeout):
                return await self._post(call)
        except TimeoutError:
            return _failed(call, "context deadline exceeded")

    async def _post(self, call: WebhookCall) -> Answer:
        named = urlsplit(call.url)
        base = f"{named.scheme}://{named.netloc}"
        if call.service:
            mapped = self._located(call.service)
            if mapped is None:
                where = call.service.rpartition(":")[0]
                return _failed(call, f"no such host: say where it is with --service {where}=https://127.0.0.1:PORT")
            base = mapped
        try:
            pool = self._pool(base, named.hostname or "", call.ca_bundle)
        except (ssl.SSLError, ValueError):
            return Answer(error="unable to load root certificates: unable to parse bytes as PEM block")
        query, path = {"timeout": f"{call.timeout}s"}, named.path or "/"
        bounds = {"patience": call.timeout, "largest": max(_LARGEST, _TIMES_THE_QUESTION * len(call.body))}
        try:
            response = await pool.request("POST", path, query, _HEADERS, call.body, **bounds)
        except NotConnected as error:
            return _failed(call, f"dial tcp {urlsplit(base).netloc}: connect: {error}")
        except TooLarge as error:
            return _failed(call, str(error))
        except BrokenOff:
            return _failed(call, "EOF")
        if response.status // 100 != 2:
            return Answer(error=_refusal(response))
        try:
            return Answer(orjson.loads(response.body))
        except orjson.JSONDecodeError as error:
            return Answer(error=f"couldn't get version/kind; json parse error: {error}")

    def _located(self, service: str) -> str | None:
        if callable(self._services):
            return self._services(service)
        return self._services.get(service) or self._services.get(service.rpartition(":")[0])

    def _pool(self, base: str, name: str, bundle: str) -> Pool:
        key = (base, name, bundle)
        pool = self._pools.get(key)
        if pool is None:
            if len(self._pools) >= _MOST_POOLS:
                self.close()
                self._pools.clear()
            tls = None
            if base.startswith("https:"):
                tls = ssl.create_default_context(cadata=b64decode(bundle).decode() if bundle else None)
            pool = self._pools[key] = Pool(base, tls, server_name=name)
        return pool


def _refusal(response: Response) -> str:
    text = response.body.decode("utf-8", "replace").strip()
    if response.status == 404:
        return "the server could not find the requested resource"
    if response.status >= 500:
        return f"an error on the server ({go_quote(text)}) has prevented the request from succeeding"
    return f"the server responded with the status code {response.status}: {text}"


def _failed(call: WebhookCall, why: str) -> Answer:
    return Answer(error=f'Post "{call.url}?timeout={call.timeout}s": {why}')
