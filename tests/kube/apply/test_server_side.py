"""Server-side apply: merging, conflicts, giving fields up, and the words of the server."""

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kontend.kube.apply.field_set import FieldSet
from kontend.kube.apply.managed_fields import ManagedFields
from kontend.kube.apply.server_side import apply, track_update
from kontend.kube.errors import ApiError, BadRequest, Conflict
from kontend.kube.schema.tree import ANYTHING, Schema

STRING, INTEGER = Schema("string"), Schema("integer")
PORT = Schema("object", properties={"port": INTEGER, "protocol": Schema("string", default="TCP"), "name": STRING})
SPEC = Schema(
    "object",
    properties={
        "size": INTEGER,
        "color": STRING,
        "ports": Schema("array", items=PORT, list_type="map", map_keys=("port", "protocol")),
        "tags": Schema("array", items=STRING, list_type="set"),
        "args": Schema("array", items=STRING),
        "config": Schema("object", additional=STRING),
        "whole": Schema("object", additional=STRING, atomic=True),
        "nested": Schema("object", properties={"a": STRING, "b": Schema("object", properties={"c": INTEGER})}),
        "extra": ANYTHING,
    },
)
WIDGET = Schema("object", properties={"spec": SPEC, "status": SPEC})
V1 = "example.com/v1"
NOW, LATER = "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"


class Subject:
    """One widget, and what several managers do to it."""

    def __init__(self) -> None:
        self.obj: dict[str, Any] | None = None
        self.managed: ManagedFields = ()
        self.options: dict[str, Any] = {"schema": WIDGET, "api_version": V1}

    def apply(
        self,
        manager: str,
        *,
        now: str = NOW,
        force: bool = False,
        metadata: Any = None,
        status: Any = None,
        **spec: Any,
    ) -> None:
        patch: dict[str, Any] = {"apiVersion": V1, "kind": "Widget", "metadata": {"name": "w", **(metadata or {})}}
        if spec:
            patch["spec"] = spec
        if status is not None:
            patch["status"] = status
        self.apply_object(manager, patch, now=now, force=force)

    def apply_object(self, manager: str, patch: dict[str, Any], *, now: str = NOW, force: bool = False) -> None:
        self.obj, self.managed, _ = apply(
            live=self.obj, patch=patch, managed=self.managed, manager=manager, force=force, kind="Widget", now=now,
            **self.options,
        )  # fmt: skip

    def update(self, manager: str, *, metadata: Any = None, **spec: Any) -> None:
        new = {"apiVersion": V1, "kind": "Widget", "metadata": {"name": "w", **(metadata or {})}, "spec": spec}
        self.managed = track_update(
            live=self.obj, new=new, managed=self.managed, manager=manager, now=NOW, **self.options
        )
        self.obj = new

    @property
    def spec(self) -> Any:
        assert self.obj is not None
        return self.obj.get("spec")

    def owned(self, manager: str) -> Any:
        trees = [entry.fields.tree for entry in self.managed if entry.manager == manager]
        return trees[0].get("f:spec", trees[0]) if trees else None


@pytest.fixture
def subject() -> Subject:
    return Subject()


def test_applying_to_nothing_creates_and_owns_what_was_sent(subject: Subject) -> None:
    subject.apply("m1", size=1)
    assert subject.obj == {"apiVersion": V1, "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 1}}
    assert [(entry.manager, entry.operation, entry.time) for entry in subject.managed] == [("m1", "Apply", NOW)]
    assert subject.owned("m1") == {"f:size": {}}


def test_two_appliers_of_different_fields_do_not_meet(subject: Subject) -> None:
    subject.apply("m1", size=1)
    subject.apply("m2", color="red")
    assert subject.spec == {"size": 1, "color": "red"}
    assert (subject.owned("m1"), subject.owned("m2")) == ({"f:size": {}}, {"f:color": {}})


def test_the_same_value_is_shared_and_recorded_without_a_time(subject: Subject) -> None:
    subject.apply("m1", size=1)
    before = subject.obj
    subject.apply("m2", size=1, now=LATER)
    assert subject.obj is before
    assert [(entry.manager, entry.time) for entry in subject.managed] == [("m2", ""), ("m1", NOW)]


def test_a_field_of_another_applier_is_a_conflict(subject: Subject) -> None:
    subject.apply("m1", size=1)
    with pytest.raises(Conflict) as caught:
        subject.apply("m2", size=2)
    assert caught.value.message == 'Apply failed with 1 conflict: conflict with "m1": .spec.size'
    assert caught.value.details == {
        "causes": [{"reason": "FieldManagerConflict", "message": 'conflict with "m1"', "field": ".spec.size"}]
    }


def test_a_field_of_an_updater_is_a_conflict_that_names_its_version(subject: Subject) -> None:
    subject.update("u", size=1)
    with pytest.raises(Conflict, match=r'1 conflict: conflict with "u" using example.com/v1: .spec.size'):
        subject.apply("m1", size=2)


def test_several_conflicts_are_listed_by_manager(subject: Subject) -> None:
    subject.apply("m2", size=1, ports=[{"port": 1, "name": "a"}])
    subject.options["subresource"] = "status"
    subject.apply("m1", color="x", tags=["t"])
    subject.options["subresource"] = ""
    with pytest.raises(Conflict) as caught:
        subject.apply("m3", size=2, color="y", ports=[{"port": 1, "name": "b"}])
    assert caught.value.message == (
        'Apply failed with 3 conflicts: conflicts with "m1" with subresource "status":\n- .spec.color\n'
        'conflicts with "m2":\n- .spec.size\n- .spec.ports[port=1,protocol="TCP"].name'
    )
    assert len(caught.value.causes) == 3


def test_force_moves_ownership(subject: Subject) -> None:
    subject.apply("m1", size=1, color="x")
    subject.apply("m2", size=2, force=True)
    assert subject.spec == {"size": 2, "color": "x"}
    assert (subject.owned("m1"), subject.owned("m2")) == ({"f:color": {}}, {"f:size": {}})


def test_what_is_given_up_goes_unless_somebody_else_owns_it(subject: Subject) -> None:
    subject.apply("m1", size=1, color="x", tags=["a", "b"])
    subject.apply("m2", color="x", tags=["b"])
    subject.apply("m1", args=["z"])
    assert subject.spec == {"color": "x", "tags": ["b"], "args": ["z"]}
    assert subject.owned("m1") == {"f:args": {}}


def test_giving_up_everything_in_a_struct_takes_what_nobody_owns_with_it(subject: Subject) -> None:
    subject.apply("m1", color="red", nested={"a": "x"})
    assert subject.obj is not None
    subject.obj["spec"]["size"] = 1  # a default
    subject.apply("m1")
    assert subject.obj == {"apiVersion": V1, "kind": "Widget", "metadata": {"name": "w"}}
    assert subject.managed == ()


def test_unowned_fields_stay_as_long_as_their_struct_does(subject: Subject) -> None:
    subject.apply("m1", color="red", args=["x"])
    assert subject.obj is not None
    subject.obj["spec"]["size"] = 1
    subject.apply("m1", color="red")
    assert subject.spec == {"color": "red", "size": 1}


def test_fields_of_updaters_are_not_taken_away(subject: Subject) -> None:
    subject.apply("m1", size=1, nested={"a": "x"})
    subject.update("u", size=1, nested={"a": "x", "b": {"c": 1}})
    subject.apply("m1", size=1)
    assert subject.spec == {"size": 1, "nested": {"b": {"c": 1}}}


def test_list_items_are_merged_by_key_with_defaults(subject: Subject) -> None:
    subject.apply("m1", ports=[{"port": 1}, {"port": 2, "protocol": "UDP"}])
    subject.apply("m2", ports=[{"port": 1, "protocol": "TCP", "name": "x"}])
    assert subject.spec["ports"] == [{"port": 1, "protocol": "TCP", "name": "x"}, {"port": 2, "protocol": "UDP"}]
    subject.apply("m1", ports=[{"port": 2, "protocol": "UDP"}])
    assert subject.spec["ports"] == [{"port": 1, "protocol": "TCP", "name": "x"}, {"port": 2, "protocol": "UDP"}]
    subject.apply("m2")
    assert subject.spec["ports"] == [{"port": 2, "protocol": "UDP"}]


def test_atomic_lists_and_maps_are_replaced_and_contested_as_a_whole(subject: Subject) -> None:
    subject.apply("m1", args=["a"], whole={"a": "1"})
    with pytest.raises(Conflict, match="2 conflicts"):
        subject.apply("m2", args=["b"], whole={"b": "2"})
    subject.apply("m2", args=["b"], whole={"b": "2"}, force=True)
    assert subject.spec == {"args": ["b"], "whole": {"b": "2"}}
    assert subject.owned("m1") is None


def test_data_without_a_schema_is_owned_key_by_key(subject: Subject) -> None:
    subject.apply("m1", extra={"a": {"b": 1}})
    subject.apply("m2", extra={"a": {"c": 1}})
    assert subject.spec["extra"] == {"a": {"b": 1, "c": 1}}
    assert subject.owned("m2") == {"f:extra": {"f:a": {".": {}, "f:c": {}}}}


def test_owner_references_and_finalizers_are_merged_one_by_one(subject: Subject) -> None:
    owners = [{"apiVersion": "v1", "kind": "K", "name": name, "uid": name} for name in "ab"]
    subject.apply("m1", metadata={"ownerReferences": owners[:1], "finalizers": ["x/1"], "labels": {"a": "1"}})
    subject.apply("m2", metadata={"ownerReferences": owners[1:], "finalizers": ["x/2"], "labels": {"b": "2"}})
    assert subject.obj is not None
    assert subject.obj["metadata"] == {
        "name": "w", "ownerReferences": owners, "finalizers": ["x/1", "x/2"], "labels": {"a": "1", "b": "2"},
    }  # fmt: skip
    assert subject.owned("m1") == {
        "f:metadata": {
            "f:ownerReferences": {'k:{"uid":"a"}': {}}, "f:finalizers": {'v:"x/1"': {}}, "f:labels": {"f:a": {}},
        }
    }  # fmt: skip


def test_the_first_apply_after_a_reset_finds_an_owner_for_everything(subject: Subject) -> None:
    subject.apply("m1", size=1)
    subject.managed = ()
    with pytest.raises(Conflict, match=r'conflict with "before-first-apply" using example.com/v1: .spec.size'):
        subject.apply("m2", size=2)
    subject.apply("m2", color="x")
    assert subject.owned("before-first-apply") == {".": {}, "f:size": {}}


def test_fields_that_cannot_be_changed_here_are_not_owned(subject: Subject) -> None:
    subject.options["reset_fields"] = FieldSet.of_paths([("status",)])
    subject.apply("m1", size=1, status={"color": "x"})
    assert subject.managed[0].fields.tree == {"f:spec": {"f:size": {}}}


def test_applying_through_a_subresource_is_another_manager(subject: Subject) -> None:
    subject.apply("m1", size=1)
    subject.options |= {"subresource": "status", "reset_fields": FieldSet.of_paths([("spec",)])}
    subject.apply("m1", status={"color": "x"})
    assert [(entry.manager, entry.subresource) for entry in subject.managed] == [("m1", ""), ("m1", "status")]


def test_the_same_applier_at_another_version_keeps_one_entry(subject: Subject) -> None:
    subject.apply("m1", size=1, color="x")
    subject.options |= {"api_version": "example.com/v2", "schema_at": {V1: WIDGET, "example.com/v2": WIDGET}}
    patch = {"apiVersion": "example.com/v2", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 1}}
    subject.apply_object("m1", patch)
    assert subject.spec == {"size": 1}
    assert [entry.api_version for entry in subject.managed] == ["example.com/v2"]


def test_a_version_that_a_custom_resource_lost_stops_apply(subject: Subject) -> None:
    subject.apply("m1", size=1)
    subject.options["api_version"] = "example.com/v2"
    with pytest.raises(ApiError) as caught:
        subject.apply_object("m1", {"apiVersion": "example.com/v2", "kind": "Widget"})
    assert caught.value.message == "request to convert CR to an invalid group/version: example.com/v1"
    assert caught.value.http_code == 500


@pytest.mark.parametrize(
    ("patch", "kind_text"),
    [
        ({}, "/, Kind="),
        ({"kind": "Widget"}, "/, Kind=Widget"),
        ({"apiVersion": "v1", "kind": "Widget"}, "/v1, Kind=Widget"),
        ({"apiVersion": "a/b/c", "kind": "Widget"}, "/, Kind="),
        ({"apiVersion": 1, "kind": []}, "/, Kind="),
        ({"apiVersion": V1, "kind": "Other"}, "example.com/v1, Kind=Other"),
    ],
)
def test_the_patch_must_be_of_the_kind(subject: Subject, patch: dict[str, Any], kind_text: str) -> None:
    with pytest.raises(BadRequest) as caught:
        subject.apply_object("m1", patch)
    assert caught.value.message == f"invalid object type: {kind_text}"


@pytest.mark.parametrize("listed", [[], [{}], [{"manager": "x"}]])
def test_the_patch_must_not_carry_managed_fields(subject: Subject, listed: list[Any]) -> None:
    with pytest.raises(BadRequest) as caught:
        subject.apply("m1", metadata={"managedFields": listed}, size=1)
    assert caught.value.message == "metadata.managedFields must be nil"


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"nope": 1}, ".spec.nope: field not declared in schema"),
        ({"ports": [{"port": 1}, {"port": 1}]}, '.spec.ports: duplicate entries for key [port=1,protocol="TCP"]'),
        ({"size": "x"}, ".spec.size: expected numeric (int or float), got string"),
    ],
)
def test_a_patch_that_breaks_the_schema_is_an_error_in_the_servers_words(
    subject: Subject, spec: dict[str, Any], message: str
) -> None:
    with pytest.raises(ApiError) as caught:
        subject.apply("m1", **spec)
    assert caught.value.message == f"failed to create typed patch object (/w; example.com/v1, Kind=Widget): {message}"
    assert (caught.value.http_code, caught.value.status_reason) == (500, "")


def test_a_live_object_that_breaks_the_schema_is_an_error_too(subject: Subject) -> None:
    subject.apply("m1", size=1)
    assert subject.obj is not None
    subject.obj["spec"]["size"] = "x"
    with pytest.raises(
        ApiError, match=r"failed to create typed live object \(/w; example.com/v1, Kind=Widget\): .spec"
    ):
        subject.apply("m1", size=1)


@pytest.mark.parametrize("garbage", [{"spec": 1}, {"spec": [1]}, {"metadata": 3}, {"metadata": {"labels": 1}}])
def test_garbage_is_refused_without_a_traceback(subject: Subject, garbage: dict[str, Any]) -> None:
    with pytest.raises(ApiError, match="failed to create typed patch object"):
        subject.apply_object("m1", {"apiVersion": V1, "kind": "Widget", **garbage})


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = {"a": value}
    return value


@pytest.mark.parametrize("value", [deep(400), deep(5000), "\ud800", float("nan"), 2**70])
def test_what_cannot_be_a_field_is_refused_without_a_traceback(subject: Subject, value: Any) -> None:
    subject.apply("m1", size=1)
    spec = {"tags": [value]} if isinstance(value, (str, float, int)) else {"extra": value}
    with pytest.raises(ApiError):
        subject.apply("m2", **spec)
    subject.update("u", size=1, **spec)
    assert subject.managed == ()


def test_null_takes_a_field_but_claims_it(subject: Subject) -> None:
    subject.apply("m1", size=None, color="red")
    assert subject.spec == {"size": None, "color": "red"}
    assert subject.owned("m1") == {"f:size": {}, "f:color": {}}


# Properties

SMALL = st.sampled_from(["x", "y"])
SPECS = st.fixed_dictionaries(
    {},
    optional={
        "size": st.integers(0, 2),
        "color": SMALL,
        "ports": st.lists(
            st.fixed_dictionaries({"port": st.integers(1, 3)}, optional={"name": SMALL, "protocol": st.just("UDP")}),
            unique_by=lambda port: (port["port"], port.get("protocol")),
            max_size=3,
        ),
        "tags": st.lists(st.sampled_from("abc"), unique=True),
        "args": st.lists(SMALL, max_size=2),
        "config": st.dictionaries(SMALL, SMALL),
        "whole": st.dictionaries(SMALL, SMALL),
        "nested": st.fixed_dictionaries({}, optional={"a": SMALL, "b": st.just({"c": 1})}),
        "extra": st.dictionaries(SMALL, st.one_of(SMALL, st.booleans(), st.dictionaries(SMALL, SMALL))),
    },
)
OPERATIONS = st.lists(
    st.tuples(st.sampled_from(["apply", "update"]), st.sampled_from(["m1", "m2"]), SPECS), min_size=1, max_size=4
)
fast = settings(derandomize=True, deadline=None, max_examples=100)


def after(operations: list[tuple[str, str, dict[str, Any]]]) -> Subject:
    subject = Subject()
    for operation, manager, spec in operations:
        before = copy.deepcopy((subject.obj, spec))
        inputs = (subject.obj, spec)
        if operation == "apply":
            subject.apply(manager, force=True, **spec)
        else:
            subject.update(manager, **spec)
        assert inputs == before, "the inputs stay as they were"
    return subject


@fast
@given(OPERATIONS, SPECS)
def test_applying_again_changes_nothing(operations: list[Any], spec: dict[str, Any]) -> None:
    subject = after(operations)
    subject.apply("m3", force=True, **spec)
    obj, managed = subject.obj, subject.managed
    subject.apply("m3", now=LATER, **spec)
    assert subject.obj is obj
    assert subject.managed == managed


@fast
@given(OPERATIONS, SPECS)
def test_what_was_applied_is_there_and_owned(operations: list[Any], spec: dict[str, Any]) -> None:
    subject = after(operations)
    subject.apply("m3", force=True, **spec)
    for name, value in spec.items():
        if name in ("size", "color", "args", "whole"):
            assert subject.spec[name] == value
            assert f"f:{name}" in subject.owned("m3")
    trees = [entry.fields.tree for entry in subject.managed]
    assert all(trees), "nobody owns nothing"


@fast
@given(SPECS, SPECS)
def test_giving_everything_up_leaves_what_others_own(mine: dict[str, Any], theirs: dict[str, Any]) -> None:
    subject = Subject()
    subject.apply("m1", **theirs)
    alone = copy.deepcopy(subject.spec)
    owned = subject.owned("m1")
    subject.apply("m2", force=True, **mine)
    if subject.owned("m1") == owned:  # nothing was taken by force
        subject.apply("m2")
        assert _without_empty(subject.spec or {}) == _without_empty(alone or {})
        assert subject.owned("m2") is None


def _without_empty(value: Any) -> Any:
    """Order in lists may differ, and containers that nobody owns may stay behind empty or go."""
    if isinstance(value, dict):
        inner = {name: _without_empty(item) for name, item in value.items()}
        return {name: item for name, item in inner.items() if item not in (None, {}, [])}
    if isinstance(value, list):
        return sorted((_without_empty(item) for item in value), key=repr)
    return value
