"""The kinds that a package reconciles, owns and watches, and the programs it is part of.

They are read from builder calls (`For(&v1.Widget{})`, `Owns`, `Watches`), from `source.Kind`, and from the imports that
lead from each `main` package to the package. With them a site can say whether it writes an owned child, whether another
controller reconciles the object, and whether two writers can ever run side by side.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from kontend.audit.go.queues import Queues
from kontend.audit.go.source.package import GoFile
from kontend.audit.go.source.workspace import Workspace
from kontend.audit.site import Fact, Lock, Site, Verb

_LITERAL = rb"&(?:\w+\.)?(\w+)\{"
_FOR = re.compile(rb"\bFor\(\s*" + _LITERAL)
_OWNS = re.compile(rb"\bOwns\(\s*" + _LITERAL)
_WATCHES = re.compile(rb"\b(?:Watches|WatchesRawSource|Kind)\(\s*(?:[\w.()]+,\s*)?" + _LITERAL)
_REGISTERING = re.compile(rb"\b(For|Watches|Kind)\(\s*(?:[\w.()]+,\s*)?" + _LITERAL)
_FILTER = re.compile(rb"\bWithEventFilter\(\s*(?!predicate\.)\w")
_STOCK = rb"(?:Typed)?(?:GenerationChanged|ResourceVersionChanged|AnnotationChanged|LabelChanged)Predicate"
_CUSTOM = re.compile(
    rb"WithPredicates\((?!\s*(?:predicate\.)?" + _STOCK + rb")|NewPredicateFuncs|predicate\.(?:Typed)?Funcs\b"
)
_GENERATION = re.compile(rb"GenerationChangedPredicate")
_IMPORT = re.compile(rb"^\s*(?:import\s+)?(?:[\w.]+\s+)?\"([^\"\n]+)\"", re.MULTILINE)
_MAIN = re.compile(rb"^package\s+main\b", re.MULTILINE)
_BODY = re.compile(rb"^(?:func|type|var|const)\b", re.MULTILINE)


@dataclass(slots=True)
class Registration:
    """The kinds that one package registers for."""

    reconciles: set[str] = field(default_factory=set)
    owns: set[str] = field(default_factory=set)
    watches: set[str] = field(default_factory=set)
    filtered: set[str] = field(default_factory=set)
    """Kinds that a predicate of the package's own filters; `*` stands for all of them."""
    generation_only: bool = False


@dataclass(eq=False)
class Programs:
    """The `main` packages from which a package is reached."""

    workspace: Workspace

    @cached_property
    def _reaching(self) -> dict[str, set[str]]:
        imports = {
            directory: self._imported(directory, files) for directory, files in self.workspace.by_directory.items()
        }
        reaching: dict[str, set[str]] = {}
        for directory, files in sorted(self.workspace.by_directory.items()):
            if not any(_MAIN.search(file.source) for file in files):
                continue
            stack, seen = [directory], set[str]()
            while stack:
                current = stack.pop()
                if current not in seen:
                    seen.add(current)
                    reaching.setdefault(current, set()).add(directory)
                    stack += imports.get(current, ())
        return reaching

    def _imported(self, directory: str, files: Iterable[GoFile]) -> set[str]:
        imported: set[str] = set()
        for file in files:
            body = _BODY.search(file.source)
            for path in _IMPORT.findall(file.source[: body.start() if body else None]):
                target = self.workspace.directory_of(path.decode("utf-8", "replace"), directory)
                if target is not None:
                    imported.add(target)
        return imported

    def of(self, directory: str) -> tuple[str, ...]:
        """Return the `main` packages that reach a directory; none means that the tree does not say."""
        return tuple(sorted(self._reaching.get(directory, ())))


def registrations(files: Iterable[GoFile]) -> dict[str, Registration]:
    """Read the registrations of all packages, by directory."""
    registrations: dict[str, Registration] = {}
    for file in files:
        source = file.source
        if not any(word in source for word in (b"For(", b"Owns(", b"Watches(", b"source.Kind(", b"WatchesRawSource(")):
            continue
        entry = registrations.setdefault(file.directory, Registration())
        entry.reconciles.update(name.decode() for name in _FOR.findall(source))
        entry.owns.update(name.decode() for name in _OWNS.findall(source))
        entry.watches.update(name.decode() for name in _WATCHES.findall(source))
        entry.filtered |= _filtered(source)
        entry.generation_only = entry.generation_only or bool(_GENERATION.search(source))
    return registrations


def _filtered(source: bytes) -> set[str]:
    """Return the kinds whose registration has a predicate that is not one of controller-runtime's own."""
    kinds = {"*"} if _FILTER.search(source) else set()
    for registering in _REGISTERING.finditer(source):
        if _CUSTOM.search(source, registering.end(), _closing(source, registering.end())):
            kinds.add(registering.group(2).decode())
    return kinds


def _closing(source: bytes, start: int) -> int:
    """Return the end of the argument list that a position is in."""
    depth = 1
    for at in range(start, min(len(source), start + 3000)):
        if source[at] in b"({":
            depth += 1
        elif source[at] in b")}":
            depth -= 1
            if depth < 0:
                return at
    return start


def note_registrations(workspace: Workspace, sites: list[Site]) -> list[Site]:
    """Mark owned children, programs, filtered controllers, and status writes to kinds that others reconcile."""
    known = registrations(workspace.files.values())
    everywhere: dict[str, list[str]] = {}
    for directory, entry in sorted(known.items()):
        for kind in entry.reconciles:
            everywhere.setdefault(kind, []).append(directory)
    owned = set().union(*(entry.owns for entry in known.values()), set())
    programs = Programs(workspace)
    reconcilers = _reconcilers(workspace, sites)
    queues = Queues(workspace)
    noted = [_noted(site, known, everywhere, owned, programs, reconcilers) for site in sites]
    return [
        replace(site, runner=replace(site.runner, queues=queues.of(site))) if site.status else site for site in noted
    ]


def _reconcilers(workspace: Workspace, sites: list[Site]) -> dict[str, frozenset[str]]:
    """Return the types with a `Reconcile` method of each package that has several of them."""
    found: dict[str, frozenset[str]] = {}
    for directory in {str(Path(site.place.path).parent) for site in sites if site.status}:
        named = workspace.package(directory).functions.get("Reconcile", ())
        types = frozenset(function.receiver_type for function in named if function.receiver_type)
        workspace.settle()
        if len(types) > 1:
            found[directory] = types
    return found


def _controller(site: Site, reconcilers: frozenset[str]) -> str:
    """Return the reconciler that a site is a method of; a function of the package may be called by any of them."""
    receiver, dot, _ = site.place.function.partition(".")
    return receiver if dot and receiver in reconcilers else ""


def _noted(
    site: Site,
    known: dict[str, Registration],
    everywhere: dict[str, list[str]],
    owned: set[str],
    programs: Programs,
    reconcilers: dict[str, frozenset[str]],
) -> Site:
    directory = str(Path(site.place.path).parent)
    own = known.get(directory, Registration())
    child = (site.resource.kind in owned and site.resource.kind not in own.reconciles) or (
        site.verb is Verb.APPLY and not site.status
    )
    facts = tuple(fact for fact in site.facts if fact.rule != "requeue-lost-after-conflict" or own.generation_only)
    others = everywhere.get(site.resource.kind, [])
    handled = own.reconciles | own.watches | own.owns
    unordered = site.lock in (Lock.UNLOCKED, Lock.MIXED)
    if (
        site.status
        and unordered
        and own.reconciles
        and site.resource.kind
        and site.resource.kind not in handled
        and others
    ):
        said = (
            f"{site.resource.kind} is reconciled in {others[0]}, not by the controller of "
            f"{', '.join(sorted(own.reconciles))} that this package holds"
        )
        facts = (*facts, Fact("status-of-another-controller", site.place.line, said))
    return replace(
        site,
        facts=facts,
        making=replace(site.making, owned_child=child),
        runner=replace(
            site.runner,
            worker=directory,
            owner=others[0] if others else "",
            controller=_controller(site, reconcilers.get(directory, frozenset())),
            programs=programs.of(directory) if site.status else (),
            filtered=bool(own.filtered & {"*", site.resource.kind}),
        ),
    )
