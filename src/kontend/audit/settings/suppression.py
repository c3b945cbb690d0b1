"""Suppressions in comments: `// kontend: ignore[rule] -- reason` in Go, `# kontend: ignore[rule] -- reason` in Python.

A suppression covers the line it is on, or the next line of code when it stands alone, and the whole call that begins
there. It must say why; one that says nothing, or that suppresses nothing any more, is a finding itself, so that they
do not pile up.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kontend.audit.finding import Finding, Severity
from kontend.audit.rules import RULES
from kontend.audit.settings.policy import Policy

_COMMENT = re.compile(r"(?://|#)\s*kontend:\s*ignore(?:\[(?P<rules>[^\]]*)\])?\s*(?:--\s*(?P<reason>.*?))?\s*$")
_WORD = b"kontend: ignore"


@dataclass(frozen=True, slots=True)
class Suppression:
    """One comment: the lines it covers, the rules it names (none means all), and its reason."""

    path: str
    line: int
    covers: int
    rules: tuple[str, ...]
    reason: str

    def matches(self, finding: Finding) -> bool:
        """Decide whether a finding is covered; a comment inside a call that spans lines covers it too."""
        if finding.path != self.path or not (
            finding.line == self.covers or finding.line <= self.line <= finding.end_line
        ):
            return False
        codes = {RULES[name].code.lower() for name in finding.names if name in RULES}
        return not self.rules or any(rule in finding.names or rule.lower() in codes for rule in self.rules)


def read_suppressions(sources: Mapping[str, bytes]) -> list[Suppression]:
    """Find the suppression comments of all sources."""
    suppressions: list[Suppression] = []
    for path, source in sources.items():
        if _WORD not in source:
            continue
        lines = source.decode("utf-8", "replace").splitlines()
        for number, text in enumerate(lines, 1):
            match = _COMMENT.search(text)
            if match is None or _in_string(text, match.start()):
                continue
            alone = not text[: match.start()].strip()
            covers = _next_code(lines, number) if alone else number
            rules = tuple(name.strip() for name in (match.group("rules") or "").split(",") if name.strip())
            suppressions.append(Suppression(path, number, covers, rules, (match.group("reason") or "").strip()))
    return suppressions


def _in_string(text: str, position: int) -> bool:
    """A comment mark inside a string literal on the same line is no comment."""
    before = text[:position]
    return before.count('"') % 2 == 1 or before.count("`") % 2 == 1


def _next_code(lines: list[str], number: int) -> int:
    for at in range(number, len(lines)):
        stripped = lines[at].strip()
        if stripped and not stripped.startswith(("//", "#")):
            return at + 1
    return number


def apply_suppressions(
    findings: Iterable[Finding], suppressions: Iterable[Suppression], policy: Policy
) -> tuple[list[Finding], int]:
    """Return what is left, with findings about the suppressions themselves, and how many were suppressed."""
    left: list[Finding] = []
    used: set[tuple[str, int]] = set()
    comments = list(suppressions)
    by_line: dict[tuple[str, int], list[Suppression]] = {}
    for comment in comments:
        for line in {comment.covers, comment.line}:
            by_line.setdefault((comment.path, line), []).append(comment)
    suppressed = 0
    for finding in findings:
        lines = range(finding.line, max(finding.line, min(finding.end_line, finding.line + 500)) + 1)
        near = {comment for line in lines for comment in by_line.get((finding.path, line), ())} if comments else set()
        covering = sorted((comment for comment in near if comment.matches(finding)), key=lambda comment: comment.line)
        used.update((comment.path, comment.line) for comment in covering)
        if any(comment.reason for comment in covering):
            suppressed += 1
        else:
            left.append(finding)
    for other in comments:
        left += _about(other, policy, used=(other.path, other.line) in used)
    return left, suppressed


def _about(comment: Suppression, policy: Policy, *, used: bool) -> list[Finding]:
    unknown = [
        rule
        for rule in comment.rules
        if rule not in RULES and rule.upper() not in {rule.code for rule in RULES.values()}
    ]
    if unknown:
        return [
            _finding(
                comment,
                policy,
                "unused-suppression",
                f"There is no rule {', '.join(unknown)}. `kontend rule --all` lists the names.",
            )
        ]
    if not comment.reason:
        return [
            _finding(
                comment,
                policy,
                "suppression-without-reason",
                "This suppression gives no reason, so it does not count. Write `ignore[rule] -- why this is safe`.",
            )
        ]
    if not used:
        named = ", ".join(comment.rules) or "any rule"
        return [
            _finding(
                comment, policy, "unused-suppression", f"Nothing here breaks {named} any more. Remove the comment."
            )
        ]
    return []


def _finding(comment: Suppression, policy: Policy, rule: str, message: str) -> Finding:
    severity = policy.severity(rule) or Severity.INFO
    return Finding(
        rule,
        severity,
        RULES[rule].confidence,
        comment.path,
        comment.line,
        comment.line,
        message,
        code=",".join(comment.rules),
    )
