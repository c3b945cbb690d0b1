"""All Go files of an audit to all their sites."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from kontend.audit.go.cached.objects import CachedObjects
from kontend.audit.go.calls.recognition import PREFILTER, find_writes
from kontend.audit.go.classify import classify
from kontend.audit.go.helpers import helper_calls
from kontend.audit.go.registrations import note_registrations
from kontend.audit.go.source import syntax
from kontend.audit.go.source.package import FunctionKey, GoFile, Memory
from kontend.audit.go.source.workspace import Workspace
from kontend.audit.site import Lock, Notice, Role, Site, Verb
from kontend.audit.sources.files import Problem
from kontend.audit.sources.texts import Texts


def scan(
    sources: Texts,
    roles: dict[str, Role],
    problems: list[Problem],
    progress: Callable[[str], None] = lambda _: None,
) -> tuple[list[Site], list[Notice]]:
    """Return the write sites of Go sources by path, and what was noticed apart from them.

    Only files that hold a writing word are parsed, and what they lean on.
    """
    memory = Memory()
    files = {path: GoFile(path, sources.held(path), str(Path(path).parent), memory=memory) for path in sources}
    workspace = Workspace(files, memory)
    sites: list[Site] = []
    helpers: set[FunctionKey] = set()
    for path in sorted(files):
        workspace.settle()
        file = files[path]
        source = file.source
        if not PREFILTER.search(source) or not (b"k8s.io/" in source or b"Status()." in source):
            if syntax.unbalanced(source) and (broken := syntax.first_error(file.root)):
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
            writes = [classify(workspace, write, role) for write in find_writes(workspace, file)]
            sites += [write.site for write in writes]
            sites += helper_calls(workspace, writes, roles, helpers)
        except RecursionError:
            problems.append(Problem(path, "nested too deeply to be analysed; skipped", incomplete=True))
    notices = CachedObjects(workspace, roles).notices()
    return note_registrations(workspace, _patch_libraries(sites)), notices


def _patch_libraries(sites: list[Site]) -> list[Site]:
    """Inside a patch library that locks its conditions, the plain patch beside it carries everything but them."""
    locking = {
        Path(site.place.path).parent
        for site in sites
        if Path(site.place.path).parent.name == "patch"
        and site.status
        and site.verb is Verb.PATCH
        and site.lock is Lock.LOCKED
    }
    return [
        replace(site, lock=Lock.MERGED)
        if site.lock is Lock.UNLOCKED and not site.route.via and Path(site.place.path).parent in locking
        else site
        for site in sites
    ]
