"""Runs a command with files where a pod has them, such as those of a service account, in a mount namespace of its own.

Run as a file: ``python pod_files.py SOURCE=PATH ... -- COMMAND [ARGUMENT ...]``. Each SOURCE is a directory, shown at a
PATH; mount points are made beside it. The machine itself is not changed: directories that it does not have are made
in a copy of their parent, which shows the parent's own entries, and only the command sees that copy. A plain symbolic
link to the files was rejected: two runs at the same time have different tokens, and it would outlive ``kill -9``.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

#: Where every client library looks.
SERVICE_ACCOUNT: Final = "/var/run/secrets/kubernetes.io/serviceaccount"
_CLONE_NEWNS: Final = 0x00020000
_CLONE_NEWUSER: Final = 0x10000000
_BIND: Final = 0x1000 | 0x4000
_PRIVATE: Final = (1 << 18) | 0x4000
_FAILED: Final = 125


def launcher(shown: Mapping[str, Path]) -> tuple[str, ...]:
    """Return what starts a command that sees directories at paths; empty if there are none."""
    mounts = [f"{source}={at}" for at, source in shown.items()]
    return (sys.executable, "-I", "-S", __file__, *mounts, "--") if mounts else ()


def enter() -> None:
    """Enter a mount namespace; without privileges in a user namespace of its own, as the same user."""
    user, group = os.geteuid(), os.getegid()
    _call("unshare", _CLONE_NEWNS | (_CLONE_NEWUSER if user else 0))
    if user:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    _call("mount", b"none", b"/", None, _PRIVATE, None)


def show(source: Path, at: Path) -> None:
    """Show a directory at a path."""
    at = at.resolve()
    if at.is_dir():
        _bind(source, at)
        return
    parent = next(each for each in at.parents if each.is_dir())
    copy = Path(f"{source}-parent")
    (copy / at.relative_to(parent)).mkdir(parents=True)
    _bind(source, copy / at.relative_to(parent))
    for entry in parent.iterdir():
        shown = copy / entry.name
        if entry.is_symlink():
            shown.symlink_to(entry.readlink())
            continue
        if entry.is_dir():
            shown.mkdir()
        else:
            shown.touch()
        _bind(entry, shown)
    _bind(copy, parent)


def _bind(source: Path, target: Path) -> None:
    _call("mount", os.fsencode(source), os.fsencode(target), None, _BIND, None)


def _call(function: str, *arguments: object) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    if getattr(library, function)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{function}: {os.strerror(number)}")


def main() -> None:
    """Show the files and become the command."""
    end = sys.argv.index("--")
    shown, command = sys.argv[1:end], sys.argv[end + 1 :]
    at = ""
    try:
        enter()
        for each in shown:
            source, _, at = each.partition("=")
            show(Path(source), Path(at))
    except (OSError, AttributeError) as error:
        sys.stderr.write(f"kontend live: cannot show files at {at or SERVICE_ACCOUNT}: {error}\n")
        sys.exit(_FAILED)
    try:
        os.execvp(command[0], command)
    except OSError as error:
        sys.stderr.write(f"kontend live: {command[0]}: {error.strerror}\n")
        sys.exit(_FAILED)


if __name__ == "__main__":
    main()
