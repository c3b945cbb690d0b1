"""Admission hooks of the user.

A hook is a plain function from a :class:`Review` to nothing; it changes ``review.object`` in place, or raises
:class:`Denied`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kontend.cluster.effects import Function


class Denied(Exception):
    """Raised by a user's hook to refuse a write; the message reaches the client."""


@dataclass(slots=True)
class Review:
    """One write, as an admission hook sees it. A mutating hook changes ``object`` in place.

    >>> from kontend import Cluster
    >>> def label(review):
    ...     review.object["metadata"].setdefault("labels", {})["team"] = "web"
    >>> cluster = Cluster(mutating={"label": label})
    >>> pod = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}
    >>> cluster.create(pod)["metadata"]["labels"]
    {'team': 'web'}
    """

    operation: str  # CREATE, UPDATE or DELETE
    kind: str
    namespace: str
    name: str
    subresource: str
    object: dict[str, Any] | None
    old_object: Mapping[str, Any] | None
    user: str
    dry_run: bool
    warnings: list[str] = field(default_factory=list)


Hook = Callable[[Review], None]


@dataclass(frozen=True, slots=True)
class Hooks:
    """The user's hooks, in the order in which they are called."""

    mutating: Sequence[tuple[str, Hook]] = ()
    validating: Sequence[tuple[str, Hook]] = ()
    #: Webhooks in this process, by the URL at which a configuration names them.
    webhooks: Mapping[str, Function] = field(default_factory=dict)
