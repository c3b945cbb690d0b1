"""Finding and reading source files without ever stopping on one.

A tree given to an auditor holds anything: symbolic links that go round, files nobody may read, binaries with a `.go`
name, generated files of hundreds of megabytes. Each of those is one line in the report and the walk goes on.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path

from kontend.audit.site import Role
from kontend.audit.sources.texts import Texts

MAX_BYTES = 5_000_000
_AUDITED = (".go", ".py", ".yaml", ".yml")
_SKIPPED_DIRECTORIES = {
    *(".git", ".hg", ".svn", ".venv", "venv", "node_modules", "vendor", "third_party"),
    *("__pycache__", ".tox", ".mypy_cache", ".terraform", "site-packages"),
}
_TEST_DIRECTORY = re.compile(
    r"^(tests?|e2e|envtest|testing|testutils?|testdata|mocks?|fakes?|test[-_].*|.*[-_]tests?|fixtures)$"
)
_TEST_FILE = re.compile(r"(_test\.go|^test_.*\.py|_test\.py|^conftest\.py|^mock_.*\.go|_mock\.go|^fake_.*\.go)$")
_TEST_TAG = re.compile(rb"^//go:build\s+[^\n]*\b(e2e|integration|envtest|tests?|acceptance)\b", re.MULTILINE)
_IMPORTS_TESTING = re.compile(rb"^\s*(?:import\s+)?\"testing\"\s*$", re.MULTILINE)
_GENERATED = re.compile(rb"^(//|#) Code generated .* DO NOT EDIT\.?\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Problem:
    """A reason that kept a file from being read, in one line.

    `incomplete` means that code which was meant to be audited was not.
    """

    path: str
    reason: str
    incomplete: bool = False

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


@dataclass(slots=True)
class Sources:
    """Text by path, roles by path, and the files that could not be read."""

    go: Texts = field(default_factory=Texts)
    python: Texts = field(default_factory=Texts)
    manifests: Texts = field(default_factory=Texts)
    roles: dict[str, Role] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    lines: int = 0
    real: set[str] = field(default_factory=set, repr=False)


def read_sources(paths: Iterable[str], *, exclude: Iterable[str] = (), tests: bool = False) -> Sources:
    """Read every Go and Python file below the given paths, and the manifests that may hold CRDs.

    A file that is named itself is read wherever it lies, or is a problem: "nothing found" about a file that was left
    out because of its directory would read as a verdict.
    """
    sources = Sources()
    patterns = tuple(exclude)
    for given in paths:
        if not os.path.lexists(given):
            sources.problems.append(Problem(given, "no such file or directory", incomplete=True))
            continue
        named = not os.path.isdir(given)
        for path in _walk(given, sources.problems):
            pattern = next((at for at in patterns if fnmatch(path, at) or fnmatch(os.path.basename(path), at)), None)
            if pattern is not None:
                if named:
                    sources.problems.append(Problem(path, f"left out by the pattern {pattern}", incomplete=True))
                continue
            if named and not path.endswith(_AUDITED):
                sources.problems.append(Problem(path, "neither a Go nor a Python file", incomplete=True))
                continue
            _read(path, path if named else os.path.relpath(path, given), sources, tests=tests, named=named)
    return sources


def listed(paths: Iterable[str]) -> Iterator[str]:
    """Yield the files below some paths that an audit may read, in a stable order."""
    for given in paths:
        if os.path.lexists(given):
            yield from _walk(given, [])


def _walk(given: str, problems: list[Problem]) -> Iterator[str]:
    """Yield files below a path in a stable order.

    Links are followed only to places inside the path, and each real directory once: a link that leaves the tree could
    make an audit of one checkout read, and print, files of the machine it runs on.
    """
    if not os.path.isdir(given):
        yield os.path.normpath(given)
        return
    root = os.path.realpath(given)
    seen: set[tuple[int, int]] = set()
    stack = [os.path.normpath(given)]
    while stack:
        directory = stack.pop()
        try:
            status = os.stat(directory)
            entries = sorted(os.scandir(directory), key=lambda entry: entry.name)
        except OSError as error:
            problems.append(Problem(directory, _said(error), incomplete=True))
            continue
        if (status.st_dev, status.st_ino) in seen:
            continue
        seen.add((status.st_dev, status.st_ino))
        below: list[str] = []
        for entry in entries:
            try:
                if entry.is_symlink() and not _within(root, entry.path):
                    continue
                if entry.is_dir():
                    if entry.name not in _SKIPPED_DIRECTORIES:
                        below.append(os.path.normpath(entry.path))
                elif entry.name.endswith(_AUDITED):
                    yield os.path.normpath(entry.path)
            except OSError as error:
                problems.append(Problem(os.path.normpath(entry.path), _said(error), incomplete=True))
        stack.extend(reversed(below))


def _within(root: str, path: str) -> bool:
    real = os.path.realpath(path)
    return real == root or real.startswith(root + os.sep)


def _read(path: str, relative: str, sources: Sources, *, tests: bool, named: bool) -> None:
    role = Role.PRODUCTION if named else role_of(relative)
    if role is Role.TEST and not tests:
        return
    manifest = path.endswith((".yaml", ".yml"))
    if manifest and "crd" not in path.lower():
        return
    try:
        if not os.path.isfile(path):
            if not os.path.islink(path):
                sources.problems.append(Problem(path, "not a regular file", incomplete=named))
            return
        if os.path.islink(path) and os.path.realpath(path) in sources.real:
            return
        sources.real.add(os.path.realpath(path))
        size = os.path.getsize(path)
        if size > MAX_BYTES:
            if not manifest:
                said = f"{size / 1e6:.0f} MB is more than the {MAX_BYTES / 1e6:.0f} MB that are read; skipped"
                sources.problems.append(Problem(path, said, incomplete=not _is_generated(path)))
            return
        content = Path(path).read_bytes()
    except OSError as error:
        sources.problems.append(Problem(path, _said(error), incomplete=not manifest))
        return
    if manifest:
        if b"CustomResourceDefinition" in content:
            sources.manifests.note(path)
        return
    if b"\x00" in content[:8000]:
        sources.problems.append(Problem(path, "binary content, not source code; skipped", incomplete=True))
        return
    if role is Role.PRODUCTION and path.endswith(".go") and not named:
        head = content[:4000]
        if _TEST_TAG.search(head.split(b"\npackage ", 1)[0]) or _IMPORTS_TESTING.search(head):
            role = Role.TEST
            if not tests:
                return
        elif _GENERATED.search(head):
            role = Role.GENERATED
    sources.lines += content.count(b"\n")
    sources.roles[path] = role
    (sources.go if path.endswith(".go") else sources.python).note(path)


def _is_generated(path: str) -> bool:
    with open(path, "rb") as file:
        return _GENERATED.search(file.read(4000)) is not None


def role_of(path: str) -> Role:
    """Tell test code from production code by where it lies.

    >>> role_of("pkg/test/expectations.go").value, role_of("pkg/status.go").value
    ('test', 'production')
    """
    parts = path.replace("\\", "/").split("/")
    if _TEST_FILE.search(parts[-1]) or any(_TEST_DIRECTORY.match(part) for part in parts[:-1]):
        return Role.TEST
    if parts[-1].startswith("zz_generated"):
        return Role.GENERATED
    return Role.PRODUCTION


def _said(error: OSError) -> str:
    return (error.strerror or type(error).__name__).lower()
