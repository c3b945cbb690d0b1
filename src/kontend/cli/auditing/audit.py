"""``kontend audit``: arguments, exit code and printing of the auditor.

Results go to standard output, progress to standard error and only on a terminal.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from kontend.audit.auditor import at_least, audit
from kontend.audit.finding import Severity
from kontend.audit.output import FORMATS, render
from kontend.audit.output.fix import fixed, unified_diff
from kontend.audit.output.text import statistics, table
from kontend.audit.report import Report
from kontend.audit.rules import UnknownRule, find_rule
from kontend.audit.settings.baseline import BaselineError, write_baseline
from kontend.audit.settings.config import ConfigError, Settings, discover, load
from kontend.audit.settings.policy import POLICIES
from kontend.audit.sources.git import DiffError
from kontend.cli.command import ExitCode, Parser, UsageError, usage_errors, write


def parser() -> Parser:
    """Return the parser of the options."""
    made = Parser(
        prog="kontend audit",
        description="Find unsafe status and metadata writes in Go and Python controllers.",
        examples={
            "this directory": "kontend audit",
            "what a branch adds": "kontend audit --diff origin/main",
            "for GitHub's code scanning": "kontend audit --output-format sarif --output-file audit.sarif",
        },
        topic="audit",
        epilog="Suppress a finding with `// kontend: ignore[rule] -- reason`. `kontend rule NAME` explains a rule. "
        "Exit code: 0 nothing at or above --fail-on, 1 findings, 2 wrong use or a file that could not be audited.",
    )
    levels = [severity.value for severity in Severity]
    made.add_argument("paths", nargs="*", default=["."], metavar="PATH", help="files or directories (default: .)")
    _selection(made, levels)
    output = made.add_argument_group("output")
    output.add_argument("--output-format", choices=FORMATS, default="text", help="default: text")
    output.add_argument("--output-file", metavar="FILE", help="write to FILE instead of standard output")
    output.add_argument("--table", action="store_true", help="print every write site with its verdict")
    output.add_argument("--statistics", action="store_true", help="print the number of findings of each rule")
    output.add_argument("--brief", action="store_true", help="leave out code frames, interleavings and diffs")
    output.add_argument("--fail-on", choices=[*levels, "never"], help="lowest severity that exits 1 (default: error)")
    action = made.add_argument_group("actions")
    action.add_argument("--fix", action="store_true", help="show the diff of the safe fixes and apply them")
    action.add_argument(
        "--verify",
        action="store_true",
        help="with --fix: explore the fixes where a scenario or a Go test makes the call",
    )
    action.add_argument(
        "--confirm",
        action="store_true",
        help="reproduce findings in the explorer: controllers on kontend's runtime by running them, Go patches by "
        "running the same pattern",
    )
    action.add_argument("--watch", action="store_true", help="audit again whenever a file changes, until Ctrl-C")
    action.add_argument(
        "--lsp", action="store_true", help="serve an editor on standard input and output (pip install 'kontend[lsp]')"
    )
    action.add_argument("--write-baseline", metavar="FILE", help="write the findings to FILE and exit 0")
    return made


def _selection(parser: argparse.ArgumentParser, levels: list[str]) -> None:
    choice = parser.add_argument_group("selection")
    choice.add_argument("--policy", choices=sorted(POLICIES), help="rules about locks to follow (default: default)")
    choice.add_argument("--select", action="append", default=[], metavar="RULES", help="only these rules (repeatable)")
    choice.add_argument(
        "--ignore", action="append", default=[], metavar="RULES", help="without these rules (repeatable)"
    )
    choice.add_argument(
        "--severity", "--show", dest="show", choices=levels, help="lowest severity to print (default: warning)"
    )
    choice.add_argument("--baseline", metavar="FILE", help="leave out the findings in FILE")
    choice.add_argument("--diff", metavar="REV", help="report only what the tree did not have at this git revision")
    choice.add_argument("--exclude", action="append", default=[], metavar="PATTERN", help="skip paths (repeatable)")
    choice.add_argument("--include-tests", action="store_true", help="audit test code too")
    choice.add_argument("--include-generated", action="store_true", help="audit generated code too")
    choice.add_argument("--allow-unparsable", action="store_true", help="exit 0 or 1 although a file was not audited")
    source = choice.add_mutually_exclusive_group()
    source.add_argument("--config", metavar="FILE", help="settings to use instead of the nearest settings file")
    source.add_argument("--isolated", action="store_true", help="use no settings file")


def run(argv: Sequence[str]) -> int:
    """Run ``kontend audit`` and return the exit code."""
    options = parser().parse_args(list(argv))
    missing = [path for path in options.paths if not os.path.lexists(path)]
    if missing:
        raise UsageError(f"{missing[0]}: no such file or directory")
    if options.verify and not options.fix:
        raise UsageError("--verify goes with --fix: it explores fixes before they are written")
    with usage_errors(ConfigError, BaselineError, DiffError, UnknownRule):
        settings = _settings(options)
        baseline = options.baseline or _beside(settings)
        if options.lsp or options.watch:
            return _stay(options, settings, baseline)
        progress = _Progress()
        report = audit(options.paths, settings, baseline=baseline, diff=options.diff, progress=progress)
        progress.clear()
        if options.confirm:
            from kontend.cli.auditing.confirm import confirm

            report = replace(report, findings=confirm(report))
        if options.write_baseline:
            count = write_baseline(options.write_baseline, report.findings)
            write(f"{count} {'finding' if count == 1 else 'findings'} written to {options.write_baseline}.\n")
            return ExitCode.OK
    if options.fix:
        return _fix(report, options)
    _print(_render(report, settings, options), options.output_file)
    return _exit_code(report, settings, options)


def _stay(options: argparse.Namespace, settings: Settings, baseline: str | None) -> int:
    """Audit again and again: for an editor, or after each change."""
    actions = (("--fix", options.fix), ("--confirm", options.confirm), ("--write-baseline", options.write_baseline))
    wrong = next((name for name, given in actions if given), None)
    if wrong is not None or (options.lsp and options.watch):
        raise UsageError(f"{'--lsp' if options.lsp else '--watch'} cannot be combined with {wrong or '--watch'}")

    def once() -> Report:
        return audit(options.paths, settings, baseline=baseline, diff=options.diff)

    if options.lsp:
        from kontend.cli.auditing.language_server import serve

        return serve(once, settings.show)
    from kontend.cli.auditing.watching import watch

    watch(options.paths, lambda: _print(_render(once(), settings, options), options.output_file))
    return ExitCode.OK


def _exit_code(report: Report, settings: Settings, options: argparse.Namespace) -> int:
    incomplete = [problem for problem in report.problems if problem.incomplete]
    if incomplete and not options.allow_unparsable:
        noun = "1 file was" if len(incomplete) == 1 else f"{len(incomplete)} files were"
        sys.stderr.write(
            f"kontend audit: {noun} not audited in full, for example {incomplete[0]}; --allow-unparsable accepts that\n"
        )
        return ExitCode.ERROR
    return ExitCode.FINDINGS if at_least(report.findings, settings.fail_on) else ExitCode.OK


def _fix(report: Report, options: argparse.Namespace) -> int:
    """Show the diff of the safe fixes, then write the files. With ``--verify`` those that break something stay out."""
    changes = fixed(report)
    broken = False
    if options.verify:
        from kontend.cli.auditing.verify import verified

        changes, text, broken = verified(report, changes)
        write(text)
    write(unified_diff(report, changes) or "Nothing can be fixed safely.\n")
    for path, content in changes.items():
        if Path(path).is_symlink():
            raise UsageError(f"{path}: not written, because it is a symbolic link")
        Path(path).write_bytes(content)
    if changes:
        count = len(changes)
        write(f"{count} {'file' if count == 1 else 'files'} changed.\n")
    if broken:
        return ExitCode.FINDINGS
    return ExitCode.OK if options.allow_unparsable or not any(p.incomplete for p in report.problems) else ExitCode.ERROR


def _settings(options: argparse.Namespace) -> Settings:
    if options.isolated:
        settings = Settings()
    else:
        settings = replace(load(Path(options.config)), given=()) if options.config else discover(options.paths[0])
    if options.policy:
        settings = replace(settings, policy=replace(POLICIES[options.policy], owners=settings.policy.owners))
    if options.show:
        settings = replace(settings, show=Severity(options.show))
    if options.fail_on:
        settings = replace(settings, fail_on=None if options.fail_on == "never" else Severity(options.fail_on))
    return replace(
        settings,
        include_tests=settings.include_tests or options.include_tests,
        include_generated=settings.include_generated or options.include_generated,
        exclude=(*settings.exclude, *options.exclude),
        select=_rules(options.select) or settings.select,
        ignore=(*settings.ignore, *_rules(options.ignore)),
    )


def _rules(given: list[str]) -> tuple[str, ...]:
    return tuple(find_rule(name).name for names in given for name in names.split(",") if name.strip())


def _beside(settings: Settings) -> str | None:
    return str(Path(settings.root, settings.baseline)) if settings.baseline else None


def _render(report: Report, settings: Settings, options: argparse.Namespace) -> str:
    if options.output_format == "text":
        if options.table:
            return table(report)
        if options.statistics:
            return statistics(report)
    colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR") and not options.output_file
    return render(options.output_format, report, show=settings.show, colour=colour, brief=options.brief)


def _print(content: str, path: str | None) -> None:
    if path is None:
        write(content)
        return
    try:
        Path(path).write_text(content, "utf-8")
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from error


class _Progress:
    """A line on a terminal that counts files; nothing elsewhere."""

    def __init__(self) -> None:
        self._count = 0
        self._shown: Callable[[], bool] = sys.stderr.isatty

    def __call__(self, path: str) -> None:
        self._count += 1
        if self._count % 20 == 1 and self._shown():
            sys.stderr.write(f"\r\x1b[K{self._count} files, {path[-60:]}")
            sys.stderr.flush()

    def clear(self) -> None:
        """Remove the line."""
        if self._shown():
            sys.stderr.write("\r\x1b[K")
