"""Searches start again with what they have learnt: kinds that a controller defines."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from explore.widgets import CRD, KIND, UNGUARDED, WIDGET
from kontend.cluster.cluster import Cluster
from kontend.cluster.startup.seed import UnknownKind
from kontend.explore import Bounds, Scenario, check
from kontend.explore.model.knowledge import Knowledge, NewKind
from kontend.explore.program.symbols import Assumption
from kontend.kube.errors import AlreadyExists, NotFound
from kontend.runtime.client.api import Api
from kontend.runtime.controller import Controller, Request

GADGET = "Gadget.example.com/v1"


def _gadgets(scope: str = "Namespaced") -> dict[str, Any]:
    crd = copy.deepcopy(CRD)
    crd["metadata"]["name"] = "gadgets.example.com"
    crd["spec"]["names"] = {"plural": "gadgets", "kind": "Gadget"}
    crd["spec"]["scope"] = scope
    return crd


class Defines(Controller):
    """Creates a definition, and then an object of the new kind."""

    kind = KIND
    scope = "Namespaced"
    asks_first = False

    async def reconcile(self, request: Request, api: Api) -> None:
        """Define and create."""
        await api.get(self.kind, request)
        metadata = {"name": "g"} if self.scope == "Cluster" else {"name": "g", "namespace": "default"}
        try:
            if self.asks_first:
                try:
                    await api.live.get(GADGET, "g" if self.scope == "Cluster" else "default/g")
                    return
                except NotFound:
                    pass
            await api.create(_gadgets(self.scope))
            await api.create({"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": metadata})
        except AlreadyExists:
            return


class DefinesClusterWide(Defines):
    """The same with a kind without namespaces."""

    scope = "Cluster"


class AsksFirst(Defines):
    """Asks for the kind before it defines it."""

    asks_first = True


class AsksFirstClusterWide(AsksFirst):
    """The same with a kind without namespaces."""

    scope = "Cluster"


@pytest.mark.parametrize("controller", [Defines, DefinesClusterWide, AsksFirst, AsksFirstClusterWide])
@pytest.mark.parametrize("atomic", [False, True])
def test_a_controller_can_define_a_kind_and_create_an_object_of_it(controller: type[Controller], atomic: bool) -> None:
    bounds = Bounds(faults=0, lag=1, atomic=atomic)
    verdict = check(Scenario([controller()], crds=[CRD], objects=[WIDGET], bounds=bounds, guards=UNGUARDED))
    assert verdict.ok
    (final,) = verdict.final_states
    assert [item["metadata"]["name"] for item in Cluster(state=final).list(GADGET)] == ["g"]


def test_a_kind_that_was_asked_for_in_vain_and_is_defined_later_is_news() -> None:
    before = Cluster(crds=[CRD]).state.registry
    after = Cluster(crds=[CRD, _gadgets("Cluster")]).state.registry
    knowledge = Knowledge(before)
    assert knowledge.is_namespaced(KIND)
    with pytest.raises(UnknownKind):
        knowledge.is_namespaced(GADGET)
    with pytest.raises(NewKind) as news:
        knowledge.learn(after)
    assert knowledge.is_namespaced(GADGET) is False
    knowledge.learn(after)
    other = Knowledge(before)
    other.take_over(news.value)
    assert other.is_namespaced(GADGET) is False


def test_an_assumption_that_is_refuted_is_dropped() -> None:
    knowledge = Knowledge(Cluster().state.registry)
    assert knowledge.assumptions == frozenset(Assumption)
    knowledge.refute(Assumption.OPAQUE_VERSIONS)
    assert knowledge.assumptions == frozenset(Assumption) - {Assumption.OPAQUE_VERSIONS}
