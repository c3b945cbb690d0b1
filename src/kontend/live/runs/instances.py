"""Instances of the command in a run: each has a kubeconfig, a process and a condition for its start."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from kontend.live.gate.call import LEASES
from kontend.live.gate.gate import LiveGate
from kontend.live.gate.records import Happening
from kontend.live.process.command import Command
from kontend.live.process.process import Process
from kontend.live.process.ready import Readiness
from kontend.live.runs.setting import PRIMARY, SECOND, Setting, companion
from kontend.safe_files import write_private
from kontend.serve.credentials.kubeconfig import kubeconfig
from kontend.serve.server import Server

_ADDRESS: Final = "127.0.0.1"


class Instances:
    """The instances of a run by their names. Each uses a port of the server of its own, by which the gate knows it."""

    def __init__(self, setting: Setting, server: Server, gate: LiveGate, outputs: dict[str, str]) -> None:
        """``outputs`` takes the output of each instance."""
        self._setting = setting
        self._server = server
        self._gate = gate
        self._outputs = outputs
        self._directory = Path()
        others = {companion(number): command for number, command in enumerate(setting.companions, start=1)}
        self._commands: dict[str, Command] = {PRIMARY: setting.command, SECOND: setting.command, **others}
        self._processes: dict[str, Process] = {}
        self._readiness: dict[str, Readiness] = {}
        #: The ports for clients that insist on TLS, with ``--in-cluster``; and the number of starts.
        self._tls_ports: dict[str, int] = {}
        self._starts = 0

    def __getitem__(self, name: str) -> Process:
        return self._processes[name]

    async def listen(self, directory: Path) -> None:
        """Start the server; kubeconfigs are written to a directory."""
        self._directory = directory
        await self._server.start(_ADDRESS, 0)
        self._gate.ports[self._server.port] = PRIMARY
        self._gate.ports[await self._server.listen(_ADDRESS, 0)] = SECOND
        for name in self._commands:
            if name not in (PRIMARY, SECOND):
                self._gate.ports[await self._server.listen(_ADDRESS, 0)] = name
        if self._setting.in_cluster is not None:
            tls = self._setting.in_cluster.certificates.context(http2=False)
            for name in self._commands:
                self._tls_ports[name] = await self._server.listen(_ADDRESS, 0, tls=tls)
                self._gate.ports[self._tls_ports[name]] = name

    async def start_companions(self) -> None:
        """Start the commands that run beside the instances."""
        for name in self._commands:
            if name not in (PRIMARY, SECOND):
                await self.start(name)

    def subjects(self, current: str) -> dict[str, Process]:
        """The processes that are waited for: the current instance, and those beside it."""
        beside = {name: process for name, process in self._processes.items() if name not in (PRIMARY, SECOND)}
        return {current: self._processes[current], **beside}

    async def start(self, name: str) -> None:
        """Start an instance."""
        path = self._directory / f"{name}.kubeconfig"
        port = next(port for port, process in self._gate.ports.items() if process == name)
        write_private(path, kubeconfig(f"http://{_ADDRESS}:{port}"))
        self.note(name, "start", f"{name} starts")
        # A process that has not made a request yet is not ready.
        self._gate.activity.heard.discard(name)
        launcher: tuple[str, ...] = ()
        pod: dict[str, str] = {}
        inside = self._setting.in_cluster
        if inside is not None:
            self._starts += 1
            launcher = inside.launcher(self._directory / f"pod-{self._starts}")
            pod = inside.environment(name, self._tls_ports[name])
        process = await Process.start(name, self._commands[name], path, launcher=launcher, pod=pod)
        self._processes[name] = process
        ready = self._setting.ready if name in (PRIMARY, SECOND) else None
        self._readiness[name] = Readiness(ready, process)

    def is_ready(self, name: str) -> bool:
        """Return whether the condition of ``--ready`` holds for an instance."""
        return self._readiness[name].check()

    async def kill(self, name: str) -> None:
        """Kill an instance; its leases expire."""
        await self._end(name)
        self._gate.forget_process(name)
        self.note(name, "crash", f"{name} is killed")
        self.expire_leases()

    def expire_leases(self) -> None:
        """Let all leases expire at once, so that no run waits for them."""
        for key, version in self._server.state.objects(LEASES).items():
            if (version.content().get("spec") or {}).get("holderIdentity"):
                change = {"spec": {"holderIdentity": ""}}
                self._server.cluster.patch("Lease.coordination.k8s.io/v1", key.name, change, namespace=key.namespace)

    async def stop(self) -> None:
        """Kill all instances and stop the server."""
        for name in self._processes:
            await self._end(name)
        await self._server.stop()

    def note(self, name: str, action: str, text: str) -> None:
        """Record something that was done to an instance."""
        self._gate.log.add(Happening(name, action, text, self._gate.now()))

    async def _end(self, name: str) -> None:
        process = self._processes[name]
        self._readiness[name].stop()
        await process.kill()
        self._outputs[name] = process.output.text()
