"""Field ownership after a create, an update or a patch."""

from typing import Any

import pytest

from kontend.kube.apply.field_set import FieldSet
from kontend.kube.apply.managed_fields import ManagedFields, decode, encode
from kontend.kube.apply.server_side import track_update
from kontend.kube.schema.tree import MISSING, GoField, Schema

STRING, INTEGER = Schema("string"), Schema("integer")
SPEC = Schema(
    "object",
    properties={
        "size": INTEGER,
        "color": STRING,
        "tags": Schema("array", items=STRING, list_type="set"),
        "conditions": Schema(
            "array", items=Schema("object", properties={"type": STRING, "status": STRING}), list_type="map",
            map_keys=("type",),
        ),
    },
)  # fmt: skip
WIDGET = Schema("object", properties={"spec": SPEC, "status": SPEC})
STATUS = FieldSet.of_paths([("status",)])
ONLY_STATUS = FieldSet.of_paths([("spec",)])
V1, V2 = "example.com/v1", "example.com/v2"


def widget(labels: dict[str, str] | None = None, status: Any = None, **spec: Any) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": "w", "uid": "1", "resourceVersion": "5", "generation": 1}
    obj: dict[str, Any] = {"apiVersion": V1, "kind": "Widget", "metadata": metadata, "spec": spec}
    if labels is not None:
        metadata["labels"] = labels
    if status is not None:
        obj["status"] = status
    return obj


def write(
    live: dict[str, Any] | None, new: dict[str, Any], managed: ManagedFields = (), manager: str = "m", **options: Any
) -> ManagedFields:
    arguments: dict[str, Any] = {"schema": WIDGET, "api_version": V1, "now": "2026-01-01T00:00:00Z", **options}
    return track_update(live=live, new=new, managed=managed, manager=manager, **arguments)


def owned(managed: ManagedFields) -> dict[str, Any]:
    """Fields by manager (and subresource)."""
    return {f"{entry.manager}/{entry.subresource}".rstrip("/"): entry.fields.tree for entry in managed}


def test_a_creator_owns_all_but_what_the_server_sets() -> None:
    managed = write(None, widget(labels={"a": "b"}, size=1))
    assert encode(managed) == [
        {
            "manager": "m",
            "operation": "Update",
            "apiVersion": V1,
            "time": "2026-01-01T00:00:00Z",
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:metadata": {"f:labels": {".": {}, "f:a": {}}}, "f:spec": {".": {}, "f:size": {}}},
        }
    ]


def test_an_object_with_nothing_to_own_has_no_managed_fields() -> None:
    assert write(None, {"apiVersion": V1, "kind": "Widget", "metadata": {"name": "w"}}) == ()


def test_a_writer_without_a_name_is_unknown() -> None:
    assert write(None, widget(size=1), manager="")[0].manager == "unknown"


def test_a_changed_field_changes_hands_and_who_has_nothing_left_is_forgotten() -> None:
    managed = write(None, widget(size=1), manager="a")
    managed = write(widget(size=1), widget(size=2, color="x"), managed, "b")
    assert owned(managed) == {"a": {"f:spec": {}}, "b": {"f:spec": {"f:size": {}, "f:color": {}}}}
    managed = write(widget(size=2, color="x"), widget(size=3, color="y"), managed, "a")
    assert owned(managed) == {"a": {"f:spec": {".": {}, "f:size": {}, "f:color": {}}}}


def test_a_removed_field_belongs_to_nobody() -> None:
    managed = write(None, widget(size=1, color="x"), manager="a")
    managed = write(widget(size=1, color="x"), widget(color="x"), managed, "b")
    assert owned(managed) == {"a": {"f:spec": {".": {}, "f:color": {}}}}


def test_a_write_that_changes_nothing_keeps_the_very_same_entries() -> None:
    managed = write(None, widget(size=1))
    assert write(widget(size=1), widget(size=1), managed, "b", now="2027-01-01T00:00:00Z") is managed


def test_writing_again_renews_the_time_and_adds_to_the_entry() -> None:
    managed = write(None, widget(size=1))
    managed = write(widget(size=1), widget(size=1, color="x"), managed, now="2027-01-01T00:00:00Z")
    assert owned(managed) == {"m": {"f:spec": {".": {}, "f:size": {}, "f:color": {}}}}
    assert managed[0].time == "2027-01-01T00:00:00Z"


def test_fields_that_the_write_cannot_change_are_not_tracked() -> None:
    managed = write(None, widget(size=1, status={"color": "x"}), reset_fields=STATUS)
    assert owned(managed) == {"m": {"f:spec": {".": {}, "f:size": {}}}}
    new = widget(size=9, labels={"a": "b"}, status={"color": "x"})
    managed = write(widget(size=1), new, managed, "s", reset_fields=ONLY_STATUS, subresource="status")
    assert owned(managed) == {
        "m": {"f:spec": {".": {}, "f:size": {}}},
        "s/status": {
            "f:metadata": {"f:labels": {".": {}, "f:a": {}}},
            "f:status": {".": {}, "f:color": {}},
        },
    }


def test_reset_fields_of_the_main_resource_count_for_its_own_version_only() -> None:
    """An entry of another version loses the status that the writer changed, a status that the server takes back."""
    at = {V1: WIDGET, V2: WIDGET}
    live, new = widget(size=1, status={"color": "x"}), widget(size=1, status={"color": "y"})
    managed = (
        *write(None, live, manager="one", schema_at=at),
        *write(None, live, manager="two", api_version=V2, schema_at=at),
    )
    left = owned(write(live, new, managed, "writer", schema_at=at, reset_fields=STATUS))
    assert left["one"]["f:status"] == {".": {}, "f:color": {}}
    assert left["two"]["f:status"] == {}
    assert "writer" not in left


def test_reset_fields_of_a_subresource_count_for_all_versions() -> None:
    at = {V1: WIDGET, V2: WIDGET}
    live, new = widget(size=1), widget(size=2)
    managed = (
        *write(None, live, manager="one", schema_at=at),
        *write(None, live, manager="two", api_version=V2, schema_at=at),
    )
    left = owned(write(live, new, managed, "writer", schema_at=at, reset_fields=ONLY_STATUS, subresource="status"))
    assert left["one"] == left["two"] == {"f:spec": {".": {}, "f:size": {}}}


def test_without_managed_fields_an_update_starts_none() -> None:
    assert write(widget(size=1), widget(size=2)) == ()


@pytest.mark.parametrize("reset", [[], [{}]])
def test_managed_fields_can_be_reset(reset: list[Any]) -> None:
    managed = write(None, widget(size=1))
    assert write(widget(size=1), widget(size=2), managed, requested=reset) == ()


def test_managed_fields_can_be_edited() -> None:
    managed = write(None, widget(size=1, color="x"))
    edited = [{**encode(managed)[0], "manager": "renamed"}]
    managed = write(widget(size=1, color="x"), widget(size=2, color="x"), managed, "b", requested=edited)
    assert owned(managed) == {"renamed": {"f:spec": {".": {}, "f:color": {}}}, "b": {"f:spec": {"f:size": {}}}}


@pytest.mark.parametrize("requested", [None, MISSING, "x", 7, [1], [{"manager": "x"}], [{"operation": "Apply"}]])
def test_what_makes_no_sense_as_managed_fields_leaves_them_alone(requested: Any) -> None:
    managed = write(None, widget(size=1))
    assert write(widget(size=1), widget(size=1), managed, requested=requested) == managed


def test_subresources_do_not_edit_managed_fields() -> None:
    managed = write(None, widget(size=1))
    after = write(widget(size=1), widget(size=1), managed, requested=[], subresource="status")
    assert after == managed


def test_duplicates_are_one_field() -> None:
    managed = write(None, widget(tags=["a", "a", "b"]))
    assert owned(managed)["m"] == {"f:spec": {".": {}, "f:tags": {".": {}, 'v:"a"': {}, 'v:"b"': {}}}}


@pytest.mark.parametrize(
    "new",
    [widget(size="x"), widget(nope=1), {**widget(size=1), "spec": []}, widget(tags=[None]), widget(conditions=[{}])],
)
def test_an_object_that_breaks_its_schema_loses_its_managed_fields(new: dict[str, Any]) -> None:
    assert write(widget(size=1), new, write(None, widget(size=1))) == ()


def test_entries_of_other_versions_are_judged_with_their_schema() -> None:
    older = Schema("object", properties={"spec": Schema("object", properties={"size": INTEGER, "color": STRING})})
    at = {V1: WIDGET, V2: older}
    managed = write(None, widget(size=1), api_version=V2, schema=older, schema_at=at, manager="old")
    live = widget(size=1)
    managed = write(live, widget(size=1, color="x"), managed, "new", schema_at=at)
    assert owned(managed) == {"old": {"f:spec": {".": {}, "f:size": {}}}, "new": {"f:spec": {"f:color": {}}}}
    managed = write(widget(size=1, color="x"), widget(size=2, color="x"), managed, "new", schema_at=at.get)
    assert owned(managed) == {"old": {"f:spec": {}}, "new": {"f:spec": {"f:size": {}, "f:color": {}}}}


def test_a_field_that_the_version_of_another_manager_lacks_costs_all_managed_fields() -> None:
    older = Schema("object", properties={"spec": Schema("object", properties={"size": INTEGER})})
    at = {V1: WIDGET, V2: older}
    managed = write(None, widget(size=1), api_version=V2, schema=older, schema_at=at, manager="old")
    assert write(widget(size=1), widget(size=1, color="x"), managed, "new", schema_at=at) == ()


def test_a_version_that_a_custom_resource_lost_costs_all_managed_fields() -> None:
    managed = write(None, widget(size=1), api_version=V2)
    assert write(widget(size=1), widget(size=2), managed) == ()


def test_a_version_that_a_built_in_kind_lost_costs_its_own_entries() -> None:
    builtin = WIDGET.replace(go_type="Widget")
    managed = (*write(None, widget(size=1), api_version=V2), *write(None, widget(color="x"), manager="n"))
    left = write(widget(size=1, color="x"), widget(size=1, color="x"), managed, schema=builtin)
    assert owned(left) == {"n": {"f:spec": {".": {}, "f:color": {}}}}


def test_structs_that_a_built_in_kind_always_has_are_not_owned_by_its_creator() -> None:
    builtin = Schema(
        "object",
        go_type="Thing",
        properties={
            "spec": Schema(
                "object",
                go_type="ThingSpec",
                properties={
                    "items": Schema("array", items=STRING, list_type="set", go_field=GoField(omit_empty=False)),
                    "more": Schema("array", items=STRING, list_type="set"),
                },
            )
        },
    )
    managed = write(None, {"spec": {"items": ["a"], "more": ["a"]}}, schema=builtin)
    assert owned(managed)["m"] == {"f:spec": {"f:items": {'v:"a"': {}}, "f:more": {".": {}, 'v:"a"': {}}}}


def test_only_the_last_of_two_entries_of_one_manager_counts() -> None:
    one, other = (write(None, obj)[0] for obj in (widget(size=1), widget(color="x")))
    managed = write(widget(size=1, color="x"), widget(size=1, color="x"), (one, other))
    assert managed == (other,)


def test_after_ten_updates_the_oldest_are_put_together() -> None:
    managed: ManagedFields = ()
    live: dict[str, Any] | None = None
    for number in range(12):
        new = widget(labels={f"l{index}": "x" for index in range(number + 1)})
        managed = write(live, new, managed, f"m{number:02}", now=f"2026-01-01T00:00:{number:02}Z")
        live = new
    assert len(managed) == 10
    assert managed[0].manager == "ancient-changes"
    assert managed[0].fields.tree["f:metadata"]["f:labels"] == {".": {}, "f:l0": {}, "f:l1": {}, "f:l2": {}}
    assert decode(encode(managed)) == managed
