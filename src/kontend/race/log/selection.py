"""The part of a log that is to be judged: a time, namespaces, kinds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from kontend.race.log.event import Resource


@dataclass(frozen=True, slots=True)
class Selection:
    """A part of a log. What was read and written before ``since`` is still known."""

    since: float | None = None
    until: float | None = None
    #: Empty for all.
    namespaces: frozenset[str] = frozenset()
    #: Kinds or resources, such as ``Deployment``, ``deployments`` or ``deployments.apps``; empty for all.
    kinds: frozenset[str] = frozenset()

    def has_time(self, at: float) -> bool:
        """Report if a write at this time is judged."""
        return (self.since is None or at >= self.since) and (self.until is None or at <= self.until)

    def has_namespace(self, namespace: str) -> bool:
        """Report if objects of a namespace are judged."""
        return not self.namespaces or namespace in self.namespaces

    def has_kind(self, resource: Resource, kind: Any) -> bool:
        """Report if objects of a kind are judged."""
        return not self.kinds or _matches(self.kinds, resource, str(kind or ""))


@lru_cache(maxsize=10_000)
def _matches(kinds: frozenset[str], resource: Resource, kind: str) -> bool:
    """Compare without regard to case, as kubectl does.

    >>> _matches(frozenset({"deployment.apps"}), Resource("apps", "deployments"), "Deployment")
    True
    """
    names = {kind.lower(), resource.name.lower()} - {""}
    names |= {f"{name}.{resource.group}".lower() for name in names}
    return any(wanted.partition("/")[0].lower() in names for wanted in kinds)
