"""The command ``kontend``: finds the subcommand, hands it the arguments and reports its errors.

Only the module of the subcommand that was asked for is imported, so that each starts fast. argparse, because it is in
the standard library and starts in milliseconds.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import Final, NamedTuple

from kontend.cli.command import ExitCode, UsageError, visible, write


class Command(NamedTuple):
    """A subcommand: its module, its function, and a summary for the help."""

    module: str
    function: str
    summary: str


#: The commands, by what people want to do.
GROUPS: Final = {
    "Check a controller": {
        "init": Command("kontend.cli.init", "run", "write a first scenario and a test for a controller file"),
        "explore": Command(
            "kontend.cli.exploring.explore", "run", "check controllers against every order, every lag and faults"
        ),
        "fix": Command("kontend.cli.fix", "run", "find changes of the code that repair violations, and verify them"),
        "live": Command("kontend.cli.live.explore", "run", "explore an unmodified controller in any language"),
        "campaign": Command("kontend.cli.campaign", "run", "run many explorations side by side"),
    },
    "Understand what was found": {
        "inspect": Command("kontend.cli.traces.inspect", "run", "answer questions about a counterexample"),
        "replay": Command("kontend.cli.traces.replay", "run", "replay a counterexample"),
        "report": Command("kontend.cli.traces.report", "run", "turn counterexamples into a report"),
    },
    "Check source code and clusters": {
        "audit": Command("kontend.cli.auditing.audit", "run", "find unsafe status and metadata writes in controllers"),
        "rule": Command("kontend.cli.auditing.rule", "run", "explain a rule of the auditor"),
        "race": Command("kontend.cli.race", "run", "find races in the audit log of a cluster"),
    },
    "Run": {
        "serve": Command(
            "kontend.cli.serving.serve", "run", "serve the Kubernetes API from one process, for any client"
        ),
        "run": Command("kontend.cli.run", "run", "run the controllers of a Python file against a cluster"),
        "envtest": Command(
            "kontend.cli.serving.envtest", "run", "print KUBEBUILDER_ASSETS for controller-runtime's envtest"
        ),
    },
    "Learn and set up": {
        "help": Command("kontend.cli.manual", "run", "show a page of the manual"),
        "zoo": Command("kontend.cli.zoo", "run", "explore a collection of real bugs and their fixed twins"),
        "import": Command("kontend.cli.import_kamera", "run", "translate input files of other tools into scenarios"),
        "completion": Command("kontend.cli.completion", "run", "print completions for bash, zsh or fish"),
    },
}
COMMANDS: Final = {name: command for commands in GROUPS.values() for name, command in commands.items()}


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``kontend`` with the given arguments, or with those of the process, and return the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if not arguments or arguments[0] in ("-h", "--help") or arguments == ["help"]:
        write(_help())
        return ExitCode.OK if arguments else ExitCode.ERROR
    name, *rest = arguments
    if name in ("-V", "--version", "version"):
        write(f"kontend {_version()}\n")
        return ExitCode.OK
    command = COMMANDS.get(name)
    if command is None:
        sys.stderr.write(f"kontend: {_unknown(name)}\n")
        return ExitCode.ERROR
    return _run(name, command, rest)


def _run(name: str, command: Command, arguments: Sequence[str]) -> int:
    try:
        run: Callable[[Sequence[str]], int] = getattr(import_module(command.module), command.function)
        return run(arguments)
    except UsageError as error:
        sys.stderr.write(visible(f"kontend {name}: {error}\n"))
        return ExitCode.ERROR
    except SystemExit as stop:  # argparse, after --help
        return stop.code if isinstance(stop.code, int) else ExitCode.OK if stop.code is None else ExitCode.ERROR
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except Exception as error:
        # Python itself would exit with 1, which means that the command found something.
        traceback.print_exc()
        sys.stderr.write(visible(f"kontend {name}: internal error: {type(error).__name__}: {error}\n"))
        return ExitCode.ERROR


def _help() -> str:
    lines = ["kontend finds, explains and prevents concurrency bugs in Kubernetes controllers, without a cluster."]
    for title, commands in GROUPS.items():
        lines += ["", f"{title}:", *(f"  kontend {name:<10} {command.summary}" for name, command in commands.items())]
    lines += [
        "",
        "'kontend COMMAND --help' lists the options of a command, 'kontend help topics' the pages of the manual.",
    ]
    return "\n".join([*lines, "The place to start: 'kontend help tutorial'.", ""])


def _unknown(name: str) -> str:
    close = get_close_matches(name, COMMANDS, n=1)
    hint = f"Did you mean kontend {close[0]}?" if close else f"The commands are: {', '.join(COMMANDS)}."
    kind = "option" if name.startswith("-") else "command"
    return f"no {kind} {name!r}. {hint}"


def _version() -> str:
    from importlib import metadata  # it needs the parser of e-mails, and thirty modules more

    try:
        return metadata.version("kontend")
    except metadata.PackageNotFoundError:
        return "(not installed)"
