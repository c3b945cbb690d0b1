"""Text for people: one block a finding, a summary line, and `--table` for the table a reviewer would write by hand."""

from __future__ import annotations

import textwrap
from collections import Counter

from kontend.audit.finding import Finding, Severity
from kontend.audit.output.fix import lines_changed
from kontend.audit.output.frame import frame
from kontend.audit.output.verdict import Verdicts, count, summary
from kontend.audit.report import Report
from kontend.audit.rules import RULES
from kontend.audit.site import Lock, Site

_COLOURS = {Severity.ERROR: "31;1", Severity.WARNING: "33;1", Severity.INFO: "36"}


def text(report: Report, *, show: Severity, colour: bool = False, brief: bool = False) -> str:
    """Return the findings at or above a severity, then problems, then the summary."""
    shown = [finding for finding in report.findings if finding.severity.rank >= show.rank]
    blocks = [_finding(report, finding, colour, brief) for finding in shown]
    blocks += [str(problem) for problem in report.problems]
    blocks += [f"note: {note}" for note in report.notes]
    if not report.files:
        blocks.append("Nothing was found to audit: no Go or Python files.")
        return "\n".join(blocks) + "\n"
    blocks.append(summary(report))
    blocks.append(_tail(report, len(report.findings) - len(shown)))
    return "\n".join(block for block in blocks if block) + "\n"


def _finding(report: Report, finding: Finding, colour: bool, brief: bool) -> str:
    severity = finding.severity.value
    place = f"{finding.path}:{finding.line}"
    if colour:
        severity = f"\x1b[{_COLOURS[finding.severity]}m{severity}\x1b[0m"
        place = f"\x1b[1m{place}\x1b[0m"
    body = " ".join(part for part in (finding.message, finding.fix) if part)
    lines = [f"{place}  {RULES[finding.rule].code} {finding.rule}  {severity}", _wrapped(body, "  ")]
    if finding.confirmed:
        lines.append(f"  Confirmed: kontend replay {finding.confirmed}")
    if not brief:
        lines += [f"  {line}" for line in frame(report, finding)]
        lines += [_wrapped(f"{number}. {step}", "    ") for number, step in enumerate(finding.steps, 1)]
        if finding.trace:
            lines.append(
                "    Confirmed as a pattern: the explorer ran a controller with these reads, this write and this"
            )
            lines += ["    lock beside another writer, and not this code. The shortest trace that loses a write:"]
            lines += [f"      {line}" for line in finding.trace]
        changed = lines_changed(report, finding)
        if changed:
            lines += ["    safe fix (--fix):", *(f"    {line}" for line in changed)]
        lines.append("")
    return "\n".join(lines)


def _wrapped(body: str, indent: str) -> str:
    return textwrap.fill(
        body, 118, initial_indent=indent, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def _tail(report: Report, hidden: int) -> str:
    by = [
        count(sum(finding.severity is severity for finding in report.findings), noun)
        for severity, noun in ((Severity.ERROR, "error"), (Severity.WARNING, "warning"), (Severity.INFO, "note"))
    ]
    parts = [f"{', '.join(by)} in {count(report.files, 'file')} (policy {report.policy})"]
    if hidden:
        parts.append(f"{hidden} below the shown severity (--severity info)")
    for number, said in (
        (report.suppressed, "suppressed"),
        (report.known, "in the baseline"),
        (report.unchanged, "there before the change"),
    ):
        if number:
            parts.append(f"{number} {said}")
    return "; ".join(parts) + "."


def statistics(report: Report) -> str:
    """Return the number of findings of each rule, most first, with the summary."""
    counted = Counter((finding.rule, finding.severity) for finding in report.findings)
    lines = [
        f"{number:>6}  {RULES[rule].code}  {rule:<38} {severity.value}"
        for (rule, severity), number in sorted(counted.items(), key=lambda item: (-item[1], item[0]))
    ]
    return "\n".join([*lines, summary(report), _tail(report, 0)]) + "\n"


_HEAD = ("site", "verb", "writes", "object", "lock", "base", "read", "error", "verdict", "reason")


def rows(report: Report) -> list[tuple[str, ...]]:
    """Return the audit table: every write site, what is written, how, from which base, verdict, reason."""
    verdicts = Verdicts(report)
    return [_row(verdicts, site) for site in report.sites]


def _row(verdicts: Verdicts, site: Site) -> tuple[str, ...]:
    said, reason = verdicts.of(site)
    verb = site.verb.value + (f" via {site.route.via}" if site.route.via else "")
    writes = ", ".join(target.value for target in site.content.targets)
    if site.making.owned_child and not site.status:
        writes = "owned child" if writes == "object" else f"{writes} of owned child"
    return (
        f"{site.place.path}:{site.place.line}",
        verb,
        writes,
        site.resource.kind or site.object[:30],
        site.lock.value if site.lock is not Lock.NONE else "-",
        _base(site),
        site.provenance.value,
        site.error.value,
        said,
        reason,
    )


def _base(site: Site) -> str:
    base = site.base
    if not base.line:
        return base.origin.value if base.origin.value != "none" else "-"
    place = f"{base.path}:{base.line}" if base.path and base.path != site.place.path else f":{base.line}"
    return f"{base.origin.value} {place}"


def table(report: Report) -> str:
    """Return the table in aligned columns, with the summary."""
    lines = [_HEAD, *rows(report)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(_HEAD))]
    shown = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]
    shown += [str(problem) for problem in report.problems]
    return "\n".join([*shown, "", summary(report)]) + "\n"


def markdown(report: Report, *, show: Severity) -> str:
    """Return findings and table as Markdown, for a pull request comment."""
    out = ["# kontend audit", "", summary(report), ""]
    shown = [finding for finding in report.findings if finding.severity.rank >= show.rank]
    if shown:
        out += ["| place | rule | severity | what |", "|---|---|---|---|"]
        out += [
            f"| {finding.path}:{finding.line} | `{finding.rule}` | {finding.severity.value} "
            f"| {_cell(finding.message)} |"
            for finding in shown
        ]
        out.append("")
    out += ["| " + " | ".join(_HEAD) + " |", "|" + "---|" * len(_HEAD)]
    out += ["| " + " | ".join(_cell(cell) for cell in line) + " |" for line in rows(report)]
    out += [f"- {problem}" for problem in report.problems]
    return "\n".join(out) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
