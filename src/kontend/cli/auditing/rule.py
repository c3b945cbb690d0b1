"""``kontend rule``: the page of a rule of the auditor, or the list of them."""

from __future__ import annotations

from collections.abc import Sequence

from kontend.audit.rules import RULES, UnknownRule, find_rule, page
from kontend.cli.command import ExitCode, Parser, UsageError, usage_errors, write


def parser() -> Parser:
    """Return the parser of the options."""
    made = Parser(
        prog="kontend rule",
        description="Explain a rule of the auditor.",
        examples={"one rule": "kontend rule KA001", "their list": "kontend rule --all"},
        topic="audit",
    )
    made.add_argument("name", nargs="?", metavar="NAME", help="name or code of a rule")
    made.add_argument("--all", action="store_true", help="list every rule")
    return made


def run(argv: Sequence[str]) -> int:
    """Run ``kontend rule`` and return the exit code."""
    options = parser().parse_args(list(argv))
    if options.all:
        for rule in RULES.values():
            severity = rule.severity.value if rule.severity else "by policy"
            write(f"{rule.code}  {rule.name:<38} {severity:<10} {rule.summary}\n")
        return ExitCode.OK
    if not options.name:
        raise UsageError("name a rule, or list them with --all")
    with usage_errors(UnknownRule):
        write(page(find_rule(options.name)))
    return ExitCode.OK
