"""OpenAPI 2 made of OpenAPI 3: the older form that some commands of kubectl still ask for.

It knows less: no alternatives, no nullable values, no defaults, one reference instead of ``allOf``. What it cannot say
is left out, as kube-apiserver does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kontend.kube.json_types import Json
from kontend.serve.openapi.schemas import REF

_ANY_TYPE: Final = ("x-kubernetes-preserve-unknown-fields", "x-kubernetes-int-or-string", "nullable")
_UNKNOWN: Final = frozenset({"default", "nullable", "oneOf", "anyOf", "not"})


def swagger(title: str, version: str, paths: Mapping[str, Json], schemas: Mapping[str, Json]) -> Json:
    """Return a whole document."""
    return {
        "swagger": "2.0",
        "info": {"title": title, "version": version},
        "paths": {path: _path(item) for path, item in paths.items()},
        "definitions": {name: definition(schema) for name, schema in schemas.items()},
    }


def definition(schema: Mapping[str, Any]) -> Json:
    """Return a schema of OpenAPI 3 as one of OpenAPI 2.

    >>> definition({"default": {}, "allOf": [{"$ref": "#/components/schemas/A"}]})
    {'$ref': '#/definitions/A'}
    >>> definition({"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]})
    {'format': 'int-or-string', 'type': 'string'}
    """
    out: Json = {}
    for name, value in schema.items():
        if name == "$ref":
            out[name] = value.replace(REF, "#/definitions/")
        elif name == "allOf":
            references = [member["$ref"] for member in value if "$ref" in member]
            if references:
                out["$ref"] = references[0].replace(REF, "#/definitions/")
        elif name == "properties":
            out[name] = {key: definition(inner) for key, inner in value.items()}
        elif name in ("items", "additionalProperties") and isinstance(value, Mapping):
            out[name] = definition(value)
        elif name not in _UNKNOWN:
            out[name] = value
    kinds = [alternative.get("type") for alternative in schema.get("oneOf") or () if isinstance(alternative, Mapping)]
    if "string" in kinds and "type" not in out and ("format" in schema or "number" in kinds):
        out["type"] = "string"  # quantities, and numbers that may be names
    if (
        out.get("x-kubernetes-preserve-unknown-fields")
        or out.get("x-kubernetes-int-or-string")
        or schema.get("nullable")
    ):
        # Old clients would take the type too seriously.
        for name in ("type", "items", "properties"):
            out.pop(name, None)
    return out


def _path(item: Mapping[str, Any]) -> Json:
    return {
        name: [_parameter(parameter) for parameter in value] if name == "parameters" else _operation(value)
        for name, value in item.items()
    }


def _parameter(parameter: Mapping[str, Any]) -> Json:
    return {**{name: value for name, value in parameter.items() if name != "schema"}, **parameter["schema"]}


def _operation(operation: Mapping[str, Any]) -> Json:
    out: Json = {}
    for name, value in operation.items():
        if name == "parameters":
            out[name] = [_parameter(parameter) for parameter in value]
        elif name == "responses":
            out[name] = {code: _response(response) for code, response in value.items()}
        elif name != "requestBody":
            out[name] = value
    answer = next(iter(operation["responses"].values()))
    out["produces"] = list(answer.get("content") or ())
    body = operation.get("requestBody")
    out["consumes"] = list(body["content"]) if body else ["*/*"]
    if body:
        schema = definition(next(iter(body["content"].values()))["schema"])
        required = {"required": True} if body.get("required") else {}
        out["parameters"] = [{"name": "body", "in": "body", **required, "schema": schema}, *out.get("parameters", [])]
    return out


def _response(response: Mapping[str, Any]) -> Json:
    content = response.get("content")
    out: Json = {"description": response["description"]}
    if content:
        out["schema"] = definition(next(iter(content.values()))["schema"])
    return out
