"""Sets of states that lead only to each other."""

from __future__ import annotations

from explore.widgets import CRD, KIND, WIDGET
from kontend.explore import Bounds, Reductions, Scenario, check
from kontend.explore.properties.built_in import BuiltIn
from kontend.runtime.client.api import Api
from kontend.runtime.controller import Controller, Request, Result

ONE_FAILURE = Bounds(faults=1, crashes=0, lost=0, failed=1, handovers=0, lag=0)


class Looks(Controller):
    """Reads its widget from the server every minute, and writes nothing."""

    kind = KIND

    async def reconcile(self, request: Request, api: Api) -> Result:
        await api.live.get(self.kind, request)
        return Result(requeue_after=60)


class Insists(Looks):
    """Fails without an error of the server, again and again."""

    async def reconcile(self, request: Request, api: Api) -> Result:
        await super().reconcile(request, api)
        raise ConnectionError("no route")


def _scenario(controller: Controller) -> Scenario:
    reductions = Reductions(factored=False)
    return Scenario([controller], crds=[CRD], objects=[WIDGET], bounds=ONE_FAILURE, reductions=reductions)


def test_a_failure_that_only_a_fault_causes_does_not_last_forever() -> None:
    """Each state of the cycle has a call that a fault may fail, and no run has to take that step."""
    verdict = check(_scenario(Looks()))
    assert verdict.ok
    assert len(verdict.levels) > 1  # the call has failed


def test_a_failure_without_a_fault_lasts_forever() -> None:
    names = [violation.property for violation in check(_scenario(Insists())).violations]
    assert names == [BuiltIn.FAILS_FOREVER]
