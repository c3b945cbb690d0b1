"""Predicates: which events are worth a reconcile.

They mean what controller-runtime's mean. A predicate that asks about a *change* lets creations and deletions through;
predicates combine with ``&``, ``|`` and ``~``.

A predicate saves work and never more than that: the next relist shows every object again, so a controller must not rely
on an event that a predicate (or a lost connection) took away.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kontend.kube.meta.names import Key, key_of


@dataclass(frozen=True, slots=True)
class Event:
    """An object as the cache knew it before and as it knows it now; None where it is not there."""

    kind: str
    old: dict[str, Any] | None
    new: dict[str, Any] | None

    @property
    def type(self) -> str:
        """``ADDED``, ``MODIFIED`` or ``DELETED``."""
        if self.new is None:
            return "DELETED"
        return "MODIFIED" if self.old is not None else "ADDED"

    @property
    def key(self) -> Key:
        """Which object."""
        return key_of(self.new if self.new is not None else self.old or {})


class Predicate:
    """A question about an event, answered with yes (reconcile) or no."""

    def __call__(self, event: Event) -> bool:
        """Whether the event counts."""
        raise NotImplementedError

    def __and__(self, other: Predicate) -> Predicate:
        return And(self, other)

    def __or__(self, other: Predicate) -> Predicate:
        return Or(self, other)

    def __invert__(self) -> Predicate:
        return Not(self)


class And(Predicate):
    """All of them must say yes."""

    def __init__(self, *predicates: Predicate) -> None:
        self.predicates = predicates

    def __call__(self, event: Event) -> bool:
        return all(predicate(event) for predicate in self.predicates)


class Or(Predicate):
    """One of them must say yes."""

    def __init__(self, *predicates: Predicate) -> None:
        self.predicates = predicates

    def __call__(self, event: Event) -> bool:
        return any(predicate(event) for predicate in self.predicates)


class Not(Predicate):
    """The other way round, for creations and deletions too."""

    def __init__(self, predicate: Predicate) -> None:
        self.predicate = predicate

    def __call__(self, event: Event) -> bool:
        return not self.predicate(event)


class Where(Predicate):
    """Any function of an event."""

    def __init__(self, function: Callable[[Event], bool]) -> None:
        self.function = function

    def __call__(self, event: Event) -> bool:
        return bool(self.function(event))


class _Changed(Predicate):
    """Creations, deletions, and changes of one part of the metadata."""

    def part(self, metadata: Mapping[str, Any]) -> Any:
        raise NotImplementedError

    def __call__(self, event: Event) -> bool:
        if event.old is None or event.new is None:
            return True
        return bool(self.part(event.old.get("metadata") or {}) != self.part(event.new.get("metadata") or {}))


class GenerationChanged(_Changed):
    """The spec changed: not the status, and not the metadata.

    A deletion that waits for finalizers raises the generation too, so it is seen.

    >>> event = Event("Pod/v1", {"metadata": {"generation": 1}}, {"metadata": {"generation": 1, "labels": {"a": "b"}}})
    >>> GenerationChanged()(event), (GenerationChanged() | LabelChanged())(event)
    (False, True)
    """

    def part(self, metadata: Mapping[str, Any]) -> Any:
        return metadata.get("generation")


class ResourceVersionChanged(_Changed):
    """Anything changed: not what a relist only repeats."""

    def part(self, metadata: Mapping[str, Any]) -> Any:
        return metadata.get("resourceVersion")


class LabelChanged(_Changed):
    """The labels changed."""

    def part(self, metadata: Mapping[str, Any]) -> Any:
        return metadata.get("labels") or {}


class AnnotationChanged(_Changed):
    """The annotations changed."""

    def part(self, metadata: Mapping[str, Any]) -> Any:
        return metadata.get("annotations") or {}
