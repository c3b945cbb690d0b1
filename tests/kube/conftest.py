"""Fixtures that several tests of this layer share."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, Final

import pytest

from kontend.kube.schema.tree import Schema

_OWN: Final[dict[str, list[Any]]] = {
    "Quantity": ["1", "0.5", "1024Mi", "100Mi", "0", "1.500", "0.0001", 5],
    "Time": ["2026-01-01T00:00:00Z", "2026-05-01T02:00:00+02:00", "2026-01-01T00:00:00.5Z"],
    "MicroTime": ["2026-01-01T00:00:00.000000Z", "2026-05-01T02:00:00.123456+02:00"],
    "Duration": ["5s", "90s"],
    "IntOrString": [1, 0, "25%", ""],
    "RawExtension": [{"a": 1}],
    "FieldsV1": [{"f:spec": {}}],
    "JSON": [{"a": [1, "x"]}, 5, "x"],
    "JSONSchemaPropsOrBool": [True, False, {"type": "string", "nope": 1}],
    "JSONSchemaPropsOrArray": [{"type": "string"}, [{"type": "string"}]],
    "JSONSchemaPropsOrStringArray": [{"type": "string"}, ["a"]],
}
_BY_TYPE: Final[dict[str, list[Any]]] = {
    "string": ["", "a", "b", "TCP", "Always", "None", "app:1", "app"],
    "boolean": [True, False],
    "integer": [0, 1, 80, -1],
    "number": [0, 1.5, 3, 2.0],
}
_ODD: Final[list[Any]] = [1, -5, "x", True, 1.5, [], {}, [1], {"a": 1}, 99999999999, None, "", ["a"], "YQ=="]


@pytest.fixture(scope="session")
def random_object() -> Callable[..., Any]:
    """Makes random JSON that follows a schema; with the probability ``odd``, any part of it is something else."""
    return _random_object


def _random_object(random: Random, schema: Schema, *, odd: float = 0.0, depth: int = 0) -> Any:
    if random.random() < odd:
        return random.choice(_ODD)
    if random.random() < 0.03:
        return None
    if schema.go_type in _OWN:
        return random.choice(_OWN[schema.go_type])
    if schema.format == "byte":
        return random.choice(["YQ==", "", "YR=="])
    if schema.type in _BY_TYPE:
        return random.choice(_BY_TYPE[schema.type])
    if schema.items is not None:
        return [_random_object(random, schema.items, odd=odd, depth=depth + 1) for _ in range(random.choice([0, 1, 2]))]
    if schema.additional is not None:
        keys = random.sample(["a", "b", "cpu"], random.choice([0, 1, 2]))
        return {key: _random_object(random, schema.additional, odd=odd, depth=depth + 1) for key in keys}
    if depth > 9:
        return {}
    fields = random.sample(sorted(schema.properties), int(len(schema.properties) * random.choice([0.2, 0.5, 0.9])))
    value = {name: _random_object(random, schema.properties[name], odd=odd, depth=depth + 1) for name in fields}
    if random.random() < 0.05:
        value["nope"] = 1
    return value
