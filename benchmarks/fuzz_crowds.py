"""Crowds of clients that do not read, or do not finish what they send: memory, and waits of others, are bounded."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Final
from urllib.parse import urlsplit

_PATH: Final = "/api/v1/namespaces/default/configmaps"
_OBJECTS: Final = 30
_CLIENTS: Final = 50
#: Megabytes that a crowd may cost: what the server keeps of bodies, and the objects that it has encoded.
CROWD_BOUND: Final = 500.0


def crowds(url: str, memory: Callable[[], float]) -> Iterator[tuple[str, float, float]]:
    """Yield what each crowd does, by how many megabytes memory has grown, and the longest wait for a health check."""
    host, port = urlsplit(url).hostname or "", urlsplit(url).port or 0
    with closing(http.client.HTTPConnection(host, port, timeout=60)) as connection:
        for number in range(_OBJECTS):
            body = {"metadata": {"name": f"crowd{number}"}, "data": {"v": "z" * 900_000}}
            connection.request("POST", _PATH, json.dumps(body), {"Content-Type": "application/json"})
            connection.getresponse().read()
    ask = f"GET {_PATH} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    head = f"POST {_PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3000000\r\n\r\n".encode()
    sent = {
        f"{_CLIENTS} lists of 27 MB that nobody reads": ask,
        f"{_CLIENTS} watches whose first events nobody reads": ask.replace(b" HTTP", b"?watch=1 HTTP", 1),
        f"{3 * _CLIENTS} bodies of 2.9 MB that do not end": head + b"a" * 2_900_000,
    }
    for name, data in sent.items():
        before = memory()
        with waits(host, port) as longest:
            many = 3 * _CLIENTS if data.startswith(b"POST") else _CLIENTS
            clients = [socket.create_connection((host, port), timeout=60) for _ in range(many)]
            for client in clients:
                try:
                    client.sendall(data)
                except OSError:  # this one had sent most, and was cut off
                    continue
            time.sleep(2)
            grown = memory() - before
        for client in clients:
            client.close()
        yield name, grown, max(longest)


@contextmanager
def waits(host: str, port: int) -> Iterator[list[float]]:
    """Ask for the server's health all the time; the seconds that each answer took."""
    taken = [0.0]
    stop = threading.Event()

    def ask() -> None:
        while not stop.wait(0.02):
            begun = time.monotonic()
            with closing(http.client.HTTPConnection(host, port, timeout=60)) as connection:
                connection.request("GET", "/healthz")
                connection.getresponse().read()
            taken.append(time.monotonic() - begun)

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield taken
    finally:
        stop.set()
        thread.join()
