"""Speed of controllers, and that they stop when nothing is left to do.

    python -m benchmarks.runtime [--against URL [--token TOKEN]]

A hundred thousand reconciles run in process, and memory must not grow with them. Then a thousand objects get one owned
child each, and a status that says so, over HTTP against ``kontend serve``; and a second manager starts and looks at all
of them again: nothing may be written.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gc
import os
import sys
import time
from pathlib import Path
from typing import Any

import orjson

from benchmarks.objects import WIDGETS as CLOSED
from benchmarks.objects import widget
from benchmarks.serve import serving
from benchmarks.table import row
from kontend.cluster.cluster import Cluster
from kontend.kube.errors import AlreadyExists, ApiError, NotFound
from kontend.runtime.client.api import Api
from kontend.runtime.client.http_backend import HttpBackend
from kontend.runtime.client.kubeconfig import Config
from kontend.runtime.controller import Controller, Request, Result
from kontend.runtime.manager.in_process import InProcessManager
from kontend.runtime.manager.process import Manager
from kontend.runtime.writes.children import sync_child
from kontend.runtime.writes.scope import StatusScope

OBJECTS, WANTED_SECONDS = 1_000, 15
RECONCILES, WANTED_GROWTH = 100_000, 5.0
GROUP = "runtime.bench.example.com"
KIND = f"Widget.{GROUP}/v1"


def _open_status() -> dict[str, Any]:
    """The definition under a group of its own, with a status that may hold anything."""
    crd: dict[str, Any] = orjson.loads(orjson.dumps(CLOSED))
    crd["metadata"]["name"], crd["spec"]["group"] = f"widgets.{GROUP}", GROUP
    schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"]["status"] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return crd


WIDGETS = _open_status()


class Widgets(Controller):
    """Each widget has a ConfigMap of its own, tracked in its status."""

    kind = KIND
    owns = ("ConfigMap/v1",)
    max_concurrent = 16

    async def reconcile(self, request: Request, api: Api) -> Result | None:
        """Make the ConfigMap and say so."""
        try:
            widget = await api.get(self.kind, request)
        except NotFound:
            return None
        child = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": request.name},
            "data": {"size": str(widget["spec"].get("size", ""))},
        }
        async with StatusScope(api, widget) as scope:
            synced = await sync_child(api, scope, child)
            scope.status["phase"] = "Ready"
        return synced.result


async def _create(config: Config, number: int) -> HttpBackend:
    http = HttpBackend(config)
    api = Api(http)
    with contextlib.suppress(AlreadyExists):
        await api.create(orjson.loads(orjson.dumps(WIDGETS)))
    deadline = time.monotonic() + 20
    while True:
        try:
            await http.served(KIND)
            await api.live.list(KIND)
            break
        except ApiError:
            if time.monotonic() > deadline:
                raise
            await asyncio.sleep(0.1)

    async def make(index: int) -> None:
        with contextlib.suppress(AlreadyExists):
            await api.create(_widget(index))

    for begin in range(0, number, 50):
        await asyncio.gather(*(make(index) for index in range(begin, min(number, begin + 50))))
    return http


def _widget(index: int) -> dict[str, Any]:
    obj = widget() | {"apiVersion": f"{GROUP}/v1"}
    obj["metadata"] = {"name": f"w{index}", "namespace": "default"}
    return obj


async def _versions(http: HttpBackend) -> dict[str, str]:
    versions: dict[str, str] = {}
    for kind in (KIND, "ConfigMap/v1"):
        items, _ = await http.list(kind, {})
        versions |= {f"{kind} {item['metadata']['name']}": item["metadata"]["resourceVersion"] for item in items}
    return versions


async def _steady(http: HttpBackend, manager: Manager, *, reconciles: int) -> None:
    """Until everything was looked at, all is ready and nothing is queued."""
    while manager.metrics.reconciles.get(controller="widgets", result="success") < reconciles or manager.busy:
        await asyncio.sleep(0.02)
    items, _ = await http.list(KIND, {})
    assert all((item.get("status") or {}).get("phase") == "Ready" for item in items)


async def _throughput(config: Config) -> tuple[float, int, int]:
    """Seconds to the steady state, what changed when all was looked at again, and the number of requests."""
    http = await _create(config, OBJECTS)
    first = Manager(Widgets(), config=config, status_address=None)
    begun = time.perf_counter()
    await first.start()
    await _steady(http, first, reconciles=OBJECTS)
    seconds = time.perf_counter() - begun
    requests = int(sum(first.metrics.requests.values.values()))
    await asyncio.sleep(1)
    before = await _versions(http)
    await first.stop()
    second = Manager(Widgets(), config=config, status_address=None)
    await second.start()
    await _steady(http, second, reconciles=OBJECTS)
    await second.stop()
    after = await _versions(http)
    http.close()
    changed = sum(after.get(name) != version for name, version in before.items()) + len(after) - len(before)
    return seconds, changed, requests


class Ticker(Controller):
    """Looks at its object every second, and writes once in a hundred times."""

    kind = KIND
    memory = ("runs",)

    def __init__(self) -> None:
        self.runs = 0

    async def reconcile(self, request: Request, api: Api) -> Result | None:
        """Count."""
        obj = await api.get(self.kind, request)
        self.runs += 1
        if self.runs % 100 == 0:
            obj["status"] = {"runs": self.runs}
            await api.status.update(obj)
        return Result(requeue_after=1)


def _memory() -> tuple[float, float]:
    """Measure the memory of many reconciles, in MB, and the number per second."""
    manager = InProcessManager(Cluster(crds=[WIDGETS], objects=[_widget(index) for index in range(20)]), [Ticker()])

    def work(number: int) -> None:
        until = manager.reconciles + number
        while manager.reconciles < until:
            if manager.step() is None:
                manager.advance((manager.next_due() or 0) - manager.clock())

    work(RECONCILES // 10)  # whatever is made once is there then
    gc.collect()
    before = _resident()
    begun = time.perf_counter()
    work(RECONCILES)
    speed = RECONCILES / (time.perf_counter() - begun)
    gc.collect()
    return _resident() - before, speed


def _resident() -> float:
    """Resident memory of this process in MB."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def main(argv: list[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.runtime")
    parser.add_argument("--against", metavar="URL", help="use this server")
    parser.add_argument("--token", default="", help="the bearer token of that server")
    options = parser.parse_args([] if argv is None else argv)
    print("controllers")
    growth, speed = _memory()
    row("reconciles in process", f"{speed:,.0f}/s", "", good=True)
    what = f"growth of memory over {RECONCILES:,} reconciles"
    row(what, f"{growth:.1f} MB", f"under {WANTED_GROWTH:.0f} MB", good=growth < WANTED_GROWTH)
    if options.against:
        results = asyncio.run(_throughput(Config(options.against, token=options.token, insecure=True)))
    else:
        with serving() as target:
            results = asyncio.run(_throughput(Config(target.url)))
    seconds, changed, requests = results
    what = f"{OBJECTS:,} objects with a child each, to steady state over HTTP"
    row(what, f"{seconds:.1f} s", f"under {WANTED_SECONDS} s", good=seconds < WANTED_SECONDS)
    row("requests for that", f"{requests:,}", "", good=True)
    row("writes after the steady state, all looked at again", str(changed), "0", good=changed == 0)


if __name__ == "__main__":
    main(sys.argv[1:])
