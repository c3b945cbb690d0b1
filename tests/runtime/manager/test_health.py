"""Health and metrics over HTTP."""

from __future__ import annotations

import asyncio

import pytest

from kontend.runtime.manager.health import BadAddress, HealthServer
from kontend.runtime.telemetry.metrics import Metrics


async def ask(port: int, request: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    answer = await asyncio.wait_for(reader.read(), 5)
    writer.close()
    return answer


def test_health_readiness_and_metrics_are_served_on_loopback() -> None:
    async def run() -> list[bytes]:
        metrics = Metrics()
        metrics.reconciles.add(controller="a")
        server = HealthServer(metrics, ready=lambda: "the caches are not filled")
        await server.start("127.0.0.1:0")
        paths = [b"/healthz", b"/readyz", b"/metrics", b"/metrics?x=1", b"/nothing"]
        answers = [await ask(server.port, b"GET " + path + b" HTTP/1.1\r\nHost: x\r\n\r\n") for path in paths]
        answers.append(await ask(server.port, b"DELETE /healthz HTTP/1.1\r\n\r\n"))
        await server.stop()
        return answers

    healthy, ready, metrics, again, nothing, delete = asyncio.run(run())
    assert healthy.startswith(b"HTTP/1.1 200 OK")
    assert healthy.endswith(b"ok\n")
    assert ready.startswith(b"HTTP/1.1 503")
    assert b"the caches are not filled" in ready
    assert b'controller_runtime_reconcile_total{controller="a"} 1' in metrics
    assert metrics == again
    assert nothing.startswith(b"HTTP/1.1 404")
    assert delete.startswith(b"HTTP/1.1 405")


@pytest.mark.parametrize("garbage", [b"\r\n\r\n", b"GET\r\n\r\n", b"\xff" * 40_000, b""])
def test_garbage_does_not_stop_it(garbage: bytes) -> None:
    async def run() -> bytes:
        server = HealthServer(Metrics())
        await server.start("127.0.0.1:0")
        _, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(garbage)
        writer.close()
        answer = await ask(server.port, b"GET /healthz HTTP/1.1\r\n\r\n")
        await server.stop()
        return answer

    assert asyncio.run(run()).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("address", ["8080", "127.0.0.1:port", "127.0.0.1:99999", "no such host:1"])
def test_a_wrong_address_is_refused(address: str) -> None:
    with pytest.raises(BadAddress, match=r"expected host:port|cannot listen on"):
        asyncio.run(HealthServer(Metrics()).start(address))


def test_an_address_in_use_is_refused_with_a_way_out() -> None:
    async def run() -> None:
        first = HealthServer(Metrics())
        await first.start("127.0.0.1:0")
        try:
            await HealthServer(Metrics()).start(f"127.0.0.1:{first.port}")
        finally:
            await first.stop()

    with pytest.raises(BadAddress, match="choose another address, or none"):
        asyncio.run(run())
