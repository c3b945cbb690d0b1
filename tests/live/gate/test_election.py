"""Locks of older clients: ConfigMaps and Endpoints with the record of an election are leases."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from kontend import Cluster
from kontend.cluster.request import ApiRequest
from kontend.cluster.state import State
from kontend.live.gate.call import LEASES, describe
from kontend.live.gate.election import LEADER, elections
from kontend.live.properties.masking import comparable

LOCK: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {
        "name": "lock",
        "namespace": "default",
        "annotations": {LEADER: '{"holderIdentity":"one","leaseDurationSeconds":15}'},
    },
}
SETTINGS: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "settings", "namespace": "default"},
}


def stored(*objects: dict[str, Any]) -> State:
    """A state with some objects."""
    cluster = Cluster()
    for obj in objects:
        cluster.create(obj)
    return cluster.state


def resource(state: State, method: str, path: str, obj: object = None) -> str:
    """The resource of the call that a request makes."""
    body = orjson.dumps(obj) if obj is not None else b""
    request = ApiRequest(method, f"/api/v1/namespaces/default/configmaps{path}", body=body)
    call = describe(state, request, {})
    assert call is not None
    return call.resource


def test_the_first_write_of_a_record_is_about_a_lease_and_that_of_another_object_is_not() -> None:
    assert resource(stored(), "POST", "", LOCK) == LEASES
    assert resource(stored(), "POST", "", SETTINGS) == "configmaps"


@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "DELETE"])
def test_later_calls_about_a_record_are_known_by_the_object_that_is_there(method: str) -> None:
    state = stored(LOCK, SETTINGS)
    assert resource(state, method, "/lock") == LEASES
    assert resource(state, method, "/settings") == "configmaps"


def test_records_are_no_part_of_a_final_state() -> None:
    initial = stored()
    titles = [title for title in comparable(initial, stored(LOCK, SETTINGS)) if title[0] == "configmaps"]
    assert len(titles) == 1


def test_a_record_with_a_holder_is_yielded_without_it() -> None:
    free = {**LOCK, "metadata": {**LOCK["metadata"], "name": "free", "annotations": {LEADER: "{}"}}}
    ((kind, key, record),) = elections(stored(LOCK, free, SETTINGS))
    assert (kind, key.name) == ("ConfigMap/v1", "lock")
    assert orjson.loads(record) == {"holderIdentity": "", "leaseDurationSeconds": 15}
