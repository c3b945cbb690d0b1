"""Predicates select the events that trigger a reconcile.

They mean what controller-runtime's predicates mean. One that compares the old object with the new one passes creations
and deletions; predicates combine with ``&``, ``|`` and ``~``.

A predicate saves work and does nothing else: a relist delivers every object again, so a controller must not rely on the
absence of the events that a predicate drops.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kontend.kube.meta.names import Key, key_of


@dataclass(frozen=True, slots=True)
class Event:
    """A change of an object in the cache: before and after; None where it does not exist.

    >>> event = Event("Pod/v1", None, {"metadata": {"namespace": "default", "name": "p"}})
    >>> event.type, str(event.key)
    ('ADDED', 'default/p')
    """

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
        """The namespace and the name of the object."""
        return key_of(self.new if self.new is not None else self.old or {})


class Predicate:
    """A condition on an event: True triggers a reconcile. Subclass it, or use :class:`Where`.

    >>> deleted = Where(lambda event: event.new is None)
    >>> (deleted | ~LabelChanged())(Event("Pod/v1", {"metadata": {}}, None))
    True
    """

    def __call__(self, event: Event) -> bool:
        """Return True if the event triggers a reconcile."""
        raise NotImplementedError

    def __and__(self, other: Predicate) -> Predicate:
        return And(self, other)

    def __or__(self, other: Predicate) -> Predicate:
        return Or(self, other)

    def __invert__(self) -> Predicate:
        return Not(self)


class And(Predicate):
    """True if all predicates are."""

    def __init__(self, *predicates: Predicate) -> None:
        self.predicates = predicates

    def __call__(self, event: Event) -> bool:
        return all(predicate(event) for predicate in self.predicates)


class Or(Predicate):
    """True if any predicate is."""

    def __init__(self, *predicates: Predicate) -> None:
        self.predicates = predicates

    def __call__(self, event: Event) -> bool:
        return any(predicate(event) for predicate in self.predicates)


class Not(Predicate):
    """True if the predicate is not, for creations and deletions too."""

    def __init__(self, predicate: Predicate) -> None:
        self.predicate = predicate

    def __call__(self, event: Event) -> bool:
        return not self.predicate(event)


class Where(Predicate):
    """True if a function of the event returns True.

    >>> Where(lambda event: event.type == "DELETED")(Event("Pod/v1", {"metadata": {}}, None))
    True
    """

    def __init__(self, function: Callable[[Event], bool]) -> None:
        self.function = function

    def __call__(self, event: Event) -> bool:
        return bool(self.function(event))


class _Changed(Predicate):
    """True for creations, deletions, and changes of one part of the metadata."""

    def part(self, metadata: Mapping[str, Any]) -> Any:
        raise NotImplementedError

    def __call__(self, event: Event) -> bool:
        if event.old is None or event.new is None:
            return True
        return bool(self.part(event.old.get("metadata") or {}) != self.part(event.new.get("metadata") or {}))


class GenerationChanged(_Changed):
    """True if ``metadata.generation`` changed: the spec, and neither the status nor the metadata.

    A deletion that waits for finalizers increments the generation too.

    >>> event = Event("Pod/v1", {"metadata": {"generation": 1}}, {"metadata": {"generation": 1, "labels": {"a": "b"}}})
    >>> GenerationChanged()(event), (GenerationChanged() | LabelChanged())(event)
    (False, True)
    """

    def part(self, metadata: Mapping[str, Any]) -> Any:
        return metadata.get("generation")


class ResourceVersionChanged(_Changed):
    """True if anything changed: False for an object that a relist only repeats.

    >>> same = {"metadata": {"resourceVersion": "7"}}
    >>> ResourceVersionChanged()(Event("Pod/v1", same, same))
    False
    """

    def part(self, metadata: Mapping[str, Any]) -> Any:
        return metadata.get("resourceVersion")


class LabelChanged(_Changed):
    """True if the labels changed.

    >>> LabelChanged()(Event("Pod/v1", {"metadata": {}}, {"metadata": {"labels": {"a": "b"}}}))
    True
    """

    def part(self, metadata: Mapping[str, Any]) -> Any:
        return metadata.get("labels") or {}


class AnnotationChanged(_Changed):
    """True if the annotations changed.

    >>> AnnotationChanged()(Event("Pod/v1", {"metadata": {}}, {"metadata": {"labels": {"a": "b"}}}))
    False
    """

    def part(self, metadata: Mapping[str, Any]) -> Any:
        return metadata.get("annotations") or {}
