"""Measures ``kontend serve`` over HTTP with wrk, and the delay until a thousand watches see a write.

    python -m benchmarks.serve [--against URL [--token TOKEN]]

measures a server of its own, and with ``--against`` another one (a real kube-apiserver, say) with the same requests in
the same run.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import resource
import shutil
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.objects import WIDGETS, widget
from benchmarks.table import row

GET_WANTED, PATCH_WANTED = 4_400, 635
_WIDGET = "/apis/bench.example.com/v1/namespaces/default/widgets/w"
_SECONDS = 5
_PATCH_SCRIPT = """
local n = 0
request = function()
  n = n + 1
  return wrk.format("PATCH", "PATH/status", nil, '{"status":{"phase":"P' .. n .. '"}}')
end
"""


@dataclass
class Target:
    """A server to measure."""

    url: str
    token: str = ""
    process: subprocess.Popen[bytes] | None = None
    #: Seconds until it was ready, and seconds of processor time.
    started_in: float = 0.0
    started_with: float = 0.0

    def send(self, method: str, path: str, body: Any = None) -> int:
        """Send one request; its status code."""
        headers = {"Content-Type": "application/json"} | (
            {"Authorization": f"Bearer {self.token}"} if self.token else {}
        )
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, context=_trusting()) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            return error.code

    def memory(self) -> float:
        """Resident memory in MB."""
        assert self.process is not None  # only asked of our own
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6

    def processor_time(self) -> float:
        """Processor time that it has used, in seconds."""
        assert self.process is not None  # only asked of our own
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _trusting() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


@contextmanager
def serving(*options: str) -> Iterator[Target]:
    """A server of our own, for as long as it is needed."""
    reading, writing = os.pipe()
    command = [sys.executable, "-m", "kontend.cli", "serve", "--port", "0", "--ready-fd", str(writing), *options]
    begun = time.perf_counter()
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    process = subprocess.Popen(command, pass_fds=[writing], stdout=subprocess.DEVNULL, env=environment)
    os.close(writing)
    try:
        with os.fdopen(reading) as ready:
            url = ready.readline().strip()
        target = Target(url, process=process, started_in=time.perf_counter() - begun)
        target.started_with = target.processor_time()
        yield target
    finally:
        process.terminate()
        process.wait()


def _prepare(target: Target) -> None:
    """Put the definition and the object there, and wait until they are served."""
    target.send("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", WIDGETS)
    deadline = time.monotonic() + 20
    while target.send("GET", _WIDGET) != 200:
        if time.monotonic() > deadline:
            raise SystemExit(f"{target.url} does not serve {_WIDGET}")
        target.send("POST", _WIDGET.rpartition("/")[0], widget())
        time.sleep(0.1)


def _wrk(target: Target, *, patch: bool) -> float:
    """Requests a second."""
    command = ["wrk", "-t1", "-c16", f"-d{_SECONDS}s", target.url + _WIDGET]
    if target.token:
        command += ["-H", f"Authorization: Bearer {target.token}"]
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        if patch:
            script.write(_PATCH_SCRIPT.replace("PATH", _WIDGET))
            script.flush()
            command += ["-s", script.name, "-H", "Content-Type: application/merge-patch+json"]
        output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    if "Non-2xx" in output:
        raise SystemExit(f"{target.url} refuses requests:\n{output}")
    match = re.search(r"Requests/sec:\s+([\d.]+)", output)
    assert match, output
    return float(match[1])


class _WatchClient(asyncio.Protocol):
    """Notes when each write arrives. No more than that, since a thousand of these share a process and a core."""

    def __init__(
        self, sent: list[float], opened: asyncio.Semaphore, delays: list[float], done: asyncio.Semaphore
    ) -> None:
        self._sent, self._opened, self._delays, self._done = sent, opened, delays, done
        self._seen = -1

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ask for everything from now on."""
        path = _WIDGET.rpartition("/")[0]
        request = f"GET {path}?watch=1&timeoutSeconds=120&resourceVersion=0 HTTP/1.1\r\nHost: localhost\r\n\r\n"
        transport.write(request.encode())  # type: ignore[attr-defined]

    def data_received(self, data: bytes) -> None:
        """The object as it is, then one event for each write."""
        now = time.perf_counter()
        events = data.count(b'{"type":')
        if self._seen < 0 and events:
            self._seen, events = 0, events - 1
            self._opened.release()
        for _ in range(events):
            self._delays.append(now - self._sent[self._seen])
            self._seen += 1
            self._done.release()


async def _watch_delays(target: Target, *, watches: int, writes: int, pause: float) -> list[float]:
    """The seconds that each write took to reach each watcher."""
    host, port = target.url.removeprefix("http://").split(":")
    sent: list[float] = []
    delays: list[float] = []
    opened, done = asyncio.Semaphore(0), asyncio.Semaphore(0)
    loop = asyncio.get_running_loop()
    clients = [
        await loop.create_connection(lambda: _WatchClient(sent, opened, delays, done), host, int(port))
        for _ in range(watches)
    ]
    for _ in range(watches):
        await opened.acquire()
    _, writer = await asyncio.open_connection(host, int(port))
    for number in range(writes):
        body = json.dumps({"status": {"phase": f"W{number}"}})
        sent.append(time.perf_counter())
        writer.write(
            f"PATCH {_WIDGET}/status HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/merge-patch+json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n{body}".encode()
        )
        await asyncio.sleep(pause)
    for _ in range(watches * writes):
        await asyncio.wait_for(done.acquire(), 20)
    writer.close()
    for transport, _ in clients:
        transport.close()
    return delays


async def _crowd(target: Target, connections: int) -> int:
    """The number of connections that are answered, of so many at a time."""
    host, port = target.url.removeprefix("http://").split(":")
    answered = 0
    at_a_time = asyncio.Semaphore(200)
    open_ones: list[asyncio.StreamWriter] = []

    async def connect() -> None:
        nonlocal answered
        async with at_a_time:
            reader, writer = await asyncio.open_connection(host, int(port))
            open_ones.append(writer)
            writer.write(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            line = await reader.readline()
            answered += line.startswith(b"HTTP/1.1 200")

    await asyncio.gather(*(connect() for _ in range(connections)))
    for writer in open_ones:
        writer.close()
    return answered


def _can_open(files: int) -> bool:
    """This process may have that many; so may the server then."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard < files:
        return False
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return True


def _start_times() -> tuple[float, float]:
    """From the command to the first answer: the best of some, since the first one may have to compile."""
    times = []
    for _ in range(4):
        with serving() as target:
            times.append((target.started_in, target.started_with))
    return min(one for one, _ in times), min(other for _, other in times)


def _command_time(*arguments: str) -> float:
    """Seconds of processor time of a command: the best of some."""
    times = []
    for _ in range(4):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-m", "kontend.cli", *arguments], stdout=subprocess.DEVNULL, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(times)


def _speed(name: str, target: Target) -> None:
    gets = _wrk(target, patch=False)
    row(f"{name}: GET of one custom resource", f"{gets:,.0f}/s", f"over {GET_WANTED:,}/s", good=gets > GET_WANTED)
    patches = _wrk(target, patch=True)
    wanted = f"over {PATCH_WANTED:,}/s"
    row(f"{name}: status merge patches of one object", f"{patches:,.0f}/s", wanted, good=patches > PATCH_WANTED)


def main(argv: list[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.serve")
    parser.add_argument("--against", metavar="URL", help="measure this server too")
    parser.add_argument("--token", default="", help="the bearer token of that server")
    options = parser.parse_args([] if argv is None else argv)
    print("kontend serve, one process")
    with tempfile.TemporaryDirectory() as directory, serving() as target:
        start, processor = _start_times()
        row("start to the first answer", f"{start * 1e3:.0f} ms", "under 500 ms", good=start < 0.5)
        row("the same in processor time", f"{processor * 1e3:.0f} ms", "under 400 ms", good=processor < 0.4)
        for command in (("--help",), ("serve", "--help"), ("envtest", "--help")):
            used = _command_time(*command)
            name = f"kontend {' '.join(command)} in processor time"
            row(name, f"{used * 1e3:.0f} ms", "under 400 ms", good=used < 0.4)
        idle = target.memory()
        row("resident memory when idle", f"{idle:.0f} MB", "under 100 MB", good=idle < 100)
        _prepare(target)
        delays = asyncio.run(_watch_delays(target, watches=1000, writes=40, pause=0.05))
        worst = max(delays) * 1e3
        row("1,000 watches, 20 writes a second: slowest event", f"{worst:.0f} ms", "under 250 ms", good=worst < 250)
        if _can_open(10_500):
            answered = asyncio.run(_crowd(target, 10_000))
            row("10,000 connections at a time: answered", f"{answered:,}", "all", good=answered == 10_000)
        else:
            print("10,000 connections: not measured, because this system does not allow so many open files")
        if shutil.which("wrk") is None:
            print("requests a second: not measured, because wrk is not installed (apt install wrk)")
            return
        _speed("in memory", target)
        with serving("--data", directory) as durable:
            _prepare(durable)
            _speed("with --data", durable)
    if options.against:
        other = Target(options.against.rstrip("/"), options.token)
        _prepare(other)
        _speed(options.against, other)


if __name__ == "__main__":
    main(sys.argv[1:])
