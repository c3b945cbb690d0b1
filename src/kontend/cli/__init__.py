"""The command ``kontend``: finds the subcommand and hands it the arguments.

A subcommand is a module with a function that takes the arguments and returns the exit code: 0 for success, 1 when it
found or met something, 2 for wrong use. Only the one that is asked for is imported, so that each starts fast. argparse,
because it is there and starts in milliseconds.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib import import_module, metadata
from typing import Final, NamedTuple


class Command(NamedTuple):
    """One subcommand: where it is, and what it does in a few words."""

    module: str
    function: str
    summary: str


COMMANDS: Final = {
    "serve": Command("kontend.cli.serve", "run", "a Kubernetes API server in one process, for any client"),
    "run": Command("kontend.runtime.command", "run", "run the controllers of a Python file against a cluster"),
    "explore": Command("kontend.explore.command", "run", "check controllers against every order and every lag"),
    "replay": Command("kontend.explore.command", "replay", "run a counterexample again"),
    "audit": Command("kontend.cli.audit", "run", "find unsafe status and metadata writes in controllers"),
    "rule": Command("kontend.audit.command", "rule", "explain a rule of the auditor"),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``kontend`` with the given arguments, or with those of the process."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        sys.stdout.write(_help())
        return 0 if arguments else 2
    name, *rest = arguments
    if name in ("-V", "--version", "version"):
        sys.stdout.write(f"kontend {_version()}\n")
        return 0
    command = COMMANDS.get(name)
    if command is None:
        sys.stderr.write(f"kontend: {_unknown(name)}\n")
        return 2
    run: Callable[[Sequence[str]], int] = getattr(import_module(command.module), command.function)
    try:
        return run(rest)
    except KeyboardInterrupt:
        return 130


def _help() -> str:
    lines = ["kontend finds, explains and prevents concurrency bugs in Kubernetes controllers, without a cluster.", ""]
    lines += [f"  kontend {name:<8} {command.summary}" for name, command in COMMANDS.items()]
    return "\n".join([*lines, "", "kontend COMMAND --help says more; kontend --version says which this is.", ""])


def _unknown(name: str) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name, COMMANDS, n=1)
    hint = f"Did you mean kontend {close[0]}?" if close else f"There are: {', '.join(COMMANDS)}."
    kind = "option" if name.startswith("-") else "command"
    return f"no {kind} {name!r}. {hint}"


def _version() -> str:
    try:
        return metadata.version("kontend")
    except metadata.PackageNotFoundError:
        return "(not installed)"
