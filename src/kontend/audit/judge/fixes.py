"""Edits that make a write safe without changing what it means.

Only two are safe enough to apply: a lock for a merge base whose write reports its error, and the resourceVersion of the
object that was read for a body that sends that object back. Everything else is advice.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping

from kontend.audit.finding import Edit, Finding
from kontend.audit.site import ErrorUse, Lock, Obstacle, Site

_LOCKABLE = {
    "status-patch-without-lock",
    "finalizer-patch-without-lock",
    "owner-reference-patch-without-lock",
    "list-merge-patch-without-lock",
    "list-replaced-without-lock",
    "status-read-modify-write-unguarded",
    "spec-patch-without-lock",
}
_UNFIXABLE = ("locked-base-reused", "base-after-mutation")
"""A lock on a base that is used twice refuses the second write; on one that is taken too late, it locks nothing."""
_OWN_MERGE_FROM = re.compile(r"^((?:\w+\.)*merge_from)\((.*)\)$", re.DOTALL)


def edits_for(finding: Finding, site: Site, sources: Mapping[str, bytes]) -> tuple[Edit, ...]:
    """Return the edits that lock the write of a finding, or none where that is not safe."""
    if finding.rule not in _LOCKABLE or site.lock not in (Lock.UNLOCKED, Lock.MIXED) or finding.path != site.place.path:
        return ()
    if site.error is not ErrorUse.RETURNED:
        return ()  # a conflict that nobody sees would lose the write instead of the other writer's
    if site.obstacle is not Obstacle.NONE or any(fact.rule in _UNFIXABLE for fact in site.facts):
        return ()  # the lock would refuse the controller's own writes, or end a guard against empty patches
    start, end = site.base.span
    path = site.base.path or site.place.path
    source = sources.get(path)
    if source is None or not end:
        return ()
    text = source[start:end].decode("utf-8", "replace")
    if site.base.lock_at is not None:  # two insertions: what stands between, comments included, stays as it is
        name_end, argument_end, package = site.base.lock_at
        return (
            Edit(path, name_end, name_end, "WithOptions"),
            Edit(path, argument_end, argument_end, f", {package}.MergeFromWithOptimisticLock{{}}"),
        )
    if site.place.language == "python" and (match := _OWN_MERGE_FROM.match(text)) and "lock=" not in match.group(2):
        return (Edit(path, start, end, f"{match.group(1)}({match.group(2)}, lock=True)"),)
    if site.place.language == "python" and site.base.snapshot and _lacks_metadata(text):
        version = f'{{"resourceVersion": {site.base.snapshot}["metadata"]["resourceVersion"]}}'
        return (Edit(path, start, start + 1, '{"metadata": ' + version + ", "),)
    return ()


def _lacks_metadata(body: str) -> bool:
    """Decide whether a body is a literal in which metadata can be put in front: no key of its own and no `**` that
    could bring one."""
    try:
        node = ast.parse(body, mode="eval").body
    except SyntaxError:
        return False
    if not isinstance(node, ast.Dict):
        return False
    return all(isinstance(key, ast.Constant) and key.value != "metadata" for key in node.keys)


def apply_edits(source: bytes, edits: list[Edit]) -> bytes:
    """Apply edits to a file, each place once.

    >>> apply_edits(b"a b c", [Edit("x", 2, 3, "B"), Edit("x", 2, 3, "B")])
    b'a B c'
    """
    done = source
    for edit in sorted(set(edits), key=lambda edit: edit.start, reverse=True):
        done = done[: edit.start] + edit.text.encode() + done[edit.end :]
    return done
