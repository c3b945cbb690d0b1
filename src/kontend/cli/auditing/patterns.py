"""The pattern of a Go write as a scenario, for ``kontend audit --confirm``.

Go code is not run. A finding about an unlocked patch becomes the smallest scenario with its reads, its write and its
lock: a controller that reads an object from its cache, changes the field and patches it as the code does, beside
another writer of the same part. The explorer shows the shortest trace in which a write is lost. The trace is of the
pattern: whether the audited program has the second writer, or two instances of itself, is for its reader to say.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from functools import cache
from typing import Any

from kontend import Api, Controller, Request, merge_from
from kontend.audit.finding import Finding
from kontend.audit.site import Lock, Site, Target
from kontend.explore import Bounds, Scenario, check

_KIND = "Widget.example.com/v1"
_CRD: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "kind": "Widget"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}
_WIDGET: dict[str, Any] = {
    "apiVersion": "example.com/v1",
    "kind": "Widget",
    "metadata": {"name": "w", "namespace": "default"},
}
_RULES = {
    "status-patch-without-lock",
    "finalizer-patch-without-lock",
    "list-merge-patch-without-lock",
    "list-replaced-without-lock",
}


@dataclass(frozen=True, slots=True)
class Pattern:
    """The parts of a write that decide whether it loses another one: the part, the shape of the field, the lock."""

    part: str
    field: str
    is_list: bool
    locked: bool = False


def pattern_of(finding: Finding, site: Site) -> Pattern | None:
    """Return the pattern of a finding about an unlocked Go patch, or None for other findings."""
    if finding.rule not in _RULES or site.place.language != "go" or site.lock not in (Lock.UNLOCKED, Lock.MIXED):
        return None
    if Target.FINALIZERS in site.content.targets:
        return Pattern("metadata", "finalizers", is_list=True)
    part = "status" if site.status else "spec"
    path = next(iter(site.content.lists or site.content.fields), f"{part}.phase").split(".")
    return Pattern(part, path[1] if len(path) > 1 and path[0] == part else "phase", is_list=bool(site.content.lists))


def _changed(widget: dict[str, Any], pattern: Pattern, value: str) -> bool:
    """Put a writer's value in the field as the pattern does; False where it is there already."""
    part = widget.setdefault(pattern.part, {})
    if not pattern.is_list:
        if part.get(pattern.field, {}).get(value):
            return False
        part[pattern.field] = {**part.get(pattern.field, {}), value: "set", "by": value}
        return True
    listed = list(part.get(pattern.field) or [])
    if value in listed:
        return False
    part[pattern.field] = [*listed, value]
    return True


class _Writer(Controller):
    """Reads the object, changes the field, and patches it with or without a lock."""

    kind = _KIND

    def __init__(self, pattern: Pattern) -> None:
        super().__init__()
        self.pattern = pattern

    async def reconcile(self, request: Request, api: Api) -> None:
        """Write this writer's value where it is not there yet."""
        widget = await api.get(self.kind, request)
        base = copy.deepcopy(widget)
        value = f"example.com/{self.name}" if self.pattern.field == "finalizers" else self.name
        if not _changed(widget, self.pattern, value):
            return
        patch = merge_from(base, lock=self.pattern.locked)
        if self.pattern.part == "status":
            await api.status.patch(widget, patch)
        else:
            await api.patch(widget, patch)


class _Audited(_Writer):
    """The writer that was found."""

    name = "audited"


class _Other(_Writer):
    """Another writer of the same part, which locks."""

    name = "other"


def scenario_of(pattern: Pattern) -> Scenario:
    """Return the scenario of a pattern: the audited writer beside another one that locks."""
    other = Pattern(pattern.part, pattern.field, pattern.is_list, locked=True)
    return Scenario(
        controllers=[_Audited(pattern), _Other(other)],
        objects=[_WIDGET],
        crds=[_CRD],
        bounds=Bounds(lag=1),
        name=f"{pattern.part}.{pattern.field}",
    )


@cache
def trace_of(pattern: Pattern) -> tuple[str, ...]:
    """Return the shortest trace in which the pattern loses a write, a line for each step, or nothing."""
    for violation in check(scenario_of(pattern)).violations:
        return tuple(str(violation).splitlines())
    return ()
