"""Tests of fields in which final states may differ."""

from __future__ import annotations

import pytest

from kontend import Api, Controller, Request
from kontend.cluster.cluster import Cluster
from kontend.explore import Bounds, Scenario, check
from kontend.explore.model.state.canonical import canonical_cluster
from kontend.explore.model.state.ignored import Ignored
from kontend.explore.problems import BadScenario

JOB = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "job", "namespace": "default"}}


class CountsTries(Controller):
    """Counts its tries before it does its work: a crash in between is one try more."""

    kind = "ConfigMap/v1"

    async def reconcile(self, request: Request, api: Api) -> None:
        """Count a try, then finish."""
        job = await api.live.get(self.kind, request)
        done = job.get("data", {})
        if "done" in done:
            return
        job["data"] = {"tries": str(int(done.get("tries", "0")) + 1)}
        job = await api.update(job)
        job["data"]["done"] = "yes"
        await api.update(job)


def scenario(*ignore: str) -> Scenario:
    """One job, and a crash at any time."""
    return Scenario([CountsTries()], objects=[JOB], bounds=Bounds(failed=0, lost=0), ignore=ignore)


def data(**values: str) -> bytes:
    """The canonical form of a cluster with one ConfigMap, without ``data.next``."""
    state = Cluster(objects=[{**JOB, "data": values}]).state
    return canonical_cluster(state, (), Ignored.of(["ConfigMap.data.next"]))


def test_an_ignored_field_does_not_tell_final_states_apart() -> None:
    """Other fields do."""
    assert data(n="1", next="1") == data(n="1", next="2") == data(n="1")
    assert data(n="1", next="1") != data(n="2", next="1")


def test_an_object_that_is_left_empty_goes_too() -> None:
    """A run that never wrote the field has no map to hold it."""
    assert data(next="1") == data()


def test_paths_lead_through_lists_and_brackets() -> None:
    """Each element of a list loses the field; dots in brackets belong to the name."""
    ignored = Ignored.of(["Pod.spec.containers.image", 'Pod.metadata.annotations["a.b/c"]'])
    metadata, left = b'"metadata":{"annotations":{"a.b/c":"1","d":"2"}}', b'"metadata":{"annotations":{"d":"2"}}'
    body = b'{"kind":"Pod",' + metadata + b',"spec":{"containers":[{"image":"x","name":"y"}]}}'
    assert ignored.without(body) == b'{"kind":"Pod",' + left + b',"spec":{"containers":[{"name":"y"}]}}'
    assert ignored.without(b'{"kind":"Job","spec":{}}') == b'{"kind":"Job","spec":{}}'


@pytest.mark.parametrize(
    "text", ["", "data.next", "ConfigMap", "ConfigMap.", "ConfigMap..a", 'ConfigMap.a["b', "ConfigMap.a b]"]
)
def test_a_field_that_is_none_is_refused(text: str) -> None:
    """The message shows what is accepted."""
    with pytest.raises(BadScenario, match=r"expected a kind and a path, such as ConfigMap\.data\.next"):
        Ignored.of([text])


def test_a_scenario_that_ignores_the_difference_holds_and_says_so() -> None:
    """Without it, the number of tries diverges."""
    assert [violation.property for violation in check(scenario()).violations] == ["diverged"]
    verdict = check(scenario("ConfigMap.data.tries"))
    assert verdict.ok, verdict
    assert "final states may differ in ConfigMap.data.tries" in verdict.text()
