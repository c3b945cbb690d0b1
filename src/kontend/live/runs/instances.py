"""Instances of the command in a run: each has a kubeconfig, a process and a condition for its start."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from kontend.live.gate.call import LEASES
from kontend.live.gate.election import LEADER, elections
from kontend.live.gate.gate import LiveGate
from kontend.live.gate.records import Happening
from kontend.live.process import pod_files
from kontend.live.process.command import Command
from kontend.live.process.process import Process
from kontend.live.process.ready import Readiness
from kontend.live.runs.setting import PRIMARY, SECOND, Setting, companion
from kontend.live.runs.webhooks import CERTS, DEFAULT_DIRECTORY
from kontend.safe_files import write_private
from kontend.serve.credentials.kubeconfig import kubeconfig
from kontend.serve.credentials.tls import Certificates
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
        #: The ports for clients that insist on TLS, and the number of starts.
        self._tls_ports: dict[str, int] = {}
        self._starts = 0
        #: The processor time of the instances that have ended.
        self.processor = 0.0

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
        if self._certificates is not None:
            tls = self._certificates.context(http2=False)
            for name in self._commands:
                self._tls_ports[name] = await self._server.listen(_ADDRESS, 0, tls=tls)
                self._gate.ports[self._tls_ports[name]] = name

    @property
    def _certificates(self) -> Certificates | None:
        """The certificates of the server, for commands that talk to it over TLS."""
        inside = self._setting.in_cluster
        return inside.certificates if inside is not None else self._setting.tls

    async def start_companions(self) -> None:
        """Start the commands that run beside the instances."""
        for name in self._commands:
            if name not in (PRIMARY, SECOND):
                await self.start(name)

    def subjects(self, current: str) -> dict[str, Process]:
        """Return the processes that are waited for: the current instance, and those beside it."""
        beside = {name: process for name, process in self._processes.items() if name not in (PRIMARY, SECOND)}
        return {current: self._processes[current], **beside}

    async def start(self, name: str) -> None:
        """Start an instance."""
        path = self._directory / f"{name}.kubeconfig"
        port = next(port for port, process in self._gate.ports.items() if process == name)
        if self._setting.tls is not None and self._certificates is not None:
            url = f"https://{_ADDRESS}:{self._tls_ports[name]}"
            write_private(path, kubeconfig(url, ca=self._certificates.ca))
        else:
            write_private(path, kubeconfig(f"http://{_ADDRESS}:{port}"))
        self.note(name, "start", f"{name} starts")
        # A process that has not made a request yet is not ready.
        self._gate.activity.heard.discard(name)
        command, shown = self._commands[name], {}
        pod: dict[str, str] = {}
        inside = self._setting.in_cluster
        self._starts += 1
        if inside is not None:
            shown[pod_files.SERVICE_ACCOUNT] = self._directory / f"pod-{self._starts}"
            inside.write_files(shown[pod_files.SERVICE_ACCOUNT])
            pod = inside.environment(name, self._tls_ports[name])
        if self._setting.webhooks is not None:
            self.show_certificates()
            if not command.mentions(CERTS):
                # A place to show them at is made here, not in a copy of its parent: others use that all the time.
                Path(DEFAULT_DIRECTORY).mkdir(parents=True, exist_ok=True)
                shown[DEFAULT_DIRECTORY] = self._certs
            command = command.with_text(CERTS, str(self._certs))
        process = await Process.start(name, command, path, launcher=pod_files.launcher(shown), pod=pod)
        self._processes[name] = process
        ready = self._setting.ready if name in (PRIMARY, SECOND) else None
        self._readiness[name] = Readiness(ready, process)

    @property
    def _certs(self) -> Path:
        return self._directory / "certs"

    def show_certificates(self) -> None:
        """Write the certificate of the webhook server to its files, as the state has it now."""
        if self._setting.webhooks is not None:
            self._setting.webhooks.write_files(self._server.state, self._certs)

    def webhook_address(self, name: str) -> str | None:
        """Return the URL of the webhook server of an instance; None where it has none, or is not started."""
        process, webhooks = self._processes.get(name), self._setting.webhooks
        return f"https://{_ADDRESS}:{process.ports.fill(webhooks.port)}" if process and webhooks else None

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
        for kind, key, record in list(elections(self._server.state)):
            annotated = {"metadata": {"annotations": {LEADER: record}}}
            self._server.cluster.patch(kind, key.name, annotated, namespace=key.namespace)

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
        self.processor += process.usage().seconds
        await process.kill()
        self._outputs[name] = process.output.text()
