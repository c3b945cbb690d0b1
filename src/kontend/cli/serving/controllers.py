"""Controllers inside ``kontend serve``: what kube-controller-manager and the nodes do, on the server's event loop.

They work in small portions between requests, woken by changes and by their own timers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Self

from kontend.controllers import controllers, pod_controllers
from kontend.controllers.access.certificates import CertificateSigner, RefusedRequest
from kontend.controllers.access.cluster_roles import ClusterRoleAggregation
from kontend.controllers.access.quotas import Quotas
from kontend.controllers.access.service_accounts import RootCertificates, ServiceAccounts
from kontend.controllers.event_recorder import KINDS, EventRecorder
from kontend.controllers.garbage_collector import GarbageCollector
from kontend.controllers.nodes.node_fit import NODES
from kontend.controllers.nodes.node_lifecycle import NodeLifecycle
from kontend.controllers.process import ControllerProcess
from kontend.controllers.storage.provisioning import VolumeProvisioner, VolumeReclaim, default_class
from kontend.controllers.storage.volume_binding import CLASSES
from kontend.serve.server import Server

if TYPE_CHECKING:
    from kontend.serve.credentials.certificate_authority import CertificateAuthority

#: Reconciles after which clients get a turn.
_PORTION: Final = 10


def _node(number: int) -> dict[str, Any]:
    """Return a node as a kubelet would register it."""
    name = f"node-{number}"
    system = {"arch": "amd64", "os": "linux"}
    labels = {f"{prefix}kubernetes.io/{key}": value for prefix in ("beta.", "") for key, value in system.items()}
    metadata = {"name": name, "labels": {**labels, "kubernetes.io/hostname": name}}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata}


class Inside:
    """Controllers that run with a server, until its event loop ends."""

    def __init__(
        self,
        server: Server,
        *,
        built_in: bool,
        pods: bool,
        nodes: int = 1,
        jobs_end: bool = False,
        owners: bool = False,
        storage: bool = False,
        authority: str = "",
        signing: CertificateAuthority | None = None,
    ) -> None:
        """``nodes`` are declared where pods run and there are none. With ``jobs_end``, pods of Jobs end by themselves.

        With ``storage`` there is a driver that makes volumes for claims, and a default class if there are no classes.
        ``owners`` runs the garbage collector, which ``built_in`` contains.
        ``authority`` is that of the server's certificate, PEM; ``signing`` signs certificate signing requests.
        """
        self._server = server
        self._authority = authority
        self._signing = signing
        self._built_in = built_in
        self._pods = pods
        self._nodes = nodes
        self._jobs_end = jobs_end
        self._owners = owners and not built_in
        self._storage = storage and built_in
        self._process: ControllerProcess | None = None
        self._events: EventRecorder | None = None
        self._seen = 0
        self._timer: asyncio.Handle | None = None
        self._working = False

    def start(self) -> Self:
        """Begin to work, and return this; the event loop of the server must be running."""
        if self._pods and not self._server.cluster.list(NODES):
            for number in range(1, self._nodes + 1):
                self._server.cluster.create(_node(number))
        if self._storage and not self._server.cluster.list(CLASSES):
            self._server.cluster.create(default_class())
        self._server.when_changed = self._wake
        self._wake()
        return self

    @property
    def fails(self) -> bool:
        """Return whether the last attempt at something has failed."""
        return self._process is not None and self._process.fails

    def retry(self) -> None:
        """Try again at once what has failed."""
        if self._process is not None:
            self._process.retry()
            self._again(0)

    def _wake(self) -> None:
        if not self._working:
            self._again(0)

    def _again(self, delay: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(delay, self._work)

    def _work(self) -> None:
        self._timer = None
        self._working = True
        try:
            delay = self._current().work(_PORTION)
            if self._events is not None:
                self._events.flush()
        finally:
            self._working = False
        self._seen = self._server.cluster.state.resource_version
        if delay is not None:
            self._again(delay)

    def _current(self) -> ControllerProcess:
        """The controllers; new ones when writes that they have seen were taken back because they could not be saved."""
        cluster = self._server.cluster
        if self._process is None or cluster.state.resource_version < self._seen:
            # Runs of live must not depend on a clock, so commands are followed elsewhere only.
            pods = pod_controllers(jobs_end=self._jobs_end, commands=not self._jobs_end)
            every: list[Any] = [ClusterRoleAggregation(), *(pods if self._pods else ())]
            every += [GarbageCollector()] if self._owners else []
            if self._built_in:
                every += [*controllers(), ServiceAccounts(), Quotas()]
                every += [] if self._pods else [NodeLifecycle()]
                every += [VolumeProvisioner(), VolumeReclaim()] if self._storage else []
                every += [RootCertificates(self._authority)] if self._authority else []
                every += [] if self._signing is None else [_certificate_signer(self._signing)]
            self._process = ControllerProcess(cluster, every)
            self._process.when_resumed = self._wake
            if self._built_in or self._pods:
                self._events = EventRecorder(cluster)
                for kind in KINDS:
                    self._process.cache.view(kind)
                    self._process.cache.on_event(kind, self._events.hear)
        return self._process


def _certificate_signer(authority: CertificateAuthority) -> CertificateSigner:
    from kontend.serve.credentials.certificate_authority import SIGNERS, BadSigningRequest

    def sign(signer: str, request: bytes, usages: Sequence[str], seconds: int) -> bytes:
        try:
            return authority.sign(signer, request, usages, seconds)
        except BadSigningRequest as error:
            raise RefusedRequest(str(error)) from None

    return CertificateSigner(SIGNERS, sign)
