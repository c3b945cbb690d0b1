"""Rules of schemas, applied to objects."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from kontend.kube.cel.rules import rule_errors, rule_tree
from kontend.kube.schema.tree import MISSING

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abcm"), inner, max_size=3),
    max_leaves=8,
)


def errors(node: dict[str, Any], value: Any, old: Any = MISSING) -> list[str]:
    tree = rule_tree(node, resource=False)
    assert tree is not None
    return [str(error) for error in rule_errors(tree, value, old)]


def rules(*texts: str | dict[str, Any]) -> list[dict[str, Any]]:
    return [{"rule": text} if isinstance(text, str) else text for text in texts]


NUMBER = {"type": "integer"}


def test_a_schema_without_rules_has_none_to_run() -> None:
    assert rule_tree({"type": "object", "properties": {"a": NUMBER}}, resource=True) is None


def test_a_failed_rule_tells_its_message_or_itself() -> None:
    node = {**NUMBER, "x-kubernetes-validations": rules("self > 1", {"rule": "self > 2", "message": "too small "})}
    assert errors(node, 1) == [
        "<nil>: Invalid value: 1: failed rule: self > 1",
        "<nil>: Invalid value: 1: too small",
    ]


def test_objects_are_not_shown_in_messages() -> None:
    node = {"type": "object", "properties": {"a": NUMBER}, "x-kubernetes-validations": rules("has(self.a)")}
    assert errors(node, {}) == ["<nil>: Invalid value: failed rule: has(self.a)"]


def test_a_message_expression_that_fails_gives_way_to_the_message() -> None:
    rule = {"rule": "self > 1", "message": "plain", "messageExpression": "string(1 / (self - 1))"}
    node = {**NUMBER, "x-kubernetes-validations": rules(rule)}
    assert errors(node, 0) == ["<nil>: Invalid value: 0: -1"]
    assert errors(node, 1) == ["<nil>: Invalid value: 1: plain"]


def test_the_reason_of_a_rule_chooses_the_kind_of_mistake() -> None:
    reasons = ["FieldValueForbidden", "FieldValueRequired", "FieldValueDuplicate", "FieldValueInvalid"]
    texts = [{"rule": "false", "message": "m", "reason": reason} for reason in reasons]
    node = {**NUMBER, "x-kubernetes-validations": rules(*texts)}
    assert errors(node, 1) == [
        "<nil>: Forbidden: m",
        "<nil>: Required value: m",
        "<nil>: Duplicate value: 1",
        "<nil>: Invalid value: 1: m",
    ]


def test_the_field_path_of_a_rule_is_where_its_mistake_is() -> None:
    rule = {"rule": "false", "fieldPath": ".a"}
    spec = {"type": "object", "properties": {"a": NUMBER}, "x-kubernetes-validations": rules(rule)}
    assert errors({"type": "object", "properties": {"spec": spec}}, {"spec": {}})[0].startswith("spec.a: ")


def test_keys_of_maps_and_indices_stand_in_brackets() -> None:
    inner = {"type": "array", "items": {**NUMBER, "x-kubernetes-validations": rules("false")}}
    node = {"type": "object", "additionalProperties": inner}
    assert errors(node, {"k": [5]}) == ["[k][0]: Invalid value: 5: failed rule: false"]


def test_a_transition_rule_waits_for_an_old_value() -> None:
    node = {**NUMBER, "x-kubernetes-validations": rules("self >= oldSelf")}
    assert errors(node, 1) == []
    assert errors(node, 1, 2) == ["<nil>: Invalid value: 1: failed rule: self >= oldSelf"]


def test_an_optional_old_value_lets_a_transition_rule_run_on_creation() -> None:
    rule = {"rule": "oldSelf.hasValue() || self == 0", "optionalOldSelf": True}
    node = {**NUMBER, "x-kubernetes-validations": rules(rule)}
    assert errors(node, 0) == []
    assert len(errors(node, 1)) == 1
    assert errors(node, 1, 1) == []


def test_items_of_a_map_list_are_compared_with_the_item_of_the_same_key() -> None:
    item = {"type": "object", "properties": {"k": {"type": "string"}, "v": NUMBER}}
    node = {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["k"],
        "items": {**item, "x-kubernetes-validations": rules("self.v >= oldSelf.v")},
    }
    old = [{"k": "a", "v": 5}, {"k": "b", "v": 1}]
    assert errors(node, [{"k": "b", "v": 1}, {"k": "a", "v": 5}, {"k": "c", "v": 0}], old) == []
    assert errors(node, [{"k": "b", "v": 0}], old) == ["[0]: Invalid value: failed rule: self.v >= oldSelf.v"]


def test_what_did_not_change_is_not_held_against_an_update() -> None:
    node = {**NUMBER, "x-kubernetes-validations": rules("self > 1")}
    assert errors(node, 0, 0) == []
    assert len(errors(node, 0, 1)) == 1


def test_an_error_while_a_rule_runs_is_told_even_if_nothing_changed() -> None:
    node = {**NUMBER, "x-kubernetes-validations": rules("1 / self > 0")}
    assert errors(node, 0, 0) == ['<nil>: Invalid value: "integer": division by zero evaluating rule: 1 / self > 0']


def test_an_int_or_string_is_typed_when_it_is_looked_at() -> None:
    rule = "type(self) == int ? self < 5 : self.endsWith('%')"
    node = {"x-kubernetes-int-or-string": True, "x-kubernetes-validations": rules(rule)}
    assert errors(node, 3) == []
    assert errors(node, "3%") == []
    assert len(errors(node, 7)) == 1


def test_a_call_on_the_wrong_type_is_explained() -> None:
    node = {"x-kubernetes-int-or-string": True, "x-kubernetes-validations": rules("self < 5")}
    assert errors(node, "x") == [
        "<nil>: Invalid value: \"\": 'no such overload': call arguments did not match a supported operator, "
        "function or macro signature for rule: self < 5"
    ]


@given(JSON, JSON)
@settings(derandomize=True, deadline=None, max_examples=150)
def test_rules_never_raise_on_data_that_does_not_fit(value: Any, old: Any) -> None:
    node = {
        "type": "object",
        "properties": {
            "a": {"type": "string", "format": "date-time"},
            "b": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "number"}},
            "c": {"type": "object", "properties": {"a": NUMBER}},
            "m": {"type": "object", "additionalProperties": {"type": "string"}},
        },
        "x-kubernetes-validations": rules(
            "self == oldSelf",
            "self.a > timestamp('2020-01-01T00:00:00Z')",
            "self.b.all(x, x > 1.0)",
            "self.c.a + 1 > size(self.m)",
            "self.m.all(k, self.m[k].startsWith(k))",
        ),
    }
    errors(node, value, old)


def test_a_reserved_word_after_a_dot_is_a_field() -> None:
    words = ["import", "namespace", "if", "package"]
    texts = [text for word in words for text in (f"self.{word} == 'x'", f"has(self.{word})", f"self.__{word}__ == 'x'")]
    node = {
        "type": "object",
        "properties": {word: {"type": "string"} for word in words},
        "x-kubernetes-validations": rules(*texts),
    }
    assert errors(node, dict.fromkeys(words, "x")) == []
    assert errors(node, {"if": "x", "import": "x", "package": "x", "namespace": "y"}) == [
        "<nil>: Invalid value: failed rule: self.namespace == 'x'",
        "<nil>: Invalid value: failed rule: self.__namespace__ == 'x'",
    ]
