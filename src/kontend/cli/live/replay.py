"""The command line of ``kontend live`` in a trace, and ``kontend replay`` of such a trace.

Paths are recorded as they were given, so that a trace can be replayed on another machine: they are looked for below the
current directory, the directory of the trace, and all directories above them.
"""

from __future__ import annotations

import os
import shlex
import sys
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from kontend.cli.command import ExitCode, UsageError, usage_errors, write
from kontend.cli.live.options import ERRORS, parser, setting_of, to_the_end
from kontend.live.campaign import Campaign, Options
from kontend.live.gate.plan import plan_of
from kontend.live.verdicts.trace import LIVE
from kontend.report.document import Document

#: Options that are recorded; those that name files or directories.
_PATHS: Final = ("crds", "objects", "actions", "properties", "pod_exec", "directory")
_OTHERS: Final = (
    "env",
    "controllers",
    "pods",
    "patience",
    "limit",
    "observe",
    "ready",
    "in_cluster",
    "webhooks",
    "tls",
)
#: Arguments of the command that name files, relative to its working directory.
_FILES: Final = "files"
#: The commands that run beside it.
_BESIDE: Final = "beside"


def invocation(options: Namespace, command: Sequence[str], beside: Sequence[Sequence[str]] = ()) -> dict[str, Any]:
    """Return the command line as a replay needs it."""
    given = {name: getattr(options, name) for name in (*_PATHS, *_OTHERS)}
    texts = {name: _plain(value) for name, value in given.items() if value}
    files = [
        argument
        for argument in command[1:]
        if not Path(argument).is_absolute() and (options.directory / argument).is_file()
    ]
    others = {_BESIDE: [list(each) for each in beside]} if beside else {}
    return {**texts, "command": list(command), **others, **({_FILES: files} if files else {})}


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, Path) else value


def replay(document: Document, trace: Path, *, yes: bool) -> int:
    """Carry out the plan of a trace again, with the command that it names: for ``kontend replay``."""
    invoked = rooted(document.bounds[LIVE], trace)
    command = [str(argument) for argument in invoked.get("command", ())]
    sys.stderr.write(f"kontend replay: runs {shlex.join(command)}\n")
    if not yes:
        raise UsageError("a trace of kontend live runs a command; read it above, then run it with --yes")
    with usage_errors(*ERRORS):
        plan = plan_of(document.schedule[0] if document.schedule else None)
        beside = [[str(argument) for argument in each] for each in invoked.get(_BESIDE, ())]
        setting = setting_of(parser().parse_args(_arguments(invoked)), command, beside)
        verdict = to_the_end(Campaign(setting, Options(plans=(plan,), confirmations=1)).explore())
    write("".join(f"{line}\n" for line in verdict.lines()))
    name = document.violation.property
    if any(violation.finding.property == name for violation in verdict.violations):
        write(f"reproduced: {name}\n")
        return ExitCode.FINDINGS
    write(f"not reproduced: {name}\n")
    return ExitCode.OK


def rooted(invoked: Mapping[str, Any], trace: Path) -> dict[str, Any]:
    """Return a recorded invocation with its paths as they are on this machine; raises :class:`UsageError`."""
    needed = list(_relative(invoked))
    starts = (Path.cwd(), trace.resolve().parent)
    for root in (directory for start in starts for directory in (start, *start.parents)):
        if all((root / path).exists() for path in needed):
            return _below(root, invoked)
    missing = ", ".join(str(path) for path in needed if not path.exists())
    raise UsageError(f"{trace}: {missing}: neither here nor beside the trace; replay it where kontend live was run")


def _relative(invoked: Mapping[str, Any]) -> Iterator[Path]:
    """Yield the relative paths of an invocation."""
    for name in _PATHS:
        value = invoked.get(name, [])
        yield from (Path(path) for path in (value if isinstance(value, list) else [value]) if not _is_absolute(path))
    command, directory = invoked.get("command") or [""], str(invoked.get("directory", ""))
    if os.sep in command[0] and not _is_absolute(command[0]):
        yield Path(command[0])
    if not _is_absolute(directory):
        yield from (Path(directory, file) for file in invoked.get(_FILES, ()))


def _is_absolute(text: object) -> bool:
    return Path(str(text)).is_absolute()


def _below(root: Path, invoked: Mapping[str, Any]) -> dict[str, Any]:
    resolved = dict(invoked)
    for name in _PATHS:
        value = resolved.get(name, "" if name == "directory" else None)
        if value is not None:
            resolved[name] = [str(root / path) for path in value] if isinstance(value, list) else str(root / value)
    first, *rest = [str(argument) for argument in resolved.get("command") or [""]]
    resolved["command"] = [str(root / first) if os.sep in first else first, *rest]
    return resolved


def _arguments(invoked: Mapping[str, Any]) -> list[str]:
    """Return the options of a recorded invocation as a command line has them."""
    arguments = []
    for name, value in invoked.items():
        if name in ("command", _BESIDE, _FILES):
            continue
        for item in value if isinstance(value, list) else [value]:
            option = f"--{name.replace('_', '-')}"
            arguments += [option] if item is True else [f"{option}={item}"]
    return arguments
