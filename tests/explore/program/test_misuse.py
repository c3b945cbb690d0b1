"""Wrong uses of kontend in a reconcile: usage errors that say what is accepted, at the line."""

from __future__ import annotations

from typing import Any

import pytest

from kontend import Api, Controller, Request, Result, StatusScope, add_finalizer, merge_from
from kontend.explore import BadScenario, Bounds, Scenario, Verdict, check
from kontend.kube.crd.permissive import permissive_crd
from kontend.runtime.controller import BadController

KIND = "Thing.example.com/v1"
THING = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a"}, "spec": {}}


class Things(Controller):
    """Its steps are exchanged by each test."""

    kind = KIND

    async def reconcile(self, request: Request, api: Any) -> Any:
        return await self.act(request, api)

    @staticmethod
    async def act(_request: Request, _api: Any) -> Any:
        """Does nothing."""


def checked(act: Any) -> Verdict:
    controller = type("Things", (Things,), {"act": staticmethod(act)})()
    scenario = Scenario([controller], crds=[permissive_crd(KIND)], objects=[THING], bounds=Bounds(lag=0, faults=0))
    return check(scenario)


async def _delete_by_kind(request: Request, api: Any) -> None:
    await api.delete("Pod/v1", request)


async def _get_without_kind(request: Request, api: Any) -> None:
    await api.get(request)


async def _selector(_request: Request, api: Any) -> None:
    await api.list("Pod/v1", selector="a=b")


async def _send(request: Request, api: Any) -> None:
    await add_finalizer(api, request, "example.com/x")  # type: ignore[call-arg, arg-type, misc]


async def _fetch(request: Request, api: Any) -> None:
    await api.fetch(KIND, request)


async def _create_live(_request: Request, api: Any) -> None:
    await api.live.create({})


async def _attribute(request: Request, api: Any) -> None:
    thing = await api.get(KIND, request)
    thing.spec["a"] = 1


async def _items(_request: Request, api: Any) -> None:
    for _ in (await api.list("Pod/v1")).items:
        pass


async def _await_now(_request: Request, api: Any) -> None:
    await api.now()


async def _forgotten_await(request: Request, api: Any) -> None:
    thing = api.get(KIND, request)
    thing["spec"] = {}


async def _forgotten_await_in_a_loop(_request: Request, api: Any) -> None:
    for _ in api.list("Pod/v1"):
        pass


async def _seconds(_request: Request, _api: Any) -> Result:
    return Result(30)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("act", "accepted"),
    [
        (_delete_by_kind, "it is called as api.delete(obj, *, uid=None, resource_version=None"),
        (_get_without_kind, "it is called as api.get(kind, key, *, subresource='')"),
        (_selector, "it is called as api.list(kind, *, namespace='', labels='', fields='', index=None)"),
        (_send, "it is called as add_finalizer(obj, finalizer)"),
        (_fetch, "an Api has acting_as, apply, create"),
        (_create_live, "a Reader has get, list"),
        (_attribute, "objects are plain dicts: write ['spec'] or .get('spec')"),
        (_items, "api.list returns the objects themselves"),
        (_await_now, "api.now returns at once: leave out await"),
        (_forgotten_await, "write 'await' before the call: thing = api.get(KIND, request)"),
        (_forgotten_await_in_a_loop, "write 'await' before the call: for _ in api.list"),
        (_seconds, "for seconds write Result(requeue_after=...)"),
    ],
)
def test_a_wrong_use_is_answered_with_what_is_accepted(act: Any, accepted: str) -> None:
    with pytest.raises(BadController) as refused:
        checked(act)
    message = str(refused.value)
    assert accepted in message
    assert "test_misuse.py:" in message


async def _own_mistake(_request: Request, _api: Any) -> None:
    dict.fromkeys(1)  # type: ignore[call-overload]


async def _own_function(_request: Request, _api: Any) -> None:
    checked()  # type: ignore[call-arg]


@pytest.mark.parametrize("act", [_own_mistake, _own_function])
def test_mistakes_that_are_not_about_kontend_stay_violations(act: Any) -> None:
    (violation,) = checked(act).violations
    assert violation.property == "exception"


async def _base_itself(request: Request, api: Api) -> None:
    thing = await api.get(KIND, request)
    thing["spec"]["a"] = 1
    await api.patch(thing, merge_from(thing))


async def _name_alone(request: Request, api: Api) -> None:
    await api.get(KIND, request.name)


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (_base_itself, "the base is the object itself, so nothing differs"),
        (_name_alone, "Thing.example.com/v1 is namespaced: expected the request or 'namespace/name', found 'a'"),
    ],
)
def test_arguments_that_depend_on_what_was_read_are_violations_with_a_fix(act: Any, message: str) -> None:
    text = str(checked(act))
    assert message in " ".join(text.split())
    assert "pass what the message asks for" in text


async def _pool(_request: Request, api: Api) -> None:
    await api.get("ConfigMap/v1", "default/pool")


def test_an_object_that_nobody_creates_is_named_with_the_way_to_give_it() -> None:
    text = " ".join(str(checked(_pool)).split())
    assert "the scenario does not start with ConfigMap default/pool, and nobody had created it" in text
    assert "the scenario has to start with it: objects=[...], or --objects FILE" in text


async def _plain_with(request: Request, api: Api) -> None:
    thing = await api.get(KIND, request)
    with StatusScope(api, thing):  # type: ignore[attr-defined]
        pass


def test_a_scope_without_async_is_reported_at_its_line() -> None:
    assert "test_misuse.py" in str(checked(_plain_with))


def test_check_takes_a_scenario() -> None:
    with pytest.raises(BadScenario, match=r"check: expected a scenario, such as Scenario\(controllers="):
        check(Things())  # type: ignore[arg-type]
