"""Taking over from client-side apply."""

import json
from typing import Any

import pytest

from kontend.kube.apply.last_applied import ANNOTATION
from kontend.kube.apply.managed_fields import ManagedFields
from kontend.kube.apply.server_side import apply, track_update
from kontend.kube.errors import Conflict
from kontend.kube.schema.tree import Schema

SPEC = Schema("object", properties={"size": Schema("integer"), "color": Schema("string")})
WIDGET = Schema("object", properties={"spec": SPEC})
V1 = "example.com/v1"


def widget(annotation: str | None = None, **spec: Any) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": "w"}
    if annotation is not None:
        metadata["annotations"] = {ANNOTATION: annotation}
    return {"apiVersion": V1, "kind": "Widget", "metadata": metadata, "spec": spec}


def applied_by_client(annotation: str, **spec: Any) -> tuple[dict[str, Any], ManagedFields]:
    live = widget(annotation, **spec)
    managed = track_update(
        schema=WIDGET, live=None, new=live, managed=(), manager="kubectl-client-side-apply", api_version=V1,
        now="2026-01-01T00:00:00Z",
    )  # fmt: skip
    return live, managed


def apply_spec(
    live: dict[str, Any],
    managed: ManagedFields,
    manager: str = "kubectl",
    patch: dict[str, Any] | None = None,
    **spec: Any,
) -> tuple[dict[str, Any], ManagedFields]:
    outcome = apply(
        schema=WIDGET, live=live, patch=patch or widget(**spec), managed=managed, manager=manager, force=False,
        api_version=V1, kind="Widget", now="2026-01-01T00:01:00Z",
    )  # fmt: skip
    return outcome.obj, outcome.managed


def test_kubectl_takes_over_what_it_applied_as_a_client() -> None:
    live, managed = applied_by_client(json.dumps(widget(size=1)), size=1)
    obj, managed = apply_spec(live, managed, size=2)
    assert obj["spec"] == {"size": 2}
    assert [entry.manager for entry in managed] == ["kubectl", "kubectl-client-side-apply"]


def test_the_annotation_is_kept_up_to_date() -> None:
    live, managed = applied_by_client(json.dumps(widget(size=1)), size=1)
    obj, _ = apply_spec(live, managed, size=2)
    assert obj["metadata"]["annotations"][ANNOTATION] == (
        '{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w"},"spec":{"size":2}}\n'
    )
    assert live["metadata"]["annotations"][ANNOTATION] != obj["metadata"]["annotations"][ANNOTATION]


def test_the_annotation_never_contains_itself() -> None:
    live, managed = applied_by_client("x", size=1)
    obj, _ = apply_spec(live, managed, patch=widget("x", size=1))
    assert obj["metadata"]["annotations"][ANNOTATION] == (
        '{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"annotations":{},"name":"w"},"spec":{"size":1}}\n'
    )


def test_an_annotation_that_would_be_too_large_is_dropped() -> None:
    live, managed = applied_by_client("x", color="a")
    patch = widget(color="a")
    patch["metadata"]["labels"] = {f"l{number}": "x" * 60 for number in range(4000)}
    obj, _ = apply_spec(live, managed, patch=patch)
    assert obj["metadata"]["annotations"] == {}


@pytest.mark.parametrize(
    "annotation",
    ["", "{", "[]", json.dumps({**widget(size=1), "apiVersion": "v9"}), json.dumps(widget(size=3)),
     json.dumps(widget(nope=3)), json.dumps({"apiVersion": V1, "spec": {"size": 1}})],
)  # fmt: skip
def test_an_annotation_that_does_not_say_so_allows_nothing(annotation: str) -> None:
    live, managed = applied_by_client(annotation, size=1)
    with pytest.raises(Conflict, match=r'conflict with "kubectl-client-side-apply" using example.com/v1: .spec.size'):
        apply_spec(live, managed, size=2)


def test_only_what_is_still_as_the_annotation_says_is_taken_over() -> None:
    live, managed = applied_by_client(json.dumps(widget(size=1, color="x")), size=1, color="other")
    with pytest.raises(Conflict) as caught:
        apply_spec(live, managed, size=2, color="y")
    assert [cause["field"] for cause in caught.value.causes] == [".spec.color"]


def test_other_managers_have_no_such_rights() -> None:
    live, managed = applied_by_client(json.dumps(widget(size=1)), size=1)
    with pytest.raises(Conflict):
        apply_spec(live, managed, manager="other", size=2)
    obj, _ = apply_spec(live, managed, manager="other", size=1)
    assert obj is live
