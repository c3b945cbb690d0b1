"""Fuzz ``kontend serve``: ``python -m benchmarks.fuzz_serve [--seconds N] [--seed N]``.

Sends raw bytes, objects of every kind, custom resource definitions, patches, protobuf and queries, all made from one
seed, to a server in a process of its own, while another thread asks for its health. Prints counts, and fails when

- the server fails with a traceback, or answers 5xx with anything but what kube-apiserver says,
- a health check beside a request waits longer than the bound,
- a refused request has changed the state,
- memory has grown, also under crowds of clients that do not read or do not finish.
"""

from __future__ import annotations

import argparse
import http.client
import os
import random
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Final

from benchmarks.fuzz_client import Client, Outcome
from benchmarks.fuzz_crowds import CROWD_BOUND, crowds
from benchmarks.fuzz_requests import Fuzzer

#: Processor time of the server while a health check waits, in seconds, and how much memory may grow, in MB.
HEALTH_BOUND: Final = 0.25
GROWTH_BOUND: Final = 300.0


def watch_health(client: Client, pid: int, stop: threading.Event) -> None:
    """Ask for the server's health over and over, and note the most processor time that it took meanwhile."""
    connection = http.client.HTTPConnection(client.host, client.port, timeout=60)
    while not stop.wait(0.02):
        before = processor_time(pid)
        try:
            connection.request("GET", "/healthz")
            connection.getresponse().read()
        except (OSError, http.client.HTTPException) as error:
            client.outcome.problem(f"health check: {error!r}")
            connection.close()
            continue
        client.outcome.health = max(client.outcome.health, processor_time(pid) - before)
        client.outcome.checks += 1


def processor_time(pid: int) -> float:
    """Processor time that a process has used, in seconds: other processes do not change it."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory(pid: int) -> float:
    """Resident memory of a process in MB."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def main(argv: list[str] | None = None) -> int:
    """Fuzz for some time and say what was seen."""
    parser = argparse.ArgumentParser(description="fuzz kontend serve")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long (default: 60)")
    parser.add_argument("--seed", type=int, default=1, help="random seed (default: 1)")
    options = parser.parse_args(argv or [])
    reading, writing = os.pipe()
    command = [sys.executable, "-m", "kontend.cli", "serve", "--port", "0", "--ready-fd", str(writing)]
    with subprocess.Popen(command, pass_fds=[writing], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as server:
        os.close(writing)
        complaints: list[bytes] = []
        assert server.stderr is not None
        reader = threading.Thread(target=lambda: complaints.extend(server.stderr or ()), daemon=True)
        reader.start()
        try:
            with os.fdopen(reading) as ready:
                url = ready.readline().strip()
            fuzzer = Fuzzer(url, random.Random(options.seed))
            outcome = _run(fuzzer, server.pid, options.seconds)
            for name, grown, longest in crowds(url, lambda: memory(server.pid)):
                print(
                    f"{name}: {grown:+.0f} MB (bound {CROWD_BOUND:.0f}), longest wait of others {longest * 1000:.0f} ms"
                )
                if grown > CROWD_BOUND:
                    outcome.problem(f"{name}: memory has grown by {grown:.0f} MB")
        finally:
            server.terminate()
            server.wait(20)
            reader.join(5)
    if complaints:
        outcome.problem("the server wrote: " + b"".join(complaints[-12:]).decode("utf-8", "replace"))
    return _report(outcome, options.seed)


def _run(fuzzer: Fuzzer, pid: int, seconds: float) -> Outcome:
    stop = threading.Event()
    health = threading.Thread(target=watch_health, args=(fuzzer.client, pid, stop))
    health.start()
    started = time.monotonic()
    warm = 0.0
    try:
        while time.monotonic() - started < seconds:
            fuzzer.step()
            if not warm and time.monotonic() - started > seconds / 4:
                warm = memory(pid)
    finally:
        stop.set()
        health.join()
    grown = memory(pid) - warm
    outcome = fuzzer.client.outcome
    print(f"memory: {warm:.0f} MB after a quarter of the time, {grown:+.0f} MB at the end")
    if grown > GROWTH_BOUND:
        outcome.problem(f"memory has grown by {grown:.0f} MB")
    if outcome.health > HEALTH_BOUND:
        outcome.problem(f"a health check waited for {outcome.health:.2f} s of processor time, more than {HEALTH_BOUND}")
    return outcome


def _report(outcome: Outcome, seed: int) -> int:
    print(
        f"seed {seed}: {sum(outcome.codes.values())} answers to "
        + ", ".join(f"{n} {k}" for k, n in outcome.kinds.most_common())
    )
    print("codes: " + ", ".join(f"{code}: {count}" for code, count in sorted(outcome.codes.items())))
    print(f"slowest request: {outcome.slowest[0] * 1000:.0f} ms, {outcome.slowest[1]}")
    print(f"longest of {outcome.checks} health checks beside it: {outcome.health * 1000:.0f} ms of processor time")
    for problem in outcome.problems:
        print(f"PROBLEM: {problem}")
    print("no problems" if not outcome.problems else f"{len(outcome.problems)} problems")
    return 1 if outcome.problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
