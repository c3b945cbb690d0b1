"""Sets of states that repeat others but for generations are covered by these, and not where code counts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from kontend.explore import Bounds, Reductions, Scenario, always, check, patch
from kontend.explore.scenario_files import load
from kontend.explore.search import breadth_first
from kontend.runtime.client.api import Api
from kontend.runtime.controller import Controller, Request, Result

EXAMPLES: Final = Path(__file__).parents[3] / "examples"
Websites: Final[type[Controller]] = load(EXAMPLES / "website_operator.py").Websites

KIND: Final = "Website.example.com/v1"
SITE: Final[dict[str, Any]] = {
    "apiVersion": "example.com/v1",
    "kind": "Website",
    "metadata": {"name": "w", "namespace": "default"},
    "spec": {"image": "nginx:1"},
}


class Counts(Controller):
    """Gives up once the Deployment has changed often."""

    kind = KIND
    name = "websites"
    owns = ("Deployment.apps/v1",)

    async def reconcile(self, request: Request, api: Api) -> Result | None:
        """Reconcile, unless the Deployment has changed five times."""
        if any(each["metadata"]["generation"] > 5 for each in await api.live.list("Deployment.apps/v1")):
            return None
        return await Websites().reconcile(request, api)


def sites(controller: Controller, **others: Any) -> Scenario:
    """Two copies of an operator, one of which may not see for long that the image has changed."""
    return Scenario(
        [controller],
        crds=[yaml.safe_load((EXAMPLES / "website_crd.yaml").read_text())],
        objects=[SITE],
        actions=[patch(SITE, {"spec": {"image": "nginx:2"}})],
        bounds=Bounds(concurrent=2, faults=0, states=2_000),
        **others,
    )


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Try sets of states from the first state on."""
    monkeypatch.setattr(breadth_first, "PROVE_AFTER", ((0, 60_000),))


def test_copies_that_undo_each_other_for_ever_are_covered() -> None:
    verdict = check(sites(Websites()))
    assert verdict.ok
    assert verdict.exhausted
    assert 0 < verdict.sets < 300


def test_every_generation_is_a_case_of_its_own_without_the_reduction() -> None:
    verdict = check(sites(Websites(), reductions=Reductions(generations=False)))
    assert not verdict.exhausted


def test_code_that_counts_is_not_covered() -> None:
    verdict = check(sites(Counts()))
    assert not verdict.exhausted


def test_a_property_that_reads_generations_is_asked_of_each() -> None:
    def is_young(cluster: Any) -> bool:
        return all(each["metadata"]["generation"] < 9 for each in cluster.list("Deployment.apps/v1"))

    scenario = sites(Websites(), properties=[always(is_young)])
    assert not check(scenario).ok
    assert check(replace(scenario, properties=())).ok
