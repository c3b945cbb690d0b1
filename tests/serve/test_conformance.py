"""Over HTTP the server answers what a real kube-apiserver answered."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any
from urllib.parse import urlencode

from conformance.replayer import Exchange, definitions, first_difference, load, play
from conformance.test_conformance import FILES
from kontend import Cluster
from kontend.serve.background import BackgroundServer
from serve.wire import Client


class OverHttp:
    """A server at a URL; each thread has a connection of its own."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._local = threading.local()
        self._clients: list[Client] = []

    def close(self) -> None:
        """Hang up."""
        for client in self._clients:
            client.close()

    def send(self, exchange: Exchange) -> tuple[int, Any]:
        """Send a request and parse what comes back: a watch as the list of its events."""
        client: Client | None = getattr(self._local, "client", None)
        if client is None:
            client = self._local.client = Client(self._url)
            self._clients.append(client)
        target = f"{exchange.path}?{urlencode(exchange.query)}" if exchange.query else exchange.path
        headers = {"Content-Type": exchange.content_type, "User-Agent": exchange.agent, "Accept": exchange.accept}
        answer = client.send(exchange.method, target, exchange.body, **headers)
        if "watch" in exchange.query and answer.code == 200:
            return answer.code, [json.loads(line) for line in answer.raw.splitlines()]
        try:
            return answer.code, answer.json if answer.raw else None
        except ValueError:
            return answer.code, answer.raw.decode()


def test_over_http_the_answers_are_those_of_kube_apiserver() -> None:
    """Every step of every case, many cases at a time: each has a namespace of its own."""
    cases = [case for name in FILES for case in load(name)]
    with (
        BackgroundServer(Cluster(crds=definitions()).state) as running,
        closing(OverHttp(running.url)) as server,
        ThreadPoolExecutor(48) as pool,
    ):
        played = list(pool.map(lambda case: play(server, case), cases))
    pairs = zip(cases, played, strict=True)
    assert [case["id"] for case, answers in pairs if first_difference(case["answers"], answers) is not None] == []
