"""Ten minutes of mixed requests: memory and latency of ``kontend serve`` at each minute, which should stay flat.

    python -m benchmarks.soak [--minutes N]

The processor time of a request does not depend on what else the machine does; the latencies do.

Writers create, patch and delete ConfigMaps of a few sizes, readers list them, watchers follow, and some of them stop
reading. The number of objects stays the same, so what grows is a leak.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import random
import threading
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

from benchmarks.serve import Target, serving

_MAPS = "/api/v1/namespaces/default/configmaps"
_OBJECTS = 300


class Traffic:
    """Clients that send requests until they are told to stop."""

    def __init__(self, url: str) -> None:
        host = urlsplit(url)
        self.host, self.port = host.hostname or "", host.port or 80
        self.stop = threading.Event()
        self.latencies: list[float] = []
        self.failures = 0

    def _requests(self, seed: int) -> Iterator[tuple[str, str, bytes, str]]:
        rng = random.Random(seed)
        while True:
            name = f"c{rng.randrange(_OBJECTS)}"
            roll = rng.random()
            if roll < 0.35:
                body = {"data": {"n": str(rng.random()), "text": "x" * rng.choice([10, 1000, 50_000])}}
                yield "PATCH", f"{_MAPS}/{name}", json.dumps(body).encode(), "application/merge-patch+json"
            elif roll < 0.5:
                yield "DELETE", f"{_MAPS}/{name}", b"", "application/json"
                obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}
                yield "POST", _MAPS, json.dumps(obj).encode(), "application/json"
            elif roll < 0.98:
                yield "GET", f"{_MAPS}/{name}", b"", "application/json"
            else:
                yield "GET", f"{_MAPS}?limit=50", b"", "application/json"

    def client(self, seed: int) -> None:
        """Send requests one after the other."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=60)
        for method, path, body, media in self._requests(seed):
            if self.stop.is_set():
                break
            started = time.monotonic()
            connection.request(method, path, body, {"Content-Type": media})
            response = connection.getresponse()
            response.read()
            self.latencies.append(time.monotonic() - started)
            self.failures += response.status >= 500
        connection.close()

    def watcher(self, lazy: bool) -> None:
        """Watch; a lazy one hardly reads, is cut off, and comes again."""
        while not self.stop.is_set():
            connection = http.client.HTTPConnection(self.host, self.port, timeout=5)
            with contextlib.suppress(OSError, http.client.HTTPException, ValueError):
                connection.request("GET", f"{_MAPS}?watch=1&timeoutSeconds=30")
                response = connection.getresponse()
                while not self.stop.is_set() and response.read1(65536):
                    if lazy and self.stop.wait(3):
                        break
            connection.close()


def _percentile(values: list[float], share: float) -> float:
    return sorted(values)[int(len(values) * share)] * 1000 if values else 0.0


def main(minutes: int = 10) -> None:
    """Print a line for each minute."""
    with serving() as target:
        _soak(target, minutes)


def _soak(target: Target, minutes: int) -> None:
    for number in range(_OBJECTS):
        target.send("POST", _MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"c{number}"}})
    traffic = Traffic(target.url)
    threads = [threading.Thread(target=traffic.client, args=(seed,), daemon=True) for seed in range(6)]
    threads += [threading.Thread(target=traffic.watcher, args=(lazy,), daemon=True) for lazy in (False, False, True)]
    for thread in threads:
        thread.start()
    used = target.processor_time()
    for minute in range(1, minutes + 1):
        time.sleep(60)
        latencies, traffic.latencies = traffic.latencies, []
        before, used = used, target.processor_time()
        spent = (used - before) * 1000 / max(len(latencies), 1)
        middle, high = _percentile(latencies, 0.5), _percentile(latencies, 0.99)
        shown = f"{target.memory():.0f} MB, {len(latencies)} requests"
        shown += f", median {middle:.1f} ms, 99th percentile {high:.1f} ms"
        print(
            f"soak, minute {minute}: {shown}, {spent:.2f} ms of processor time each, {traffic.failures} failures",
            flush=True,
        )
    traffic.stop.set()
    for thread in threads:
        thread.join(10)


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--minutes", type=int, default=10)
    main(options.parse_args().minutes)
