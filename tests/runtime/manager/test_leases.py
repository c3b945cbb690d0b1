"""Leader election on a clock moved by hand, and the fence."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kontend.cluster.cluster import Cluster
from kontend.kube.errors import ApiError, ServiceUnavailable
from kontend.runtime.client.call import Call
from kontend.runtime.client.in_process import InProcess
from kontend.runtime.manager.leases import Elector, Fence, LeaderElection, LostLease

LEASE = "Lease.coordination.k8s.io/v1"
WRITE = Call("patch", "ConfigMap/v1", "default", "c")


class World:
    """A cluster, a clock, and processes that want to lead."""

    def __init__(self) -> None:
        self.cluster = Cluster()
        self.now = 0.0
        self.down = False
        #: Seconds that a request is under way before the server carries it out, and the response after that.
        self.there = self.back = 0.0

    def elector(self, identity: str) -> Elector:
        world = self

        class Line(InProcess):
            async def call(self, call: Call) -> Any:
                world.now += world.there
                if world.down:
                    raise ServiceUnavailable("down")
                try:
                    return self.answer(call)
                finally:
                    world.now += world.back

        return Elector(Line(self.cluster), LeaderElection("lead"), identity, clock=lambda: self.now, sleep=self.sleep)

    async def sleep(self, seconds: float) -> None:
        self.now += seconds

    def attempt(self, elector: Elector) -> bool:
        return asyncio.run(elector.try_once())

    @property
    def spec(self) -> dict[str, Any]:
        spec: dict[str, Any] = self.cluster.get(LEASE, "lead")["spec"]
        return spec


def test_the_first_leads_and_the_second_waits() -> None:
    world = World()
    a, b = world.elector("a"), world.elector("b")
    assert (world.attempt(a), world.attempt(b)) == (True, False)
    assert (a.leads, b.leads, a.epoch) == (True, False, 0)
    assert world.spec["holderIdentity"] == "a"


def test_a_leader_that_renews_is_never_followed() -> None:
    world = World()
    a, b = world.elector("a"), world.elector("b")
    world.attempt(a)
    for _ in range(20):
        world.now += 2
        assert world.attempt(a)
        assert not world.attempt(b)
    assert world.spec["leaseTransitions"] == 0


def test_a_leader_that_is_silent_is_followed_after_the_whole_duration_and_the_epoch_grows() -> None:
    world = World()
    a, b = world.elector("a"), world.elector("b")
    world.attempt(a)
    world.attempt(b)  # sees the lease at 0
    world.now = 14.9
    assert not world.attempt(b)
    world.now = 15
    assert world.attempt(b)
    assert (b.epoch, world.spec["leaseTransitions"], world.spec["holderIdentity"]) == (1, 1, "b")


def test_the_old_leader_stops_before_the_next_may_begin() -> None:
    world = World()
    a = world.elector("a")
    world.attempt(a)
    world.now = 9.9
    assert a.leads
    world.now = 10
    assert not a.leads  # and no other process can lead before 15


@pytest.mark.parametrize(("there", "back"), [(0.0, 2.0), (2.0, 0.0), (1.5, 0.5)])
def test_the_lease_is_valid_from_before_the_request_and_not_from_its_response(there: float, back: float) -> None:
    """Another process may have seen the renewal as soon as the server had it, while the response was under way."""
    world = World()
    a = world.elector("a")
    world.there, world.back = there, back
    world.attempt(a)  # two requests, four seconds
    assert world.now == 4
    world.now = 9.9
    assert a.leads
    world.now = 10
    assert not a.leads
    assert world.attempt(a)  # from 10 on
    world.now = 19.9
    assert a.leads
    world.now = 20
    assert not a.leads


def test_a_newcomer_does_not_trust_the_times_in_the_lease() -> None:
    world = World()
    a = world.elector("a")
    world.attempt(a)
    world.now = 1000
    late = world.elector("late")
    assert not world.attempt(late)  # it has not watched the lease for its duration yet
    world.now = 1015
    assert world.attempt(late)


def test_a_released_lease_is_taken_at_once() -> None:
    world = World()
    a, b = world.elector("a"), world.elector("b")
    world.attempt(a)
    asyncio.run(a.release())
    assert not a.leads
    assert world.attempt(b)
    assert b.epoch == 1


def test_two_that_try_at_once_do_not_both_lead() -> None:
    world = World()
    a, b = world.elector("a"), world.elector("b")
    world.attempt(a)
    asyncio.run(a.release())
    stale = world.cluster.fork()
    assert world.attempt(b)

    class Race(InProcess):
        async def call(self, call: Call) -> Any:
            return InProcess(stale).answer(call) if call.verb == "get" else self.answer(call)

    c = Elector(Race(world.cluster), LeaderElection("lead"), "c", clock=lambda: world.now)
    assert not world.attempt(c)
    assert world.spec["holderIdentity"] == "b"


def test_acquire_waits_and_hold_ends_when_the_server_is_away_for_too_long() -> None:
    world = World()
    a, b = world.elector("a"), world.elector("b")
    world.attempt(a)
    asyncio.run(b.acquire())
    assert world.now >= 15
    assert b.leads
    began = world.now
    world.down = True
    asyncio.run(b.hold())
    assert not b.leads
    assert 9.9 <= world.now - began < 15


def test_hold_ends_when_another_process_has_the_lease() -> None:
    world = World()
    a = world.elector("a")
    world.attempt(a)
    world.cluster.patch(LEASE, "lead", {"spec": {"holderIdentity": "b"}})
    asyncio.run(a.hold())
    assert not a.leads


def test_the_fence_lets_reads_and_writes_of_the_leader_through_and_stops_writes_after_that() -> None:
    world = World()
    a = world.elector("a")
    world.attempt(a)
    fence = Fence(a)
    fence.check(WRITE)
    world.now = 11  # the process was asleep
    fence.check(Call("get", "ConfigMap/v1", "default", "c"))
    with pytest.raises(LostLease, match="not sent: the lease of epoch 0 was not renewed in time"):
        fence.check(WRITE)


def test_work_of_an_earlier_epoch_is_stopped_although_the_process_leads_again() -> None:
    world = World()
    a, b = world.elector("a"), world.elector("b")
    world.attempt(a)
    before = Fence(a)
    world.attempt(b)
    world.now = 15
    world.attempt(b)  # epoch 1
    asyncio.run(b.release())
    world.attempt(a)  # epoch 2
    assert a.leads
    with pytest.raises(LostLease, match=r"changed hands \(epoch 0, now 2\)"):
        before.check(WRITE)
    Fence(a).check(WRITE)


def test_a_lost_lease_is_not_a_conflict_that_reading_again_could_mend() -> None:
    from kontend.kube.errors import Conflict

    assert issubclass(LostLease, ApiError)
    assert not issubclass(LostLease, Conflict)


def test_times_that_cannot_be_safe_are_refused() -> None:
    with pytest.raises(ValueError, match="retry < renew_deadline < duration"):
        LeaderElection("lead", duration=10, renew_deadline=10)


def test_the_lease_is_in_the_namespace_of_the_election() -> None:
    world = World()
    a = Elector(InProcess(world.cluster), LeaderElection("lead", namespace="kube-system"), "a", clock=lambda: world.now)
    world.attempt(a)
    assert world.cluster.get(LEASE, "lead", namespace="kube-system")["spec"]["holderIdentity"] == "a"


def test_the_duration_in_the_lease_counts_and_not_that_of_the_newcomer() -> None:
    """The holder promised to be silent no longer than that; the newcomer may be configured otherwise."""
    world = World()
    a, b = world.elector("a"), world.elector("b")
    world.attempt(a)
    world.cluster.patch(LEASE, "lead", {"spec": {"leaseDurationSeconds": 60}})
    world.attempt(b)
    world.now = 59.9
    assert not world.attempt(b)
    world.now = 60
    assert world.attempt(b)


def test_hold_ends_in_a_later_epoch_and_then_the_process_does_not_lead() -> None:
    """It was suspended, another process led meanwhile, and it has acquired the lease again."""
    world = World()
    a, b = world.elector("a"), world.elector("b")
    world.attempt(a)

    async def sleep(seconds: float) -> None:
        world.now += seconds
        if a.epoch == 0:
            await b.try_once()
            world.cluster.patch(LEASE, "lead", {"spec": {"holderIdentity": "", "leaseTransitions": 7}})

    a._sleep = sleep
    asyncio.run(a.hold())
    assert a.epoch == 8
    assert not a.leads


def test_a_renewal_that_hangs_ends_with_the_validity_of_the_lease() -> None:
    class Hangs(InProcess):
        hanging = False

        async def call(self, call: Call) -> Any:
            if self.hanging:
                await asyncio.Event().wait()
            return self.answer(call)

    async def lead() -> None:
        assert await elector.try_once()
        backend.hanging = True
        await asyncio.wait_for(elector.hold(), 5)

    backend = Hangs(Cluster())
    election = LeaderElection("lead", duration=0.3, renew_deadline=0.05, retry=0.01)
    now = 100.0

    async def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds

    elector = Elector(backend, election, "a", clock=lambda: now, sleep=sleep)
    asyncio.run(lead())
    assert not elector.leads
