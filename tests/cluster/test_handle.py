"""The server as a pure function: whatever comes, it answers, and a refusal changes nothing."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from cluster.objects import config_map, definition, deployment, widget
from kontend import Cluster
from kontend.cluster.handle import handle
from kontend.cluster.request import APPLY_PATCH, JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH, ApiRequest
from kontend.kube.encoding.json_text import canonical

START = Cluster(
    crds=[definition()], objects=[widget(spec={"a": [1, {"b": None}]}), config_map(data={"k": "v"}), deployment()]
)

_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-5, 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
)
_FIELDS = st.sampled_from(
    [
        "metadata",
        "spec",
        "status",
        "name",
        "namespace",
        "labels",
        "finalizers",
        "ownerReferences",
        "uid",
        "kind",
        "apiVersion",
        "resourceVersion",
        "managedFields",
        "template",
        "containers",
        "replicas",
        "data",
        "selector",
        "$patch",
    ]
) | st.text(max_size=6)
_JSON = st.recursive(
    _SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_FIELDS, inner, max_size=5), max_leaves=25
)
_PATHS = st.sampled_from(
    [
        "/api/v1/namespaces/default/configmaps",
        "/api/v1/namespaces/default/configmaps/c",
        "/apis/example.com/v1/namespaces/default/widgets",
        "/apis/example.com/v1/namespaces/default/widgets/w",
        "/apis/example.com/v1/namespaces/default/widgets/w/status",
        "/apis/apps/v1/namespaces/default/deployments",
        "/apis/apps/v1/namespaces/default/deployments/d",
        "/apis/apps/v1/namespaces/default/deployments/d/scale",
        "/apis/apps/v1/namespaces/default/deployments/d/status",
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        "/api/v1/namespaces/default/pods",
        "/api/v1/namespaces/default/services",
        "/api/v1/namespaces",
        "/apis/nowhere/v1/x",
        "/version",
        "//",
    ]
)
_TYPES = st.sampled_from(
    [MERGE_PATCH, JSON_PATCH, STRATEGIC_MERGE_PATCH, APPLY_PATCH, "application/json", "application/yaml", "x"]
)
_QUERY = st.dictionaries(
    st.sampled_from(
        [
            "dryRun",
            "fieldManager",
            "fieldValidation",
            "force",
            "labelSelector",
            "fieldSelector",
            "limit",
            "continue",
            "watch",
            "resourceVersion",
            "resourceVersionMatch",
            "propagationPolicy",
            "gracePeriodSeconds",
            "sendInitialEvents",
        ]
    ),
    st.tuples(
        st.sampled_from(
            ["", "All", "m", "1", "0", "true", "a=b", "Strict", "999999", "Exact", "Orphan", "zz", "ß", "a in ("]
        )
    ),
    max_size=4,
)
_METHODS = st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "FROB"])
_ACCEPT = st.sampled_from(
    ["application/json", "*/*", "text/html", "application/json;as=Table;v=v1;g=meta.k8s.io", ";;,="]
)


def _encoded(value: Any) -> bytes:
    return json.dumps(value).encode()


def _requests(bodies: st.SearchStrategy[bytes]) -> st.SearchStrategy[ApiRequest]:
    return st.builds(
        ApiRequest,
        _METHODS,
        _PATHS,
        _QUERY,
        bodies,
        content_type=_TYPES,
        accept=_ACCEPT,
        user_agent=st.text(max_size=5),
    )


def _check(request: ApiRequest) -> None:
    state, response = handle(START.state, request)
    assert 200 <= response.code < 600
    if response.code >= 400:
        assert state is START.state
        assert isinstance(response.body, dict | str)
    else:
        canonical(response.body)


@settings(derandomize=True, deadline=None, max_examples=400)
@given(_requests(_JSON.map(_encoded)))
def test_any_json_is_answered_and_a_refusal_changes_nothing(request: ApiRequest) -> None:
    """Generated objects of every shape, at every path, by every method."""
    _check(request)


@settings(derandomize=True, deadline=None, max_examples=150)
@given(_requests(st.binary(max_size=40)))
def test_any_bytes_are_answered_and_a_refusal_changes_nothing(request: ApiRequest) -> None:
    """Bodies that are not even text."""
    _check(request)


def _mutations(obj: dict[str, Any]) -> st.SearchStrategy[bytes]:
    """A valid object in which one part at any depth is replaced by garbage."""
    places: list[list[Any]] = []

    def visit(value: Any, path: list[Any]) -> None:
        places.append(path)
        items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for key, child in items:
            visit(child, [*path, key])

    visit(obj, [])

    def replaced(path: list[Any], garbage: Any) -> bytes:
        copy: Any = _copy(obj)
        if not path:
            return _encoded(garbage)
        at = copy
        for key in path[:-1]:
            at = at[key]
        at[path[-1]] = garbage
        return _encoded(copy)

    return st.builds(replaced, st.sampled_from(places), _JSON)


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy(child) for key, child in value.items()}
    return [_copy(child) for child in value] if isinstance(value, list) else value


@settings(derandomize=True, deadline=None, max_examples=300)
@given(
    st.sampled_from(["POST", "PUT", "PATCH"]),
    st.one_of(_mutations(deployment()), _mutations(definition()), _mutations(widget(spec={"a": {"b": [1]}}))),
    _TYPES,
)
def test_an_almost_valid_object_is_answered_and_a_refusal_changes_nothing(
    method: str, body: bytes, content_type: str
) -> None:
    """One wrong part deep inside an otherwise good object."""
    named = "" if method == "POST" else "/d"
    for path in ("/apis/apps/v1/namespaces/default/deployments", "/apis/example.com/v1/namespaces/default/widgets"):
        kind = content_type if method == "PATCH" else "application/json"
        query = {"fieldManager": ("m",)} if kind == APPLY_PATCH else {}
        _check(ApiRequest(method, path + named, query, body, content_type=kind))
    if method == "POST":
        _check(ApiRequest(method, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {}, body))


def test_what_cannot_be_listed_has_no_table() -> None:
    """A review that is asked for as a Table is not acceptable."""
    review = {"spec": {"nonResourceAttributes": {"path": "/", "verb": "get"}}}
    request = ApiRequest(
        "POST",
        "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
        body=json.dumps(review).encode(),
        accept="application/json;as=Table;v=v1;g=meta.k8s.io",
    )
    assert handle(Cluster().state, request)[1].code == 406


def test_strict_decoding_names_unknown_fields_first() -> None:
    """Of built-in kinds, as the decoder of their JSON does."""
    body = b'{"metadata":{"name":"c"},"oops":1,"data":{"a":"1"},"data":{"a":"2"}}'
    request = ApiRequest("POST", "/api/v1/namespaces/default/configmaps", {"fieldValidation": ("Strict",)}, body)
    message = handle(Cluster().state, request)[1].body["message"]
    assert message.endswith('strict decoding error: unknown field "oops", duplicate field "data"')
