"""OpenAPI documents: ``/openapi/v2`` and ``/openapi/v3``.

kubectl reads them to explain fields, to see whether the server validates, and to merge what it applies. They describe
the resources of a registry, so they change when a CustomResourceDefinition does and at no other time: each registry's
documents are made when first asked for and kept as the bytes that are sent, as long as the registry lives.

The index of version 3 has a URL with a hash for each group and version. The hash stands for what the document is made
from, not for its bytes, so that the index can be answered without making all of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import sha512
from typing import Any, Final
from weakref import WeakKeyDictionary

import orjson

from kontend.cluster.request import ApiRequest
from kontend.cluster.resources import Registry, Resource
from kontend.cluster.wire.accept import parse_accept
from kontend.kube import kinds
from kontend.kube.json_types import Json
from kontend.kube.meta.names import api_version
from kontend.serve.openapi.paths import DELETE_OPTIONS, STATUS, paths_of
from kontend.serve.openapi.protobuf import encode_document
from kontend.serve.openapi.schemas import PATCH, REF, builtin_components, kind_components
from kontend.serve.openapi.swagger import swagger

JSON: Final = "application/json"
PROTOBUF_V2: Final = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
_PROTOBUF_V2_TYPES: Final = (PROTOBUF_V2, "application/com.github.proto-openapi.spec.v2@v1.0+protobuf")
_INFO: Final = {"title": "Kubernetes", "version": "1.35"}


@dataclass(frozen=True, slots=True)
class Document:
    """An answer whose ``body`` is ready to be sent. ``etag`` is empty where the client has nothing to keep."""

    code: int
    body: bytes
    content_type: str = JSON
    etag: str = ""


def respond(registry: Registry, request: ApiRequest) -> Document | None:
    """Return the answer to a request for a document, or None when the path is about something else."""
    path = request.path.rstrip("/")
    if path != "/openapi/v2" and path != "/openapi/v3" and not path.startswith("/openapi/v3/"):
        return None
    documents = _DOCUMENTS.get(registry)
    if documents is None:
        documents = _DOCUMENTS[registry] = Documents(registry)
    if path == "/openapi/v3":
        return documents.index()
    media_type = _accepted(request.accept, (JSON, *_PROTOBUF_V2_TYPES) if path == "/openapi/v2" else (JSON,))
    if not media_type:
        return Document(406, b"")
    if path == "/openapi/v2":
        return documents.version_2(protobuf=media_type in _PROTOBUF_V2_TYPES)
    document = documents.version_3(path.removeprefix("/openapi/v3/"))
    return Document(404, b"") if document is None else document


def _accepted(accept: str, offered: tuple[str, ...]) -> str:
    for media in parse_accept(accept or "*/*"):
        if media.type in offered:
            return media.type
        if media.type in ("*/*", "application/*"):
            return JSON
    return ""


@dataclass(slots=True)
class Documents:
    """The documents of one registry, made on demand."""

    registry: Registry
    _made: dict[str, Document] = field(default_factory=dict)
    _hashes: dict[str, str] = field(default_factory=dict)

    def index(self) -> Document:
        """Return the index of the documents of version 3."""
        paths = {
            name: {"serverRelativeURL": f"/openapi/v3/{name}?hash={self._hash(name, resources)}"}
            for name, resources in sorted(self._groups().items())
        }
        return Document(200, orjson.dumps({"paths": paths}))

    def version_3(self, name: str) -> Document | None:
        """Return the document of one group and version, such as ``apis/apps/v1``."""
        made = self._made.get(name)
        if made is None:
            resources = self._groups().get(name)
            if resources is None:
                return None
            body = orjson.dumps(_document(resources))
            made = self._made[name] = Document(200, body, etag=self._hash(name, resources))
        return made

    def version_2(self, *, protobuf: bool) -> Document:
        """Return the one document of version 2."""
        name = PROTOBUF_V2 if protobuf else JSON
        made = self._made.get(name)
        if made is None:
            groups = self._groups()
            resources = [resource for group in groups.values() for resource in group]
            whole = _document(resources)
            old = swagger(_INFO["title"], _INFO["version"], whole["paths"], whole["components"]["schemas"])
            body = encode_document(old) if protobuf else orjson.dumps(old)
            etag = sha512("".join(self._hash(*group) for group in groups.items()).encode()).hexdigest().upper()
            made = self._made[name] = Document(200, body, content_type=name, etag=etag)
        return made

    def _groups(self) -> dict[str, list[Resource]]:
        groups: dict[str, list[Resource]] = {}
        for resource in self.registry.resources():
            root = "apis" if resource.group else "api"
            groups.setdefault(f"{root}/{api_version(resource.group, resource.version)}", []).append(resource)
        return groups

    def _hash(self, name: str, resources: Iterable[Resource]) -> str:
        digest = self._hashes.get(name)
        if digest is None:
            source = sha512(name.encode())
            for resource in resources:
                if resource.custom is None:
                    source.update(_table_hash())
                    break
                names = (resource.plural, resource.kind, resource.list_kind, sorted(resource.subresources))
                source.update(orjson.dumps((names, resource.namespaced, resource.custom.openapi)))
            digest = self._hashes[name] = source.hexdigest().upper()
        return digest


_DOCUMENTS: WeakKeyDictionary[Registry, Documents] = WeakKeyDictionary()


def _table_hash() -> bytes:
    return sha512(kinds.TABLE.read_bytes()).digest()


def _document(resources: Iterable[Resource]) -> Json:
    """Return a document of version 3 about some resources, with every component they refer to."""
    paths: dict[str, Json] = {}
    schemas: dict[str, Json] = {}
    for resource in resources:
        paths.update(paths_of(resource))
        schemas.update(kind_components(resource))
    _complete(schemas, [PATCH, STATUS, DELETE_OPTIONS, *_references(list(paths.values()))])
    return {
        "openapi": "3.0.0",
        "info": _INFO,
        "paths": dict(sorted(paths.items())),
        "components": {"schemas": dict(sorted(schemas.items()))},
    }


def _complete(schemas: dict[str, Json], wanted: Iterable[str]) -> None:
    """Add the components that are referred to, and those that they refer to."""
    known = builtin_components()
    missing = [*wanted, *_references(list(schemas.values()))]
    while missing:
        name = missing.pop()
        if name not in schemas and name in known:
            schemas[name] = known[name]
            missing.extend(_references(known[name]))


def _references(node: Any) -> Iterable[str]:
    if isinstance(node, dict):
        for name, value in node.items():
            if name == "$ref" and isinstance(value, str):
                yield value.removeprefix(REF)
            else:
                yield from _references(value)
    elif isinstance(node, list):
        for child in node:
            yield from _references(child)
