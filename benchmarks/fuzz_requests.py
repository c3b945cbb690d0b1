"""Requests that a fuzzer sends to ``kontend serve``, made from one seed."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any, Final
from urllib.parse import quote

from benchmarks.fuzz_client import Client
from kontend import Cluster
from kontend.cluster.resources import Resource
from kontend.kube.schema.tree import Schema

_NASTY: Final[list[Any]] = [
    "", "a", "A_b", "-", "a" * 64, "a" * 300, "9" * 5000, "1e999999999", "10Mi", "*/5 * * * *", "\u0000", "é" * 50,
    "%s", "{{x}}", "../..", "0", "2020-01-01T00:00:00Z", "^(a+)+$", "self.x", 0, 1, -1, 2**31, 2**63 - 1, -(2**63),
    1e308, 0.5, True, False, None, [], {}, [None], {"a": {"b": []}}, ["x"] * 50, {"k" * 70: "v"},
]  # fmt: skip


class Fuzzer:
    """Makes requests of many kinds, for a client that judges the answers."""

    def __init__(self, url: str, rng: random.Random) -> None:
        self.rng = rng
        self.client = Client(url, rng)
        registry = Cluster().state.registry
        self.resources = [
            known for known in registry.resources() if "create" in known.verbs and known.schema is not None
        ]
        self.made: list[str] = []
        self.definitions = 0
        self.dense_defined = False

    # Requests

    def step(self) -> None:
        """Send one request of a kind that chance picks."""
        name, make = self.rng.choice(_KINDS)
        self.client.outcome.kinds[name] += 1
        make(self)

    def value(self, schema: Schema | None, depth: int = 0) -> Any:
        """A value that fits a schema, or nearly."""
        rng = self.rng
        if schema is None or rng.random() < 0.06:
            return rng.choice(_NASTY)
        if schema.type == "object" or schema.properties:
            if schema.additional is not None:
                return {rng.choice(["a", "b.c/d", "app", "k" * 70]): self.value(schema.additional, depth + 1)}
            chance = 0.5 if depth < 3 else 0.15
            return {k: self.value(v, depth + 1) for k, v in schema.properties.items() if rng.random() < chance}
        if schema.type == "array":
            return [self.value(schema.items, depth + 1) for _ in range(rng.choice([0, 1, 1, 2]))]
        if schema.type in ("integer", "number"):
            return rng.choice([0, 1, 5, -1, 80, 65536, 2**31])
        if schema.type == "boolean":
            return rng.random() < 0.5
        return rng.choice(["a", "web", "x.example.com/y", "1", "100m", "Always", "TCP", "", "A B"])

    def manifest(self, resource: Resource) -> dict[str, Any]:
        """An object of a kind."""
        body = self.value(resource.schema)
        body = body if isinstance(body, dict) else {}
        if self.rng.random() < 0.95:
            body["apiVersion"], body["kind"] = resource.api_version, resource.kind
        if self.rng.random() < 0.9:
            name = self.rng.choice(["a", "b", "c-1", f"n{self.rng.randrange(500)}"])
            body["metadata"] = (
                {"name": name} if self.rng.random() < 0.7 else {**_dict(body.get("metadata")), "name": name}
            )
        return body

    def path(self, resource: Resource, name: str = "") -> str:
        """The path at which a kind is served."""
        root = f"/apis/{resource.group}" if resource.group else "/api"
        scope = "/namespaces/default" if resource.namespaced else ""
        return f"{root}/{resource.version}{scope}/{resource.plural}{'/' + name if name else ''}"

    # Kinds of requests

    def create(self) -> None:
        """Create an object of any built-in kind, as JSON or YAML."""
        resource = self.rng.choice(self.resources)
        raw = json.dumps(self.manifest(resource)).encode()
        if self.rng.random() < 0.1:
            raw = self.mutated(raw)
        media = self.rng.choice(["application/json"] * 4 + ["application/yaml", "text/plain", "application/cbor"])
        query = self.rng.choice(["", "", "?dryRun=All", "?fieldValidation=Strict", "?fieldManager=" + "m" * 200])
        code, answer = self.client.send("POST", self.path(resource) + query, raw, Content_Type=media)
        if code == 201 and not query:
            name = _dict(_dict(json.loads(answer)).get("metadata")).get("name")
            if name:
                self.made.append(self.path(resource, name))

    def patch(self) -> None:
        """Patch or replace what was created."""
        if not self.made:
            return self.create()
        path = self.rng.choice(self.made)
        kind = self.rng.choice(
            ["json-patch+json", "merge-patch+json", "strategic-merge-patch+json", "apply-patch+yaml"]
        )
        fields = [
            "metadata",
            "spec",
            "status",
            "data",
            "metadata/labels",
            "spec/template",
            "metadata/finalizers/0",
            "-",
        ]
        if kind == "json-patch+json":
            ops = [
                {"op": self.rng.choice(["add", "remove", "replace", "move", "copy", "test", "x"]),
                 "path": "/" + self.rng.choice(fields), "from": "/" + self.rng.choice(fields),
                 "value": self.rng.choice(_NASTY)}
                for _ in range(self.rng.choice([1, 2, 50, 2000]))
            ]  # fmt: skip
            raw = json.dumps(ops).encode()
        else:
            raw = json.dumps({self.rng.choice(fields): self.rng.choice(_NASTY) for _ in range(3)}).encode()
        if self.rng.random() < 0.2:
            raw = self.mutated(raw)
        tail = self.rng.choice(["", "", "/status", "/scale"]) + self.rng.choice(["", "?fieldManager=m", "?force=true"])
        self.client.send("PATCH", path + tail, raw, Content_Type=f"application/{kind}")
        return None

    def delete(self) -> None:
        """Delete what was created."""
        if self.made:
            path = self.made.pop(self.rng.randrange(len(self.made)))
            options = {
                self.rng.choice(["gracePeriodSeconds", "preconditions", "propagationPolicy"]): self.rng.choice(_NASTY)
            }
            raw = json.dumps({"kind": "DeleteOptions", "apiVersion": "v1", **options}).encode()
            if self.client.send("DELETE", path, raw if self.rng.random() < 0.5 else b"")[0] >= 400:
                self.client.send("DELETE", path, json.dumps({"gracePeriodSeconds": 0}).encode())

    def define(self) -> None:
        """Create a definition with patterns and rules, and objects of it."""
        rng = self.rng
        pattern = "".join(
            rng.choice(["a", "(", ")", "*", "+", "?", "[", "]", "{2,9}", "\\d", "|", "^", "$"]) for _ in range(8)
        )
        rule = "".join(
            rng.choice(["self.l", ".all(x, ", ")", "x", " > 0", "self.s", " + ", "'a'", "size(", "==", "||"])
            for _ in range(9)
        )
        spec = {
            "type": rng.choice(["object"] * 8 + ["string", "x"]),
            "properties": {
                "s": {"type": "string", "pattern": pattern, "maxLength": rng.choice([1, 10, 2**40, -1])},
                "l": {"type": "array", "items": {"type": "integer"}, "maxItems": 200},
                "n": rng.choice(
                    [
                        {"type": "integer", "maximum": 5},
                        {"x-kubernetes-int-or-string": True},
                        {"type": rng.choice(_NASTY)},
                    ]
                ),
            },
            "x-kubernetes-validations": [
                {"rule": rng.choice([rule, "self.l.all(x, self.l.all(y, x + y >= 0))", "true"])}
            ],
        }
        self.definitions += 1
        plural = f"fuzz{self.definitions % 20}"
        group = "fuzz.example.com"
        body = {
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{plural}.{group}"},
            "spec": {"group": group, "scope": "Namespaced",
                     "names": {"plural": plural, "kind": f"Fuzz{self.definitions % 20}"},
                     "versions": [{"name": "v1", "served": True, "storage": True,
                                   "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}}]},
        }  # fmt: skip
        crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        if self.client.send("POST", crds, json.dumps(body).encode())[0] == 409:
            self.client.send("DELETE", f"{crds}/{plural}.{group}")
        for _ in range(3):
            item = {
                "s": rng.choice(["a" * 50 + "!", "", "b"]),
                "l": list(range(rng.choice([0, 3, 150]))),
                "n": rng.choice(_NASTY),
            }
            obj = {
                "apiVersion": f"{group}/v1",
                "kind": f"Fuzz{self.definitions % 20}",
                "metadata": {"name": f"x{rng.randrange(9)}"},
                "spec": item,
            }
            self.client.send("POST", f"/apis/{group}/v1/namespaces/default/{plural}", json.dumps(obj).encode())

    def query(self) -> None:
        """Read with strange options."""
        rng = self.rng
        names = ["limit", "continue", "resourceVersion", "resourceVersionMatch", "labelSelector", "fieldSelector",
                 "timeoutSeconds",
                 "pretty", "watch", "allowWatchBookmarks", "sendInitialEvents", "includeObject"]  # fmt: skip
        values = [
            "1",
            "0",
            "-1",
            "9" * 4400,
            "x",
            "a=b",
            "a in (b,c)",
            "a>1",
            "!a",
            "(" * 500,
            "metadata.name=a",
            "Exact",
            "true",
            "%",
        ]
        pairs = [f"{rng.choice(names)}={quote(rng.choice(values))}" for _ in range(rng.choice([0, 1, 2]))]
        if any(pair.startswith("watch") for pair in pairs):
            pairs.append("timeoutSeconds=1")
        resource = rng.choice(self.resources)
        accept = rng.choice(
            ["application/json", "*/*", "application/yaml", "application/json;as=Table;v=v1;g=meta.k8s.io", ",;q=x"]
        )
        paths = [
            self.path(resource),
            "/openapi/v2",
            "/openapi/v3",
            "/apis",
            "/api/v1",
            "/" + "x/" * 300,
            "/healthz",
            "/version",
        ]
        if not any("resourceVersion=999" in pair for pair in pairs):
            self.client.send(
                rng.choice(["GET"] * 8 + ["HEAD", "OPTIONS"]),
                rng.choice(paths) + ("?" + "&".join(pairs) if pairs else ""),
                Accept=accept,
            )

    def protobuf(self) -> None:
        """Send protobuf that is not quite right."""
        resource = self.rng.choice(self.resources)
        head = b"k8s\x00\x0a%b" % bytes([self.rng.randrange(40)])
        kind = resource.kind.encode()
        raw = (
            head
            + b"\x0a\x02v1\x12%b%b\x12" % (bytes([len(kind) % 128]), kind)
            + self.rng.randbytes(self.rng.randrange(200))
        )
        self.client.send("POST", self.path(resource), raw, Content_Type="application/vnd.kubernetes.protobuf")

    def large(self) -> None:
        """Send something large: many keys, deep nesting, aliases, long texts."""
        rng = self.rng
        maps = "/api/v1/namespaces/default/configmaps"
        head = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "large"}}
        size = rng.choice([1000, 20_000])
        bodies: list[tuple[str, bytes]] = [
            ("application/json", json.dumps({**head, "data": {f"k{n}": "v" for n in range(size)}}).encode()),
            ("application/json", json.dumps({**head, "data": {"k": "v" * size * 20}}).encode()),
            ("application/yaml", b"a: &a [" + b"1," * size + b"]\nb: [" + b",".join([b"*a"] * 500) + b"]"),
            ("application/yaml", b"{a: " * size + b"}" * size),
            ("application/json", b"[" * size * 10),
            ("application/json", b'{"a":"\\u0041",' + b'"b":1,' * size + b'"c":1}'),
        ]
        media, raw = rng.choice(bodies)
        self.client.send("POST", maps + rng.choice(["", "?dryRun=All"]), raw, Content_Type=media)
        self.client.send("DELETE", f"{maps}/large")

    def dense(self) -> None:
        """Send something small that costs much: rules and alternatives of a definition, copies, long lists."""
        rng = self.rng
        crds, things = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "dense.fuzz.example.com"
        if not self.dense_defined:
            self.dense_defined = self.client.send("POST", crds, json.dumps(_dense_definition(things)).encode())[0] in (
                201,
                409,
            )
        items = f"/apis/fuzz.example.com/v1/namespaces/default/{things.partition('.')[0]}"
        head = {"apiVersion": "fuzz.example.com/v1", "kind": "Dense", "metadata": {"name": "d"}}
        count = rng.choice([10, 300, 2000])
        spec = rng.choice(
            [
                {"loops": list(range(count))},
                {"rules": [1] * count},
                {"alternatives": [1] * count},
                {"free": {"a": {"b": [1] * 20}}},
                {"text": "a" * count},
            ]
        )
        self.client.send("POST", items, json.dumps({**head, "spec": spec}).encode())
        copies = [{"op": "copy", "from": "/spec/free", "path": f"/spec/free/c{n}"} for n in range(rng.choice([5, 16]))]
        self.client.send("PATCH", f"{items}/d", json.dumps(copies).encode(), Content_Type="application/json-patch+json")
        self.client.send("DELETE", f"{items}/d")
        containers = [{"name": f"c{n}", "image": "i"} for n in range(count // 10)]
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "d"}, "spec": {"containers": containers}}
        self.client.send("POST", "/api/v1/namespaces/default/pods", json.dumps(pod).encode())
        self.client.send("DELETE", "/api/v1/namespaces/default/pods/d", b'{"gracePeriodSeconds":0}')
        entry = b"\x12\x08\x0a\x03k%02d\x12\x01v"
        entries = b"".join(entry % (n % 100) for n in range(count * 10))
        proto = b"k8s\x00\x0a\x0f\x0a\x02v1\x12\x09ConfigMap\x12" + _varint(len(entries)) + entries
        maps = "/api/v1/namespaces/default/configmaps"
        self.client.send("POST", maps, proto, Content_Type="application/vnd.kubernetes.protobuf")
        self.client.send("GET", f"{maps}?" + "&".join(f"a{n}={n}" for n in range(count * 10)))

    def raw(self) -> None:
        """Send bytes that are hardly HTTP, on a connection of their own."""
        rng = self.rng
        pieces = [b"GET ", b"POST ", b"/version", b" HTTP/1.1\r\n", b"Host: localhost\r\n", b"\r\n", b"0\r\n",
                  b"Content-Length: 5\r\n", b"Transfer-Encoding: chunked\r\n", b"hello", b"\x00\xff",
                  b"Connection: Upgrade\r\nUpgrade: h2c\r\n", b"a:\r\n" * 2000,
                  b"Expect: 100-continue\r\n", b"5\r\nhello\r\n", b"CONNECT x:1"]  # fmt: skip
        sent = b"".join(rng.choice(pieces) for _ in range(rng.randrange(1, 12)))
        self.client.send_raw(sent)

    def mutated(self, raw: bytes) -> bytes:
        """The same text with a few bytes changed."""
        data = bytearray(raw)
        for _ in range(self.rng.choice([1, 3, 10])):
            if data:
                data[self.rng.randrange(len(data))] = self.rng.randrange(256)
        return bytes(data)


def _varint(number: int) -> bytes:
    """The encoding of a number in protobuf."""
    encoded = bytearray()
    while number > 127:
        encoded.append(number & 127 | 128)
        number >>= 7
    return bytes([*encoded, number])


def _dense_definition(name: str) -> dict[str, Any]:
    """A definition with rules that loop, with many rules, with many alternatives and without a schema."""
    integers = {"type": "array", "items": {"type": "integer"}, "maxItems": 10_000}
    quadratic = [{"rule": "self.all(x, x in self)"}, {"rule": "self == self.map(x, x)"}]
    simple = [{"rule": f"self + {n} > {n - 5}"} for n in range(20)]
    alternatives = [{"minimum": 10 + n} for n in range(500)]
    spec = {
        "type": "object",
        "properties": {
            "loops": {**integers, "maxItems": 800, "x-kubernetes-validations": quadratic},
            "rules": {**integers, "items": {"type": "integer", "x-kubernetes-validations": simple}},
            "alternatives": {**integers, "items": {"type": "integer", "anyOf": [*alternatives, {"minimum": 0}]}},
            "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            "text": {"type": "string", "pattern": "^((a?){1,30}){1,30}b$"},
        },
    }
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    plural, _, group = name.partition(".")
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": name},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": "Dense"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


_KINDS: Final[list[tuple[str, Callable[[Fuzzer], None]]]] = [
    *[("manifests", Fuzzer.create)] * 6, *[("patches", Fuzzer.patch)] * 4, ("deletes", Fuzzer.delete),
    ("definitions", Fuzzer.define),
    *[("queries", Fuzzer.query)] * 3, ("protobuf", Fuzzer.protobuf), ("raw HTTP", Fuzzer.raw), ("large", Fuzzer.large),
    ("dense", Fuzzer.dense),
]  # fmt: skip
