"""Values of absurd size: the server's answer, soon, and never a failure of ours."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from definitions import with_spec
from kontend import Cluster
from kontend.cluster.handle import handle
from kontend.cluster.request import JSON, ApiRequest

NINES = "9" * 5000
CORE = "/api/v1/namespaces/default"
MAPS = f"{CORE}/configmaps"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
MERGE = "application/merge-patch+json"
POD_SPEC = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}
START = Cluster().state


def send(
    method: str,
    path: str,
    body: Any = None,
    *,
    state: Any = START,
    content_type: str = "application/json",
    **query: str,
) -> tuple[int, str]:
    """The code and the message, with the digits replaced."""
    data = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    started = time.process_time()
    parameters = {name: (value,) for name, value in query.items()}
    _, response = handle(state, ApiRequest(method, path, parameters, data, content_type=content_type))
    assert time.process_time() - started < 5
    message = response.body.get("message", "") if isinstance(response.body, dict) else str(response.body)
    return response.code, message.replace(NINES, "<nines>")


def rule(text: str) -> dict[str, Any]:
    """A definition of widgets with a rule."""
    properties = {"a": {"type": "string", "maxLength": 9}, "n": {"type": "integer"}}
    return with_spec({"type": "object", "properties": properties, "x-kubernetes-validations": [{"rule": text}]})


INVALID_VERSION = 'resourceVersion: Invalid value: "<nines>": strconv.ParseUint: '
OUT_OF_RANGE = 'parsing "<nines>": value out of range'


@pytest.mark.parametrize(
    ("query", "code", "message"),
    [
        ({"timeoutSeconds": NINES}, 400, f"strconv.ParseInt: {OUT_OF_RANGE}"),
        ({"limit": NINES}, 400, f"strconv.ParseInt: {OUT_OF_RANGE}"),
        ({"limit": "٣"}, 400, 'strconv.ParseInt: parsing "٣": invalid syntax'),
        (
            {"resourceVersion": NINES},
            400,
            f"invalid resource version: {INVALID_VERSION}{OUT_OF_RANGE}",
        ),
        ({"watch": "1", "resourceVersion": NINES}, 500, f"{INVALID_VERSION}{OUT_OF_RANGE}"),
        ({"timeoutSeconds": "-" + NINES}, 400, 'strconv.ParseInt: parsing "-<nines>": value out of range'),
        ({"timeoutSeconds": "0" * 5000}, 200, ""),
        ({"resourceVersion": "0" * 5000}, 200, ""),
    ],
)  # fmt: skip
def test_numbers_in_queries(query: dict[str, str], code: int, message: str) -> None:
    """Of thousands of digits."""
    assert send("GET", MAPS, **query) == (code, message)


@pytest.mark.parametrize("name", ["cpu", "memory"])
@pytest.mark.parametrize("text", ["1e999999999", "-1e999999999", "1e-999999999", "1e2147483647", NINES, f"{NINES}Ki"])
def test_quantities_in_pods(name: str, text: str) -> None:
    """They have exponents of nine digits."""
    containers = [{"name": "c", "image": "i", "resources": {"limits": {name: text}}}]
    body = {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "p"}, "spec": {"containers": containers}}
    code, message = send("POST", f"{CORE}/pods", body)
    assert code == (422 if text.startswith("-") else 201), message


@pytest.mark.parametrize("text", ["1e999999999", "-1e999999999", NINES, f"-{NINES}"])
def test_quantities_elsewhere(text: str) -> None:
    """In volumes, claims, limits."""
    bad = text.startswith("-")
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": text}}}
    volume = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": text}, "hostPath": {"path": "/x"}}
    limits = {"type": "Container", "max": {"cpu": text}, "min": {"cpu": "1"}, "maxLimitRequestRatio": {"cpu": text}}
    bodies: list[tuple[str, str, dict[str, Any]]] = [
        (f"{CORE}/persistentvolumeclaims", "PersistentVolumeClaim", claim),
        ("/api/v1/persistentvolumes", "PersistentVolume", volume),
        (f"{CORE}/limitranges", "LimitRange", {"limits": [limits]}),
        (f"{CORE}/resourcequotas", "ResourceQuota", {"hard": {"cpu": text}}),
    ]
    for path, kind, spec in bodies:
        body = {"apiVersion": "v1", "kind": kind, "metadata": {"name": "x"}, "spec": spec}
        assert send("POST", path, body)[0] == (422 if bad else 201), kind


@pytest.mark.parametrize("schedule", [f"*/{NINES} * * * *", f"{NINES} * * * *", f"1-{NINES} * * * *"])
def test_schedules(schedule: str) -> None:
    """Of cron jobs."""
    spec = {"schedule": schedule, "jobTemplate": {"spec": {"template": {"spec": POD_SPEC}}}}
    body = {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "c"}, "spec": spec}
    code, message = send("POST", "/apis/batch/v1/namespaces/default/cronjobs", body)
    assert code == 422
    assert f"failed to parse int from <nines>: strconv.Atoi: {OUT_OF_RANGE}" in message


def test_indexes_of_jobs() -> None:
    """In the spec and in the status."""
    jobs = "/apis/batch/v1/namespaces/default/jobs"
    spec: dict[str, Any] = {
        "completionMode": "Indexed", "completions": 5, "parallelism": 1, "template": {"spec": POD_SPEC}
    }  # fmt: skip
    body = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": spec}
    state, _ = handle(START, ApiRequest("POST", jobs, {}, json.dumps(body).encode()))
    for indexes in (NINES, f"0-{NINES}"):
        patch = {"status": {"completedIndexes": indexes}}
        code, message = send("PATCH", f"{jobs}/j/status", patch, state=state, content_type=MERGE)
        assert (code, 'too large index: "<nines>"' in message) == (422, True)
        spec["successPolicy"] = {"rules": [{"succeededIndexes": indexes}]}
        code, message = send("POST", jobs, body)
        assert (code, 'too large index: "<nines>"' in message) == (422, True)


def test_a_pattern_of_parentheses() -> None:
    """Nested as deep as Go counts, and deeper."""
    pattern = "(" * 5000 + ")" * 5000
    spec = {"type": "object", "properties": {"a": {"type": "string", "pattern": pattern}}}
    code, message = send("POST", CRDS, with_spec(spec))
    assert code == 422
    assert "must be a valid regular expression, but isn't: error parsing regexp: expression nests too deeply" in message


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("self.n" + "+self.n" * 3000 + " > 0", "max recursion depth exceeded"),
        ("1" + " == 1" * 3000, "max recursion depth exceeded"),
        ("self" + ".a" * 3000 + " == 1", "max recursion depth exceeded"),
        ("self" + "[0]" * 3000 + " == 1", "max recursion depth exceeded"),
        ("self.a" + ".lowerAscii()" * 3000 + " == 'a'", "max recursion depth exceeded"),
        ("(" * 3000 + "true" + ")" * 3000, "expression recursion limit exceeded: 250"),
        ("true ? true : " * 3000 + "true", "expression recursion limit exceeded: 250"),
        ("size(" * 3000 + "self" + ")" * 3000 + " == 1", "expression recursion limit exceeded: 250"),
        ("'" + "a" * 100_000 + "' == ''", "expression code point size exceeds limit: size: 100008, limit 100000"),
        (f"self.n > {NINES}", "invalid int literal"),
    ],
)
def test_rules_beyond_the_limits(text: str, complaint: str) -> None:
    """Each with the words of the server."""
    code, message = send("POST", CRDS, rule(text))
    assert code == 422
    assert complaint in message


@pytest.mark.parametrize(
    "text",
    [
        "self.n" + "+self.n" * 248 + " > 0",
        "true" + " == true" * 250,
        "self.a" + ".lowerAscii()" * 240 + " == 'a'",
        "true && " * 3000 + "true",
        "!" * 3000 + "true",
    ],
)
def test_rules_within_the_limits(text: str) -> None:
    """They are compiled, measured and run."""
    state, response = handle(START, ApiRequest("POST", CRDS, {}, json.dumps(rule(text)).encode()))
    assert response.code == 201, response.body["message"][-300:]
    widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"a": "a", "n": 1}}
    assert send("POST", "/apis/example.com/v1/namespaces/default/widgets", widget, state=state) == (201, "")


@pytest.mark.parametrize(
    ("content_type", "text"),
    [
        ("application/yaml", f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: y}}\ndata: {{a: {NINES}}}"),
        ("application/yaml", f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: y, generation: {NINES}}}"),
        (JSON, f'{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"y","generation":{NINES}}}}}'),
    ],
)  # fmt: skip
def test_integers_in_bodies(content_type: str, text: str) -> None:
    """YAML reads them as text, JSON refuses them."""
    code, _ = send("POST", MAPS, text.encode(), content_type=content_type)
    assert code in (201, 400)


@pytest.mark.parametrize(
    "path",
    [f".spec[{NINES}]", f".spec[?(@.a=={NINES})]", ".spec[?(" + " " * 50_000 + ")]", "." + "a" * 50_000, "[" * 5000],
)
def test_paths_of_columns(path: str) -> None:
    """Printed by a Table."""
    crd = with_spec({"type": "object", "x-kubernetes-preserve-unknown-fields": True})
    crd["spec"]["versions"][0]["additionalPrinterColumns"] = [{"name": "x", "type": "string", "jsonPath": path}]
    assert send("POST", CRDS, crd)[0] in (201, 422)


def test_bodies_that_are_not_utf8() -> None:
    """Go replaces what it cannot read, also where the text of a value is kept."""
    body = b'{"apiVersion":"resource.k8s.io/v1","kind":"DeviceClass","metadata":{"name":"a"},"spec":{},"\x87":1}'
    assert send("POST", "/apis/resource.k8s.io/v1/deviceclasses", body)[0] == 201


@pytest.mark.parametrize(
    "spec", [5, [], {"resourceAttributes": "x"}, {"groups": 1}, {"extra": {"a": "b"}}, {"user": []}]
)
def test_reviews_of_the_wrong_shape(spec: Any) -> None:
    """They are decoded as other objects are."""
    for kind in ("SubjectAccessReview", "SelfSubjectAccessReview", "SelfSubjectRulesReview"):
        body = {"apiVersion": "authorization.k8s.io/v1", "kind": kind, "spec": spec}
        assert send("POST", f"/apis/authorization.k8s.io/v1/{kind.lower()}s", body)[0] in (201, 400, 422)
