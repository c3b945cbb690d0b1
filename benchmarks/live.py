"""Measures ``kontend live`` on the Go operator of tests/live: plans per second on one core, and the time to serve.

Start-up is compared with the real kube-apiserver and etcd where KUBEBUILDER_ASSETS names them.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

from benchmarks.table import row
from kontend.live.envtest.assets import write_assets
from kontend.live.process.command import free_port

TESTS = Path(__file__).parent.parent / "tests"
sys.path.insert(0, str(TESTS))


def main() -> None:
    """Print the figures."""
    from kontend.live.campaign import Campaign, Options
    from live.conftest import setting

    fitter = _fitter()
    if fitter is None:
        print("not measured: the Go operator is not built; run tools/build_clients.py")
    else:
        pinned = ["taskset", "-c", "0"] if shutil.which("taskset") else []
        given = setting([*pinned, str(fitter)], "settings.yaml")

        async def explore() -> tuple[int, float]:
            verdict = await Campaign(given, Options(jobs=2)).explore()
            assert verdict.ok, "\n".join(verdict.lines())
            return verdict.executed, verdict.seconds

        if hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, {0})
        plans, seconds = asyncio.run(explore())
        if hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, range(os.cpu_count() or 1))
        rate = plans / seconds
        row(f"live: {plans} plans, Go operator, one core", f"{rate:.1f} plans/s", "at least 1", good=rate >= 1)
    with tempfile.TemporaryDirectory() as directory:
        ours = _start_of_etcd(write_assets(Path(directory)))
    row("envtest: start of our etcd until it is healthy", f"{ours:.2f} s", "under 1 s", good=ours < 1)
    real = os.environ.get("KUBEBUILDER_ASSETS")
    if real:
        row("envtest: start of the real etcd", f"{_start_of_etcd(Path(real)):.2f} s", "for comparison", good=True)


def _fitter() -> Path | None:
    found = sorted((Path.home() / ".cache" / "kontend").glob("fitter-*"), key=lambda path: path.stat().st_mtime)
    return found[-1] if found else None


def _start_of_etcd(assets: Path) -> float:
    """The seconds from the start of etcd until it answers."""
    url = f"http://127.0.0.1:{free_port()}"
    with tempfile.TemporaryDirectory() as directory:
        began = time.perf_counter()
        arguments = [f"--listen-client-urls={url}", f"--advertise-client-urls={url}", f"--data-dir={directory}"]
        running = subprocess.Popen([str(assets / "etcd"), *arguments], stderr=subprocess.DEVNULL)
        try:
            while time.perf_counter() - began < 30:
                try:
                    urllib.request.urlopen(f"{url}/health", timeout=1).close()
                    break
                except (urllib.error.URLError, OSError):
                    time.sleep(0.005)
            return time.perf_counter() - began
        finally:
            running.terminate()
            running.wait()


if __name__ == "__main__":
    main()
