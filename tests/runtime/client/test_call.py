"""Calls as messages show them."""

from __future__ import annotations

import pytest

from kontend.runtime.client.call import Call


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (Call("get", "Pod/v1", "default", "web", cached=True), "cached get Pod/v1 default/web"),
        (Call("list", "Pod/v1"), "list Pod/v1 in all namespaces"),
        (Call("create", "Pod/v1", "default"), "create Pod/v1 in default"),
        (Call("create", "Namespace/v1"), "create Namespace/v1"),
        (Call("patch", "Node/v1", "", "n", "status"), "patch Node/v1 n/status"),
    ],
)
def test_a_call_names_what_it_is_about(call: Call, text: str) -> None:
    assert str(call) == text
