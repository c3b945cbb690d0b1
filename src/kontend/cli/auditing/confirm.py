"""``kontend audit --confirm``: the explorer reproduces what the auditor found.

The auditor reads code and never runs it. With ``--confirm`` the files with findings that define controllers on our
runtime are imported and explored; a finding is confirmed when the write on its lines lost an update in some state. For
Go the pattern of the write is explored instead, see :mod:`kontend.cli.auditing.patterns`.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from kontend.audit.finding import Finding, Severity
from kontend.audit.report import Report
from kontend.cli.auditing.patterns import pattern_of, trace_of
from kontend.explore.explain.explanation import Origin, explained
from kontend.explore.model.model import Model
from kontend.explore.problems import BadScenario
from kontend.explore.program.determinism import Nondeterminism
from kontend.explore.restarts import restarted
from kontend.explore.scenario_files import scenarios_in
from kontend.explore.search.breadth_first import BreadthFirst
from kontend.explore.verdict import Violation
from kontend.kube.errors import ApiError
from kontend.report.saving import save
from kontend.runtime.controller import BadController
from kontend.runtime.source_location import SourceLocation


def confirm(report: Report, *, failures: Path = Path("failures")) -> list[Finding]:
    """Mark the findings that the explorer can reproduce, each with the file that replays it or the pattern's trace."""
    sites = {(site.place.path, site.place.line): site for site in reversed(report.sites)}
    replays: dict[str, dict[SourceLocation, Path]] = {}
    marked = []
    for finding in report.findings:
        if finding.path.endswith(".py"):
            if finding.path not in replays:
                replays[finding.path] = _explored(Path(finding.path), failures)
            for (_, line), file in replays[finding.path].items():
                if finding.line <= line <= max(finding.end_line, finding.line):
                    # A loss that was run outweighs what the code alone could tell.
                    finding = replace(finding, confirmed=str(file), severity=Severity.ERROR)
                    break
        site = sites.get((finding.path, finding.line))
        pattern = pattern_of(finding, site) if site is not None else None
        if pattern is not None:
            finding = replace(finding, trace=trace_of(pattern))
        marked.append(finding)
    return marked


def _explored(path: Path, failures: Path) -> dict[SourceLocation, Path]:
    """Return the lines of a file that can lose an update, and the counterexample for each."""
    paths: dict[SourceLocation, Path] = {}
    if b"kontend" not in path.read_bytes():
        return paths
    source = path.resolve()
    try:
        for name, scenario in scenarios_in(source).items():
            for location, violation in restarted(scenario, _losses).items():
                if Path(location.file).resolve() == source:
                    document = explained(scenario, violation, Origin(source, name))
                    paths[location] = save(failures, document)
    except (BadScenario, BadController, Nondeterminism, ApiError) as error:
        sys.stderr.write(f"kontend audit: {path} was not explored: {error}\n")
    return paths


def _losses(model: Model) -> dict[SourceLocation, Violation]:
    search = BreadthFirst(model)
    search.run()
    return search.losses
