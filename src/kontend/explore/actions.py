"""Actions: what users do while controllers run, each once, at any time.

A user takes one action after the other, in the order given. Several users, or one without an order, act independently:
a person with kubectl, an autoscaler, a reporter that writes a status.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Protocol

from kontend.cluster.cluster import Cluster
from kontend.explore.problems import BadScenario
from kontend.explore.program.external import EXTERNAL, SENT
from kontend.kube.meta.names import Key, kind_of
from kontend.runtime.source_location import SourceLocation, caller

#: The user who takes the actions of a scenario: a person, where further writers are programs.
USER: Final = "user"
#: Says whether a user can act, given the cluster.
Condition = Callable[[Cluster], bool]


class Performance(Protocol):
    """Carries out an action on a cluster, as the field manager ``manager``."""

    def __call__(self, cluster: Cluster, manager: str = USER) -> object:
        """Carry it out."""


@dataclass(frozen=True, slots=True)
class Action:
    """One action of a user, made by :func:`create`, :func:`update`, :func:`patch`, :func:`apply` or :func:`delete`.

    >>> delete({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}).kind
    'ConfigMap/v1'
    """

    text: str
    perform: Performance
    #: The kind and the object that it is about.
    kind: str
    key: Key
    #: It is taken only while this holds.
    when: Condition | None = None
    #: While the server refuses it, the user tries again; otherwise a refused action is over.
    retry: bool = False
    #: It deletes the object.
    deletes: bool = False
    line: SourceLocation | None = field(default_factory=caller, kw_only=True, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Writer:
    """A user beside the one who takes the scenario's ``actions``: a person, or a program that is not explored.

    >>> config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}
    >>> Writer("autoscaler", [update(config_map, data={"replicas": "3"})]).name
    'autoscaler'
    """

    #: The name in traces, and the field manager of the user's writes.
    name: str
    actions: Sequence[Action]
    #: True if the actions are taken in the order given, False for any order.
    ordered: bool = True
    line: SourceLocation | None = field(default_factory=caller, kw_only=True, compare=False, repr=False)


def create(obj: Mapping[str, Any], *, when: Condition | None = None, retry: bool = False) -> Action:
    """A user creates an object.

    >>> create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}).text
    'creates ConfigMap default/c'
    """
    kind, name, namespace = _address("create", obj)

    return Action(f"creates {_named(obj)}", partial(_create, obj), kind, Key(namespace, name), when, retry)


def update(
    obj: Mapping[str, Any],
    *,
    subresource: str = "",
    when: Condition | None = None,
    retry: bool = False,
    **fields: Any,
) -> Action:
    """A user sets top-level fields of an object, merged into what is there.

    >>> update({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}, data={"a": "1"}).text
    'changes ConfigMap default/c: data'
    """
    if not fields:
        raise BadScenario("update: say what changes, such as update(obj, spec={...})", caller())
    _address("update", obj)  # an error names the function that was called
    return patch(obj, fields, subresource=subresource, when=when, retry=retry)


def patch(
    obj: Mapping[str, Any],
    change: Mapping[str, Any],
    *,
    subresource: str = "",
    when: Condition | None = None,
    retry: bool = False,
) -> Action:
    """A user applies a merge patch to an object, or to a ``subresource`` of it, such as ``status``.

    >>> patch({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}, {"data": {"a": None}}).text
    'changes ConfigMap default/c: data'
    """
    kind, name, namespace = _address("patch", obj)
    if not isinstance(change, Mapping):
        raise BadScenario(f"patch: expected a merge patch, such as {{'spec': {{...}}}}, found {change!r}", caller())
    target = f"{_named(obj)}/{subresource}" if subresource else _named(obj)

    perform = partial(_patch, kind, name, change, namespace, subresource)
    return Action(f"changes {target}: {', '.join(change)}", perform, kind, Key(namespace, name), when, retry)


def apply(obj: Mapping[str, Any], *, when: Condition | None = None, retry: bool = False) -> Action:
    """A user applies an object on the server's side, as ``kubectl apply --server-side`` does.

    >>> apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}).text
    'applies ConfigMap default/c'
    """
    kind, name, namespace = _address("apply", obj)

    return Action(f"applies {_named(obj)}", partial(_apply, obj), kind, Key(namespace, name), when, retry)


def delete(obj: Mapping[str, Any], *, when: Condition | None = None, retry: bool = False) -> Action:
    """A user deletes an object.

    >>> delete({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}).text
    'deletes ConfigMap default/c'
    """
    kind, name, namespace = _address("delete", obj)

    perform = partial(_delete, kind, name, namespace)
    return Action(f"deletes {_named(obj)}", perform, kind, Key(namespace, name), when, retry, deletes=True)


def sent(name: str) -> Action:
    """Something outside of the cluster sends a declared event to the controllers that get it."""
    perform = partial(_patch, EXTERNAL, name, {"state": SENT}, "", "")
    return Action(f"sends the event {name}", perform, EXTERNAL, Key("", name))


# Functions of the module, so that an action can be sent to another process.


def _create(obj: Mapping[str, Any], cluster: Cluster, manager: str = "user") -> object:
    return cluster.create(obj, manager=manager)


def _apply(obj: Mapping[str, Any], cluster: Cluster, manager: str = "user") -> object:
    return cluster.apply(obj, manager=manager)


def _patch(
    kind: str,
    name: str,
    change: Mapping[str, Any],
    namespace: str,
    subresource: str,
    cluster: Cluster,
    manager: str = "user",
) -> object:
    return cluster.patch(kind, name, change, namespace=namespace, subresource=subresource, manager=manager)


def _delete(kind: str, name: str, namespace: str, cluster: Cluster, manager: str = "user") -> object:
    del manager  # a delete owns no fields
    return cluster.delete(kind, name, namespace=namespace)


def never_possible(action: Action, reason: str, message: str) -> BadScenario:
    """The error for an action that the server refuses in every state in which it is tried, and the last reason."""
    hint = ""
    if reason == "NotFound":
        hint = "; create the object first, or list it in objects="
    elif reason == "AlreadyExists":
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
