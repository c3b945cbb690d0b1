"""``kontend report FILE...``: traces as bug reports."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kontend.cli.command import ExitCode, Parser, UsageError, usage_errors, write
from kontend.report.archive import BadTrace, read_archive
from kontend.report.markdown import markdown
from kontend.safe_files import write_whole


def run(argv: Sequence[str]) -> int:
    """Run ``kontend report``."""
    parser = Parser(
        prog="kontend report",
        description="Turn traces into a report. Nothing is run.",
        epilog="Exit codes: 0 written, 2 usage error.",
    )
    add = parser.add_argument
    add("files", nargs="+", metavar="FILE", type=Path, help="a file that kontend explore has written")
    add("--markdown", action="store_true", help="write a bug report for an issue tracker to the standard output")
    add("--output", "-o", type=Path, metavar="PATH", help="write to this file instead")
    options = parser.parse_args(list(argv))
    if not options.markdown:
        raise UsageError("say in which form: --markdown")
    with usage_errors(BadTrace):
        text = "\n".join(markdown(read_archive(path), archive=path.name) for path in options.files)
    if options.output is None:
        write(text)
        return ExitCode.OK
    try:
        write_whole(options.output, text)
    except OSError as error:
        raise UsageError(f"{options.output}: {error.strerror}") from error
    return ExitCode.OK
