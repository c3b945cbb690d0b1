"""Measures ``kontend live`` on the Go operator of tests/live: plans per second on one core, and the time to serve.

Start-up is compared with the real kube-apiserver and etcd, where KUBEBUILDER_ASSETS names a directory with them or both
are on the PATH: one after the other, from the start of etcd until /readyz answers "ok".
"""

from __future__ import annotations

import asyncio
import os
import shutil
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from benchmarks.table import row
from kontend.live.envtest.assets import write_assets
from kontend.live.process import processes
from kontend.live.process.command import free_port
from kontend.serve.credentials.tls import certificates

TESTS = Path(__file__).parent.parent / "tests"
sys.path.insert(0, str(TESTS))
#: Starts that are measured; the best counts. Runs of the campaign at the same time, all on one core.
_STARTS = 3
_JOBS = 8


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
            verdict = await Campaign(given, Options(jobs=_JOBS)).explore()
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
        assets = write_assets(Path(directory))
        ours, real = _Binaries(assets / "etcd", assets / "kube-apiserver"), _real()
        starts = [(_start(ours), _start(real) if real else None) for _ in range(_STARTS)]
    etcd, both = min((own for own, _ in starts), key=lambda times: times[1].wall)
    row("envtest: start of our etcd until it is healthy", str(etcd), "wall under 0.2 s", good=etcd.wall < 0.2)
    row("envtest: etcd and kube-apiserver until ready", str(both), "wall under 1 s", good=both.wall < 1)
    others = [other for _, other in starts if other is not None]
    if others:
        real_etcd, real_both = min(others, key=lambda times: times[1].wall)
        row("envtest: start of the real etcd", str(real_etcd), "for comparison", good=True)
        row("envtest: the real etcd and kube-apiserver until ready", str(real_both), "for comparison", good=True)
        times = real_both.wall / both.wall
        row("envtest: the real binaries against ours", f"{times:.1f} times", "at least 2", good=times >= 2)
    else:
        print("the real binaries are not measured: neither KUBEBUILDER_ASSETS nor PATH has kube-apiserver and etcd")


class _Binaries(NamedTuple):
    etcd: Path
    apiserver: Path


def _real() -> _Binaries | None:
    """The real binaries, if this machine has them."""
    directory = os.environ.get("KUBEBUILDER_ASSETS")
    programs = [shutil.which(name, path=directory or None) for name in ("etcd", "kube-apiserver")]
    return _Binaries(*map(Path, filter(None, programs))) if all(programs) else None


@dataclass(frozen=True)
class Seconds:
    """The seconds of a start: those of the clock, and of the processor."""

    wall: float
    processor: float

    def __str__(self) -> str:
        return f"{self.wall:.2f} s ({self.processor:.2f} s cpu)"


def _fitter() -> Path | None:
    builds = sorted((Path.home() / ".cache" / "kontend").glob("fitter-*"), key=lambda path: path.stat().st_mtime)
    return builds[-1] if builds else None


def _start(binaries: _Binaries) -> tuple[Seconds, Seconds]:
    """The seconds until etcd is healthy, and until kube-apiserver is ready after that, as envtest starts them."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        made = certificates("127.0.0.1")
        for file, content in (("apiserver.crt", made.certificate), ("apiserver.key", made.key)):
            (directory / file).write_bytes(content)
        (directory / "sa.key").write_bytes(_service_account_key())
        client, peer = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
        port = free_port()
        flags = {
            "etcd-servers": client, "bind-address": "127.0.0.1", "advertise-address": "127.0.0.1",
            "secure-port": port, "cert-dir": directory,
            "service-account-key-file": directory / "sa.key", "service-account-issuer": f"https://127.0.0.1:{port}",
            "service-account-signing-key-file": directory / "sa.key", "service-cluster-ip-range": "10.0.0.0/24",
            "authorization-mode": "RBAC", "disable-admission-plugins": "ServiceAccount", "allow-privileged": "true",
        }  # fmt: skip
        urls = {"listen-client-urls": client, "advertise-client-urls": client, "listen-peer-urls": peer}
        began = time.perf_counter()
        etcd = _run(binaries.etcd, {**urls, "data-dir": directory / "etcd", "unsafe-no-fsync": "true"})
        started = [etcd]
        try:
            _until_ok(f"{client}/health", etcd)
            healthy = Seconds(time.perf_counter() - began, _processor_time(started))
            started.append(_run(binaries.apiserver, flags))
            _until_ok(f"https://127.0.0.1:{port}/readyz", started[-1])
            return healthy, Seconds(time.perf_counter() - began, _processor_time(started))
        finally:
            # Killed, because their data is thrown away: a kube-apiserver that is asked to end waits for its etcd for
            # half a minute.
            for process in started:
                process.kill()
            for process in started:
                process.wait()


def _run(command: Path, flags: Mapping[str, object]) -> subprocess.Popen[bytes]:
    arguments = [f"--{name}={value}" for name, value in flags.items()]
    return subprocess.Popen([str(command), *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _service_account_key() -> bytes:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    form = serialization.PrivateFormat.TraditionalOpenSSL
    return key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())


def _until_ok(url: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.perf_counter() + 120
    while time.perf_counter() < deadline:
        if process.poll() is not None:
            raise ChildProcessError(f"{process.args!r} ended with {process.returncode}")
        try:
            with urllib.request.urlopen(url, timeout=5, context=ssl._create_unverified_context()) as answer:
                if answer.status == 200 and (answer.read() == b"ok" or not url.endswith("/readyz")):
                    return
        except (urllib.error.URLError, OSError):
            time.sleep(0.002)
    raise TimeoutError(url)


def _processor_time(started: Sequence[subprocess.Popen[bytes]]) -> float:
    return sum(processes.usage([process.pid]).seconds for process in started)


if __name__ == "__main__":
    main()
