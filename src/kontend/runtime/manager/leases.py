"""Leader election by a Lease, and the fence that keeps a former leader from writing.

Among processes that use the same Lease, at most one leads: it renews the Lease every few seconds, and another one takes
over when the Lease has not changed for its whole duration *on its own clock* (the times in the Lease are for people;
clocks are never compared). Every change of leader increments ``leaseTransitions``: the epoch.

The :class:`Fence` is checked before each write. It refuses when the process no longer leads, or leads again in a later
epoch than the one in which the work began. ``docs/guards/fencing.md`` states what it guarantees and what it cannot.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

from kontend.kube.encoding.json_text import canonical
from kontend.kube.errors import AlreadyExists, ApiError, Conflict, NotFound
from kontend.runtime.client.call import Backend, Call
from kontend.runtime.telemetry.logs import LOGGER, fields

_KIND: Final = "Lease.coordination.k8s.io/v1"


class LostLease(ApiError):
    """A write was not sent, because another process may lead by now. Not a Conflict: to read again cannot help."""

    code, reason = 409, "LostLease"


@dataclass(frozen=True, slots=True)
class LeaderElection:
    """Name and timing (in seconds) of the Lease for leader election. The defaults are client-go's.

    >>> LeaderElection("websites", duration=30).renew_deadline
    10.0
    """

    name: str
    #: The namespace of the Lease; empty for that of the kubeconfig or the pod.
    namespace: str = ""
    #: Another process may take over when the Lease has not changed for this long.
    duration: float = 15.0
    #: The leader stops when it could not renew for this long. The difference to ``duration`` is the margin for writes
    #: in flight.
    renew_deadline: float = 10.0
    #: Seconds between two attempts.
    retry: float = 2.0

    def __post_init__(self) -> None:
        if not self.retry < self.renew_deadline < self.duration:
            raise ValueError(
                "leader election: expected retry < renew_deadline < duration, found "
                f"{self.retry:g}, {self.renew_deadline:g} and {self.duration:g}"
            )


class Elector:
    """Acquires, renews and releases the Lease for one process."""

    def __init__(
        self,
        backend: Backend,
        election: LeaderElection,
        identity: str,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.election = replace(election, namespace=election.namespace or "default")
        self.identity = identity
        #: ``leaseTransitions`` when this process became the leader; -1 before.
        self.epoch = -1
        self._backend = backend
        self._clock = clock
        self._sleep = sleep
        self._valid_until = float("-inf")
        # The Lease as it last changed, and the time at which this process saw that.
        self._observed: Any = None
        self._observed_at = float("-inf")

    @property
    def leads(self) -> bool:
        """True if this process is the leader, by its own clock."""
        return self._clock() < self._valid_until

    async def try_once(self) -> bool:
        """Acquire or renew the Lease. Returns False if another process holds it."""
        began = self._clock()
        call = Call("get", _KIND, self.election.namespace, self.election.name)
        try:
            lease = await self._backend.call(call)
        except NotFound:
            lease = None
        wanted = self._wanted(lease)
        if wanted is None:
            self._valid_until = float("-inf")
            return False
        verb, name = ("create", "") if lease is None else ("update", self.election.name)
        try:
            lease = await self._backend.call(Call(verb, _KIND, self.election.namespace, name, body=canonical(wanted)))
        except (Conflict, AlreadyExists):  # another process wrote it first
            return False
        self._observe(lease["spec"])
        self.epoch = lease["spec"].get("leaseTransitions") or 0
        # Counted from before the request was sent: no other process can have seen the renewal earlier.
        self._valid_until = began + self.election.renew_deadline
        return True

    def _observe(self, spec: Any) -> None:
        if spec != self._observed:
            self._observed, self._observed_at = spec, self._clock()

    def _wanted(self, lease: dict[str, Any] | None) -> dict[str, Any] | None:
        """Return the Lease to write, or None when another process holds it."""
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        mine = {
            "holderIdentity": self.identity,
            "leaseDurationSeconds": max(1, round(self.election.duration)),
            "renewTime": now,
        }
        if lease is None:
            metadata = {"name": self.election.name, "namespace": self.election.namespace}
            first = {**mine, "acquireTime": now, "leaseTransitions": 0}
            return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": first}
        spec: dict[str, Any] = lease.get("spec") or {}
        self._observe(spec)
        holder = spec.get("holderIdentity") or ""
        if holder == self.identity:
            return {**lease, "spec": {**spec, **mine}}
        duration = spec.get("leaseDurationSeconds") or self.election.duration
        if holder and self._clock() < self._observed_at + duration:
            return None
        transitions = (spec.get("leaseTransitions") or 0) + 1
        return {**lease, "spec": {**spec, **mine, "acquireTime": now, "leaseTransitions": transitions}}

    async def acquire(self) -> None:
        """Wait until this process leads."""
        while not await self._tried():
            await self._sleep(self.election.retry * random.uniform(1.0, 1.2))
        LOGGER.info("became the leader", extra=fields(lease=self.election.name, epoch=self.epoch))

    async def hold(self) -> None:
        """Renew until that fails for too long; returns when the lease is lost."""
        epoch = self.epoch
        while self.leads and self.epoch == epoch:
            await self._sleep(self.election.retry)
            if self._clock() >= self._valid_until:
                break
            try:
                await asyncio.wait_for(self._tried(), max(0.01, self._valid_until - self._clock()))
            except TimeoutError:
                break
        self._valid_until = float("-inf")
        LOGGER.error("the lease is lost", extra=fields(lease=self.election.name, epoch=epoch))

    async def _tried(self) -> bool:
        try:
            return await self.try_once()
        except ApiError as error:
            LOGGER.warning("cannot reach the lease", extra=fields(lease=self.election.name, error=str(error)))
            return False

    async def release(self) -> None:
        """Release the Lease. Call this only when the process sends no more writes."""
        if not self.leads:
            return
        self._valid_until = float("-inf")
        try:
            lease = await self._backend.call(Call("get", _KIND, self.election.namespace, self.election.name))
            if (lease.get("spec") or {}).get("holderIdentity") != self.identity:
                return
            lease["spec"] |= {"holderIdentity": "", "leaseDurationSeconds": 1}
            await self._backend.call(
                Call("update", _KIND, self.election.namespace, self.election.name, body=canonical(lease))
            )
        except ApiError as error:
            LOGGER.info("the lease was not released and will expire", extra=fields(error=str(error)))


class Fence:
    """Passes writes only in the epoch in which the work began."""

    def __init__(self, elector: Elector) -> None:
        self._elector = elector
        self.epoch = elector.epoch

    def check(self, call: Call) -> None:
        """Raise :class:`LostLease` for a write that may no longer be sent."""
        if not call.writes:
            return
        elector = self._elector
        if elector.epoch != self.epoch:
            reason = f"the lease has changed hands (epoch {self.epoch}, now {elector.epoch})"
        elif not elector.leads:
            reason = f"the lease of epoch {self.epoch} was not renewed in time"
        else:
            return
        raise LostLease(f"{call}: not sent: {reason}, and another process may be writing by now")
