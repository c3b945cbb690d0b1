"""Code that tells uids apart by more than equality: one choice of uids does not stand for all."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

import pytest

from explore.widgets import CRD, KIND, WIDGET, LockedWidgets
from kontend import Api, Cluster, Controller, Guards, Request
from kontend.explore import Bounds, Scenario, Verdict, check, eventually, never, reproduce, update
from kontend.explore.other_identities import mirrored


class _Leads(Controller):
    kind = KIND

    async def reconcile(self, request: Request, api: Api) -> None:
        """Mark one widget."""
        del request
        widgets = await api.live.list(KIND, namespace="default")
        if widgets and not any("status" in widget for widget in widgets):
            chosen = self.chosen(widgets)
            if chosen is not None:
                chosen["status"] = {"leads": True}
                await api.status.update(chosen)

    def chosen(self, widgets: list[dict[str, Any]]) -> dict[str, Any] | None:
        """Choose the widget to mark."""
        return min(widgets, key=lambda widget: str(widget["metadata"]["uid"]))


class _ByHash(_Leads):
    def chosen(self, widgets: list[dict[str, Any]]) -> dict[str, Any] | None:
        """Choose the first one, for some uids."""
        return widgets[0] if int(widgets[0]["metadata"]["uid"][0], 16) < 8 else None


class _ByName(_Leads):
    def chosen(self, widgets: list[dict[str, Any]]) -> dict[str, Any] | None:
        """Choose the widget with the least name; compare uids for equality only."""
        first = min(widgets, key=lambda widget: str(widget["metadata"]["name"]))
        return next(widget for widget in widgets if widget["metadata"]["uid"] == first["metadata"]["uid"])


def _scenario(controller: Controller) -> Scenario:
    other = {**WIDGET, "metadata": {**WIDGET["metadata"], "name": "a"}}
    return Scenario(
        [controller], crds=[CRD], objects=[WIDGET, other], bounds=Bounds(lag=0, faults=0), guards=Guards.off()
    )


@pytest.mark.parametrize("cls", [_Leads, _ByHash])
def test_code_that_orders_or_hashes_uids_is_not_said_to_hold(cls: type[_Leads]) -> None:
    controller = cls()
    verdict = check(_scenario(controller))
    assert (verdict.ok, verdict.violations) == (False, [])
    assert verdict.stopped == (
        f"{controller.name} would do something else with other uids; choices that were explored: 4"
    )
    assert any("chooses_by_uid = True" in note for note in verdict.notes)


@pytest.mark.parametrize("cls", [_Leads, _ByHash])
@pytest.mark.parametrize("name", ["a", "w"])
def test_what_another_choice_of_uids_violates_is_found(cls: type[_Leads], name: str) -> None:
    if cls is _ByHash and name == "w":
        return  # it marks the first one or none

    def leads(cluster: Cluster) -> bool:
        return bool(cluster.get(KIND, name).get("status"))

    scenario = replace(_scenario(cls()), properties=[never(leads, name="leads")])
    verdict = check(scenario)
    assert [violation.property for violation in verdict.violations] == ["leads"]

    @reproduce(verdict.violations[0].token)
    def again() -> Verdict:
        return check(scenario)

    assert [violation.property for violation in again().violations] == ["leads"]


class _Makes(Controller):
    """Makes a config map with a name that is made from the uid of its widget."""

    kind = KIND

    async def reconcile(self, request: Request, api: Api) -> None:
        """Make it unless it is there."""
        widget = await api.get(self.kind, request)
        uid = widget["metadata"]["uid"]
        name = f"{request.name}-{self.made(uid)}"
        maps = await api.live.list("ConfigMap/v1", namespace="default")
        if not any(found["metadata"]["name"] == name for found in maps):
            await api.create(
                {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}}
            )

    def made(self, uid: str) -> str:
        """Make an end of a name from a uid."""
        return uid[:8]


class _MakesAHash(_Makes):
    def made(self, uid: str) -> str:
        """Make an end of a name from a uid."""
        return hashlib.sha256(uid.encode()).hexdigest()[:12]


class _MakesAShard(_Makes):
    def made(self, uid: str) -> str:
        """Make an end of a name from a uid."""
        return "left" if uid[0] < "8" else "right"


@pytest.mark.parametrize(("cls", "ok"), [(_Makes, True), (_MakesAHash, True), (_MakesAShard, False)])
def test_names_that_are_made_from_uids_hold_unless_they_are_decisions(cls: type[_Makes], ok: bool) -> None:
    verdict = check(_scenario(cls()))
    assert (verdict.ok, verdict.violations) == (ok, [])


class _Claims(Controller):
    """The least uuid has the claim."""

    kind = KIND

    async def reconcile(self, request: Request, api: Api) -> None:
        """Claim the widget, or take it over."""
        mine = api.uuid()
        widget = await api.live.get(self.kind, request)
        other = (widget.get("status") or {}).get("id")
        if not other:
            widget["status"] = {"id": mine}
        elif mine < other:
            widget["status"] = {"id": other, "taken": True}
        else:
            return
        await api.status.update(widget)


def test_generated_uuids_are_compared_in_both_orders() -> None:
    def taken(cluster: Cluster) -> bool:
        return any((widget.get("status") or {}).get("taken") for widget in cluster.list(KIND))

    change = update(WIDGET, spec={"size": 2})
    scenario = replace(_scenario(_Claims()), actions=[change], properties=[never(taken, name="taken")])
    assert [violation.property for violation in check(scenario).violations] == ["taken"]
    kept = replace(scenario, properties=[eventually(taken, name="taken")])
    assert not check(kept)


class _Generates(Controller):
    """Generates two names, and keeps the least one."""

    kind = KIND

    async def reconcile(self, request: Request, api: Api) -> None:
        """Make the next one, or delete all but the first."""
        widget = await api.live.get(self.kind, request)
        count = (widget.get("status") or {}).get("count", 0)
        if count < 2:
            metadata = {"generateName": "m-", "namespace": "default", "labels": {"number": str(count)}}
            await api.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
            widget["status"] = {"count": count + 1}
            await api.status.update(widget)
            return
        for other in (await api.live.list("ConfigMap/v1", namespace="default"))[1:]:
            await api.delete(other)


@pytest.mark.parametrize("kept", ["0", "1"])
def test_generated_names_are_explored_in_both_orders(kept: str) -> None:
    def only(cluster: Cluster) -> bool:
        numbers = [found["metadata"]["labels"]["number"] for found in cluster.list("ConfigMap/v1")]
        return numbers == [kept] and (cluster.get(KIND, "w").get("status") or {}).get("count") == 2

    scenario = Scenario(
        [_Generates()], crds=[CRD], objects=[WIDGET], bounds=Bounds(lag=0, faults=0), guards=Guards.off()
    )
    verdict = check(replace(scenario, properties=[never(only, name="only")]))
    assert [violation.property for violation in verdict.violations] == ["only"]
    assert check(scenario).warnings == [
        "_generates would do something else with other generated names; choices that were explored: 4"
    ]


def test_code_that_compares_uids_for_equality_holds() -> None:
    assert check(_scenario(_ByName()))


def test_a_generated_uuid_that_is_stored_and_read_again_holds() -> None:
    scenario = Scenario([LockedWidgets()], crds=[CRD], objects=[WIDGET], bounds=Bounds(lag=0, faults=0))
    assert check(scenario)


def test_mirrored_uids_have_the_other_order() -> None:
    one, other = "0bd75091-0000-4000-8000-d7f86bd75091", "6bd75091-0000-4000-8000-d7f86bd75091"
    assert one < other
    assert mirrored(one) > mirrored(other)
    assert mirrored(mirrored(one)) == one


class _Shards(Controller):
    """Generates a name, and marks it by a hash."""

    kind = KIND

    async def reconcile(self, request: Request, api: Api) -> None:
        """Make a config map, then label those of one shard."""
        names = [obj["metadata"]["name"] for obj in await api.live.list("ConfigMap/v1", namespace="default")]
        if not names:
            metadata = {"generateName": "m-", "namespace": "default"}
            made = await api.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
            names = [made["metadata"]["name"]]
        widget = await api.live.get(self.kind, request)
        if not widget.get("status"):
            widget["status"] = {"odd": hashlib.sha256(names[0].encode()).digest()[0] % 2}
            await api.status.update(widget)


@pytest.mark.parametrize("odd", [0, 1])
def test_hashes_of_generated_names_are_explored_with_other_names(odd: int) -> None:
    def is_odd(cluster: Cluster) -> bool:
        return (cluster.get(KIND, "w").get("status") or {}).get("odd") == odd

    scenario = Scenario(
        [_Shards()],
        crds=[CRD],
        objects=[WIDGET],
        properties=[eventually(is_odd, name="odd")],
        bounds=Bounds(lag=0, faults=0),
    )
    assert [violation.property for violation in check(scenario).violations] == ["odd"]
