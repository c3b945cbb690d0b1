"""Small controllers made from lists of steps, and random scenarios made from them."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from explore.widgets import CRD, KIND, UNGUARDED, WIDGET
from kontend.cluster.cluster import Cluster
from kontend.explore import Bounds, Reductions, Scenario, always, create, delete, eventually, never, sometimes, update
from kontend.kube.errors import AlreadyExists, Conflict, NotFound
from kontend.kube.meta.names import Key
from kontend.runtime.cache.views import Cache
from kontend.runtime.client.api import Api
from kontend.runtime.client.patches import merge_from
from kontend.runtime.controller import Controller, Request, Result
from kontend.runtime.guards import Guards
from kontend.runtime.predicates import GenerationChanged

MAP = "ConfigMap/v1"
SECRET = "Secret/v1"
CONFIG_MAP: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "w", "namespace": "default"},
    "data": {"a": "0"},
}
BRUTE_FORCE = replace(Reductions.none(), codes=True)
WIDGET_STEPS = (
    "read", "read live", "list", "count", "count locked", "mark", "stop if counted", "generate", "create", "delete",
    "read map", "list maps", "patch map", "try again", "fail once", "remember", "stop if remembered",
)  # fmt: skip
MAP_STEPS = (
    "read", "read live", "count", "count locked", "generate", "make secret", "read secret", "label secret",
    "write widget", "try again", "fail",
)  # fmt: skip


async def patched(
    api: Api, obj: dict[str, Any], field: str, change: Mapping[str, Any], *, lock: bool = False
) -> dict[str, Any]:
    """The object after a merge patch of one top-level field."""
    base = copy.deepcopy(obj)
    obj[field] = {**(obj.get(field) or {}), **change}
    write = api.status.patch if field == "status" else api.patch
    with contextlib.suppress(NotFound):
        await write(obj, merge_from(base, lock=lock))
    return obj


class WidgetProgram(Controller):
    """Runs a list of steps on a widget and on a config map of the same name; counts to two at most."""

    kind = KIND
    name = "widgets"
    memory = ("seen",)
    seen = 0
    steps: Sequence[str] = ()

    async def reconcile(self, request: Request, api: Api) -> Result | None:
        """Run the steps in order."""
        try:
            obj = await api.get(KIND, request)
        except NotFound:
            return None
        for step in self.steps:
            status = obj.get("status") or {}
            fresh = not status.get("n", 0) and not status.get("marked")
            if step == "try again" and fresh:
                return Result(requeue=True)
            if (step == "stop if counted" and status.get("n", 0)) or (step == "stop if remembered" and self.seen):
                return None
            if step == "remember":
                self.seen = 1
            elif step == "fail once" and fresh:
                await patched(api, obj, "status", {"marked": True})
                raise RuntimeError("no")
            elif step in ("create", "delete", "patch map"):
                await self._on_map(api, step, obj)
            else:
                obj = await self._on_widget(api, request, step, obj)
        return None

    async def _on_widget(self, api: Api, request: Request, step: str, obj: dict[str, Any]) -> dict[str, Any]:
        status = obj.get("status") or {}
        if step == "read":
            return await api.get(KIND, request)
        if step == "read live":
            return await api.live.get(KIND, request)
        if step == "list":
            return next(iter(await api.list(KIND)), obj)
        if step in ("count", "count locked") and status.get("n", 0) < 2:
            return await patched(api, obj, "status", {"n": status.get("n", 0) + 1}, lock=step == "count locked")
        if step == "mark":
            return await patched(api, obj, "status", {"marked": True})
        if step == "generate" and not status.get("id"):
            return await patched(api, obj, "status", {"id": api.uuid()})
        if step == "read map":
            config_map = await api.get(MAP, "default/w")
            return await patched(api, obj, "status", {"map": config_map.get("data", {}).get("a", "")})
        if step == "list maps":
            return await patched(api, obj, "status", {"maps": len(await api.list(MAP, namespace="default"))})
        return obj

    async def _on_map(self, api: Api, step: str, owner: dict[str, Any]) -> None:
        with contextlib.suppress(AlreadyExists, NotFound, Conflict):
            if step == "create":
                reference = {"apiVersion": "example.com/v1", "kind": "Widget", "name": "w", "controller": True}
                metadata = {
                    **CONFIG_MAP["metadata"],
                    "ownerReferences": [{**reference, "uid": owner["metadata"]["uid"]}],
                }
                await api.create({**CONFIG_MAP, "metadata": metadata})
            elif step == "delete":
                await api.delete(copy.deepcopy(CONFIG_MAP))
            else:
                await patched(api, await api.get(MAP, "default/w"), "data", {"a": "2"}, lock=True)


class MapProgram(Controller):
    """Runs a list of steps on a config map, and on a secret that no other controller writes."""

    kind = MAP
    name = "maps"
    steps: Sequence[str] = ()

    async def reconcile(self, request: Request, api: Api) -> Result | None:
        """Run the steps in order."""
        with contextlib.suppress(NotFound, AlreadyExists, Conflict):
            obj = await api.get(MAP, request)
            for step in self.steps:
                data = obj.get("data") or {}
                if step == "try again" and not data.get("n"):
                    return Result(requeue=True)
                if step == "fail" and not data.get("n"):
                    raise RuntimeError("no")
                obj = await self._do(api, request, step, obj)
        return None

    async def _do(self, api: Api, request: Request, step: str, obj: dict[str, Any]) -> dict[str, Any]:
        data = obj.get("data") or {}
        count = int(data.get("n", "0"))
        if step == "read":
            return await api.get(MAP, request)
        if step == "read live":
            return await api.live.get(MAP, request)
        if step in ("count", "count locked") and count < 2:
            return await patched(api, obj, "data", {"n": str(count + 1)}, lock=step == "count locked")
        if step == "generate" and not data.get("id"):
            return await patched(api, obj, "data", {"id": api.uuid()})
        if step == "make secret":
            metadata = {"name": "s", "namespace": "default"}
            await api.create({"apiVersion": "v1", "kind": "Secret", "metadata": metadata})
        elif step in ("read secret", "label secret"):
            secret = await api.live.get(SECRET, "default/s")
            if step == "label secret":
                await patched(api, secret, "data", {"n": "MQ==" if count else "MA=="})
        elif step == "write widget":
            await patched(api, await api.live.get(KIND, "default/w"), "status", {"map": str(count)})
        return obj


def _always_the_widget(*_: object) -> list[str]:
    return ["default/w"]


def _the_widget_if_it_has_a_status(_: Mapping[str, Any], cache: Cache) -> list[str]:
    try:
        return ["default/w"] if cache.get(KIND, Key("default", "w")).get("status") else []
    except NotFound:
        return []


def _count(cluster: Cluster) -> int | None:
    try:
        return int((cluster.get(KIND, "w").get("status") or {}).get("n", 0))
    except NotFound:
        return None


def counted(cluster: Cluster) -> bool:
    """The widget is counted, or does not exist."""
    return _count(cluster) != 0


def grows(before: Cluster, after: Cluster) -> bool:
    """The count never decreases."""
    one, two = _count(before), _count(after)
    return one is None or two is None or two >= one


def patched_map(cluster: Cluster) -> bool:
    """The config map was patched."""
    try:
        return bool(cluster.get(MAP, "w").get("data", {}).get("a") == "2")
    except NotFound:
        return False


def labelled_secret(cluster: Cluster) -> bool:
    """The secret is labelled after the config map was counted."""
    try:
        return bool((cluster.get(SECRET, "s").get("data") or {}).get("n") == "MQ==")
    except NotFound:
        return False


@st.composite
def scenarios(draw: st.DrawFn) -> Scenario:
    """One or two controllers over a widget and, sometimes, a config map; a user; any guards; little lag."""
    steps = draw(st.lists(st.sampled_from(WIDGET_STEPS), min_size=1, max_size=3))
    extra: dict[str, Any] = draw(
        st.sampled_from(
            [
                {},
                {"owns": [MAP]},
                {"watches": {MAP: _always_the_widget}},
                {"watches": {MAP: _the_widget_if_it_has_a_status}},
                {"predicates": {KIND: GenerationChanged()}},
                {"watches": {MAP: _the_widget_if_it_has_a_status}, "predicates": {KIND: GenerationChanged()}},
            ]
        )
    )
    controllers: list[Controller] = [type("Widgets", (WidgetProgram,), {"steps": tuple(steps), **extra})()]
    if draw(st.booleans()):
        others = draw(st.lists(st.sampled_from(MAP_STEPS), min_size=1, max_size=3))
        controllers.append(type("Maps", (MapProgram,), {"steps": tuple(others)})())
    actions = draw(
        st.sampled_from(
            [
                [],
                [],
                [update(WIDGET, metadata={"labels": {"a": "1"}})],
                [update(WIDGET, spec={"size": 1})],
                [delete(WIDGET)],
                [delete(WIDGET), create(WIDGET)],
            ]
        )
    )
    return Scenario(
        controllers=controllers,
        crds=[CRD],
        objects=[WIDGET, *([CONFIG_MAP] if len(controllers) > 1 or draw(st.booleans()) else [])],
        actions=actions,
        properties=[
            eventually(counted),
            always(grows),
            sometimes(counted, name="is counted"),
            never(patched_map),
            *([never(labelled_secret)] if draw(st.booleans()) else []),
        ],
        bounds=Bounds(
            faults=0,
            lag=draw(st.integers(0, 2)),
            concurrent=1 if len(controllers) > 1 else draw(st.integers(1, 2)),
            states=2_000,
        ),
        guards=draw(st.sampled_from([UNGUARDED, UNGUARDED, Guards(fencing=False)])),
    )


def by_brute_force(scenario: Scenario) -> Scenario:
    """The same scenario with all reductions off."""
    return replace(scenario, reductions=BRUTE_FORCE)
