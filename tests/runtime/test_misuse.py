"""Wrong arguments: each is answered with what is accepted."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from kontend import (
    Api,
    BadRequest,
    Cluster,
    Controller,
    Guards,
    NotFound,
    Request,
    get_condition,
    has_finalizer,
    json_patch,
    merge_patch,
    new_object,
    raw,
    set_owner_reference,
)
from kontend.explore import Bounds, Scenario, check
from kontend.plans import Plan, Task
from kontend.runtime.controller import BadController
from kontend.testing import settle
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
        ("Deployment", r"did you mean Deployment\.apps/v1\?"),
        ("Website", "expected Kind.group/version"),
        (None, "None does not name a kind"),
    ],
)
def test_a_kind_that_can_never_be_served_is_a_mistake_and_no_violation(kind: Any, hint: str) -> None:
    controller = Reads()
    controller.other = kind
    scenario = Scenario(controllers=[controller], objects=[config_map()], bounds=Bounds(faults=0))
    with pytest.raises(BadController, match=rf"test_misuse\.py:\d+: .*{hint}"):
        check(scenario)


OBJECT = config_map()


@pytest.mark.parametrize(
    ("act", "accepted"),
    [
        (lambda: Cluster(crds=["x.yaml"]), r"crds\[0\]: expected an object"),  # type: ignore[list-item]
        (lambda: Cluster(crds=[OBJECT]), r"crds\[0\]: expected a CustomResourceDefinition, found ConfigMap default/c"),
        (lambda: Cluster(objects=[{"metadata": {"name": "x"}}]), r"objects\[0\]: expected apiVersion and kind"),
        (lambda: Cluster().get("ConfigMap", "c"), "did you mean ConfigMap/v1"),
        (lambda: Cluster().get("v1/ConfigMap", "c"), "did you mean ConfigMap/v1"),
        (lambda: Cluster().get("configmaps", "c"), "did you mean ConfigMap/v1"),
        (lambda: Cluster().get("deployment/v1", "c"), "did you mean Deployment.apps/v1"),
        (lambda: Cluster().patch(MAP, "c", None), "expected a dict for a merge patch, or a list of operations"),  # type: ignore[arg-type]
        (lambda: Cluster().patch(MAP, "c", "a"), "expected a dict for a merge patch, or a list of operations"),  # type: ignore[arg-type]
        (lambda: merge_patch(None), "merge_patch: expected the fields to change"),  # type: ignore[arg-type]
        (lambda: json_patch({"op": "add"}), "json_patch: expected a list of operations"),  # type: ignore[arg-type]
        (lambda: json_patch("add"), "json_patch: expected a list of operations"),  # type: ignore[arg-type]
        (lambda: raw({}, b""), "raw: expected a content type and bytes"),  # type: ignore[arg-type]
        (lambda: Guards(fencing="no"), r"Guards\(fencing='no'\): expected True or False"),  # type: ignore[arg-type]
        (lambda: get_condition("Ready", OBJECT), "expected an object with conditions"),  # type: ignore[arg-type]
        (lambda: has_finalizer("example.com/x", OBJECT), "expected an object and a finalizer"),  # type: ignore[arg-type]
        (lambda: set_owner_reference(OBJECT, {}), "expected an object that was read, with a uid, found ConfigMap"),
        (lambda: settle(Reads(), Cluster()), r"settle\(cluster, Widgets\(\)\)"),  # type: ignore[arg-type]
        (lambda: settle(Cluster(), 5), "expected a controller or a list of them"),  # type: ignore[arg-type]
        (lambda: settle(Cluster(), Reads), r"write Reads\(\), not Reads"),  # type: ignore[arg-type]
        (lambda: settle(Cluster(), "deployment"), "expected a Controller, found 'deployment'"),  # type: ignore[arg-type]
        (lambda: settle(Cluster(), Reads(), guards=5), "expected guards such as"),  # type: ignore[arg-type]
        (lambda: Plan(None), "expected a list of tasks, found None"),  # type: ignore[arg-type]
        (lambda: Plan(Task), "expected a list of tasks"),  # type: ignore[arg-type]
    ],
)
def test_a_wrong_argument_is_answered_with_what_is_accepted(act: Callable[[], Any], accepted: str) -> None:
    with pytest.raises((BadRequest, BadController, NotFound), match=accepted):
        act()


@pytest.mark.parametrize("key", ["default/c", ("default", "c"), Request("default", "c"), config_map(), "c"])
def test_a_cluster_takes_an_object_named_in_any_of_these_ways(key: Any) -> None:
    cluster = Cluster(objects=[config_map()])
    assert cluster.get(MAP, key)["data"] == {"a": "1"}
    assert cluster.patch(MAP, key, {"data": {"a": "2"}})["data"] == {"a": "2"}
    cluster.delete(MAP, key)
    assert cluster.list(MAP) == []


def test_a_new_object_takes_the_request_as_its_name() -> None:
    assert new_object(MAP, Request("default", "c"))["metadata"] == {"name": "c", "namespace": "default"}


@pytest.mark.parametrize(
    ("attributes", "accepted"),
    [
        ({"watches": {"Pod/v1": "x"}}, r"lambda obj, cache: \['default/name'\]"),
        ({"watches": ["Pod/v1"]}, "expected a dict from kinds to functions"),
        ({"predicates": [5]}, "expected a dict by kind"),
        ({"memory": "seen"}, "expected a list of attributes"),
        ({"name": 5}, "expected text"),
    ],
)
def test_a_wrong_attribute_of_a_controller_is_answered_with_what_is_accepted(
    attributes: dict[str, Any], accepted: str
) -> None:
    controller = type("Other", (Reads,), attributes)()
    with pytest.raises(BadController, match=accepted):
        settle(Cluster(), controller)
