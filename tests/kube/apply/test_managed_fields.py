"""The entries of ``managedFields``: reading, writing, order, and the limit on updates."""

import pickle
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kontend.kube.apply.field_set import FieldSet
from kontend.kube.apply.managed_fields import (
    InvalidManagedFields,
    ManagedEntry,
    ManagedFields,
    Operation,
    cap_updates,
    decode,
    encode,
    encode_json,
    identity_text,
    in_order,
    is_reset,
    keep_times,
)

SIZE: dict[str, Any] = {"f:spec": {"f:size": {}}}


def entry(
    manager: str = "m",
    operation: Operation = "Update",
    *,
    version: str = "v1",
    time: str = "2026-01-01T00:00:00Z",
    subresource: str = "",
    fields: dict[str, Any] | None = None,
) -> ManagedEntry:
    return ManagedEntry(manager, operation, version, time, subresource, FieldSet(SIZE if fields is None else fields))


def raw(**changes: Any) -> dict[str, Any]:
    base = {"manager": "m", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": SIZE}
    return {name: value for name, value in (base | changes).items() if value is not None}


ENTRIES = st.builds(
    ManagedEntry,
    st.sampled_from(["a", "b", 'q"\n', "ü"]),
    st.sampled_from(["Apply", "Update"]),
    st.sampled_from(["v1", "apps/v1"]),
    st.sampled_from(["", "2026-01-01T00:00:00Z", "2026-01-01T00:00:09Z"]),
    st.sampled_from(["", "status"]),
    st.sampled_from([FieldSet(SIZE), FieldSet({"f:a": {".": {}, 'k:{"n":1}': {}}})]),
)


@settings(derandomize=True, deadline=None, max_examples=100)
@given(st.lists(ENTRIES, unique_by=lambda entry: entry.identity, max_size=5))
def test_what_is_written_reads_back_the_same(entries: list[ManagedEntry]) -> None:
    managed = in_order(entries)
    assert decode(encode(managed)) == managed
    assert encode_json(managed) == orjson.dumps(encode(managed), option=orjson.OPT_SORT_KEYS)
    assert pickle.loads(pickle.dumps(managed)) == managed  # noqa: S301


def test_empty_times_and_subresources_are_left_out() -> None:
    assert encode((entry(time=""),)) == [raw()]
    assert encode((entry(subresource="status"),)) == [raw(subresource="status", time="2026-01-01T00:00:00Z")]


def test_applies_come_first_then_the_older_then_by_name() -> None:
    entries = [
        entry("z", time="2026-01-01T00:00:00Z"),
        entry("b", "Apply", time="2026-01-01T00:00:02Z"),
        entry("a", time="2026-01-01T00:00:00Z", subresource="status"),
        entry("a", time="2026-01-01T00:00:00Z"),
        entry("c", "Apply", time=""),
    ]
    assert [(entry.manager, entry.subresource) for entry in in_order(entries)] == [
        ("c", ""), ("b", ""), ("a", ""), ("a", "status"), ("z", ""),
    ]  # fmt: skip


def test_the_last_of_two_entries_with_one_identity_counts() -> None:
    other: dict[str, Any] = {"f:spec": {"f:color": {}}}
    assert [entry.fields.tree for entry in decode([raw(), raw(fieldsV1=other)])] == [other]
    applies = [raw(operation="Apply"), raw(operation="Apply", apiVersion="v2")]
    assert [entry.api_version for entry in decode(applies)] == ["v2"]
    assert len(decode([raw(), raw(apiVersion="v2"), raw(subresource="status")])) == 3


def test_times_are_brought_to_utc() -> None:
    assert decode([raw(time="2026-01-01T02:00:00.5+02:00")])[0].time == "2026-01-01T00:00:00Z"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([raw(operation=None)], "operation must be `Apply` or `Update`"),
        ([raw(operation="Patch")], "operation must be `Apply` or `Update`"),
        ([raw(apiVersion=None)], "apiVersion must not be empty"),
        ([raw(), raw(fieldsType=None)], "missing fieldsType in managed fields entry 1"),
        ([raw(fieldsType="V2")], 'invalid fieldsType "V2" in managed fields entry 0'),
        ([raw(fieldsV1={"spec": {}})],
         "error decoding versioned set: error decoding set: missing colon: spec"),
        ([raw(fieldsV1=["x"])], "error decoding versioned set: error decoding set: expected an object, got list"),
        ([raw(time="soon")], "not a time: soon"),
        ([raw(time=3)], "not a time: 3"),
        ([raw(manager=3)], "manager, apiVersion and subresource of entry 0 must be strings"),
        ("x", "managedFields must be a list of objects"),
        ([1], "managedFields must be a list of objects"),
    ],
)  # fmt: skip
def test_what_the_server_would_not_take_is_refused(value: Any, message: str) -> None:
    with pytest.raises(InvalidManagedFields) as caught:
        decode(value)
    assert str(caught.value) == message


def test_nothing_decodes_to_nothing() -> None:
    assert decode(None) == decode([]) == ()


@pytest.mark.parametrize("value", ["x", 3, None, {}, [{}, {}], [raw()]])
def test_only_an_empty_list_or_an_empty_entry_is_a_reset(value: Any) -> None:
    assert not is_reset(value)
    assert is_reset([])
    assert is_reset([{}])


def test_times_alone_are_no_change() -> None:
    old = (entry("a"), entry("b", "Apply"))
    later = tuple(ManagedEntry(e.manager, e.operation, e.api_version, "2027", e.subresource, e.fields) for e in old)
    assert keep_times(old, later) is old
    more = (*later, entry("c"))
    assert keep_times(old, more) is more
    other = (entry("a", version="v2"), entry("b", "Apply"))
    assert keep_times(old, other) is other


def updates(count: int, **changes: Any) -> list[ManagedEntry]:
    return [
        entry(f"m{number:02}", time=f"2026-01-01T00:00:{number:02}Z", fields={f"f:{number}": {}}, **changes)
        for number in range(count)
    ]


def test_ten_updates_are_kept_as_they_are() -> None:
    managed: ManagedFields = (*updates(10), entry("a", "Apply"))
    assert cap_updates(managed) is managed


def test_beyond_ten_the_oldest_become_ancient_changes() -> None:
    capped = cap_updates(in_order([*updates(12), entry("a", "Apply")]))
    assert len(capped) == 11
    assert [entry.manager for entry in capped[:3]] == ["a", "ancient-changes", "m03"]
    assert capped[1].fields.tree == {"f:0": {}, "f:1": {}, "f:2": {}}
    assert capped[1].time == "2026-01-01T00:00:02Z"


def test_ancient_changes_take_up_more_later() -> None:
    capped = cap_updates(in_order(updates(11)))
    again = cap_updates(in_order([*capped, entry("new", time="2026-01-01T00:01:00Z")]))
    assert [entry.manager for entry in again].count("ancient-changes") == 1
    assert again[0].fields.tree == {"f:0": {}, "f:1": {}, "f:2": {}}
    assert len(again) == 10


def test_each_version_has_ancient_changes_of_its_own() -> None:
    capped = cap_updates(in_order([*updates(8), *updates(8, version="v2")]))
    assert sorted(entry.api_version for entry in capped if entry.manager == "ancient-changes") == ["v1", "v2"]
    assert len(capped) == 10


def test_managers_are_sorted_by_their_identity_as_json() -> None:
    assert identity_text(entry("m", subresource="status").identity) == (
        '{"manager":"m","operation":"Update","apiVersion":"v1","subresource":"status"}'
    )
    assert identity_text(entry("<m>", "Apply").identity) == '{"manager":"\\u003cm\\u003e","operation":"Apply"}'
