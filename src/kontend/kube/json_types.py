"""Names for JSON data in type annotations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

#: A JSON object: a part of a Kubernetes object, a schema, a response.
Json: TypeAlias = dict[str, Any]
#: A JSON object that the function only reads.
JsonView: TypeAlias = Mapping[str, Any]
#: A whole Kubernetes object, as ``json.loads`` makes it.
Object: TypeAlias = dict[str, Any]
