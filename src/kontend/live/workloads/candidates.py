"""Candidates: one object of each custom kind, from the user's objects, from samples, or made from the schema.

Kubebuilder keeps a sample of each kind beside the definitions (``config/crd`` and ``config/samples``). Where there is
none, required fields get their default, their first allowed value, or the smallest value of their type. The server
itself says which candidates are valid: it is asked on a copy of the state, with defaults and validation as ever.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from kontend.cluster.cluster import Cluster
from kontend.cluster.startup import manifests
from kontend.cluster.startup.manifests import BadManifest
from kontend.cluster.state import State
from kontend.kube.errors import ApiError

#: How far above the definitions the directory of samples is looked for.
_ABOVE: Final = 3
_SAMPLES: Final = "samples"
#: The deepest required field that is made up.
_DEEPEST: Final = 8

#: The fields by which a container is known, and the one that pods need although definitions do not require it.
_CONTAINER: Final = ("name", "image", "ports")
_IMAGE: Final = ("image",)

Object = dict[str, Any]


def candidates(state: State, definitions: Sequence[Mapping[str, Any]], paths: Sequence[Path]) -> list[Object]:
    """Return one object that the server accepts for each kind of some definitions, in the order of the kinds.

    ``paths`` is where the definitions are from. Objects that are in the state already are not created again.
    """
    near = list(_samples_near(paths))
    names = {str(each["spec"]["names"]["kind"]).lower(): _name_for(each) for each in definitions}
    found = []
    for definition in definitions:
        spec = definition["spec"]
        kind = spec["names"]["kind"]
        own = [obj for obj in near if obj.get("kind") == kind and _group(obj) == spec["group"]]
        tried = [*map(_renamed, own), *_made(definition, names)]
        accepted = next((obj for obj in tried if is_accepted(state, obj)), None)
        if accepted is not None:
            found.append(accepted)
            state = _created(state, accepted)
    return found


def is_accepted(state: State, obj: Object) -> bool:
    """Return whether the server would create an object."""
    with contextlib.suppress(ApiError):
        Cluster(state=state).create(obj)
        return True
    return False


def _created(state: State, obj: Object) -> State:
    cluster = Cluster(state=state)
    cluster.create(obj)
    return cluster.state


def _group(obj: Mapping[str, Any]) -> str:
    return str(obj.get("apiVersion", "")).rpartition("/")[0]


def _renamed(obj: Object) -> Object:
    """Return a sample without what only a server knows, in the default namespace."""
    metadata = {name: value for name, value in (obj.get("metadata") or {}).items() if name in ("name", "labels")}
    metadata["name"] = metadata.get("name") or "sample"
    return {name: value for name, value in obj.items() if name != "status"} | {"metadata": metadata}


def _samples_near(paths: Sequence[Path]) -> Iterator[Object]:
    directories: dict[Path, None] = {}
    for path in paths:
        for above in [path.absolute(), *path.absolute().parents][: _ABOVE + 1]:
            directories[above / _SAMPLES] = None
    for directory in directories:
        for file in sorted(directory.rglob("*.yaml")) if directory.is_dir() else ():
            with contextlib.suppress(BadManifest):  # a kustomization, a template
                yield from (dict(manifest.obj) for manifest in manifests.read([file]))


def _name_for(definition: Mapping[str, Any]) -> str:
    names = definition["spec"]["names"]
    return str(names.get("singular") or names["kind"].lower())


def _made(definition: Mapping[str, Any], names: Mapping[str, str]) -> Iterator[Object]:
    spec = definition["spec"]
    for version in spec["versions"]:
        if not version.get("served"):
            continue
        schema = (version.get("schema") or {}).get("openAPIV3Schema") or {}
        base = {
            "apiVersion": f"{spec['group']}/{version['name']}",
            "kind": spec["names"]["kind"],
            "metadata": {"name": _name_for(definition)},
        }
        shape = (schema.get("properties") or {}).get("spec")
        yield base | ({"spec": _value_of(shape, names)} if shape else {})


def _value_of(schema: Mapping[str, Any], names: Mapping[str, str], path: tuple[str, ...] = ()) -> Any:
    """Return the smallest value that a schema may accept; ``names`` are those of the other kinds' objects."""
    if "default" in schema:
        return schema["default"]
    if schema.get("enum"):
        return schema["enum"][0]
    kind = schema.get("type")
    if kind == "object":
        known = schema.get("properties") or {}
        wanted = [*(schema.get("required") or ()), *(name for name in _IMAGE if set(_CONTAINER) <= set(known))]
        return {name: _value_of(known.get(name, {}), names, (*path, name)) for name in wanted if len(path) < _DEEPEST}
    if kind == "array":
        return [_value_of(schema.get("items") or {}, names, path) for _ in range(max(1, schema.get("minItems", 1)))]
    if kind in ("integer", "number"):
        return max(1, schema.get("minimum", 1))
    if kind == "boolean":
        return False
    return _text(schema, names, path)


def _text(schema: Mapping[str, Any], names: Mapping[str, str], path: tuple[str, ...]) -> str:
    """A text: the name of the object that a reference is to, by the name of the reference; an image; anything."""
    field, outer = path[-1:], "".join(path[-2:-1]).lower()
    if field == ("name",):
        referred = [name for kind, name in names.items() if kind in outer]
        if referred:
            return str(max(referred, key=len))
    if field == _IMAGE:
        return "registry.invalid/image:1"
    return "a" * int(schema.get("minLength") or 1)
