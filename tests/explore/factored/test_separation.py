"""Controllers of one process are followed apart in sets of states, and nothing is lost by it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Final

import pytest

from explore.test_processes import MAP, OBJECT, WIDGET, Announces, Believes, is_old
from explore.widgets import CRD
from kontend.cluster.cluster import Cluster
from kontend.explore import Bounds, Reductions, Scenario, Verdict, check, never, update
from kontend.explore.factored.local_states import Effort
from kontend.explore.factored.proof import Prover
from kontend.explore.model.model import Model
from kontend.explore.model.state.canonical import canonical_cluster
from kontend.explore.properties.leaks import Leaks
from kontend.explore.search import breadth_first
from kontend.runtime.client.api import Api
from kontend.runtime.controller import Controller, Request

CONFIG: Final = "ConfigMap/v1"


class Writes(Controller):
    """Applies a ConfigMap of its own with the size of a widget."""

    kind = WIDGET
    map: ClassVar[str]

    async def reconcile(self, request: Request, api: Api) -> None:
        """Apply it."""
        widget = await api.get(self.kind, request)
        data = {"size": str(widget["spec"].get("size", 0)), **await self.found(api)}
        metadata = {"name": self.map, "namespace": "default"}
        await api.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}, manager=self.map)

    async def found(self, api: Api) -> dict[str, str]:
        """Return what else to write."""
        del api
        return {}


class Left(Writes):
    """One of two controllers of a process."""

    map = "left"
    owns: ClassVar[tuple[str, ...]] = (CONFIG,)


class Right(Writes):
    """The other one."""

    map = "right"


class Reads(Right):
    """Reads a kind that only the first one declares."""

    name = "right"

    async def found(self, api: Api) -> dict[str, str]:
        """Return the number of ConfigMaps that it sees, as far as that can matter at the end."""
        return {"sees": str(bool(await api.list(CONFIG, namespace="default")))}


def scenario(*controllers: Controller, **bounds: Any) -> Scenario:
    """A widget whose size a user changes."""
    return Scenario(
        list(controllers),
        crds=[CRD],
        objects=[OBJECT],
        actions=[update(OBJECT, spec={"size": 2})],
        bounds=Bounds(**bounds),
    )


def forms(verdict: Verdict) -> set[bytes]:
    """The canonical forms of the final states."""
    return {canonical_cluster(state) for state in verdict.final_states}


def local_states(given: Scenario) -> int:
    """The number of local states that a proof takes."""
    model = Model(given)
    effort = Effort(lambda: False)
    effort.add(1_000_000)
    prover = Prover(model, Leaks(model.initial().state), effort, most_objects=20)
    assert prover.run() is not None
    return sum(len(members.worlds) for one in prover.sets for members in one.instances)


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Try sets of states from the first state on."""
    monkeypatch.setattr(breadth_first, "PROVE_AFTER", ((0, 1_000_000),))


@pytest.mark.parametrize("controllers", [(Left(), Right()), (Left(), Reads())], ids=["alone", "reads"])
@pytest.mark.parametrize("bounds", [{}, {"faults": 0, "lag": 2}], ids=str)
def test_controllers_apart_end_where_single_states_end(
    controllers: tuple[Controller, ...], bounds: dict[str, int]
) -> None:
    given = scenario(*controllers, **bounds)
    plain = check(replace(given, reductions=Reductions(factored=False)))
    apart = check(given)
    whole = check(replace(given, reductions=Reductions(separated=False)))
    assert (plain.ok, apart.ok, whole.ok) == (True, True, True)
    assert apart.sets > 0
    assert forms(apart) == forms(whole) == forms(plain)


def test_controllers_apart_have_fewer_local_states() -> None:
    given = scenario(Left(), Right())
    assert local_states(given) * 2 < local_states(replace(given, reductions=Reductions(separated=False)))


def test_what_only_shared_views_show_is_shown_by_the_process_as_a_whole() -> None:
    given = replace(scenario(Announces(), Believes(), faults=0), properties=[never(is_old)])
    apart = replace(given, processes={"one": ["announces"], "two": ["believes"]})
    assert not check(replace(apart, reductions=Reductions(factored=False))).ok
    verdict = check(given)
    assert verdict.ok
    assert verdict.sets > 0


class Once(Controller):
    """Writes a ConfigMap unless it remembers that it has done so."""

    kind = WIDGET
    memory = ("has_written",)
    map: ClassVar[str] = "left"

    def __init__(self) -> None:
        self.has_written = False

    async def reconcile(self, request: Request, api: Api) -> None:
        """Count the times."""
        del request
        if self.has_written:
            return
        known = await api.live.list(MAP, namespace="default")
        count = sum(obj["metadata"]["name"].startswith(self.map) for obj in known)
        metadata = {"name": f"{self.map}-{count}", "namespace": "default"}
        await api.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
        self.has_written = True


class OnceToo(Once):
    """The same with another ConfigMap."""

    map = "right"


def both_again(cluster: Cluster) -> bool:
    """Both have written a second time."""
    names = {obj["metadata"]["name"] for obj in cluster.list(MAP)}
    return {"left-1", "right-1"} <= names


@pytest.mark.parametrize(
    ("name", "processes", "is_violated"),
    [("together", {}, True), ("apart", {"one": ["once"], "two": ["oncetoo"]}, False)],
)
def test_controllers_of_one_process_crash_together(
    name: str, processes: dict[str, list[str]], *, is_violated: bool
) -> None:
    del name
    given = scenario(Once(), OnceToo(), faults=1, lag=0)
    given = replace(given, actions=[], processes=processes, properties=[never(both_again)])
    assert ("both_again" in {violation.property for violation in check(given).violations}) == is_violated
