"""Values seen through their type: validation in the server's words, fields, comparison, merging and cutting."""

from typing import Any

import pytest

from kontend.kube.apply.comparison import compare, same
from kontend.kube.apply.field_set import FieldSet
from kontend.kube.apply.field_type import ATOMIC, DEDUCED, FieldType, type_of
from kontend.kube.apply.merge import merge, remove
from kontend.kube.apply.typed_value import Violations, applied_fields, footprint, settle, validate, with_named_fields
from kontend.kube.schema.tree import ANYTHING, GoField, Schema

STRING, INTEGER = Schema("string"), Schema("integer")
PORT = Schema("object", properties={"port": INTEGER, "protocol": Schema("string", default="TCP"), "name": STRING})


def kind_of(**fields: Schema) -> FieldType:
    """The type of an object with these fields below ``spec``."""
    return type_of(Schema("object", properties={"spec": Schema("object", properties=fields)}))


PORTS = Schema("array", items=PORT, list_type="map", map_keys=("port", "protocol"))
TAGS = Schema("array", items=STRING, list_type="set")
KIND = kind_of(
    size=INTEGER,
    on=Schema("boolean"),
    color=STRING,
    ports=PORTS,
    tags=TAGS,
    args=Schema("array", items=STRING),
    config=Schema("object", additional=STRING),
    whole=Schema("object", additional=STRING, atomic=True),
    extra=Schema("object", preserve_unknown=True),
    any=ANYTHING,
    amount=Schema(int_or_string=True),
    when=Schema("string", format="date-time"),
    inner=Schema("object", properties={"a": STRING, "b": STRING}),
)


def spec(**values: Any) -> dict[str, Any]:
    return {"spec": values}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (spec(nope=1), ".spec.nope: field not declared in schema"),
        (spec(nope=None), ".spec.nope: field not declared in schema"),
        (spec(size="1"), ".spec.size: expected numeric (int or float), got string"),
        (spec(size=[1]), ".spec.size: expected numeric (int or float), got []interface {}"),
        (spec(color=1), ".spec.color: expected string, got &value.valueUnstructured{Value:1}"),
        (spec(color={"a": 1}), ".spec.color: expected string, "
         'got &value.valueUnstructured{Value:map[string]interface {}{"a":1}}'),
        (spec(on="yes"), ".spec.on: expected boolean, got &{yes}"),
        (spec(ports={"a": True}), ".spec.ports: expected list, got &{map[a:true]}"),
        (spec(config=[1, "x"]), ".spec.config: expected map, got &{[1 x]}"),
        (spec(when={}), ".spec.when: expected any scalar, got &{map[]}"),
        (spec(ports=[{"port": 1}, {"port": 1}]), '.spec.ports: duplicate entries for key [port=1,protocol="TCP"]'),
        (spec(ports=[None]), ".spec.ports: element 0: associative list with keys may not have a null element"),
        (spec(ports=[1]), ".spec.ports: element 0: associative list with keys may not have non-map elements"),
        (spec(tags=["a", "a"]), '.spec.tags: duplicate entries for key [="a"]'),
        (spec(tags=[{}]), ".spec.tags: element 0: associative list without keys has an element that's a map type"),
        (spec(tags=[[]]), ".spec.tags: element 0: not supported: associative list with lists as elements"),
        (spec(tags=[None]),
         ".spec.tags: element 0: associative list without keys has an element that's an explicit null"),
        (spec(args=["a", 1]), ".spec.args[1]: expected string, got &value.valueUnstructured{Value:1}"),
        (spec(ports=[{"port": 1, "name": 2}]),
         '.spec.ports[port=1,protocol="TCP"].name: expected string, got &value.valueUnstructured{Value:2}'),
        (spec(size="1", on=1), "errors:\n  .spec.on: expected boolean, got &{1}\n"
         "  .spec.size: expected numeric (int or float), got string"),
        ({"spec": {"size": "1"}, "nope": 1}, ".nope: field not declared in schema"),
        ({"spec": {"size": "1"}, "unknown": 1}, "errors:\n  .spec.size: expected numeric (int or float), got string\n"
         "  .unknown: field not declared in schema"),
        ({"metadata": {"nope": 1}}, ".metadata.nope: field not declared in schema"),
        ({"metadata": []}, ".metadata: expected map, got &{[]}"),
    ],
)  # fmt: skip
def test_a_value_of_the_wrong_type_is_told_in_the_servers_words(value: dict[str, Any], message: str) -> None:
    with pytest.raises(Violations) as caught:
        validate(KIND, value)
    assert str(caught.value) == message


def test_items_without_any_key_are_refused_unless_a_key_has_a_default() -> None:
    validate(KIND, spec(ports=[{"name": "x"}]))
    keyed = kind_of(items=Schema("array", items=Schema("object", properties={"id": STRING}), list_type="map",
                                 map_keys=("id",)))  # fmt: skip
    with pytest.raises(Violations) as caught:
        validate(keyed, spec(items=[{}]))
    assert str(caught.value) == (
        '.spec.items: element 0: associative list with keys has an element that omits all key fields ["id"] '
        "(and doesn't have default values for any key fields)"
    )


def test_nulls_unknown_data_and_allowed_duplicates_pass() -> None:
    validate(KIND, spec(size=None, ports=None, config=None, extra={"a": [{"b": None}]}, any=[1], amount="5%"))
    validate(KIND, spec(ports=[{"port": 1}, {"port": 1}], tags=["a", "a"]), duplicates=True)


def test_applying_claims_leaves_items_and_keys_but_not_the_structs_around_them() -> None:
    value = spec(
        size=1, inner={"a": "x"}, ports=[{"port": 1}], tags=["t"], args=["x"], config={"k": "v"}, whole={"k": "v"},
        extra={"a": {"b": 1}, "l": [1]}, amount=None,
    )  # fmt: skip
    assert applied_fields(KIND, value) == {
        "f:spec": {
            "f:size": {},
            "f:inner": {"f:a": {}},
            "f:ports": {'k:{"port":1,"protocol":"TCP"}': {".": {}, "f:port": {}}},
            "f:tags": {'v:"t"': {}},
            "f:args": {},
            "f:config": {"f:k": {}},
            "f:whole": {},
            "f:extra": {"f:a": {".": {}, "f:b": {}}, "f:l": {}},
            "f:amount": {},
        }
    }


def test_an_empty_list_of_items_claims_nothing_but_an_empty_map_does() -> None:
    assert applied_fields(KIND, spec(ports=[], config={})) == {"f:spec": {"f:config": {}}}
    assert applied_fields(KIND, spec(ports=[])) == {}
    assert applied_fields(KIND, {"spec": {}}) == {"f:spec": {}}


def test_what_comes_with_a_value_includes_the_inner_nodes() -> None:
    below = KIND.fields["spec"]
    value = {"inner": {"a": "x"}, "ports": [{"port": 1}, {"port": 2}, {"port": 2}], "config": {}}
    assert footprint(below, value) == {
        ".": {},
        "f:inner": {".": {}, "f:a": {}},
        "f:ports": {
            ".": {},
            'k:{"port":1,"protocol":"TCP"}': {".": {}, "f:port": {}},
            'k:{"port":2,"protocol":"TCP"}': {},
        },
        "f:config": {},
    }


def test_named_fields_become_members_and_map_keys_do_not() -> None:
    tree = {"f:spec": {"f:inner": {"f:a": {}}, "f:extra": {"f:x": {"f:y": {}}}}}
    assert with_named_fields(KIND, tree) == {
        "f:spec": {".": {}, "f:inner": {".": {}, "f:a": {}}, "f:extra": {".": {}, "f:x": {"f:y": {}}}}
    }


PORT_1 = 'k:{"port":1,"protocol":"TCP"}'


@pytest.mark.parametrize(
    ("old", "new", "removed", "touched"),
    [
        ({"size": 1}, {"size": 1}, {}, {}),
        ({"size": 1}, {"size": 2}, {}, {"f:size": {}}),
        ({"size": 1}, {}, {"f:size": {}}, {}),
        ({"inner": {"a": "x"}}, {"inner": {"b": "x"}}, {"f:inner": {"f:a": {}}}, {"f:inner": {"f:b": {}}}),
        ({}, {"inner": {"a": "x"}}, {}, {"f:inner": {".": {}, "f:a": {}}}),
        ({"inner": {"a": "x"}}, {"inner": {}}, {"f:inner": {"f:a": {}}}, {}),
        ({"inner": {}}, {"inner": None}, {}, {"f:inner": {}}),
        ({"inner": None}, {"inner": {"a": "x"}}, {}, {"f:inner": {"f:a": {}}}),
        ({"whole": {"a": "x"}}, {"whole": {"a": "y", "b": "z"}}, {}, {"f:whole": {}}),
        ({"args": ["a"]}, {"args": ["a", "b"]}, {}, {"f:args": {}}),
        ({"tags": ["a", "b"]}, {"tags": ["b", "a"]}, {}, {}),
        ({"tags": ["a"]}, {"tags": ["b"]}, {"f:tags": {'v:"a"': {}}}, {"f:tags": {'v:"b"': {}}}),
        ({"tags": []}, {"tags": ["b"]}, {}, {"f:tags": {'v:"b"': {}}}),
        ({"ports": [{"port": 1}]}, {"ports": [{"port": 1, "name": "x"}]}, {}, {"f:ports": {PORT_1: {"f:name": {}}}}),
        ({"ports": [{"port": 1}]}, {"ports": None}, {"f:ports": {PORT_1: {".": {}, "f:port": {}}}}, {}),
        ({"tags": ["a", "a"]}, {"tags": ["a", "a", "a"]}, {}, {"f:tags": {'v:"a"': {}}}),
        ({"tags": ["a", "a"]}, {"tags": ["a"]}, {"f:tags": {'v:"a"': {}}}, {"f:tags": {'v:"a"': {}}}),
        ({"ports": [{"port": 1}]}, {"ports": [{"port": 1}, {"port": 1}]},
         {"f:ports": {PORT_1: {".": {}, "f:port": {}}}}, {"f:ports": {PORT_1: {}}}),
        ({"any": {"a": 1}}, {"any": 5}, {"f:any": {"f:a": {}}}, {"f:any": {}}),
        ({"any": 5}, {"any": {"a": 1}}, {}, {"f:any": {".": {}, "f:a": {}}}),
        ({"any": {"a": 1}}, {"any": [1]}, {"f:any": {"f:a": {}}}, {"f:any": {}}),
        ({"any": {"a": 1}}, {"any": {"a": True}}, {}, {"f:any": {"f:a": {}}}),
        ({"any": {"a": 1}}, {"any": {"a": 1.0}}, {}, {}),
        ({"extra": {"l": [0]}}, {"extra": {"l": [False]}}, {}, {"f:extra": {"f:l": {}}}),
    ],
)  # fmt: skip
def test_a_comparison_names_what_went_and_what_came(old: Any, new: Any, removed: Any, touched: Any) -> None:
    comparison = compare(KIND, {"spec": old}, {"spec": new})
    assert comparison.removed == ({"f:spec": removed} if removed else {})
    assert comparison.touched == ({"f:spec": touched} if touched else {})


@pytest.mark.parametrize("new", [{"nope": 1}, {"size": "x"}, {"tags": [{}]}, {"args": [1]}, {"inner": 3}])
def test_a_comparison_finds_new_values_of_a_wrong_type(new: dict[str, Any]) -> None:
    with pytest.raises(Violations):
        compare(KIND, {"spec": {"inner": {}}}, {"spec": new})


def test_a_boolean_never_equals_a_number() -> None:
    assert same(DEDUCED, {"a": [1, {"b": 0}]}, {"a": [1, {"b": 0}]})
    assert not same(DEDUCED, {"a": [1, {"b": 0}]}, {"a": [1, {"b": False}]})
    assert not same(KIND, spec(extra={"a": 1}), spec(extra={"a": True}))


@pytest.mark.parametrize(
    ("live", "patch", "merged"),
    [
        ({"size": 1, "color": "x"}, {"size": 2}, {"size": 2, "color": "x"}),
        ({"size": 1}, {"size": None}, {"size": None}),
        ({"inner": {"a": "x"}}, {"inner": None}, {"inner": {"a": "x"}}),
        ({"inner": {"a": "x"}}, {"inner": {}}, {"inner": {"a": "x"}}),
        ({"inner": {}}, {"inner": None}, {"inner": None}),
        ({"whole": {"a": "x"}}, {"whole": {"b": "y"}}, {"whole": {"b": "y"}}),
        ({"whole": {"a": "x"}}, {"whole": None}, {"whole": None}),
        ({"args": ["a"]}, {"args": ["b"]}, {"args": ["b"]}),
        ({"any": {"a": 1}}, {"any": {"b": 2}}, {"any": {"a": 1, "b": 2}}),
        ({"any": {"a": 1}}, {"any": 3}, {"any": 3}),
        ({"any": {"a": 1}}, {"any": {"a": True}}, {"any": {"a": True}}),
        ({"tags": ["a", "b"]}, {"tags": ["b", "c"]}, {"tags": ["a", "b", "c"]}),
        ({"tags": ["a", "b", "c"]}, {"tags": ["c", "a"]}, {"tags": ["b", "c", "a"]}),
        ({"tags": ["a", "b", "c", "d", "e"]}, {"tags": ["e", "x", "b"]}, {"tags": ["a", "c", "d", "e", "x", "b"]}),
        ({"tags": ["a", "a", "b"]}, {"tags": ["a"]}, {"tags": ["a", "b"]}),
        ({"tags": ["a"]}, {"tags": None}, {"tags": ["a"]}),
        ({"ports": [{"port": 1, "name": "x"}, {"port": 2}]}, {"ports": [{"port": 3}, {"port": 1, "protocol": "TCP"}]},
         {"ports": [{"port": 3}, {"port": 1, "name": "x", "protocol": "TCP"}, {"port": 2}]}),
    ],
)  # fmt: skip
def test_merging_keeps_all_that_the_patch_does_not_name(live: Any, patch: Any, merged: Any) -> None:
    assert merge(KIND, {"spec": live}, {"spec": patch}) == {"spec": merged}


def test_a_merge_that_changes_nothing_returns_the_object_itself() -> None:
    live = spec(size=1, ports=[{"port": 1, "name": "x"}, {"port": 2}], any={"a": [1]}, inner={"a": "x", "b": "y"})
    patch = spec(ports=[{"port": 1}, {"port": 2}], any={"a": [1]}, inner={"b": "y"})
    assert merge(KIND, live, patch) is live


def test_removing_leaves_null_where_a_container_lost_everything() -> None:
    value = spec(inner={"a": "x"}, ports=[{"port": 1, "name": "x"}], tags=["a", "b"], size=1)
    fields = {"f:spec": {"f:inner": {"f:a": {}}, "f:ports": {PORT_1: {"f:name": {}}}, "f:tags": {'v:"a"': {}}}}
    assert remove(KIND, value, fields) == spec(inner=None, ports=[{"port": 1}], tags=["b"], size=1)
    assert remove(KIND, value, {"f:spec": {".": {}, "f:size": {}}}) is None
    assert remove(KIND, value, {}) is value


def test_when_parts_become_one_field_their_owner_owns_that_field() -> None:
    fields = FieldSet({"f:spec": {"f:ports": {PORT_1: {".": {}, "f:port": {}}}, "f:inner": {"f:a": {}}, "f:gone": {}}})
    atomic = kind_of(ports=Schema("array", items=PORT), inner=Schema("object", atomic=True, properties={"a": STRING}))
    settled = settle(atomic, fields)
    assert settled.tree == {"f:spec": {"f:ports": {}, "f:inner": {}, "f:gone": {}}}
    assert settle(atomic, settled) is settled
    assert settle(KIND, fields) is fields


def test_types_below_preserved_fields_preserve_them_too() -> None:
    inner = Schema("object", properties={"known": STRING})
    kind = kind_of(open=Schema("object", preserve_unknown=True, properties={"inner": inner}))
    validate(kind, spec(open={"inner": {"unknown": 1}, "more": {}}))
    assert applied_fields(kind, spec(open={"inner": {"known": "x", "unknown": 1}})) == {
        "f:spec": {"f:open": {"f:inner": {"f:known": {}, "f:unknown": {}}}}
    }


def test_embedded_resources_have_the_metadata_of_every_object() -> None:
    kind = kind_of(template=Schema("object", embedded=True, preserve_unknown=True))
    value = spec(template={"kind": "P", "metadata": {"finalizers": ["a"]}, "x": 1})
    assert applied_fields(kind, value) == {
        "f:spec": {"f:template": {"f:kind": {}, "f:metadata": {"f:finalizers": {'v:"a"': {}}}, "f:x": {}}}
    }


def test_a_schema_that_contains_itself_is_no_problem() -> None:
    tree = Schema("object", go_type="Tree", properties={"name": STRING})
    tree.properties["children"] = Schema("object", go_type="map[string]Tree", additional=tree)
    kind = type_of(tree)
    assert kind.fields["children"].values is kind
    validate(kind, {"children": {"a": {"children": {"b": {"name": "x"}}}}})


def test_built_in_data_with_its_own_form_is_owned_as_the_server_owns_it() -> None:
    root = Schema(
        "object",
        go_type="Thing",
        properties={
            "raw": Schema(go_type="RawExtension", preserve_unknown=True),
            "amount": Schema(go_type="Quantity", int_or_string=True),
            "spec": Schema(
                "object", go_type="ThingSpec", properties={"n": Schema("integer", go_field=GoField(omit_empty=False))}
            ),
            "pointer": Schema("object", go_type="Other", properties={"n": INTEGER}, go_field=GoField(pointer=True)),
        },
    )
    kind = type_of(root)
    assert kind.fields["raw"] is ATOMIC
    assert kind.empty == {"spec": {"n": 0}}
    with pytest.raises(Violations, match=r"\.amount: expected any scalar"):
        validate(kind, {"amount": {}})
