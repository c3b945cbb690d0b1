"""Actions: what a user does while controllers run, each once, in the order given, at any time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kontend.cluster.cluster import Cluster
from kontend.explore.problems import BadScenario
from kontend.kube.meta.names import Key, kind_of
from kontend.runtime.source_location import SourceLocation, caller


@dataclass(frozen=True, slots=True)
class Action:
    """One action of a user, made by :func:`create`, :func:`update`, :func:`patch` or :func:`delete`.

    >>> delete({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}).kind
    'ConfigMap/v1'
    """

    text: str
    perform: Callable[[Cluster], object]
    #: The kind and the object that it is about.
    kind: str
    key: Key
    line: SourceLocation | None = field(default_factory=caller, kw_only=True, compare=False, repr=False)


def create(obj: Mapping[str, Any]) -> Action:
    """A user creates an object.

    >>> create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}).text
    'creates ConfigMap default/c'
    """
    kind, name, namespace = _address("create", obj)
    text = f"creates {_named(obj)}"
    return Action(text, lambda cluster: cluster.create(obj, manager="user"), kind, Key(namespace, name))


def update(obj: Mapping[str, Any], **fields: Any) -> Action:
    """A user sets top-level fields of an object, merged into what is there.

    >>> update({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}, data={"a": "1"}).text
    'changes ConfigMap default/c: data'
    """
    if not fields:
        raise BadScenario("update: say what changes, such as update(obj, spec={...})", caller())
    return patch(obj, fields)


def patch(obj: Mapping[str, Any], change: Mapping[str, Any]) -> Action:
    """A user applies a merge patch to an object.

    >>> patch({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}, {"data": {"a": None}}).text
    'changes ConfigMap default/c: data'
    """
    kind, name, namespace = _address("patch", obj)
    if not isinstance(change, Mapping):
        raise BadScenario(f"patch: expected a merge patch, such as {{'spec': {{...}}}}, found {change!r}", caller())
    text = f"changes {_named(obj)}: {', '.join(change)}"

    def perform(cluster: Cluster) -> object:
        return cluster.patch(kind, name, change, namespace=namespace, manager="user")

    return Action(text, perform, kind, Key(namespace, name))


def delete(obj: Mapping[str, Any]) -> Action:
    """A user deletes an object.

    >>> delete({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}).text
    'deletes ConfigMap default/c'
    """
    kind, name, namespace = _address("delete", obj)
    text = f"deletes {_named(obj)}"
    return Action(text, lambda cluster: cluster.delete(kind, name, namespace=namespace), kind, Key(namespace, name))


def never_possible(action: Action, message: str) -> BadScenario:
    """The error for an action that the server refuses with ``message`` in every state in which it is tried."""
    hint = ""
    if message.endswith("not found"):
        hint = "; create the object first, or list it in objects="
    elif message.endswith("already exists"):
        hint = "; delete the object first, or change it with update(...)"
    return BadScenario(f"the action {action.text!r} is never possible: {message}{hint}", action.line)


def _address(action: str, obj: Mapping[str, Any]) -> tuple[str, str, str]:
    metadata = obj.get("metadata") if isinstance(obj, Mapping) else None
    if not isinstance(metadata, Mapping) or not all((metadata.get("name"), obj.get("apiVersion"), obj.get("kind"))):
        raise BadScenario(
            f"{action}: an action needs an object with a name: apiVersion, kind and metadata.name, found {obj!r}",
            caller(),
        )
    return str(kind_of(obj)), metadata["name"], metadata.get("namespace") or "default"


def _named(obj: Mapping[str, Any]) -> str:
    metadata = obj["metadata"]
    return f"{kind_of(obj).kind} {metadata.get('namespace') or 'default'}/{metadata['name']}"
