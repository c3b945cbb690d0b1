"""Formats: each a function from a `Report` to text."""

from __future__ import annotations

from kontend.audit.finding import Severity
from kontend.audit.output import data, text
from kontend.audit.report import Report

FORMATS = ("text", "json", "sarif", "github", "gitlab", "junit", "markdown")


def render(name: str, report: Report, *, show: Severity, colour: bool = False, brief: bool = False) -> str:
    """Return a report in one of the formats."""
    if name == "json":
        return data.as_json(report)
    if name == "sarif":
        return data.sarif(report)
    if name == "github":
        return data.github(report, show=show)
    if name == "gitlab":
        return data.gitlab(report, show=show)
    if name == "junit":
        return data.junit(report, show=show)
    if name == "markdown":
        return text.markdown(report, show=show)
    return text.text(report, show=show, colour=colour, brief=brief)
