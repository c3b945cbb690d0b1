"""Pods that answer exec, logs and port-forward by a file of the user, over both protocols and with kubectl."""

from __future__ import annotations

import asyncio
import json
import os
import struct
import sys
import zlib
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kontend import Cluster
from kontend.cli import main
from kontend.live.gate.plan import Plan
from kontend.live.gate.records import Request
from kontend.live.pods.answers import BadAnswers, read_answers
from kontend.live.pods.spdy import DICTIONARY
from kontend.live.runs.stage import Stage
from kontend.serve.credentials.kubeconfig import kubeconfig
from live.conftest import setting

KUBECTL = Path.home() / ".cache" / "kontend" / "kubectl-1.35.0"
ANSWERS = """
- exec: status *
  pod: default/db-*
  run: sh -c 'read line; echo "$POD_NAME $line $2"; echo grave >&2; exit 3' sh
- exec: count
  run: sh -c 'echo x >> "$KONTEND_RUN/count"; wc -l < "$KONTEND_RUN/count"'
- exec: "*"
  stdout: plain
- logs: main
  stdout: |
    one
    two
- forward: 8080
  run: cat
- forward: 9090
  to: 127.0.0.1:1
"""
CLIENTS: list[asyncio.StreamWriter] = []
EXEC = "/api/v1/namespaces/default/pods/db-0/exec?command=status&command=all&stdin=true&stdout=true&stderr=true"


def pod(name: str, **spec: object) -> dict[str, Any]:
    """A pod with one container; on a node unless told otherwise."""
    spec = {"nodeName": "node-1", "containers": [{"name": "main", "image": "busybox"}], **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"}, "spec": spec}


def with_stage(tmp_path: Path, work: Callable[[Stage], Awaitable[None]]) -> Stage:
    """Serve two pods, one of them without a node."""
    (tmp_path / "answers.yaml").write_text(ANSWERS)
    given = setting(["true"])
    cluster = Cluster(state=given.workload.state)
    cluster.create(pod("db-0"))
    cluster.create(pod("db-1", nodeName=None))
    given = replace(
        given,
        workload=replace(given.workload, state=cluster.state),
        pod_answers=read_answers(tmp_path / "answers.yaml"),
    )

    async def serve() -> Stage:
        stage = Stage(given, Plan(()))
        stage.pods.directory = tmp_path
        await stage.instances.listen(tmp_path)
        try:
            await asyncio.wait_for(work(stage), 30)
        finally:
            for writer in CLIENTS:
                writer.close()
            CLIENTS.clear()
            await stage.pods.stop()
            await stage.instances.stop()
        return stage

    return asyncio.run(serve())


async def connect(stage: Stage) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection that is closed at the end."""
    reader, writer = await asyncio.open_connection("127.0.0.1", stage.server.port)
    CLIENTS.append(writer)
    return reader, writer


async def upgraded(stage: Stage, target: str, *headers: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter, str]:
    """A connection that has sent an upgrade, and the head of the answer."""
    reader, writer = await connect(stage)
    lines = [f"POST {target} HTTP/1.1", "Host: 127.0.0.1", "Connection: Upgrade", *headers, "Content-Length: 0", "", ""]
    writer.write("\r\n".join(lines).encode())
    return reader, writer, (await reader.readuntil(b"\r\n\r\n")).decode()


class SpdyClient:
    """A client that opens streams and collects what comes on each, as client-go does."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.deflate = zlib.compressobj(9, zdict=DICTIONARY)
        self.data: dict[int, bytes] = {}
        self.ended: set[int] = set()

    def open(self, number: int, kind: str, **more: str) -> None:
        headers = {"Streamtype": kind, **more}
        plain = struct.pack(">I", len(headers))
        for text in (part for pair in headers.items() for part in pair):
            plain += struct.pack(">I", len(text)) + text.encode()
        block = self.deflate.compress(plain) + self.deflate.flush(zlib.Z_SYNC_FLUSH)
        body = struct.pack(">IIBB", number, 0, 0, 0) + block
        self.writer.write(struct.pack(">BBHI", 0x80, 3, 1, len(body)) + body)

    def send(self, number: int, data: bytes, *, last: bool = False) -> None:
        self.writer.write(struct.pack(">II", number, last << 24 | len(data)) + data)

    async def read_until(self, *numbers: int) -> None:
        """Read until some streams have ended."""
        while not set(numbers) <= self.ended:
            head = await self.reader.readexactly(8)
            body = await self.reader.readexactly(int.from_bytes(head[5:]))
            if not head[0] & 0x80:
                number = int.from_bytes(head[:4])
                self.data[number] = self.data.get(number, b"") + body
                if head[4]:
                    self.ended.add(number)


def requests(stage: Stage) -> list[Request]:
    return list(stage.gate.log.requests())


def test_a_command_over_spdy_has_its_streams_and_its_exit_code(tmp_path: Path) -> None:
    async def work(stage: Stage) -> None:
        protocols = "X-Stream-Protocol-Version: v5.channel.k8s.io", "X-Stream-Protocol-Version: v4.channel.k8s.io"
        reader, writer, head = await upgraded(stage, EXEC, "Upgrade: SPDY/3.1", *protocols)
        assert head.startswith("HTTP/1.1 101 ")
        assert "X-Stream-Protocol-Version: v4.channel.k8s.io" in head
        client = SpdyClient(reader, writer)
        for number, kind in ((1, "error"), (3, "stdin"), (5, "stdout")):
            client.open(number, kind)
        client.writer.write(struct.pack(">BBHII", 0x80, 3, 6, 4, 77))  # a ping is answered
        assert stage.gate.in_progress("controller") == 1  # a process that waits for a command is not idle
        client.open(7, "stderr")
        client.send(3, b"hello\n", last=True)
        await client.read_until(1, 5, 7)
        assert (client.data[5], client.data[7]) == (b"db-0 hello all\n", b"grave\n")
        status = json.loads(client.data[1])
        assert status["details"]["causes"] == [{"reason": "ExitCode", "message": "3"}]
        assert await reader.read() == b""
        assert stage.gate.in_progress("controller") == 0

    (request,) = requests(with_stage(tmp_path, work))
    assert (str(request.call), request.code, request.message) == (
        "create pods default/db-0 exec", 200, "status all: exit code 3"
    )  # fmt: skip


def test_a_command_ends_when_nobody_waits_for_it(tmp_path: Path) -> None:
    async def work(stage: Stage) -> None:
        reader, writer, _ = await upgraded(stage, EXEC, "Upgrade: SPDY/3.1")
        client = SpdyClient(reader, writer)
        for number, kind in ((1, "error"), (3, "stdin"), (5, "stdout"), (7, "stderr")):
            client.open(number, kind)
        await writer.drain()
        writer.transport.abort()
        while stage.gate.in_progress("controller"):
            await asyncio.sleep(0.01)

    with_stage(tmp_path, work)


def frame(kind: int, data: bytes, *, last: bool = True) -> bytes:
    """A masked frame of a WebSocket client."""
    mask = b"\x01\x02\x03\x04"
    body = bytes(byte ^ mask[index % 4] for index, byte in enumerate(data))
    return bytes([last << 7 | kind, 0x80 | len(data)]) + mask + body


async def messages(reader: asyncio.StreamReader) -> dict[int, bytes]:
    """The bytes of each channel until the server says goodbye."""
    got: dict[int, bytes] = {}
    while True:
        first, size = await reader.readexactly(2)
        if size >= 126:
            size = int.from_bytes(await reader.readexactly(2 if size == 126 else 8))
        body = await reader.readexactly(size)
        if first & 0x0F == 8:
            return got
        if first & 0x0F == 2:
            got[body[0]] = got.get(body[0], b"") + body[1:]


def test_a_command_over_websocket_in_two_frames(tmp_path: Path) -> None:
    async def work(stage: Stage) -> None:
        headers = "Upgrade: websocket", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="
        reader, writer, head = await upgraded(
            stage, EXEC, *headers, "Sec-WebSocket-Protocol: v5.channel.k8s.io,v4.channel.k8s.io"
        )
        assert "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" in head
        writer.write(frame(2, b"\x00he", last=False) + frame(9, b"ping") + frame(0, b"llo\n") + frame(2, b"\xff\x00"))
        got = await messages(reader)
        assert (got[1], got[2]) == (b"db-0 hello all\n", b"grave\n")
        assert json.loads(got[3])["reason"] == "NonZeroExitCode"

    with_stage(tmp_path, work)


def test_a_forwarded_port_is_joined_to_a_command_or_an_address(tmp_path: Path) -> None:
    async def work(stage: Stage) -> None:
        target = "/api/v1/namespaces/default/pods/db-0/portforward"
        reader, writer, _ = await upgraded(
            stage, target, "Upgrade: SPDY/3.1", "X-Stream-Protocol-Version: portforward.k8s.io"
        )
        client = SpdyClient(reader, writer)
        for number, port in ((1, "8080"), (5, "9090"), (9, "7")):
            client.open(number, "error", Port=port, Requestid=str(number))
            client.open(number + 2, "data", Port=port, Requestid=str(number))
        client.send(3, b"echo", last=True)
        await client.read_until(1, 3, 5, 9)
        assert client.data[3] == b"echo"
        assert client.data[5].startswith(b"cannot connect to port 9090")
        assert client.data[9] == b"nothing listens on port 7: no answer of --pod-exec is about it"
        assert stage.gate.in_progress("controller") == 0  # a forwarded port does not keep a process from being idle

    with_stage(tmp_path, work)


@pytest.mark.parametrize(
    ("target", "code", "text"),
    [
        ("/api/v1/namespaces/default/pods/db-0/log", 200, "one\ntwo\n"),
        ("/api/v1/namespaces/default/pods/db-0/log?tailLines=1", 200, "two\n"),
        ("/api/v1/namespaces/default/pods/db-1/exec?command=x", 400, "does not have a host assigned"),
        ("/api/v1/namespaces/default/pods/gone/exec?command=x", 404, "not found"),
        ("/api/v1/namespaces/default/pods/db-0/exec?command=x&container=y", 400, "container y is not valid"),
        ("/api/v1/namespaces/default/pods/db-0/exec?command=x", 400, "missing upgrade headers"),
        ("/api/v1/namespaces/default/pods/db-0/attach", 400, "nothing can be attached to"),
    ],
)
def test_plain_answers(tmp_path: Path, target: str, code: int, text: str) -> None:
    async def work(stage: Stage) -> None:
        reader, writer = await connect(stage)
        writer.write(f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode())
        answer = (await reader.read()).decode()
        assert answer.startswith(f"HTTP/1.1 {code} ")
        assert text in answer

    (request,) = requests(with_stage(tmp_path, work))
    assert request.code == code


@pytest.mark.skipif(not KUBECTL.exists(), reason="make clients builds kubectl")
@pytest.mark.parametrize(
    ("arguments", "environment", "expected"),
    [
        (["exec", "-i", "db-0", "--", "status", "all"], "true", (3, "db-0 hello all\n", "grave\n")),
        (["exec", "-i", "db-0", "--", "status", "all"], "false", (3, "db-0 hello all\n", "grave\n")),
        (["exec", "db-0", "--", "anything"], "true", (0, "plain", "")),
        (["logs", "db-0"], "true", (0, "one\ntwo\n", "")),
    ],
    ids=["websocket", "spdy", "no stdin", "logs"],
)
def test_kubectl(tmp_path: Path, arguments: list[str], environment: str, expected: tuple[int, str, str]) -> None:
    async def work(stage: Stage) -> None:
        config = tmp_path / "kubeconfig"
        config.write_text(kubeconfig(f"http://127.0.0.1:{stage.server.port}"))
        variables = {**os.environ, "KUBECONFIG": str(config), "KUBECTL_REMOTE_COMMAND_WEBSOCKETS": environment}
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            KUBECTL, *arguments, env=variables, stdin=pipe, stdout=pipe, stderr=pipe
        )
        out, error = await process.communicate(b"hello\n")
        code, stdout, stderr = expected
        assert (process.returncode, out.decode()) == (code, stdout), error.decode()
        assert stderr in error.decode()

    with_stage(tmp_path, work)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("exec: ls", "expected a list of answers"),
        ("- {pod: a}", "answer 1: expected one of exec, logs, forward"),
        ("- {logs: '*', code: 1}", "answer 1: logs has no option code; it has pod, run, stdout"),
        ("- {exec: '*', code: one}", "answer 1: code is the number with which the command ends, not 'one'"),
        ("- {forward: 80}", "answer 1: expected either 'to: HOST:PORT' or 'run: COMMAND'"),
        ("- {forward: 80, to: here}", "answer 1: expected 'to: HOST:PORT', found 'here'"),
        ("- [", "not YAML"),
    ],
)
def test_files_that_cannot_be_used(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "answers.yaml"
    path.write_text(text)
    with pytest.raises(BadAnswers) as caught:
        read_answers(path)
    assert message in str(caught.value)


def test_a_file_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["live", "--pod-exec", "nowhere.yaml", "--", sys.executable, "-c", ""]) == 2
    assert "nowhere.yaml: No such file or directory" in capsys.readouterr().err
