"""Objects from files: YAML or JSON, one document or many, lists taken apart."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from kontend.cluster.startup.seed import resource_of, seed
from kontend.cluster.state import State
from kontend.kube.encoding.json_text import MalformedJSON, MalformedYAML, parse_json, parse_yaml
from kontend.kube.errors import ApiError
from kontend.kube.meta.names import Key, kind_of

_SUFFIXES: Final = (".yaml", ".yml", ".json")
_SEPARATOR: Final = re.compile(rb"^---(?:[ \t].*)?$", re.MULTILINE)
_DEFINITION: Final = "CustomResourceDefinition"
_ORDER: Final = {_DEFINITION: 0, "Namespace": 1}


class BadManifest(Exception):
    """A file that cannot be used; the message names it and says what is wrong."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """One object and the file it is from."""

    obj: Mapping[str, Any]
    source: str

    @property
    def title(self) -> str:
        """Names the object in a message."""
        metadata = self.obj.get("metadata")
        name = metadata.get("name") if isinstance(metadata, Mapping) else None
        return f"{self.source}: {self.obj.get('kind')} {name or '(without a name)'}"


def read(paths: Iterable[Path]) -> list[Manifest]:
    """All objects in files and directories."""
    return [manifest for path in paths for where, value in documents_in(path) for manifest in _objects(value, where)]


def read_definitions(paths: Iterable[Path]) -> list[Manifest]:
    """Return the custom resource definitions in files and directories; whatever else is there is left out."""
    manifests = []
    for path in paths:
        definitions = [manifest for manifest in read([path]) if manifest.obj.get("kind") == _DEFINITION]
        if not definitions:
            raise BadManifest(f"{path}: there is no {_DEFINITION} in it")
        manifests += definitions
    return manifests


def store_all(state: State, manifests: Iterable[Manifest], *, manager: str) -> tuple[State, int]:
    """Put objects into a state: definitions first, then namespaces. What is there already stays as it is.

    Returns the state and how many objects were new.
    """
    count = 0
    for manifest in sorted(manifests, key=lambda candidate: _ORDER.get(str(candidate.obj.get("kind")), 2)):
        try:
            if not _is_there(state, manifest.obj):
                state = seed(state, manifest.obj, manager=manager)
                count += 1
        except ApiError as error:
            raise BadManifest(f"{manifest.title}: {error.message}") from None
    return state, count


def _is_there(state: State, obj: Mapping[str, Any]) -> bool:
    resource = resource_of(state.registry, kind_of(obj))
    metadata = obj.get("metadata")
    if not isinstance(metadata, Mapping):
        return False
    name, namespace = metadata.get("name"), metadata.get("namespace") or "default"
    if not isinstance(name, str) or not isinstance(namespace, str):
        return False
    return state.find(resource.key, Key(namespace if resource.namespaced else "", name)) is not None


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        paths = sorted(file for file in path.rglob("*") if file.suffix in _SUFFIXES and file.is_file())
        if not paths:
            raise BadManifest(f"{path}: there are no {', '.join(_SUFFIXES)} files in it")
        return paths
    if not path.exists():
        raise BadManifest(f"{path}: no such file or directory")
    return [path]


def documents_in(path: Path) -> Iterator[tuple[str, Any]]:
    """Yield the documents of a file or a directory, objects or not, each with its place for messages."""
    for file in _files(path):
        for number, value in enumerate(_documents(file), start=1):
            if value is not None:  # nothing between two separators
                yield f"{file}, document {number}", value


def _documents(path: Path) -> Iterator[Any]:
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise BadManifest(f"{path}: {error.strerror}") from None
    if path.suffix == ".json":
        try:
            yield parse_json(raw)[0]
        except MalformedJSON as error:
            raise BadManifest(f"{path}: not JSON: {error.message}") from None
        return
    for number, text in enumerate(_SEPARATOR.split(raw), start=1):
        try:
            yield parse_yaml(text)[0]
        except MalformedYAML as error:
            raise BadManifest(f"{path}, document {number}: not YAML: {error.message}") from None


def _objects(value: Any, where: str) -> Iterator[Manifest]:
    if isinstance(value, list):
        for item in value:
            yield from _objects(item, where)
        return
    if not isinstance(value, dict) or not isinstance(value.get("kind"), str):
        raise BadManifest(f"{where}: expected an object with apiVersion and kind")
    items = value.get("items")
    if value["kind"].endswith("List") and isinstance(items, list):
        for item in items:
            yield from _objects(item, where)
        return
    yield Manifest(value, where.rpartition(", document")[0])
