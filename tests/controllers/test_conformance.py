"""With the controllers running, the server answers what a cluster with kube-controller-manager answered."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.in_process import InProcess
from conformance.replayer import Exchange, first_difference, load, play
from kontend.controllers import controllers
from kontend.runtime.manager.in_process import InProcessManager

CASES = [pytest.param(case, id=case["id"]) for case in load("controllers")]


class WithControllers(InProcess):
    """A cluster with controllers that work when the case waits, or also between any two requests."""

    def __init__(self, *, eager: bool = False) -> None:
        super().__init__()
        self.eager = eager
        custom = [
            f"{crd['spec']['names']['kind']}.{crd['spec']['group']}/v1"
            for crd in self.cluster.list("CustomResourceDefinition.apiextensions.k8s.io/v1")
        ]
        self.manager = InProcessManager(self.cluster, controllers(custom=custom))

    def send(self, exchange: Exchange) -> tuple[int, Any]:
        """Hand a request to the cluster."""
        answer = super().send(exchange)
        if self.eager:
            self.sleep(0)
        return answer

    def sleep(self, seconds: float) -> None:
        """Let the controllers work."""
        self.manager.settle(seconds=seconds)


@pytest.fixture(scope="module", params=[False, True], ids=["at rest", "at once"])
def server(request: pytest.FixtureRequest) -> WithControllers:
    """One server for all cases."""
    return WithControllers(eager=request.param)


@pytest.mark.parametrize("case", CASES)
def test_the_answers_are_those_of_a_cluster_with_its_controllers(server: WithControllers, case: dict[str, Any]) -> None:
    """Every step of the case gives the recorded answer."""
    answers = play(server, case)
    step = first_difference(case["answers"], answers)
    assert step is None, (
        f"step {step}: {case['steps'][step]}\nexpected {case['answers'][step]}\nfound    {answers[step]}"
    )


def test_all_recorded_cases_are_here() -> None:
    """No case got lost."""
    assert len(CASES) == 19
