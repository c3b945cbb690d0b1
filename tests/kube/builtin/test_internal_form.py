"""Values as the server prints them."""

from __future__ import annotations

from kontend.kube.builtin.internal_form import difference, internal, shown_as
from kontend.kube.builtin.internal_types import TYPES


def test_every_type_that_is_named_is_known() -> None:
    plain = set("snbqit")
    for text in TYPES.values():
        for word in text.split():
            name = word[1:-1] if word.startswith("<") else word.partition(":")[2].lstrip("?*[]{}")
            assert name in plain or name in TYPES


def test_a_selector_prints_labels_before_expressions() -> None:
    selector = {"matchExpressions": [{"operator": "Exists", "key": "a"}], "matchLabels": {"b": "c"}}

    assert shown_as("LabelSelector", selector) == (
        '{"matchLabels":{"b":"c"},"matchExpressions":[{"key":"a","operator":"Exists"}]}'
    )


def test_nothing_prints_as_null() -> None:
    assert shown_as("LabelSelector", None) == "null"


def test_fields_of_the_host_are_in_the_security_context() -> None:
    assert internal("PodSpec", {"hostNetwork": True})["SecurityContext"]["HostNetwork"] is True


def test_a_difference_is_a_unified_diff_of_indented_json() -> None:
    assert difference("EnvVar", {"name": "A", "value": "<1>"}, {"name": "A", "value": "2"}) == (
        '@@ -1,5 +1,5 @@\n {\n  "Name": "A",\n- "Value": "\\u003c1\\u003e",\n+ "Value": "2",\n  "ValueFrom": null\n }\n'
    )
