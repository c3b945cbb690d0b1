"""Wrong arguments: each is answered with what is accepted."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from kontend import Api, BadRequest, Cluster, Controller, Request
from kontend.explore import Bounds, Scenario, check
from kontend.runtime.controller import BadController
from runtime.wire import run, wired

MAP = "ConfigMap/v1"


def config_map() -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "c", "namespace": "default"},
        "data": {"a": "1"},
    }


def ran(act: Callable[[Api], Awaitable[Any]]) -> Any:
    """The result of what a client does in a cluster with one object."""
    api, _ = wired(Cluster(objects=[config_map()]))

    async def reconcile() -> Any:
        return await act(api)

    return run(reconcile())


@pytest.mark.parametrize(
    "key",
    ["default/c", ("default", "c"), Request("default", "c"), config_map()],
    ids=["text", "tuple", "request", "object"],
)
def test_an_object_is_named_in_any_of_these_ways(key: Any) -> None:
    assert ran(lambda api: api.get(MAP, key))["data"] == {"a": "1"}


@pytest.mark.parametrize(
    "key", [None, 5, "", ("default",), {"metadata": {}}, ["default", "c"], "a/b/c", True, {}, b"c"]
)
def test_what_does_not_name_an_object_is_answered_with_what_does(key: Any) -> None:
    with pytest.raises(BadRequest, match="expected the request, 'namespace/name'"):
        ran(lambda api: api.get(MAP, key))


def test_a_dict_is_a_merge_patch() -> None:
    assert ran(lambda api: api.patch(config_map(), {"data": {"a": "2"}}))["data"] == {"a": "2"}


def test_a_list_of_operations_is_a_json_patch() -> None:
    operations = [{"op": "replace", "path": "/data/a", "value": "3"}]
    assert ran(lambda api: api.patch(config_map(), operations))["data"] == {"a": "3"}


@pytest.mark.parametrize("patch", [None, 5, "a=1", b"{}", [1], ("a",), {1}, True, object(), 1.5])
def test_what_is_no_patch_is_answered_with_what_is(patch: Any) -> None:
    for act in (lambda api: api.patch(config_map(), patch), lambda api: api.status.patch(config_map(), patch)):
        with pytest.raises(BadRequest, match=r"expected a patch: merge_from\(base\), a dict for a merge patch"):
            ran(act)


class Reads(Controller):
    """Reads the kind that a test chooses."""

    kind = MAP
    other: Any = "Deploymnt.apps/v1"

    async def reconcile(self, request: Request, api: Api) -> None:
        await api.get(self.other, request)


@pytest.mark.parametrize(
    ("kind", "hint"),
    [
        ("Deploymnt.apps/v1", r"did you mean Deployment\.apps/v1\?"),
        ("Deployment/v1", r"did you mean Deployment\.apps/v1\?"),
        ("Deployment", "expected Kind.group/version"),
        (None, "None does not name a kind"),
    ],
)
def test_a_kind_that_can_never_be_served_is_a_mistake_and_no_violation(kind: Any, hint: str) -> None:
    controller = Reads()
    controller.other = kind
    scenario = Scenario(controllers=[controller], objects=[config_map()], bounds=Bounds(faults=0))
    with pytest.raises(BadController, match=rf"test_misuse\.py:\d+: .*{hint}"):
        check(scenario)
