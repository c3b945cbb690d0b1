"""The audited tree as it was at a git revision, for `--diff`.

A checkout can be hostile: its configuration may name commands for hooks, fsmonitor, filters, external diffs and
transports. So git is asked only for objects (`rev-parse`, `ls-tree`, `cat-file`, `diff-tree`), none of which run hooks
or filters, with every such setting switched off all the same, and nothing is fetched.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

_SAFE = (
    *("-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}", "-c", "diff.external="),
    *("-c", "core.attributesFile=", "-c", "protocol.allow=never", "-c", "credential.helper=", "-c", "core.sshCommand="),
    *("-c", "core.alternateRefsCommand=", "-c", "core.pager=cat", "--no-pager", "--literal-pathspecs"),
)
_ENVIRONMENT = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_ATTR_NOSYSTEM": "1",
}
_MAX_BYTES = 5_000_000
_LINK = "120000"


class DiffError(Exception):
    """Git could not compare; the message holds its answer."""


@dataclass(frozen=True, slots=True)
class Revision:
    """A commit of the repository around the audited paths."""

    top: str
    commit: str
    renames: dict[str, str] = field(default_factory=dict)

    @staticmethod
    def resolve(name: str, near: str) -> Revision:
        """Find the commit that a name means; a name that means none is an error before anything is read."""
        directory = near if Path(near).is_dir() else str(Path(near).parent)
        top = _git(directory, "rev-parse", "--show-toplevel").strip()
        try:
            commit = _git(top, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}").strip()
        except DiffError as error:
            raise DiffError(f"--diff {name}: there is no such revision in {top}") from error
        return Revision(os.path.realpath(top), commit, _renames(top, commit))

    @contextmanager
    def checked_out(self, paths: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
        """Write the files that the auditor reads to a directory, and yield it with the audited paths inside it."""
        with TemporaryDirectory(prefix="kontend-audit-") as scratch:
            root = os.path.realpath(scratch)
            self._write(root)
            wanted = [os.path.normpath(os.path.join(root, self.relative(path))) for path in paths]
            yield root, [path for path in wanted if os.path.lexists(path)]

    def _write(self, root: str) -> None:
        listed = _git_bytes(self.top, "ls-tree", "-r", "-z", "--full-tree", self.commit).split(b"\0")
        entries = []
        for line in filter(None, listed):
            meta, _, name = line.partition(b"\t")
            mode, kind, oid = meta.decode().split()
            path = PurePosixPath(name.decode("utf-8", "surrogateescape"))
            if kind == "blob" and mode != _LINK and _wanted(path) and ".." not in path.parts and not path.is_absolute():
                entries.append((oid, path))
        answer = _git_bytes(self.top, "cat-file", "--batch", given="".join(f"{oid}\n" for oid, _ in entries).encode())
        at = 0
        for _, path in entries:
            head, _, _ = answer[at : at + 200].partition(b"\n")
            at += len(head) + 1
            parts = head.split()
            if len(parts) < 3:
                continue  # not in this clone
            size = int(parts[2])
            content = answer[at : at + size]
            at += size + 1
            if size <= _MAX_BYTES:
                target = Path(root, *path.parts)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)

    def relative(self, path: str) -> str:
        """Return a path of the working tree relative to the repository."""
        return os.path.relpath(os.path.realpath(path), self.top)

    def renamed(self, path: str) -> str:
        """Return the present name of a file of the revision."""
        return self.renames.get(path, path)


def _wanted(path: PurePosixPath) -> bool:
    if path.suffix in (".go", ".py") or path.name == "go.mod":
        return True
    return path.suffix in (".yaml", ".yml") and "crd" in str(path).lower()


def _renames(top: str, commit: str) -> dict[str, str]:
    try:
        listed = _git_bytes(
            top, "diff-tree", "-r", "-z", "-M", "--diff-filter=R", "--name-status", "--no-ext-diff", "--no-textconv",
            commit, "HEAD",
        )  # fmt: skip
    except DiffError:  # a repository without commits has no HEAD
        return {}
    parts = [part.decode("utf-8", "surrogateescape") for part in listed.split(b"\0")]
    return {parts[at + 1]: parts[at + 2] for at in range(0, len(parts) - 2, 3)}


def _git(directory: str, *arguments: str) -> str:
    return _git_bytes(directory, *arguments).decode("utf-8", "surrogateescape")


def _git_bytes(directory: str, *arguments: str, given: bytes = b"") -> bytes:
    environment = {
        name: value for name, value in os.environ.items() if name not in ("GIT_EXTERNAL_DIFF", "GIT_PAGER")
    } | _ENVIRONMENT
    try:
        done = subprocess.run(
            ["git", *_SAFE, *arguments],
            cwd=directory,
            input=given,
            capture_output=True,
            check=False,
            env=environment,
        )
    except OSError as error:
        raise DiffError(f"git could not be run in {directory}: {error.strerror or error}; --diff needs git") from error
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise DiffError(f"git {arguments[0]} in {directory}: {said[-1] if said else 'failed'}")
    return done.stdout
