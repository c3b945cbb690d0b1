"""Records that the gate makes of requests, without a process: the test is the client."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from kontend import Cluster
from kontend.live.gate.call import Call, Point
from kontend.live.gate.perturbation import Delay
from kontend.live.gate.plan import Plan
from kontend.live.properties.findings import Expected, findings
from kontend.live.properties.masking import Mask
from kontend.live.runs.outcome import Run
from kontend.live.runs.recording import Recording
from kontend.live.runs.stage import Stage
from live.conftest import setting

PATH = "/apis/live.kontend.dev/v1/namespaces/default/widgets"
PATCH = Call("patch", "widgets.live.kontend.dev", "default", "w", "status")


def widget() -> dict[str, Any]:
    return {"apiVersion": "live.kontend.dev/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 1}}


async def ask(stage: Stage, method: str, path: str, body: object = None) -> dict[str, Any]:
    """The answer to one request of the controller."""
    reader, writer = await asyncio.open_connection("127.0.0.1", stage.server.port)
    data = orjson.dumps(body) if body is not None else b""
    head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/merge-patch+json\r\n"
    writer.write(f"{head}Connection: close\r\nContent-Length: {len(data)}\r\n\r\n".encode() + data)
    answer = await reader.read()
    writer.close()
    return orjson.loads(answer.partition(b"\r\n\r\n")[2])  # type: ignore[no-any-return]


async def late_status(tmp_path: Path, *, locked: bool) -> Run:
    """A status patch that arrives when the object has been created again, and its process has seen that."""
    cluster = Cluster(state=setting(["true"]).workload.state)
    cluster.create(widget())
    given = setting(["true"])
    given = replace(given, workload=replace(given.workload, state=cluster.state))
    stage = Stage(given, Plan((Delay(Point(PATCH)),)))
    await stage.instances.listen(tmp_path)
    try:
        read = await ask(stage, "GET", f"{PATH}/w")
        version = {"metadata": {"resourceVersion": read["metadata"]["resourceVersion"]}} if locked else {}
        work = asyncio.create_task(ask(stage, "PATCH", f"{PATH}/w/status", {"status": {"size": 1}, **version}))
        while not stage.slow_writes:
            await asyncio.sleep(0)
        stage.server.cluster.delete("Widget.live.kontend.dev/v1", "w")
        stage.server.cluster.create(widget())
        await ask(stage, "GET", f"{PATH}/w")
        stage.slow_writes.pop()()
        await work
    finally:
        await stage.instances.stop()
    return Recording(stage).outcome(stage.server.state)


@pytest.mark.parametrize(("locked", "expected"), [(False, ["wrong object"]), (True, [])])
def test_a_late_write_is_judged_by_what_its_process_knew_when_it_sent_it(
    tmp_path: Path, *, locked: bool, expected: list[str]
) -> None:
    run = asyncio.run(late_status(tmp_path, locked=locked))
    assert [finding.property for finding in findings(run, Expected((), Mask()))] == expected
