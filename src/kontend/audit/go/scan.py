"""All Go files of an audit to all their sites."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from kontend.audit.go.cached.objects import CachedObjects
from kontend.audit.go.calls.recognition import PREFILTER, find_writes
from kontend.audit.go.classify import Classified, classify
from kontend.audit.go.helpers import helper_calls
from kontend.audit.go.registrations import note_registrations
from kontend.audit.go.source import syntax
from kontend.audit.go.source.package import GoFile
from kontend.audit.go.source.workspace import Workspace
from kontend.audit.site import Lock, Notice, Role, Site, Verb
from kontend.audit.sources.files import Problem


def scan(
    sources: dict[str, bytes],
    roles: dict[str, Role],
    problems: list[Problem],
    progress: Callable[[str], None] = lambda _: None,
) -> tuple[list[Site], list[Notice]]:
    """Return the write sites of Go sources by path, and what was noticed apart from them.

    Only files that hold a writing word are parsed, and what they lean on.
    """
    files = {path: GoFile(path, source, str(Path(path).parent)) for path, source in sources.items()}
    workspace = Workspace(files)
    classified_writes: list[Classified] = []
    for path in sorted(files):
        file = files[path]
        if not PREFILTER.search(file.source) or not (b"k8s.io/" in file.source or b"Status()." in file.source):
            if syntax.unbalanced(file.source) and (broken := syntax.first_error(file.root)):
                problems.append(Problem(path, f"line {broken}: does not parse as Go", incomplete=True))
            continue
        progress(path)
        broken = syntax.first_error(file.root)
        if broken:
            problems.append(
                Problem(path, f"line {broken}: does not parse as Go; what does was audited", incomplete=True)
            )
        role = roles.get(path, Role.PRODUCTION)
        try:
            classified_writes += [classify(workspace, write, role) for write in find_writes(workspace, file)]
        except RecursionError:
            problems.append(Problem(path, "nested too deeply to be analysed; skipped", incomplete=True))
    sites = _patch_libraries([classified.site for classified in classified_writes])
    sites += helper_calls(workspace, classified_writes, roles)
    return note_registrations(workspace, sites), CachedObjects(workspace, roles).notices()


def _patch_libraries(sites: list[Site]) -> list[Site]:
    """Inside a patch library that locks its conditions, the plain patch beside it carries everything but them."""
    locking = {
        Path(site.path).parent
        for site in sites
        if Path(site.path).parent.name == "patch"
        and site.status
        and site.verb is Verb.PATCH
        and site.lock is Lock.LOCKED
    }
    return [
        replace(site, lock=Lock.MERGED) if site.lock is Lock.UNLOCKED and Path(site.path).parent in locking else site
        for site in sites
    ]
