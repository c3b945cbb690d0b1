"""Policies: the writes that are wrong, and how wrong.

Two good projects hold opposite rules. One wants every status write to carry a version, so that a stale writer is
refused. The other wants status written by plain merge patches of the fields a writer owns, so that disjoint writers
never refuse each other, and bans full updates. Neither is a bug in the classification, so a policy is data: a
severity for each rule, or None to say nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kontend.audit.finding import Severity
from kontend.audit.rules import RULES

_E, _W, _I = Severity.ERROR, Severity.WARNING, Severity.INFO


@dataclass(frozen=True, slots=True)
class Policy:
    """A named set of severities. `owners` maps a kind to the path patterns that may patch its status without a lock."""

    name: str
    severities: Mapping[str, Severity | None] = field(default_factory=dict)
    owners: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    partial_body: Severity | None = Severity.INFO
    """Severity of an unlocked patch whose body is a literal of its own fields, not a diff against a read."""
    overridden: frozenset[str] = frozenset()
    """Rules whose severity the user has set; it is not weakened for any site."""

    def severity(self, rule: str) -> Severity | None:
        """Return the severity of a rule under this policy."""
        return self.severities[rule] if rule in self.severities else RULES[rule].severity


_DISJOINT: dict[str, Severity | None] = {
    "status-patch-without-lock": None,
    "multi-writer-status-field": _W,
    "status-full-update": _E,
    "metadata-full-update": _E,
    "finalizer-patch-without-lock": _E,
    "owner-reference-patch-without-lock": _E,
    "spec-patch-without-lock": _W,
    "status-write-of-list-item": None,
    "lock-used-by-some-writers": None,
}

_STRICT: dict[str, Severity | None] = {
    "status-apply-forced": _W,
    "status-write-error-logged-only": _W,
    "conflict-retry-blind-overwrite": _E,
    "status-write-of-list-item": _W,
}

POLICIES: dict[str, Policy] = {
    "default": Policy("default"),
    "strict": Policy("strict", _STRICT, partial_body=_E),
    "disjoint": Policy("disjoint", _DISJOINT, partial_body=None),
}
