"""Parts that differ in their names only: one of them stands for the others, and for nothing else."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

import pytest

from explore.parts.test_parts import MAP, config_map, counted, same, whole, widget
from explore.widgets import CRD, KIND, UNGUARDED
from kontend.cluster.cluster import Cluster
from kontend.explore import Bounds, Reductions, Scenario, Verdict, check, create, delete, eventually, update
from kontend.explore.model.model import Model
from kontend.explore.parts.renaming import NotAlike, Renaming
from kontend.kube.errors import AlreadyExists, ApiError, Invalid, NotFound
from kontend.kube.meta.names import Key
from kontend.runtime.client.api import Api
from kontend.runtime.client.patches import merge_from
from kontend.runtime.controller import Controller, Request
from kontend.runtime.predicates import GenerationChanged, Predicate, Where
from kontend.runtime.writes.owners import set_controller_reference

NAMES = ("w1", "w2", "w3")


class Parents(Controller):
    """Makes a config map for each widget and counts in its status."""

    kind = KIND
    name = "parents"
    owns: ClassVar[tuple[str, ...]] = (MAP,)

    def __init__(self, special: Callable[[dict[str, Any], dict[str, Any]], bool] = lambda *_: False) -> None:
        """``special`` selects widgets, by themselves and their config maps, that are counted twice."""
        self._special = special

    async def reconcile(self, request: Request, api: Api) -> None:
        """Create what is missing."""
        try:
            parent = await api.get(KIND, request)
        except NotFound:
            return
        child = config_map(f"{request.name}-child", request.name)
        set_controller_reference(parent, child)
        with contextlib.suppress(AlreadyExists):
            child = await api.create(child)
        count = 2 if self._special(parent, child) else 1
        if (parent.get("status") or {}).get("n", 0) < count:
            base = copy.deepcopy(parent)
            parent["status"] = {"n": count}
            with contextlib.suppress(ApiError):
                await api.status.patch(parent, merge_from(base))


def scenario(controller: Controller | None = None, **changes: Any) -> Scenario:
    """Some widgets that are alike."""
    return Scenario(
        [controller or Parents()],
        **{
            "crds": [CRD],
            "objects": [widget(name) for name in NAMES],
            "bounds": Bounds(lag=1, faults=0, states=5_000),
            "guards": UNGUARDED,
            **changes,
        },
    )


def alike(verdict: Verdict) -> int:
    """The number of parts that were not searched themselves."""
    notes = [note for note in verdict.notes if "but for names" in note]
    return int(notes[0].partition("of which ")[2].split()[0]) if notes else 0


def properties(verdict: Verdict) -> list[str]:
    """The names of the violated properties."""
    return [violation.property for violation in verdict.violations]


def apart(given: Scenario) -> Scenario:
    """The same, with every part searched itself."""
    return replace(given, reductions=Reductions(alike=False))


@pytest.mark.parametrize("faults", [0, 1])
@pytest.mark.parametrize("instances", [1, 2])
def test_one_part_stands_for_those_like_it(instances: int, faults: int) -> None:
    bounds = Bounds(lag=1, faults=faults, concurrent=instances)
    three, one = check(scenario(bounds=bounds)), check(scenario(objects=[widget("w1")], bounds=bounds))
    assert three.ok
    assert one.ok
    assert alike(three) == 2
    assert three.states <= one.states
    assert "explored as 3 parts that have nothing to do with each other, of which 2 are like another" in str(three)


ACTIONS = {
    "changes": [update(widget(name), spec={"size": 2}) for name in NAMES],
    "deletions": [delete(widget(name)) for name in NAMES],
    "new ones": [create(widget(name)) for name in ("w4", "w5")],
}


@pytest.mark.parametrize("actions", ACTIONS)
def test_actions_of_users_are_alike_too(actions: str) -> None:
    given = scenario(actions=ACTIONS[actions], bounds=Bounds(lag=1, faults=0))
    verdict = check(given)
    assert alike(verdict) >= 1
    same(verdict, check(apart(given)))


def test_a_violation_of_the_one_is_found_with_its_own_names() -> None:
    def no_child_is_made(cluster: Cluster) -> bool:
        return not cluster.list(MAP)

    given = scenario(properties=[eventually(no_child_is_made)])
    verdict = check(given)
    assert alike(verdict) == 2
    assert properties(verdict)
    same(verdict, check(apart(given)))


def test_a_property_sees_what_a_garbage_collector_would_delete() -> None:
    def no_child_is_left(cluster: Cluster) -> bool:
        return not cluster.list(MAP)

    given = scenario(
        objects=[widget(name) for name in NAMES[:2]],
        actions=[delete(widget(name)) for name in NAMES[:2]],
        properties=[eventually(no_child_is_left)],
    )
    assert properties(check(given)) == ["no_child_is_left"]
    assert properties(check(replace(given, reductions=Reductions(parts=False)))) == ["no_child_is_left"]


SPECIAL: dict[str, Callable[[dict[str, Any], dict[str, Any]], bool]] = {
    "name": lambda parent, _: bool(parent["metadata"]["name"] == "w2"),
    "order of names": lambda parent, _: bool(parent["metadata"]["name"] > "w2"),
    "uid": lambda parent, _: bool(parent["metadata"]["uid"][:8] == _uid_of("w3")[:8]),
    "name of the child": lambda _, child: bool(child["metadata"]["name"] == "w3-child"),
    "error": lambda parent, _: bool(1 // (parent["metadata"]["name"] != "w2")) and False,
}


def _uid_of(name: str) -> str:
    version = Model(scenario()).initial().state.find("widgets.example.com", Key("default", name))
    assert version is not None
    return str(version.content()["metadata"]["uid"])


@pytest.mark.parametrize("special", SPECIAL)
def test_code_that_tells_names_apart_is_found_out(special: str) -> None:
    verdict = check(scenario(Parents(SPECIAL[special]), properties=[eventually(counted)]))
    assert properties(verdict) == (["exception"] if special == "error" else ["counted"])
    assert alike(verdict) <= 1


def _crd_with(*rules: str) -> dict[str, Any]:
    crd = copy.deepcopy(CRD)
    schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema.setdefault("properties", {})["status"] = {"type": "object", "properties": {"n": {"type": "integer"}}}
    schema["x-kubernetes-validations"] = [{"rule": rule, "message": f"refused by {rule}"} for rule in rules]
    return crd


def test_a_server_that_tells_names_apart_is_found_out() -> None:
    """The schema refuses the status of one widget, so its count is never written and the reconcile fails forever."""

    class Insistent(Parents):
        async def reconcile(self, request: Request, api: Api) -> None:
            parent = await api.get(KIND, request)
            if not (parent.get("status") or {}).get("n"):
                base = copy.deepcopy(parent)
                parent["status"] = {"n": 1}
                await api.status.patch(parent, merge_from(base))

    rule = "self.metadata.name != 'w3' || !has(self.status)"
    assert check(scenario(Insistent())).ok
    verdict = check(scenario(Insistent(), crds=[_crd_with(rule)]))
    assert properties(verdict) == ["fails forever"]
    assert alike(verdict) == 1


def test_a_server_that_answers_differently_is_found_out() -> None:
    """The schema refuses the status of every widget, that of one for another reason, and the code looks at it."""

    class Noting(Parents):
        async def reconcile(self, request: Request, api: Api) -> None:
            parent = await api.get(KIND, request)
            base = copy.deepcopy(parent)
            parent["status"] = {"n": 1}
            try:
                await api.status.patch(parent, merge_from(base))
            except Invalid as refusal:
                noted = config_map(f"{request.name}-child", request.name)
                noted["data"] = {"odd": str("odd" in str(refusal))}
                with contextlib.suppress(AlreadyExists):
                    await api.create(noted)

    def nothing_odd(cluster: Cluster) -> bool:
        return all(noted["data"]["odd"] == "False" for noted in cluster.list(MAP))

    rules = ["!has(self.status)", "self.metadata.name != 'w3' || !has(self.status) || 'odd' == ''"]
    verdict = check(scenario(Noting(), crds=[_crd_with(*rules)], properties=[eventually(nothing_odd)]))
    assert properties(verdict) == ["nothing_odd"]
    assert alike(verdict) == 1


def test_an_admission_policy_that_tells_names_apart_is_found_out() -> None:
    """The policy refuses the status of one widget, so that it stays without a count."""
    rule = {"apiGroups": ["example.com"], "apiVersions": ["*"], "operations": ["UPDATE"], "resources": ["*/*"]}
    group = "admissionregistration.k8s.io/v1"
    policy = {
        "apiVersion": group,
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "no-third"},
        "spec": {
            "matchConstraints": {"resourceRules": [rule]},
            "validations": [{"expression": "object.metadata.name != 'w3'"}],
        },
    }
    binding = {
        "apiVersion": group,
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": "no-third"},
        "spec": {"policyName": "no-third", "validationActions": ["Deny"]},
    }

    def all_counted(cluster: Cluster) -> bool:
        return all((shown.get("status") or {}).get("n") == 1 for shown in cluster.list(KIND))

    objects = [widget(name) for name in NAMES]
    verdict = check(scenario(objects=[*objects, policy, binding], properties=[eventually(all_counted)]))
    assert properties(verdict) == ["all_counted"]
    assert alike(verdict) <= 1


def test_objects_that_differ_are_searched_themselves() -> None:
    objects = [widget("w1"), {**widget("w2"), "spec": {"size": 7}}, widget("w3")]
    verdict = check(scenario(objects=objects))
    assert verdict.ok
    assert alike(verdict) == 1


def test_parts_with_different_actions_are_searched_themselves() -> None:
    actions = [update(widget("w1"), spec={"size": 2}), update(widget("w2"), spec={"size": 3})]
    given = scenario(objects=[widget("w1"), widget("w2")], actions=actions)
    verdict = check(given)
    assert verdict.ok
    assert alike(verdict) == 0
    same(verdict, check(apart(given)))


@pytest.mark.parametrize(
    ("predicate", "count"),
    [
        pytest.param(GenerationChanged(), 2, id="blind to names"),
        pytest.param(Where(lambda event: bool(event.key.name)), 0, id="of the user"),
    ],
)
def test_predicates_of_users_are_not_compared(predicate: Predicate, count: int) -> None:
    class Selective(Parents):
        predicates: ClassVar[dict[str, Predicate]] = {KIND: predicate}

    verdict = check(scenario(Selective()))
    assert verdict.ok
    assert alike(verdict) == count


def test_names_in_another_order_are_searched_themselves() -> None:
    """A list shows the object of the part before or behind that of all parts, depending on its name."""

    class First(Controller):
        kind = KIND
        name = "first"
        owns: ClassVar[tuple[str, ...]] = (MAP,)

        async def reconcile(self, request: Request, api: Api) -> None:
            widget = await api.live.get(KIND, request)
            shown = await api.list(MAP, namespace="default", labels={"for": request.name})
            names = [item["metadata"]["name"].replace(request.name, "own") for item in shown]
            if (widget.get("status") or {}).get("n") != len(names[0]):
                base = copy.deepcopy(widget)
                widget["status"] = {"n": len(names[0])}
                await api.status.patch(widget, merge_from(base))

    maps = []
    for name in ("a", "z"):
        for of in (name, f"middle-{'x' * 5}-{name}"):
            labelled = config_map(of, name)
            labelled["metadata"]["labels"] = {"for": name}
            maps.append(labelled)
    given = scenario(First(), objects=[widget("a"), widget("z"), *maps])
    verdict = check(given)
    assert alike(verdict) == 0
    same(verdict, check(apart(given)))
    same(verdict, check(whole(given)))


def test_a_renaming_exchanges_whole_words() -> None:
    renaming = Renaming([("a", "b"), ("a-child", "b-child")])
    assert renaming.text("a b ab a-child xa a1 /a/") == "b a ab b-child xa a1 /b/"
    assert renaming.key(Key("default", "a-x")) == Key("default", "b-x")
    uids = ["00000001-0000-4000-8000-000000000001", "00000002-0000-4000-8000-000000000002"]
    renaming.exchange_uids(*uids)
    assert renaming.text(f"{uids[0]} {uids[1]}") == f"{uids[1]} {uids[0]}"


def test_a_renaming_is_its_own_inverse_or_none() -> None:
    with pytest.raises(NotAlike):
        Renaming([("a", "b"), ("b", "c")])
    with pytest.raises(NotAlike):
        Renaming([("a", "c"), ("b", "c")])
    assert Renaming([("a", "b"), ("b", "a")]).text("a b") == "b a"
