"""Formats for programs: json, SARIF 2.1.0, GitHub workflow commands, GitLab code quality, JUnit XML."""

from __future__ import annotations

import json
from dataclasses import asdict
from importlib import metadata
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from kontend.audit.finding import Finding, Severity
from kontend.audit.output.verdict import Verdicts, counts
from kontend.audit.report import Report
from kontend.audit.rules import RULES, Rule
from kontend.audit.site import Site

_GROUPS = ("place", "resource", "content", "route", "runner", "making")
SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


def as_json(report: Report) -> str:
    """Return sites, findings, problems and counts as one JSON document."""
    verdicts = Verdicts(report)
    document = {
        "version": 1,
        "policy": report.policy,
        "files": report.files,
        "lines": report.lines,
        "counts": counts(report),
        "findings": [asdict(finding) for finding in report.findings],
        "sites": [_site(verdicts, site) for site in report.sites],
        "problems": [asdict(problem) for problem in report.problems],
        "suppressed": report.suppressed,
        "notes": list(report.notes),
    }
    return json.dumps(document, indent=1, default=str) + "\n"


def _site(verdicts: Verdicts, site: Site) -> dict[str, Any]:
    said, reason = verdicts.of(site)
    # One flat object for each site: `jq '.sites[] | select(.path == …)'` should not have to know how sites are grouped.
    described: dict[str, Any] = {}
    for name, value in asdict(site).items():
        described |= value if name in _GROUPS else {name: value}
    return {**described, "verdict": said, "reason": reason}


def sarif(report: Report) -> str:
    """Return SARIF 2.1.0 for code scanning: repository-relative paths, stable fingerprints, a level on rule and
    result."""
    used = sorted({finding.rule for finding in report.findings})
    index = {name: position for position, name in enumerate(used)}
    run = {
        "tool": {
            "driver": {
                "name": "kontend audit",
                "semanticVersion": _version(),
                "rules": [_rule(RULES[name]) for name in used],
            }
        },
        "columnKind": "unicodeCodePoints",
        "invocations": [
            {
                "executionSuccessful": not any(problem.incomplete for problem in report.problems),
                "toolExecutionNotifications": [
                    {"level": "warning", "message": {"text": said}}
                    for said in (*map(str, report.problems), *report.notes)
                ],
            }
        ],
        "results": [_result(finding, index) for finding in report.findings],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1) + "\n"


def _version() -> str:
    try:
        return metadata.version("kontend")
    except metadata.PackageNotFoundError:
        return "0.0.0"


def _rule(rule: Rule) -> dict[str, Any]:
    level = _LEVELS[rule.severity or Severity.WARNING]
    return {
        "id": rule.name,
        "name": "".join(part.capitalize() for part in rule.name.split("-")),
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": rule.summary},
        "help": {
            "text": f"kontend rule {rule.name}",
            "markdown": f"Run `kontend rule {rule.name}` for the whole page.",
        },
        "defaultConfiguration": {"level": level},
        "properties": {
            "tags": ["kubernetes", "concurrency"],
            "precision": {"high": "high", "medium": "medium", "low": "low"}[rule.confidence.value],
        },
    }


def _result(finding: Finding, index: dict[str, int]) -> dict[str, Any]:
    region = {"startLine": finding.line, "endLine": max(finding.line, finding.end_line)}
    message = " ".join(part for part in (finding.message, finding.fix) if part)
    return {
        "ruleId": finding.rule,
        "ruleIndex": index[finding.rule],
        "level": _LEVELS[finding.severity],
        "message": {"text": message},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": _uri(finding.path), "uriBaseId": "%SRCROOT%"},
                    "region": region,
                },
                "logicalLocations": [{"name": finding.function or "module", "kind": "function"}],
            }
        ],
        "relatedLocations": [
            {
                "id": number,
                "message": {"text": place.note},
                "physicalLocation": {
                    "artifactLocation": {"uri": _uri(place.path), "uriBaseId": "%SRCROOT%"},
                    "region": {"startLine": place.line},
                },
            }
            for number, place in enumerate(finding.related, 1)
        ],
        "partialFingerprints": {"primaryLocationLineHash": finding.fingerprint, "kontend/v1": finding.fingerprint},
    }


def _uri(path: str) -> str:
    from urllib.parse import quote

    return quote(Path(path).as_posix().removeprefix("./"))


def github(report: Report, *, show: Severity) -> str:
    """Return workflow commands, for repositories without code scanning."""
    names = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}
    lines = []
    for finding in report.findings:
        if finding.severity.rank >= show.rank:
            body = " ".join(part for part in (finding.message, finding.fix) if part)
            lines.append(
                f"::{names[finding.severity]} file={_property(finding.path)},"
                f"line={finding.line},endLine={max(finding.line, finding.end_line)},"
                f"title={_property(finding.rule)}::{_data(body)}"
            )
    lines += [f"::warning title=kontend audit::{_data(str(problem))}" for problem in report.problems]
    return "".join(line + "\n" for line in lines)


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


_GITLAB = {Severity.ERROR: "critical", Severity.WARNING: "major", Severity.INFO: "info"}


def gitlab(report: Report, *, show: Severity) -> str:
    """Return a code-quality report, which GitLab shows in the changes of a merge request."""
    entries = [
        {
            "description": finding.message,
            "check_name": finding.rule,
            "fingerprint": finding.fingerprint,
            "severity": _GITLAB[finding.severity],
            "location": {"path": Path(finding.path).as_posix(), "lines": {"begin": finding.line}},
        }
        for finding in report.findings
        if finding.severity.rank >= show.rank
    ]
    return json.dumps(entries, indent=1) + "\n"


def junit(report: Report, *, show: Severity) -> str:
    """Return JUnit XML: one case a write site, failing where a finding stands."""
    shown = [finding for finding in report.findings if finding.severity.rank >= show.rank]
    sites = {(site.place.path, site.place.line): site for site in report.sites}
    places = sorted(set(sites) | {(finding.path, finding.line) for finding in shown})
    failing = {(finding.path, finding.line) for finding in shown}
    suite = ElementTree.Element(
        "testsuite",
        name="kontend audit",
        tests=str(len(places)),
        failures=str(len(failing)),
        errors=str(len(report.problems)),
    )
    for place in places:
        site = sites.get(place)
        name = f"{place[0]}:{place[1]}" + (f" {site.verb.value} {'/'.join(site.content.targets)}" if site else "")
        case = ElementTree.SubElement(suite, "testcase", classname=place[0], name=name)
        for finding in shown:
            if (finding.path, finding.line) == place:
                failure = ElementTree.SubElement(
                    case, "failure", type=finding.rule, message=_printable(finding.message)
                )
                failure.text = _printable(finding.fix)
    for problem in report.problems:
        case = ElementTree.SubElement(suite, "testcase", classname=_printable(problem.path), name="readable")
        ElementTree.SubElement(case, "error", message=_printable(problem.reason))
    ElementTree.indent(suite)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(suite, encoding="unicode") + "\n"


def _printable(text: str) -> str:
    return "".join(char for char in text if char >= " " or char == "\n")
