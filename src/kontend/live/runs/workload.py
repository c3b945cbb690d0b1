"""The workload of a run: the cluster it begins with, and the actions of a user.

Actions come from a YAML file, a list of steps that are taken in order, each when the controller is idle:

    - create: {apiVersion: example.com/v1, kind: Widget, metadata: {name: w}, spec: {size: 1}}
    - patch: {apiVersion: example.com/v1, kind: Widget, metadata: {name: w}, spec: {size: 2}}
    - patch: {apiVersion: apps/v1, kind: Deployment, metadata: {name: w}, status: {readyReplicas: 2}}
      subresource: status
    - delete: {apiVersion: example.com/v1, kind: Widget, metadata: {name: w}}

The explorer reads the same files; its ``update:`` is a patch here.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from kontend.cluster.cluster import Cluster
from kontend.cluster.startup.seed import resource_of
from kontend.cluster.state import State
from kontend.kube.encoding.json_text import MalformedYAML, parse_yaml
from kontend.kube.errors import ApiError
from kontend.kube.meta.names import Key, kind_of

_VERBS: Final = ("create", "patch", "update", "apply", "delete")
_OPTIONS: Final = ("subresource", "name")
USER: Final = "user"


class BadWorkload(Exception):
    """A file of actions that cannot be used; the message names the place."""


@dataclass(frozen=True, slots=True)
class UserAction:
    """One step of the user."""

    verb: str
    obj: Mapping[str, Any]
    subresource: str = ""

    @property
    def kind(self) -> str:
        """The kind of the object."""
        return str(kind_of(self.obj))

    @property
    def key(self) -> Key:
        """The namespace and name of the object."""
        metadata = self.obj.get("metadata") or {}
        return Key(metadata.get("namespace") or "default", metadata.get("name") or "")

    @property
    def text(self) -> str:
        """Describe it in a trace."""
        verbs = {"create": "creates", "patch": "changes", "apply": "applies", "delete": "deletes"}
        fields = [name for name in self.obj if name not in ("apiVersion", "kind", "metadata")]
        what = f": {', '.join(fields)}" if self.verb in ("patch", "apply") and fields else ""
        return f"{verbs[self.verb]} {self.obj.get('kind')} {self.key}{what}"

    def resource(self, *states: State) -> str:
        """The resource of the object, as the server stores it; raises :class:`ApiError` where no state serves it.

        A controller may create the definition of the kind while it runs.
        """
        for state in states[:-1]:
            with contextlib.suppress(ApiError):
                return resource_of(state.registry, kind_of(self.obj)).key
        return resource_of(states[-1].registry, kind_of(self.obj)).key

    def is_served(self, state: State) -> bool:
        """Return whether a cluster serves the kind."""
        try:
            self.resource(state)
        except ApiError:
            return False
        return True

    def perform(self, cluster: Cluster) -> str:
        """Carry it out, and return the error of the server, if any: a user may be refused."""
        options: dict[str, Any] = {"namespace": self.key.namespace, "subresource": self.subresource}
        try:
            if self.verb == "create":
                cluster.create(self.obj, manager=USER)
            elif self.verb == "delete":
                cluster.delete(self.kind, self.key.name, namespace=self.key.namespace)
            elif self.verb == "apply":
                cluster.apply(self.obj, manager=USER)
            else:
                change = {name: value for name, value in self.obj.items() if name not in ("apiVersion", "kind")}
                metadata = dict(change.pop("metadata", None) or {})
                rest = {name: value for name, value in metadata.items() if name not in ("name", "namespace")}
                change = change | ({"metadata": rest} if rest else {})
                cluster.patch(self.kind, self.key.name, change, manager=USER, **options)
        except ApiError as error:
            return error.message
        return ""


@dataclass(frozen=True, slots=True)
class Workload:
    """The state in which every run begins, and the actions of the user."""

    state: State
    actions: tuple[UserAction, ...] = ()


def read_actions(path: Path) -> tuple[UserAction, ...]:
    """Read a file of actions; raises :class:`BadWorkload`."""
    try:
        document = parse_yaml(path.read_bytes())[0]
    except OSError as error:
        raise BadWorkload(f"{path}: {error.strerror}") from None
    except MalformedYAML as error:
        raise BadWorkload(f"{path}: not YAML: {error.message}") from None
    if not isinstance(document, list):
        raise BadWorkload(f"{path}: expected a list of steps such as '- create: {{...}}'")
    return tuple(_action_of(step, f"{path}, step {number}") for number, step in enumerate(document, start=1))


def _action_of(step: Any, where: str) -> UserAction:
    verbs = [name for name in step if name in _VERBS] if isinstance(step, Mapping) else []
    if len(verbs) != 1:
        raise BadWorkload(f"{where}: expected one of {', '.join(_VERBS)}")
    unknown = sorted(set(step) - {verbs[0], *_OPTIONS})
    if unknown:
        raise BadWorkload(f"{where}: there is no option {', '.join(unknown)}; there are {', '.join(_OPTIONS)}")
    obj = step[verbs[0]]
    metadata = obj.get("metadata") if isinstance(obj, Mapping) else None
    if not isinstance(obj, Mapping) or not obj.get("kind") or not obj.get("apiVersion"):
        raise BadWorkload(f"{where}: expected an object with apiVersion and kind")
    if not isinstance(metadata, Mapping) or not metadata.get("name"):
        raise BadWorkload(f"{where}: expected metadata.name")
    return UserAction("patch" if verbs[0] == "update" else verbs[0], obj, str(step.get("subresource") or ""))
