"""Actions of the user as YAML: ``create:``, ``patch:``, ``update:``, ``apply:`` or ``delete:``, or an object alone.

``patch:`` is a merge patch, of a ``subresource:`` where one is named; ``update:`` is one that changes, of the metadata,
labels, annotations and finalizers alone. ``apply:`` is a server-side apply. An object alone is created where the
scenario does not have it, and changed where it does. ``kontend live`` reads the same files.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from kontend.cluster.startup.manifests import BadManifest, documents_in
from kontend.explore.actions import Action, apply, create, delete, patch
from kontend.explore.problems import BadScenario, not_among
from kontend.kube.meta.names import kind_of

#: The verbs of actions.
VERBS: Final = ("create", "patch", "update", "apply", "delete")
#: What may stand beside a verb. A name is a comment for the reader.
_OPTIONS: Final = ("subresource", "name")
_METADATA: Final = ("labels", "annotations", "finalizers")
_NAMING: Final = ("name", "namespace")


def read_actions(paths: Iterable[Path]) -> list[dict[str, Any]]:
    """The action documents of files and directories, in their order. Raises :class:`BadScenario`."""
    documents: list[dict[str, Any]] = []
    try:
        for path in paths:
            before = len(documents)
            for where, value in documents_in(path):
                for document in value if isinstance(value, list) else [value]:
                    action_of(document, where)  # a mistake is reported with its file
                    documents.append(document)
            if len(documents) == before:
                raise BadScenario(f"{path}: there are no actions in it; leave it out, or say what a user does")
    except BadManifest as error:
        raise BadScenario(str(error)) from error
    return documents


def actions_of(documents: Iterable[Any], where: str, objects: Iterable[Any] = ()) -> list[Action]:
    """Actions from documents, of a scenario that has these objects at first."""
    present = {name for obj in objects if (name := _name(obj)) is not None}
    actions: list[Action] = []
    for at, document in enumerate(documents):
        actions.append(action_of(document, f"{where}[{at}]", present))
        if (name := _name(document)) is not None:
            present.add(name)
    return actions


def action_of(document: Any, where: str, present: Collection[tuple[str, str, str]] = ()) -> Action:
    """An action from a document, without a line of Python. Raises :class:`BadScenario`."""
    return replace(_action_of(document, where, present), line=None)


def _action_of(document: Any, where: str, present: Collection[tuple[str, str, str]]) -> Action:
    name = _name(document)
    if name is not None:
        return _changed(document) if name in present else create(document)
    verbs = [key for key in document if key not in _OPTIONS] if isinstance(document, Mapping) else []
    if len(verbs) != 1:
        expected = f"{', '.join(VERBS[:-1])} and {VERBS[-1]}"
        raise BadScenario(f"{where}: expected one of {expected}, with an object, found {document!r}")
    verb, obj, subresource = verbs[0], document[verbs[0]], document.get("subresource") or ""
    if verb not in VERBS:
        raise BadScenario(f"{where}: {not_among('action', str(verb), VERBS)}")
    if not isinstance(obj, Mapping):
        raise BadScenario(f"{where}: {verb}: expected an object, found {obj!r}")
    if subresource and verb != "patch":
        raise BadScenario(f"{where}: {verb}: only patch: takes a subresource")
    try:
        if verb == "patch":
            return patch(obj, _merge_patch(obj), subresource=str(subresource))
        return {"create": create, "update": _changed, "apply": apply, "delete": delete}[verb](obj)
    except BadScenario as error:
        raise BadScenario(f"{where}: {error.message}") from error


def _merge_patch(obj: Mapping[str, Any]) -> dict[str, Any]:
    """The merge patch that an object stands for: everything but what names the object."""
    change = {name: value for name, value in obj.items() if name not in ("apiVersion", "kind", "metadata")}
    given = obj.get("metadata")
    metadata = {name: given[name] for name in given if name not in _NAMING} if isinstance(given, Mapping) else {}
    return change | ({"metadata": metadata} if metadata else {})


def _changed(obj: Mapping[str, Any]) -> Action:
    change = _merge_patch(obj)
    metadata = {name: value for name, value in change.pop("metadata", {}).items() if name in _METADATA}
    return patch(obj, change | ({"metadata": metadata} if metadata else {}))


def _name(obj: Any) -> tuple[str, str, str] | None:
    """The kind, the namespace and the name of an object; None for anything else."""
    metadata = obj.get("metadata") if isinstance(obj, Mapping) and "kind" in obj else None
    if not isinstance(metadata, Mapping) or not isinstance(metadata.get("name"), str):
        return None
    return str(kind_of(obj)), str(metadata.get("namespace") or "default"), metadata["name"]
