"""Tokens stand for versions and uuids; code that can tell them apart refutes an assumption."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explore.widgets import CRD, KIND, UNGUARDED, WIDGET
from kontend.cluster.cluster import Cluster
from kontend.explore import Bounds, Scenario, check, update
from kontend.explore.exploring import SearchOptions, explore
from kontend.explore.model.model import Model
from kontend.explore.program.progress import Done, Progress
from kontend.explore.program.symbols import (
    Assumption,
    Refuted,
    bind,
    leaked_versions,
    mirrored,
    mirrored_progress,
    unbind,
    uuid_token,
    uuids_in,
    version_token,
)
from kontend.runtime.client.api import Api
from kontend.runtime.client.call import Call
from kontend.runtime.client.patches import merge_from, merge_patch
from kontend.runtime.controller import Controller, Request

UUIDS = ("00000001-0000-4000-b000-000000000001", "00000002-0000-4000-b000-000000000002")


def _call(body: bytes = b"", **fields: Any) -> Call:
    return Call("patch", KIND, "default", fields.pop("name", "w"), body=body, **fields)


# Tokens


@given(st.lists(st.sampled_from([0, 1, "text", "x"]), max_size=6))
def test_binding_and_unbinding_uuids_are_inverse(parts: list[int | str]) -> None:
    data = " ".join(uuid_token(part) if isinstance(part, int) else part for part in parts).encode()
    assert unbind(bind(data, (), UUIDS), UUIDS) == data


def test_versions_are_bound_by_their_number() -> None:
    data = f'{{"a":"{version_token(1)}","b":"{version_token(0)}"}}'.encode()
    assert bind(data, (70, 80), ()) == b'{"a":"80","b":"70"}'


@given(st.lists(st.integers(0, 50), min_size=2, max_size=6, unique=True))
def test_mirroring_reverses_the_order_and_is_its_own_inverse(numbers: list[int]) -> None:
    for token in (version_token, uuid_token):
        tokens = [token(number).encode() for number in numbers]
        images = [mirrored(token) for token in tokens]
        assert [mirrored(image) for image in images] == tokens
        order = sorted(range(len(tokens)), key=lambda at: tokens[at])
        assert sorted(range(len(tokens)), key=lambda at: images[at]) == order[::-1]


def test_a_mirrored_progress_has_ordinary_tokens() -> None:
    body = f'{{"metadata":{{"resourceVersion":"{version_token(0)}"}}}}'.encode()
    progress = Progress((_call(body, name=f"w-{uuid_token(1)}"),), None, 2)
    image = Progress((_call(mirrored(body), name=mirrored(f"w-{uuid_token(1)}".encode()).decode()),), None, 2)
    assert image != progress
    assert mirrored_progress(image) == progress


# Leaks


@pytest.mark.parametrize(
    ("call", "leaks"),
    [
        (_call(f'{{"metadata":{{"resourceVersion":"{version_token(0)}"}}}}'.encode()), False),
        (_call(f'{{"preconditions":{{"resourceVersion":"{version_token(0)}"}}}}'.encode()), False),
        (
            _call(f'[{{"op":"test","path":"/metadata/resourceVersion","value":"{version_token(0)}"}}]'.encode()),
            False,
        ),
        (_call(f'{{"metadata":{{"annotations":{{"seen":"{version_token(0)}"}}}}}}'.encode()), True),
        (_call(f'{{"data":"at {version_token(0)}"}}'.encode()), True),
        (_call(f'[{{"op":"add","path":"/data/v","value":"{version_token(0)}"}}]'.encode()), True),
        (_call(name=f"w-{version_token(0)}"), True),
        (_call(query=(("labelSelector", f"v={version_token(0)}"),)), True),
        (_call(b'{"spec":{}}'), False),
    ],
)
def test_a_version_leaks_unless_it_is_a_lock(call: Call, leaks: bool) -> None:
    assert leaked_versions(Progress((call,), None, 0)) is leaks


def test_a_version_in_the_memory_leaks() -> None:
    memory = f'{{"seen":"{version_token(0)}"}}'.encode()
    assert leaked_versions(Progress((), Done(False, None, memory), 0))
    assert not leaked_versions(Progress((), Done(False, None, b'{"seen":1}'), 0))


def test_generated_uuids_count_as_far_as_they_are_handed_on() -> None:
    assert uuids_in((), None) == 0
    assert uuids_in((_call(uuid_token(1).encode()),), None) == 2
    assert uuids_in((), Done(False, None, f'{{"id":"{uuid_token(0)}"}}'.encode())) == 1


def test_a_part_of_a_uuid_refutes_that_uuids_are_used_whole() -> None:
    with pytest.raises(Refuted) as caught:
        uuids_in((_call(uuid_token(1)[:8].encode()),), None)
    assert caught.value.assumption is Assumption.WHOLE_UUIDS


# Assumptions


class Writes(Controller):
    """Writes something made from a widget and from uuids."""

    kind = KIND

    def __init__(self, value: Callable[[dict[str, Any], Api], Any]) -> None:
        self.value = value

    async def reconcile(self, request: Request, api: Api) -> None:
        """Write the value unless there is one."""
        widget = await api.get(self.kind, request)
        value = self.value(widget, api)
        if not widget.get("status"):
            await api.status.patch(widget, merge_patch({"status": {"value": value}}))


def _assumptions(value: Callable[[dict[str, Any], Api], Any]) -> frozenset[Assumption]:
    """The assumptions that hold at the end of a search."""
    models: list[Model] = []
    scenario = Scenario(
        [Writes(value)],
        crds=[CRD],
        objects=[WIDGET],
        actions=[update(WIDGET, metadata={"labels": {"a": "1"}})],
        bounds=Bounds(faults=0, lag=1),
        guards=UNGUARDED,
    )
    explore(scenario, SearchOptions(), inspect=models.append)
    return models[0].knowledge.assumptions


def _version(widget: dict[str, Any]) -> str:
    return str(widget["metadata"]["resourceVersion"])


def test_opaque_versions_and_whole_uuids_keep_the_assumptions() -> None:
    assert _assumptions(lambda _, api: api.uuid()) == frozenset(Assumption)
    assert _assumptions(lambda widget, _: _version(widget) == _version(widget)) == frozenset(Assumption)


@pytest.mark.parametrize(
    "value",
    [
        lambda widget, _: _version(widget),
        lambda widget, _: f"at {_version(widget)}",
        lambda widget, _: int(_version(widget)) % 7,
        lambda widget, _: _version(widget)[-1],
    ],
)
def test_code_that_uses_versions_otherwise_sees_real_ones(value: Callable[[dict[str, Any], Api], Any]) -> None:
    assert Assumption.OPAQUE_VERSIONS not in _assumptions(value)


@pytest.mark.parametrize(
    "value",
    [
        lambda _, api: api.uuid()[:8],
        lambda _, api: api.uuid()[-4:],
        lambda _, api: api.uuid() < api.uuid(),
        lambda _, api: sum(api.uuid().encode()),
    ],
)
def test_code_that_uses_parts_or_the_order_of_uuids_sees_real_ones(value: Callable[[dict[str, Any], Api], Any]) -> None:
    assert Assumption.WHOLE_UUIDS not in _assumptions(value)


class Compares(Controller):
    """Remembers the version that it has written, and works only where another one is there."""

    kind = KIND
    memory = ("written",)
    written = ""

    async def reconcile(self, request: Request, api: Api) -> None:
        """Count writes of others in the status, up to three."""
        widget = await api.get(self.kind, request)
        if self.written and widget["metadata"]["resourceVersion"] == self.written:
            return
        base = {**widget}
        count = (widget.get("status") or {}).get("count", 0)
        if count < 3:
            widget["status"] = {"count": count + 1}
            await api.status.patch(widget, merge_from(base))
            self.written = widget["metadata"]["resourceVersion"]


def test_equality_with_a_remembered_version_means_what_it_means_in_a_cluster() -> None:
    """Its own write does not make it work again, so that without a user it counts once."""
    scenario = Scenario([Compares()], crds=[CRD], objects=[WIDGET], bounds=Bounds(faults=0, lag=0), guards=UNGUARDED)
    verdict = check(scenario)
    assert verdict.ok
    assert [Cluster(state=state).get(KIND, "w")["status"] for state in verdict.final_states] == [{"count": 1}]
