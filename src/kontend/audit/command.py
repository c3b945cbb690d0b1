"""The commands `kontend audit` and `kontend rule`, as plain functions over arguments.

Results go to stdout, progress to stderr and only on a terminal. Exit code 0 means nothing at or above `--fail-on`, 1
means findings, 2 wrong use. `kontend.cli` mounts these.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from kontend.audit import rules
from kontend.audit.auditor import Report, audit
from kontend.audit.finding import Finding, Severity
from kontend.audit.output import data, text
from kontend.audit.settings.baseline import BaselineError, write_baseline
from kontend.audit.settings.config import ConfigError, Settings, discover, load
from kontend.audit.settings.policy import POLICIES
from kontend.audit.sources.git import DiffError

FORMATS = ("text", "json", "sarif", "github", "junit", "markdown")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="kontend audit",
        description="Find unsafe status and metadata writes in Go and Python controllers.",
        epilog="Suppress one with `// kontend: ignore[rule] -- reason`. `kontend rule NAME` explains a rule.",
    )
    parser.add_argument(
        "paths", nargs="*", default=["."], metavar="PATH", help="files or directories (default: the current one)"
    )
    parser.add_argument(
        "--table", action="store_true", help="print every write site with its verdict, as a reviewer would"
    )
    parser.add_argument(
        "--policy", choices=sorted(POLICIES), help="what counts as wrong (default: the settings, else 'default')"
    )
    parser.add_argument("--output-format", choices=FORMATS, default="text", help="default: text")
    parser.add_argument("--output-file", metavar="FILE", help="write there instead of stdout")
    parser.add_argument("--baseline", metavar="FILE", help="do not report what is in this file")
    parser.add_argument("--write-baseline", metavar="FILE", help="write what is found to FILE and exit 0")
    parser.add_argument(
        "--diff", metavar="REV", help="report only what stands on lines that differ from this git revision"
    )
    parser.add_argument(
        "--config", metavar="FILE", help="settings to use instead of the nearest pyproject.toml or .kontend.toml"
    )
    parser.add_argument(
        "--show", choices=[each.value for each in Severity], help="lowest severity to print (default: warning)"
    )
    parser.add_argument(
        "--fail-on",
        choices=[*(each.value for each in Severity), "never"],
        help="lowest severity that exits 1 (default: error)",
    )
    parser.add_argument("--include-tests", action="store_true", help="audit test code too")
    parser.add_argument("--include-generated", action="store_true", help="audit generated code too")
    parser.add_argument("--exclude", action="append", default=[], metavar="PATTERN", help="leave out paths that match")
    parser.add_argument(
        "--confirm",
        action="store_true",
        help="explore Python controllers written on kontend's runtime and mark the findings that are reproduced "
        "(this runs their code)",
    )
    return parser


#: Tries to reproduce findings; the auditor itself only reads code, so whoever mounts the command brings this.
Confirm = Callable[[list[Finding]], list[Finding]]


def run(argv: Sequence[str], confirm: Confirm | None = None) -> int:
    """Run `kontend audit` and return its exit code."""
    parser = _parser()
    try:
        options = parser.parse_args(list(argv))
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 2
    if options.confirm and confirm is None:
        return _wrong("--confirm needs the explorer; run it as `kontend audit --confirm`.")
    missing = [path for path in options.paths if not os.path.lexists(path)]
    if missing:
        return _wrong(f"{missing[0]}: no such file or directory.")
    try:
        settings = _settings(options)
        baseline = options.baseline or _beside(settings)
        report = audit(options.paths, settings, baseline=baseline, diff=options.diff, tell=_progress())
        _clear()
        if options.confirm and confirm is not None:
            report = replace(report, findings=confirm(report.findings))
        if options.write_baseline:
            count = write_baseline(options.write_baseline, report.findings)
            _print(f"{count} findings written to {options.write_baseline}.\n", None)
            return 0
        _print(_render(report, settings, options), options.output_file)
    except (ConfigError, BaselineError, DiffError) as error:
        _clear()
        return _wrong(str(error))
    except OSError as error:
        return _wrong(f"{error.filename or options.output_file}: {error.strerror or error}")
    failing = settings.fail_on is not None and any(
        each.severity.rank >= settings.fail_on.rank for each in report.findings
    )
    return 1 if failing else 0


def _settings(options: argparse.Namespace) -> Settings:
    settings = load(Path(options.config)) if options.config else discover(options.paths[0])
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
    )


def _beside(settings: Settings) -> str | None:
    return str(Path(settings.root, settings.baseline)) if settings.baseline else None


def _render(report: Report, settings: Settings, options: argparse.Namespace) -> str:
    if options.table and options.output_format == "text":
        return text.table(report)
    if options.output_format == "json":
        return data.as_json(report)
    if options.output_format == "sarif":
        return data.sarif(report)
    if options.output_format == "github":
        return data.github(report, show=settings.show)
    if options.output_format == "junit":
        return data.junit(report, show=settings.show)
    if options.output_format == "markdown":
        return text.markdown(report, show=settings.show)
    colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR") and not options.output_file
    return text.text(report, show=settings.show, colour=colour)


def _print(content: str, path: str | None) -> None:
    if path:
        Path(path).write_text(content, "utf-8")
        return
    try:
        sys.stdout.write(content)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _progress() -> Callable[[str], None]:
    if not sys.stderr.isatty():
        return lambda _: None
    count = 0

    def tell(path: str) -> None:
        nonlocal count
        count += 1
        if count % 20 == 1:
            sys.stderr.write(f"\r\x1b[K{count} files, {path[-60:]}")
            sys.stderr.flush()

    return tell


def _clear() -> None:
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[K")


def _wrong(message: str) -> int:
    sys.stderr.write(f"kontend audit: {message}\n")
    return 2


def rule(argv: Sequence[str]) -> int:
    """Run `kontend rule NAME`: print the page of a rule, or the list of them."""
    parser = argparse.ArgumentParser(prog="kontend rule", description="Explain a rule of the auditor.")
    parser.add_argument("name", nargs="?", metavar="NAME", help="a rule's name or code")
    parser.add_argument("--all", action="store_true", help="list every rule")
    try:
        options = parser.parse_args(list(argv))
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 2
    if options.all or not options.name:
        for each in rules.RULES.values():
            severity = each.severity.value if each.severity else "by policy"
            _print(f"{each.code}  {each.name:<38} {severity:<10} {each.summary}\n", None)
        return 0 if options.all else 2
    try:
        _print(rules.page(rules.find_rule(options.name)), None)
    except rules.UnknownRule as error:
        sys.stderr.write(f"kontend rule: {error}\n")
        return 2
    return 0
