"""Controllers: the requests that an event triggers, and mistakes that are reported early."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import pytest

from kontend.kube.meta.names import Key
from kontend.runtime.cache.views import Cache
from kontend.runtime.client.api import Api
from kontend.runtime.client.patches import Object
from kontend.runtime.controller import BadController, Controller, Mapper, Request, Result, check, requests_for
from kontend.runtime.predicates import Event, GenerationChanged, Predicate
from runtime.samples import CONFIG_MAP, GADGET, Gadgets, config_map, gadget


def test_a_request_is_a_key() -> None:
    request = Request("default", "a")
    assert request == Key("default", "a")
    assert Key("default", "a") in {request}
    assert str(request) == "default/a"


def test_an_event_of_its_own_kind_asks_for_the_object() -> None:
    assert requests_for(Gadgets(), Event(GADGET, None, gadget("a")), Cache()) == [Request("default", "a")]


def test_an_event_of_an_owned_kind_asks_for_the_owner_that_controls_it() -> None:
    owner = gadget("a") | {"metadata": {"name": "a", "uid": "1"}}
    child = config_map("child", owner=owner)
    assert requests_for(Gadgets(), Event(CONFIG_MAP, None, child), Cache()) == [Request("default", "a")]
    child["metadata"]["ownerReferences"][0]["controller"] = False
    assert requests_for(Gadgets(), Event(CONFIG_MAP, None, child), Cache()) == []
    assert requests_for(Gadgets(), Event(CONFIG_MAP, None, config_map("child")), Cache()) == []


def test_another_version_of_the_owner_counts_and_another_group_does_not() -> None:
    owner = gadget("a") | {"metadata": {"name": "a", "uid": "1"}, "apiVersion": "example.com/v1beta1"}
    assert requests_for(Gadgets(), Event(CONFIG_MAP, None, config_map("c", owner=owner)), Cache())
    owner["apiVersion"] = "other.example.com/v1"
    assert not requests_for(Gadgets(), Event(CONFIG_MAP, None, config_map("c", owner=owner)), Cache())


def test_a_child_that_changes_owners_asks_for_both() -> None:
    one, two = (gadget(name) | {"metadata": {"name": name, "uid": name}} for name in "ab")
    event = Event(CONFIG_MAP, config_map("c", owner=one), config_map("c", owner=two))
    assert requests_for(Gadgets(), event, Cache()) == [Request("default", "b"), Request("default", "a")]


def test_a_child_of_a_cluster_scoped_owner_asks_for_it_without_a_namespace() -> None:
    owner = gadget("a") | {"metadata": {"name": "a", "uid": "1"}}
    event = Event(CONFIG_MAP, None, config_map("child", owner=owner))
    assert requests_for(Gadgets(), event, Cache(), namespaced=False) == [Request("", "a")]


def test_a_mapping_function_may_ask_the_cache() -> None:
    def users_of(config: Object, cache: Cache) -> Iterable[Key | str]:
        for cached in cache.list(GADGET, namespace=config["metadata"]["namespace"]):
            if cached["spec"].get("config") == config["metadata"]["name"]:
                yield f"default/{cached['metadata']['name']}"

    class Watching(Gadgets):
        owns: ClassVar[Sequence[str]] = ()
        watches: ClassVar[Mapping[str, Mapper]] = {CONFIG_MAP: users_of}

    cache = Cache()
    items = [gadget("a", config="c"), gadget("b", config="other"), gadget("d", config="c")]
    for number, item in enumerate(items, 1):
        item["metadata"]["resourceVersion"] = str(number)
    cache.view(GADGET).replace(items, 5)
    event = Event(CONFIG_MAP, config_map("c"), config_map("c"))
    assert requests_for(Watching(), event, cache) == [Request("default", "a"), Request("default", "d")]


def test_a_predicate_keeps_events_away() -> None:
    class Calm(Gadgets):
        predicates: ClassVar[Mapping[str, Predicate]] = {GADGET: GenerationChanged()}

    old = gadget("a")
    old["metadata"]["generation"] = 1
    assert requests_for(Calm(), Event(GADGET, old, old), Cache()) == []
    assert requests_for(Calm(), Event(GADGET, None, old), Cache()) == [Request("default", "a")]


def test_the_name_is_that_of_the_class_unless_given() -> None:
    class Named(Gadgets):
        name = "other"

    assert (Gadgets.name, Named.name) == ("gadgets", "other")


def bad(**attributes: Any) -> Controller:
    return type("Bad", (Gadgets,), attributes)()  # type: ignore[no-any-return]


def not_async(self: Controller, request: Request, api: Api) -> None:
    """A reconcile that cannot be awaited."""


@pytest.mark.parametrize(
    ("controller", "words"),
    [
        (Gadgets, "write Gadgets(), not Gadgets"),
        (bad(kind=""), "name the kind that it reconciles"),
        (bad(kind="Gadget"), "expected Kind.group/version"),
        (bad(owns="Pod/v1"), "expected a list of kinds"),
        (bad(owns=["Pod"]), "does not name a kind"),
        (bad(watches=["Pod/v1"]), "expected a dict"),
        (bad(predicates={"Pod/v1": GenerationChanged()}), "neither owned nor watched"),
        (bad(reconcile=not_async), "async def reconcile"),
        (bad(max_concurrent=0), "at least 1"),
        (bad(max_concurrent="two"), "expected a number"),
        (bad(memory=("count",)), "not an attribute"),
    ],
)
def test_a_controller_that_cannot_run_is_refused_with_the_reason(controller: Any, words: str) -> None:
    with pytest.raises(BadController) as refused:
        check(controller)
    assert words in str(refused.value)


@pytest.mark.parametrize("after", [-1, True, "1", float("inf"), float("nan")])
def test_a_result_refuses_what_is_no_time(after: Any) -> None:
    with pytest.raises(BadController, match="expected seconds"):
        Result(requeue_after=after)


def test_an_owner_of_another_kind_is_not_asked_for() -> None:
    owner = gadget("a") | {"metadata": {"name": "a", "uid": "1"}, "kind": "Widget"}
    assert not requests_for(Gadgets(), Event(CONFIG_MAP, None, config_map("c", owner=owner)), Cache())


def test_a_result_asks_for_nothing_by_default() -> None:
    assert (Result().requeue, Result().requeue_after) == (False, None)
