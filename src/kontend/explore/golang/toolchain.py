"""The Go toolchain: where it is, and how its commands are run."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import orjson

from kontend.explore.problems import BadScenario

#: The first version with testing/synctest, in which each reconcile runs.
LEAST_GO: Final = (1, 25)
_INSTALL: Final = "install Go 1.25 or newer (https://go.dev/dl)"
#: The lines of a failed command that a message shows.
_SHOWN: Final = 25


class GoFailed(Exception):
    """A command of Go that has failed, with its output."""


def run_go(arguments: Sequence[str], directory: Path, variables: Mapping[str, str] | None = None) -> str:
    """The standard output of a command of Go. Raises :class:`GoFailed`; :class:`BadScenario` where there is no Go."""
    go = shutil.which("go")
    if go is None:
        raise BadScenario(f"there is no command go: {_INSTALL}")
    # A workspace of the user's would not know our module.
    environment = {**os.environ, "GOWORK": "off", **(variables or {})}
    done = subprocess.run(
        [go, *arguments], cwd=directory, env=environment, capture_output=True, text=True, errors="replace", check=False
    )
    if done.returncode:
        lines = (done.stderr + done.stdout).strip().splitlines()
        more = [f"… and {len(lines) - _SHOWN} lines more"] if len(lines) > _SHOWN else []
        raise GoFailed("\n".join([*lines[:_SHOWN], *more]))
    return done.stdout


def module_file(directory: Path) -> Path:
    """The go.mod of the module that a directory is in. Raises :class:`BadScenario` without one, or for an old Go."""
    try:
        known = orjson.loads(run_go(["env", "-json", "GOMOD", "GOVERSION"], directory))
    except GoFailed as error:
        raise BadScenario(f"go env: {error}") from error
    version = version_in(known["GOVERSION"])
    if version and version[:2] < LEAST_GO:
        raise BadScenario(f"{known['GOVERSION']} is too old to explore Go code: {_INSTALL}")
    if not known["GOMOD"] or known["GOMOD"] == os.devnull:
        raise BadScenario(f"{directory}: there is no go.mod here or above; a Go package is explored within its module")
    return Path(known["GOMOD"])


def requirements(module: Path) -> dict[str, str]:
    """The modules that a go.mod requires, with their versions."""
    written = orjson.loads(run_go(["mod", "edit", "-json", module.name], module.parent))
    return {one["Path"]: one["Version"] for one in written.get("Require") or ()}


def workspace_replacements(directory: Path) -> list[str]:
    """The replacements for a go.mod that do what the workspace (go.work) of a directory does.

    A workspace cannot have another go.mod in the place of one of its own.
    """
    try:
        given = run_go(["env", "GOWORK"], directory, {"GOWORK": os.environ.get("GOWORK", "")}).strip()
        if not given or given == "off":
            return []
        work = Path(given)
        written = orjson.loads(run_go(["work", "edit", "-json", str(work)], directory))
        replaced = [
            f"-replace={_with_version(one['Old'])}={_from(work, one['New'])}" for one in written.get("Replace") or ()
        ]
        for used in written.get("Use") or ():
            module = (work.parent / used["DiskPath"] / "go.mod").resolve()
            path = orjson.loads(run_go(["mod", "edit", "-json", module.name], module.parent))["Module"]["Path"]
            if directory.resolve().is_relative_to(module.parent) and module == module_file(directory):
                continue
            replaced.append(f"-replace={path}={module.parent}")
    except OSError as error:
        raise BadScenario(f"{error.filename}: {error.strerror}, named in the go.work of {directory}") from error
    return replaced


def _with_version(module: Mapping[str, str]) -> str:
    return f"{module['Path']}@{module['Version']}" if module.get("Version") else module["Path"]


def _from(work: Path, module: Mapping[str, str]) -> str:
    """The target of a replacement; a directory is relative to go.work."""
    return _with_version(module) if module.get("Version") else str((work.parent / module["Path"]).resolve())


def version_in(text: str) -> tuple[int, ...]:
    """The numbers of a version; empty for one without.

    >>> version_in("go1.26.8"), version_in("v0.23.3-rc.1"), version_in("devel")
    ((1, 26, 8), (0, 23, 3), ())
    """
    match = re.match(r"(?:go|v)(\d+)\.(\d+)(?:\.(\d+))?", text)
    return tuple(int(number) for number in match.groups("0")) if match else ()
