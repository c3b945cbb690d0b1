"""JSON Patch, habits of the server's library included."""

from __future__ import annotations

import contextlib
import copy
import time
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kontend.kube.errors import BadRequest, Invalid, RequestEntityTooLarge
from kontend.kube.patches.json_patch import apply_json_patch, json_patch_strict_errors, parse_json_patch

BASE: dict[str, Any] = {"spec": {"size": 2, "args": ["a", "b"], "nested": {"a": "red"}, "gone": None}}


def patched(*steps: Any, obj: Any = BASE) -> Any:
    return apply_json_patch(obj, parse_json_patch(orjson.dumps(steps)))


def step(op: str, path: str, **more: Any) -> dict[str, Any]:
    return {"op": op, "path": path, **{key.rstrip("_"): value for key, value in more.items()}}


@pytest.mark.parametrize(
    ("steps", "args"),
    [
        ([step("add", "/spec/args/-", value="c")], ["a", "b", "c"]),
        ([step("add", "/spec/args/0", value="c")], ["c", "a", "b"]),
        ([step("add", "/spec/args/2", value="c")], ["a", "b", "c"]),
        ([step("add", "/spec/args/-1", value="c")], ["a", "b", "c"]),
        ([step("remove", "/spec/args/0")], ["b"]),
        ([step("remove", "/spec/args/-1")], ["a"]),
        ([step("replace", "/spec/args/+1", value="c")], ["a", "c"]),
        ([step("copy", "/spec/args/-", from_="/spec/args/0")], ["a", "b", "a"]),
        ([step("move", "/spec/args/0", from_="/spec/args/1")], ["b", "a"]),
        ([step("copy", "/spec/args/-", from_="/spec/nope")], ["a", "b", None]),
        ([step("add", "/spec/args/-")], ["a", "b", None]),
    ],
)
def test_lists_change_as_the_operation_says(steps: list[Any], args: list[Any]) -> None:
    assert patched(*steps)["spec"]["args"] == args


@pytest.mark.parametrize(
    "wrong",
    [
        step("add", "/spec/args/9", value="z"),
        step("add", "/spec/args/-4", value="z"),
        step("add", "/spec/args/x", value="z"),
        step("add", "/spec/nope/deep", value="z"),
        step("add", "/spec/gone/deep", value="z"),
        step("add", "/spec/size/deep", value="z"),
        step("add", "", value={}),
        step("remove", "/spec/nope"),
        step("remove", "/spec/args/2"),
        step("remove", "/spec/args/-"),
        step("replace", "/spec/args/2", value=1),
        step("replace", "/nope/x", value=1),
        step("replace", "", value=1),
        step("move", "/spec/x", from_="/spec/nope"),
        step("move", "/spec/x"),
        step("move", "/spec/nested/a/b", from_="/spec/nested"),
        step("copy", "/spec/x", from_="/nope/x"),
        step("test", "/spec/size", value=9),
        step("test", "/spec/size"),
        step("test", "/spec/color", value="red"),
        step("test", "/spec/args/7", value=None),
        step("test", "", value={}),
        step("frobnicate", "/spec/size"),
        {"op": "add", "value": 1},
        {},
        None,
    ],
)
def test_what_does_not_apply_is_refused_with_one_sentence(wrong: Any) -> None:
    with pytest.raises(Invalid) as refused:
        patched(wrong)
    assert refused.value.status() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "the server rejected our request due to an error in our request",
        "reason": "Invalid",
        "details": {},
        "code": 422,
    }
    assert "operation 0" in refused.value.__notes__[0]


@pytest.mark.parametrize(
    "fine",
    [
        step("test", "/spec/color", value=None),
        step("test", "/spec/color"),
        step("test", "/spec/gone", value=None),
        step("test", "/spec/size", value=2),
        step("test", "/spec/args", value=["a", "b"]),
        step("test", "/spec/nested", value={"a": "red"}),
        step("test", "", value=BASE),
    ],
)
def test_a_test_that_holds_changes_nothing(fine: Any) -> None:
    assert patched(fine) is not None
    assert patched(fine) == BASE


def test_replace_adds_a_key_that_is_not_there() -> None:
    assert patched(step("replace", "/spec/color", value="red"))["spec"]["color"] == "red"


def test_what_stands_before_the_first_slash_of_a_pointer_is_ignored() -> None:
    assert patched(step("add", "spec/size", value=1))["size"] == 1


def test_pointers_are_unescaped() -> None:
    obj = {"a/b": {"c~d": 1, "e~1f": 2}}
    assert patched(step("remove", "/a~1b/c~0d"), step("remove", "/a~1b/e~01f"), obj=obj) == {"a/b": {}}


@pytest.mark.parametrize(
    ("value", "text", "same"),
    [
        (2, b"2", True),
        (2, b"2.0", False),
        (2, b"true", False),
        (True, b"true", True),
        (2.5, b"2.5", True),
        (2.5, b"2.50", False),
        (1e-7, b"1e-7", True),
        (1e21, b"1e+21", True),
        ("a", b'"a"', True),
        ("a", b'"\\u0061"', False),
        ("a<b", b'"a<b"', False),
        ("a<b", b'"a\\u003cb"', True),
        ({"k": [2, None]}, b'{ "k": [2,\tnull], "x": 1e0 }', False),
        ({"k": [2, None], "x": 1.5}, b'{ "k": [2,\tnull], "x": 1.5 }', True),
    ],
)
def test_a_test_compares_scalars_as_they_are_written(value: Any, text: bytes, same: bool) -> None:
    operations = parse_json_patch(b'[{"op":"test","path":"/v","value":' + text + b"}]")
    if same:
        assert apply_json_patch({"v": value}, operations) == {"v": value}
    else:
        with pytest.raises(Invalid):
            apply_json_patch({"v": value}, operations)


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (
            b'{"op": "add"}',
            "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp",
        ),
        (b"[1]", "error decoding patch: json: cannot unmarshal number into Go value of type handlers.jsonPatchOp"),
        (
            b'[{"op": 1}]',
            "error decoding patch: json: cannot unmarshal number into Go struct field jsonPatchOp.op of type string",
        ),
        (b"[", "error decoding patch: unexpected end of JSON input"),
        (b"", "error decoding patch: unexpected end of JSON input"),
    ],
)
def test_what_is_no_patch_is_a_bad_request(raw: bytes, message: str) -> None:
    with pytest.raises(BadRequest) as refused:
        parse_json_patch(raw)
    assert refused.value.message == message


def test_without_field_validation_the_other_decoder_speaks() -> None:
    with pytest.raises(BadRequest, match=r"^json: cannot unmarshal object into Go value of type jsonpatch.Patch$"):
        parse_json_patch(b"{}", field_validation="Ignore")
    with pytest.raises(Invalid):
        apply_json_patch({}, parse_json_patch(b'[{"op": "add", "path": 3}]', field_validation="Ignore"))


def test_a_patch_of_null_and_an_empty_patch_change_nothing() -> None:
    assert apply_json_patch(BASE, parse_json_patch(b"null")) is BASE
    assert apply_json_patch(BASE, parse_json_patch(b"[]")) is BASE


def test_more_than_ten_thousand_operations_are_too_many() -> None:
    with pytest.raises(RequestEntityTooLarge) as refused:
        parse_json_patch([{}] * 10_001)
    assert refused.value.message == (
        "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001"
    )


def test_copies_may_not_add_more_than_three_megabytes() -> None:
    double = parse_json_patch([step("copy", "/b", from_="/a")])
    assert apply_json_patch({"a": "x" * 1000}, double)["b"] == "x" * 1000
    with pytest.raises(Invalid):
        apply_json_patch({"a": "x" * 4_000_000}, double)


def test_strict_validation_names_unknown_and_repeated_fields() -> None:
    raw = b'[{"op":"add","path":"/a","value":{"x":1,"x":2},"why":1},{"op":"remove","op":"add","path":"/b"}]'
    assert json_patch_strict_errors(raw) == [
        'json patch unknown field "[0].why"',
        'json patch duplicate field "[0].value.x"',
        'json patch duplicate field "[1].op"',
    ]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["a", "b", ""]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)
POINTERS = st.lists(st.sampled_from(["a", "b", "c", "0", "1", "-", "-1"]), max_size=3).map(
    lambda parts: "".join("/" + part for part in parts)
)
STEPS = st.lists(
    st.fixed_dictionaries(
        {"op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test"]), "path": POINTERS},
        optional={"from": POINTERS, "value": JSON},
    ),
    max_size=5,
)


@settings(derandomize=True, deadline=None, max_examples=200)
@given(st.dictionaries(st.sampled_from("abc"), JSON), STEPS)
def test_neither_the_object_nor_the_patch_is_ever_changed(obj: dict[str, Any], steps: list[Any]) -> None:
    before = copy.deepcopy((obj, steps))
    with contextlib.suppress(Invalid):
        apply_json_patch(obj, parse_json_patch(steps))
    assert (obj, steps) == before


@settings(derandomize=True, deadline=None, max_examples=200)
@given(st.dictionaries(st.sampled_from("abc"), JSON), STEPS)
def test_a_patch_does_the_same_as_text_and_as_data(obj: dict[str, Any], steps: list[Any]) -> None:
    def run(patch: Any) -> Any:
        try:
            return apply_json_patch(obj, parse_json_patch(patch))
        except Invalid:
            return "refused"

    assert run(steps) == run(orjson.dumps(steps))


@pytest.mark.parametrize(
    "steps",
    [
        [{"op": "move", "from": f"/data/k{n}", "path": f"/data/m{n}"} for n in range(10_000)],
        [{"op": "add", "path": f"/data/n{n}", "value": "x"} for n in range(10_000)],
        [{"op": "remove", "path": f"/data/k{n}"} for n in range(10_000)],
        [{"op": "copy", "from": "/data/k1", "path": f"/data/c{n}"} for n in range(10_000)],
        [{"op": "add", "path": "/list/-", "value": n} for n in range(10_000)],
    ],
)
def test_a_long_patch_of_a_large_object_takes_time_in_proportion(steps: list[dict[str, Any]]) -> None:
    """And leaves the object as it was. Copies of the object for every step would take minutes."""
    obj: dict[str, Any] = {"data": {f"k{n}": "v" for n in range(60_000)}, "list": []}
    started = time.process_time()
    after = apply_json_patch(obj, parse_json_patch(steps))
    assert time.process_time() - started < 10
    assert after != obj
    assert obj == {"data": {f"k{n}": "v" for n in range(60_000)}, "list": []}


def test_a_copy_and_its_original_are_changed_apart() -> None:
    """Also when the original was changed before by the same patch, and below the copied value."""
    steps: list[dict[str, Any]] = [
        {"op": "add", "path": "/a/b/c", "value": {"d": 1}},
        {"op": "copy", "from": "/a", "path": "/copy"},
        {"op": "add", "path": "/a/b/c/d", "value": 2},
        {"op": "add", "path": "/copy/b/e", "value": 3},
        {"op": "copy", "from": "/a", "path": "/a/self"},
    ]
    obj: dict[str, Any] = {"a": {"b": {}}}
    after = apply_json_patch(obj, parse_json_patch(steps))
    inner = {"b": {"c": {"d": 2}}}
    assert after == {"a": {**inner, "self": inner}, "copy": {"b": {"c": {"d": 1}, "e": 3}}}
    assert obj == {"a": {"b": {}}}


def test_the_values_of_a_patch_are_not_changed_by_it() -> None:
    """The same patch may be applied again."""
    operations = parse_json_patch([{"op": "add", "path": "/a", "value": {}}, {"op": "add", "path": "/a/b", "value": 1}])
    assert apply_json_patch({}, operations) == apply_json_patch({}, operations) == {"a": {"b": 1}}
