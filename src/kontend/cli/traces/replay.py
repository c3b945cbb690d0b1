"""``kontend replay FILE``: runs a counterexample again, on any machine that has the scenario."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from kontend.cli.command import ExitCode, Parser, UsageError, columns, usage_errors, write
from kontend.explore.problems import BadScenario
from kontend.explore.program.determinism import Nondeterminism
from kontend.explore.replay.files import locate, replay_document
from kontend.explore.sources.content import content_of
from kontend.kube.errors import ApiError
from kontend.report.archive import BadTrace, read_archive
from kontend.report.text import render
from kontend.runtime.controller import BadController

#: The key of a trace's bounds that says that it comes from kontend live.
LIVE: Final = "live"
#: The same for kontend race.
RACE: Final = "race"
_ERRORS: Final = (BadScenario, BadController, BadTrace, Nondeterminism, ApiError)


def parser() -> Parser:
    """Return the parser of the options."""
    made = Parser(
        prog="kontend replay",
        description="Replay a counterexample. This runs the Python file that it names.",
        examples={
            "does it still happen": "kontend replay failures/lost_update.zip",
            "in another file": "kontend replay failures/lost_update.zip --file fixed.py",
        },
        topic="traces",
        epilog="Exit codes: 0 it does not happen any more, 1 it happens again, 2 usage error, 3 undecided.",
    )
    add = made.add_argument
    add("trace", metavar="FILE", type=Path, help="a file that kontend explore has written")
    add("--file", metavar="PY", type=Path, help="the Python file with the scenario (default: the one that is named)")
    add("--verbose", "-v", action="store_true", help="show every step and every field")
    add("--yes", action="store_true", help="run a Python file outside the current directory")
    return made


def run(argv: Sequence[str]) -> int:
    """Run ``kontend replay``."""
    options = parser().parse_args(list(argv))
    with usage_errors(*_ERRORS):
        document = read_archive(options.trace)
        if RACE in document.bounds:
            log = document.source.scenario or "an audit log"
            raise UsageError(f"{options.trace}: recorded in {log}: there is nothing to run; see kontend inspect")
        if LIVE in document.bounds:
            from kontend.cli.live.replay import replay  # only such traces need it

            return replay(document, options.trace, yes=options.yes)
        source = locate(document, options.trace, options.file)
        confirm(source, yes=options.yes or options.file is not None)
        result = replay_document(options.trace, document, source)
    name = document.violation.property
    if result.reproduced:
        for violation, again in zip(result.verdict.violations, result.verdict.documents, strict=True):
            if violation.property == name:
                write(render(again, verbose=options.verbose, width=columns()) + "\n")
        changed = f" (not quite as recorded: {result.changed})" if result.changed else ""
        write(f"reproduced: {name}{changed}\n")
        return ExitCode.FINDINGS
    if result.undecided:
        write(f"undecided: {result.why}\n")
        return ExitCode.UNDECIDED
    write(f"not reproduced: {result.why}\n")
    return ExitCode.OK


def confirm(source: Path, *, yes: bool) -> None:
    """Show which Python file a counterexample runs, and ask before one from elsewhere is run."""
    try:
        digest = hashlib.sha256(content_of(source)).hexdigest()
    except OSError as error:
        raise UsageError(f"{source}: {error.strerror}; the counterexample names this file") from error
    sys.stderr.write(f"kontend replay: runs {source} (sha256 {digest[:16]})\n")
    if yes or source.resolve().is_relative_to(Path.cwd().resolve()):
        return
    if not sys.stdin.isatty():
        raise UsageError(f"{source} is outside the current directory; read it, then run it with --yes")
    sys.stderr.write("It is outside the current directory. Run it? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise UsageError("not replayed")
