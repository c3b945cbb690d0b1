"""Admission webhooks; the texts are those of kube-apiserver 1.35."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable
from typing import Any

import pytest

from definitions import definition
from kontend.cluster.cluster import Cluster
from kontend.cluster.effects import Answer
from kontend.cluster.handle import handle
from kontend.cluster.request import ApiRequest
from kontend.kube.encoding.json_text import canonical
from kontend.kube.errors import ApiError, BadRequest, Forbidden, InternalError

Json = dict[str, Any]
URL = "https://hooks.default.svc"
CONFIG = "ConfigMap/v1"


def configuration(kind: str, name: str = "hooks", *hooks: Json) -> Json:
    api = "admissionregistration.k8s.io/v1"
    return {
        "apiVersion": api,
        "kind": f"{kind}WebhookConfiguration",
        "metadata": {"name": name},
        "webhooks": list(hooks),
    }


def webhook(path: str, resource: str = "configmaps", **more: Any) -> Json:
    rule = {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": [resource]}
    return {
        "name": f"{path}.example.com",
        "clientConfig": {"service": {"namespace": "default", "name": "hooks", "path": f"/{path}"}},
        "rules": [rule],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        **more,
    }


def response(review: Json, *, allowed: bool = True, patch: list[Json] | None = None, **more: Any) -> Json:
    answer: Json = {"uid": review["request"]["uid"], "allowed": allowed, **more}
    if patch is not None:
        answer |= {"patchType": "JSONPatch", "patch": b64encode(json.dumps(patch).encode()).decode()}
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": answer}


class Recorder:
    """A webhook that remembers what it was asked."""

    def __init__(self, answer: Callable[[Json], Json] = response) -> None:
        self.reviews: list[Json] = []
        self._answer = answer

    def __call__(self, review: Json) -> Json:
        self.reviews.append(review["request"])
        return self._answer(review)


def config_map(name: str = "c", **data: str) -> Json:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def sets(key: str, value: str) -> Callable[[Json], Json]:
    def answer(review: Json) -> Json:
        return response(review, patch=[{"op": "add", "path": f"/data/{key}", "value": value}])

    return answer


def test_a_mutating_webhook_changes_what_is_stored() -> None:
    hook = Recorder(sets("b", "2"))
    cluster = Cluster(objects=[configuration("Mutating", "m", webhook("set"))], webhooks={f"{URL}/set": hook})
    made = cluster.create(config_map(a="1"), manager="me")
    assert made["data"] == {"a": "1", "b": "2"}
    [asked] = hook.reviews
    assert asked["operation"] == "CREATE"
    assert asked["kind"] == {"group": "", "version": "v1", "kind": "ConfigMap"}
    assert asked["resource"] == asked["requestResource"] == {"group": "", "version": "v1", "resource": "configmaps"}
    assert (asked["name"], asked["namespace"], asked["dryRun"], asked["oldObject"]) == ("c", "default", False, None)
    assert asked["object"]["data"] == {"a": "1"}
    assert asked["object"]["metadata"]["managedFields"][0]["manager"] == "me"
    assert asked["userInfo"]["username"] == "system:admin"
    assert asked["options"]["kind"] == "CreateOptions"
    # The fields that a webhook sets belong to nobody, as there.
    assert list(made["metadata"]["managedFields"][0]["fieldsV1"]["f:data"]) == [".", "f:a"]


_ANOTHER: dict[str, tuple[str, int, str]] = {
    "/metadata/namespace": (
        "kube-system",
        400,
        "the namespace of the provided object does not match the namespace sent on the request",
    ),
    "/kind": ("Secret", 500, "converting (v1.Secret) to (core.ConfigMap): unknown conversion"),
    "/apiVersion": (
        "apps/v1",
        500,
        'Internal error occurred: no kind "ConfigMap" is registered for version "apps/v1" in scheme '
        '"pkg/runtime/scheme.go:111"',
    ),
    "/data": (
        "text",
        500,
        "Internal error occurred: json: cannot unmarshal string into Go struct field ConfigMap.data of type "
        "map[string]string",
    ),
}


@pytest.mark.parametrize("path", _ANOTHER)
def test_a_mutating_webhook_cannot_make_another_object(path: str) -> None:
    """Neither in another namespace nor of another kind, when it is created or later."""
    value, code, message = _ANOTHER[path]
    refusal = (code, message)
    patch: list[Json] = []
    hook = Recorder(lambda review: response(review, patch=patch))
    cluster = Cluster(objects=[configuration("Mutating", "m", webhook("set"))], webhooks={f"{URL}/set": hook})
    made = cluster.create(config_map("first"))
    patch.append({"op": "add", "path": path, "value": value})
    writes: list[Callable[[], object]] = [
        lambda: cluster.create(config_map("second")),
        lambda: cluster.update({**made, "data": {"a": "1"}}),
    ]
    for write in writes:
        with pytest.raises(ApiError) as refused:
            write()
        assert (refused.value.http_code, str(refused.value)) == refusal
    kept = cluster.list(CONFIG)
    assert [(obj["metadata"]["namespace"], obj["metadata"]["name"], obj.get("data")) for obj in kept] == [
        ("default", "first", made.get("data"))
    ]


def test_what_a_webhook_removes_is_filled_in_or_refused() -> None:
    """An object without a kind is of the kind of the request; one without metadata has no name."""
    patch: list[Json] = []
    hook = Recorder(lambda review: response(review, patch=patch))
    cluster = Cluster(objects=[configuration("Mutating", "m", webhook("set"))], webhooks={f"{URL}/set": hook})
    for field in ("/kind", "/apiVersion", "/metadata/namespace"):
        patch[:] = [{"op": "remove", "path": field}]
        made = cluster.create(config_map(f"c{len(cluster.list(CONFIG))}"))
        assert (made["kind"], made["apiVersion"], made["metadata"]["namespace"]) == ("ConfigMap", "v1", "default")
    patch[:] = [{"op": "remove", "path": "/metadata"}]
    with pytest.raises(ApiError, match="name or generateName is required"):
        cluster.create(config_map("last"))


def test_a_webhook_cannot_make_an_object_that_is_being_deleted() -> None:
    """A create wipes these fields after the webhooks as before them."""
    patch = [{"op": "add", "path": "/metadata/deletionTimestamp", "value": "2001-01-01T00:00:00Z"}]
    hook = Recorder(lambda review: response(review, patch=patch))
    cluster = Cluster(objects=[configuration("Mutating", "m", webhook("set"))], webhooks={f"{URL}/set": hook})
    assert "deletionTimestamp" not in cluster.create(config_map("c"))["metadata"]


@pytest.mark.parametrize(
    ("patch", "code", "message"),
    [
        ({"op": "remove", "path": "/kind"}, 500, "Object 'Kind' is missing"),
        ({"op": "replace", "path": "/kind", "value": "Gadget"}, 422, "must be Widget"),
        ({"op": "replace", "path": "/apiVersion", "value": "other/v1"}, 500, "from an invalid group/version: other/v1"),
        ({"op": "remove", "path": "/metadata"}, 422, "name or generateName is required"),
        ({"op": "replace", "path": "/metadata", "value": "x"}, 500, "metadata"),
    ],
)
def test_a_webhook_cannot_make_another_custom_resource(patch: Json, code: int, message: str) -> None:
    """The answers name the field, the kind or the version."""
    hook = Recorder(lambda review: response(review, patch=[patch]))
    objects = [configuration("Mutating", "m", webhook("set", "widgets"))]
    cluster = Cluster(crds=[definition("Widget")], objects=objects, webhooks={f"{URL}/set": hook})
    with pytest.raises(ApiError, match=message) as refused:
        cluster.create({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}})
    assert refused.value.http_code == code
    assert cluster.list("Widget.example.com/v1") == []


def test_updates_and_deletes_are_reviewed_with_the_old_object() -> None:
    hook = Recorder()
    cluster = Cluster(objects=[configuration("Validating", "v", webhook("look"))], webhooks={f"{URL}/look": hook})
    made = cluster.create(config_map(a="1"))
    cluster.patch(CONFIG, "c", {"data": {"a": "2"}})
    cluster.delete(CONFIG, "c")
    assert [review["operation"] for review in hook.reviews] == ["CREATE", "UPDATE", "DELETE"]
    assert hook.reviews[0]["object"]["metadata"]["uid"] == made["metadata"]["uid"]
    assert hook.reviews[1]["oldObject"] == made
    assert hook.reviews[1]["object"]["data"] == {"a": "2"}
    assert hook.reviews[2]["object"] is None
    assert hook.reviews[2]["oldObject"]["data"] == {"a": "2"}
    assert hook.reviews[2]["options"]["kind"] == "DeleteOptions"


@pytest.mark.parametrize(
    ("status", "code", "reason", "message"),
    [
        ({"message": "no", "code": 403, "reason": "Forbidden"}, 403, "Forbidden", ": no"),
        ({"message": "no"}, 400, "", ": no"),
        ({"reason": "Invalid", "code": 422}, 422, "Invalid", ": Invalid"),
        (None, 400, "", " without explanation"),
    ],
)
def test_a_refusal_reaches_the_client(status: Any, code: int, reason: str, message: str) -> None:
    def deny(review: Json) -> Json:
        return response(review, allowed=False, **({"status": status} if status else {}))

    cluster = Cluster(objects=[configuration("Validating", "v", webhook("deny"))], webhooks={f"{URL}/deny": deny})
    with pytest.raises(ApiError) as refused:
        cluster.create(config_map())
    assert (refused.value.http_code, refused.value.status_reason) == (code, reason)
    assert refused.value.message == f'admission webhook "deny.example.com" denied the request{message}'
    assert cluster.list(CONFIG) == []


def test_warnings_reach_the_client() -> None:
    def warn(review: Json) -> Json:
        return response(review, warnings=["old"])

    cluster = Cluster(objects=[configuration("Validating", "v", webhook("warn"))], webhooks={f"{URL}/warn": warn})
    cluster.create(config_map())
    assert cluster.warnings == ["old"]


@pytest.mark.parametrize("policy", ["Fail", "Ignore"])
def test_the_failure_policy_decides_when_a_webhook_cannot_be_asked(policy: str) -> None:
    cluster = Cluster(objects=[configuration("Validating", "v", webhook("gone", failurePolicy=policy))])
    if policy == "Ignore":
        assert cluster.create(config_map())
        return
    with pytest.raises(
        InternalError, match=r'failed calling webhook "gone.example.com": failed to call webhook: Post "'
    ):
        cluster.create(config_map())


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (
            lambda _: {"response": {}},
            "of admission.k8s.io/v1, Kind=AdmissionReview, got , Kind=",
        ),
        (lambda review: {**response(review), "response": None}, "webhook response was absent"),
        (lambda _: response({"request": {"uid": "x"}}), 'got "x"'),
        (
            lambda review: {**response(review), "response": {**response(review)["response"], "patch": "W10="}},
            "webhook returned response.patch but not response.patchType",
        ),
    ],
)
def test_answers_that_are_no_answers_fail(answer: Callable[[Json], Json], message: str) -> None:
    cluster = Cluster(objects=[configuration("Mutating", "m", webhook("bad"))], webhooks={f"{URL}/bad": answer})
    with pytest.raises(InternalError) as failed:
        cluster.create(config_map())
    assert "received invalid webhook response" in failed.value.message
    assert message in failed.value.message


def test_dry_run_needs_webhooks_without_side_effects() -> None:
    hook = Recorder()
    objects = [configuration("Validating", "v", webhook("look", sideEffects="NoneOnDryRun"))]
    cluster = Cluster(objects=objects, webhooks={f"{URL}/look": hook})
    cluster.create(config_map(), dry_run=True)
    assert hook.reviews[0]["dryRun"] is True
    stored = cluster.state.objects("validatingwebhookconfigurations.admissionregistration.k8s.io")
    [(key, version)] = stored.items()
    # v1 refuses such a webhook, but one may have been stored before.
    body = version.body.replace(b"NoneOnDryRun", b"Unknown")
    cluster.state, _ = cluster.state.write(
        "validatingwebhookconfigurations.admissionregistration.k8s.io", key, body, version.managed
    )
    with pytest.raises(BadRequest, match=r'admission webhook "look.example.com" does not support dry run'):
        cluster.create(config_map(), dry_run=True)


@pytest.mark.parametrize(
    ("more", "asked"),
    [
        ({"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "default"}}}, True),
        ({"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "other"}}}, False),
        ({"objectSelector": {"matchLabels": {"app": "web"}}}, True),
        ({"objectSelector": {"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]}}, False),
        ({"matchConditions": [{"name": "a", "expression": "object.data.a == '1'"}]}, True),
        ({"matchConditions": [{"name": "a", "expression": "request.operation != 'CREATE'"}]}, False),
    ],
)
def test_selectors_and_conditions_decide_what_is_reviewed(more: Json, asked: bool) -> None:
    hook = Recorder()
    objects = [configuration("Validating", "v", webhook("look", **more))]
    cluster = Cluster(objects=objects, webhooks={f"{URL}/look": hook})
    made = config_map(a="1")
    made["metadata"]["labels"] = {"app": "web"}
    cluster.create(made)
    assert bool(hook.reviews) is asked


def test_a_condition_that_fails_follows_the_failure_policy() -> None:
    conditions: Json = {"matchConditions": [{"name": "a", "expression": "object.nope.x == 1"}]}
    cluster = Cluster(objects=[configuration("Validating", "v", webhook("look", **conditions))])
    with pytest.raises(Forbidden, match="no such key: nope"):
        cluster.create(config_map())
    ignoring = webhook("look", failurePolicy="Ignore", **conditions)
    assert Cluster(objects=[configuration("Validating", "v", ignoring)]).create(config_map())


def test_webhooks_are_asked_again_if_needed() -> None:
    first = Recorder(lambda review: response(review))
    second = Recorder(lambda review: response(review, patch=[{"op": "add", "path": "/data/z", "value": "1"}]))
    hooks = [webhook("a", reinvocationPolicy="IfNeeded"), webhook("b"), webhook("c", reinvocationPolicy="IfNeeded")]
    third = Recorder()
    objects = [configuration("Mutating", "m", *hooks)]
    cluster = Cluster(objects=objects, webhooks={f"{URL}/a": first, f"{URL}/b": second, f"{URL}/c": third})
    cluster.create(config_map(a="1"))
    assert [len(webhook.reviews) for webhook in (first, second, third)] == [2, 1, 1]
    assert [review["object"]["data"] for review in first.reviews] == [{"a": "1"}, {"a": "1", "z": "1"}]


def test_webhooks_see_the_version_that_they_ask_for() -> None:
    widgets = definition("Widget")
    [version] = widgets["spec"]["versions"]
    widgets["spec"]["versions"] = [version, {**version, "name": "v2", "storage": False}]
    rule = {"operations": ["CREATE"], "apiGroups": ["example.com"], "apiVersions": ["v1"], "resources": ["widgets"]}
    exact, equivalent = Recorder(), Recorder(sets("y", "1"))
    objects = [
        configuration("Mutating", "m", webhook("equivalent", rules=[rule])),
        configuration("Validating", "v", webhook("exact", rules=[rule], matchPolicy="Exact")),
    ]
    hooks = {f"{URL}/exact": exact, f"{URL}/equivalent": equivalent}
    cluster = Cluster(crds=[widgets], objects=objects, webhooks=hooks)
    made = cluster.create(
        {"apiVersion": "example.com/v2", "kind": "Widget", "metadata": {"name": "w"}, "data": {"x": "1"}}
    )
    assert exact.reviews == []
    [asked] = equivalent.reviews
    assert asked["object"]["apiVersion"] == "example.com/v1"
    assert asked["resource"]["version"] == "v1"
    assert asked["requestResource"]["version"] == "v2"
    assert (made["apiVersion"], made["data"]) == ("example.com/v2", {"x": "1", "y": "1"})


def test_subresources_need_rules_of_their_own() -> None:
    main, status = Recorder(), Recorder()
    objects = [configuration("Validating", "v", webhook("main", "widgets"), webhook("status", "widgets/status"))]
    cluster = Cluster(
        crds=[definition("Widget")], objects=objects, webhooks={f"{URL}/main": main, f"{URL}/status": status}
    )
    made = cluster.create({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}})
    cluster.update_status({**made, "status": {"ok": True}})
    assert (len(main.reviews), len(status.reviews)) == (1, 1)
    assert status.reviews[0]["subResource"] == "status"


# The two halves of a request


def request(method: str, path: str, body: Any) -> ApiRequest:
    kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
    return ApiRequest(method, f"/api/v1/namespaces/default/configmaps{path}", body=canonical(body), content_type=kind)


def ask(call_body: bytes) -> Answer:
    return Answer(
        response(json.loads(call_body), patch=[{"op": "add", "path": "/metadata/labels", "value": {"a": "b"}}])
    )


def test_a_suspended_request_goes_on_where_others_have_been_meanwhile() -> None:
    state = Cluster(objects=[configuration("Mutating", "m", webhook("set"))]).state
    create = request("POST", "", config_map(a="1"))
    waiting, first = handle(state, create, wait=True)
    assert first.suspended is not None
    [call] = first.suspended.calls
    assert (call.service, call.timeout) == ("default/hooks:443", 10)
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}
    other = ApiRequest("POST", "/api/v1/namespaces/default/secrets", body=canonical(secret))
    between, made = handle(waiting.replace(now=waiting.now + 7), other)
    after, done = handle(between, create, first.suspended.progress.answered({call.key: ask(call.body)}), wait=True)
    assert done.code == 201
    assert done.body["metadata"]["labels"] == {"a": "b"}
    assert done.body["metadata"]["uid"] != made.body["metadata"]["uid"]
    assert after.now == between.now
    assert int(done.body["metadata"]["resourceVersion"]) == int(made.body["metadata"]["resourceVersion"]) + 1
    again, _ = handle(after, request("POST", "", config_map("d")), wait=True)
    assert again.serial > after.serial


def test_a_patch_is_reviewed_again_when_the_object_has_changed_meanwhile() -> None:
    state = Cluster(objects=[config_map(a="1"), configuration("Mutating", "m", webhook("set"))]).state
    patch = request("PATCH", "/c", {"data": {"b": "1"}})
    state, first = handle(state, patch, wait=True)
    assert first.suspended is not None
    [call] = first.suspended.calls
    key = next(iter(state.objects("configmaps").keys()))
    version = state.objects("configmaps")[key]
    state, _ = state.write("configmaps", key, version.body.replace(b'"1"', b'"9"'), version.managed)
    progress = first.suspended.progress.answered({call.key: ask(call.body)})
    state, second = handle(state, patch, progress, wait=True)
    assert second.suspended is not None
    [call] = second.suspended.calls
    assert json.loads(call.body)["request"]["object"]["data"] == {"a": "9", "b": "1"}
    _, done = handle(state, patch, second.suspended.progress.answered({call.key: ask(call.body)}), wait=True)
    assert (done.code, done.body["data"]) == (200, {"a": "9", "b": "1"})


def test_a_patch_that_does_not_apply_fails() -> None:
    def answer(review: Json) -> Json:
        return response(review, patch=[{"op": "replace", "path": "/nope/x", "value": 1}])

    cluster = Cluster(objects=[configuration("Mutating", "m", webhook("bad"))], webhooks={f"{URL}/bad": answer})
    with pytest.raises(InternalError) as failed:
        cluster.create(config_map())
    assert "/nope/x" in failed.value.message


def test_evictions_and_bindings_are_reviewed() -> None:
    hook = Recorder(lambda review: response(review, allowed=review["request"]["subResource"] == "binding"))
    rules = [webhook("look", "pods/*")]
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}
    objects = [{**pod, "spec": {"containers": [{"name": "a", "image": "b"}]}}, configuration("Validating", "v", *rules)]
    cluster = Cluster(objects=objects, webhooks={f"{URL}/look": hook})
    path = "/api/v1/namespaces/default/pods/p"
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "p"},
        "target": {"kind": "Node", "name": "n"},
    }
    assert cluster.request(ApiRequest("POST", f"{path}/binding", body=canonical(binding))).code == 201
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}}
    refused = cluster.request(ApiRequest("POST", f"{path}/eviction", body=canonical(eviction)))
    assert "denied the request" in refused.body["message"]
    asked = hook.reviews[-1]
    assert asked["kind"] == {"group": "policy", "version": "v1", "kind": "Eviction"}
    assert (asked["operation"], asked["object"]["kind"]) == ("CREATE", "Eviction")
