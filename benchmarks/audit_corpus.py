"""Audit checkouts of public operators and compare with what reviewers found there by hand.

Give a directory that holds checkouts by name; those that are missing are skipped. Nothing is fetched.

    python benchmarks/audit_corpus.py CHECKOUTS
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from kontend.audit.auditor import audit
from kontend.audit.finding import Severity
from kontend.audit.output.verdict import counts
from kontend.audit.report import Report
from kontend.audit.settings.config import Settings
from kontend.audit.settings.policy import POLICIES


@dataclass(frozen=True, slots=True)
class Expectation:
    """A sentence about a checkout and how to check it."""

    checkout: str
    paths: tuple[str, ...]
    policy: str
    says: str
    holds: Callable[[Report], bool]


def _errors(report: Report) -> set[tuple[str, int]]:
    return {(finding.path, finding.line) for finding in report.findings if finding.severity is Severity.ERROR}


def _rules(report: Report, rule: str) -> set[tuple[str, int]]:
    """Return the lines that findings of a rule are about, callers and other writers included."""
    findings = [finding for finding in report.findings if finding.rule == rule]
    lines = {(finding.path, finding.line) for finding in findings}
    return lines | {(place.path, place.line) for finding in findings for place in finding.places}


def _status(report: Report, **wanted: int) -> bool:
    severities = counts(report)
    return all(severities[key.replace("_", " ")] == value for key, value in wanted.items())


_SND = "internal/controller/nodedeployment"
_THV = ("cmd/thv-operator", "pkg/vmcp/status", "pkg/container/kubernetes", "pkg/operator")

EXPECTATIONS = (
    Expectation(
        "sei-5dba22d",
        ("internal",),
        "default",
        "36 writes, 5 of status: 3 locked, 2 not",
        lambda r: _status(r, status=5, locked=3, unlocked=2, other=31) and len(r.sites) == 36,
    ),
    Expectation(
        "sei-5dba22d",
        ("internal",),
        "strict",
        "exactly the two violations",
        lambda r: _errors(r) == {(f"{_SND}/controller.go", 151), ("internal/task/deployment_switch.go", 50)},
    ),
    Expectation(
        "sei-5dba22d",
        ("internal",),
        "default",
        "three array hazards",
        lambda r: (
            _rules(r, "finalizer-patch-without-lock") | _rules(r, "owner-reference-patch-without-lock")
            == {(f"{_SND}/controller.go", 141), (f"{_SND}/controller.go", 182), (f"{_SND}/networking.go", 436)}
        ),
    ),
    Expectation(
        "sei-a80d53d", ("internal",), "default", "no violation", lambda r: not _errors(r) and _status(r, locked=5)
    ),
    Expectation(
        "sei-k8s-controller",
        ("internal", "sdk"),
        "strict",
        "9 status patches, all locked",
        lambda r: _status(r, status=9, locked=9) and not _errors(r),
    ),
    Expectation(
        "toolhive",
        _THV,
        "strict",
        "98 full updates, 21 unlocked patches",
        lambda r: _status(r, status=100, versioned=98) and len(_rules(r, "status-patch-without-lock")) == 21,
    ),
    Expectation(
        "toolhive",
        _THV,
        "disjoint",
        "98 and 10 full updates refused, patches allowed",
        lambda r: (
            len(_rules(r, "status-full-update")) == 98
            and len(_rules(r, "metadata-full-update")) == 10
            and not _rules(r, "status-patch-without-lock")
        ),
    ),
    Expectation(
        "toolhive",
        _THV,
        "default",
        "20 and 11 calls of the two helpers",
        lambda r: (
            [sum(site.route.via == name for site in r.sites) for name in ("MutateAndPatchStatus", "MutateAndPatchSpec")]
            == [20, 11]
        ),
    ),
    Expectation(
        "karpenter",
        ("pkg",),
        "default",
        "the three unlocked patches",
        lambda r: (
            {
                ("pkg/controllers/disruption/queue.go", 280),
                ("pkg/controllers/nodeclaim/podevents/controller.go", 93),
                ("pkg/controllers/nodepool/counter/controller.go", 92),
            }
            <= _rules(r, "status-patch-without-lock")
        ),
    ),
    Expectation(
        "kserve",
        ("pkg",),
        "default",
        "two blind overwrites",
        lambda r: len(_rules(r, "conflict-retry-blind-overwrite")) == 2,
    ),
    Expectation(
        "mysql-operator",
        (".",),
        "default",
        "_set_status_field is the only error",
        lambda r: {Path(path).name for path, _ in _errors(r)} == {"cluster_api.py"} and len(_errors(r)) == 1,
    ),
    Expectation(
        "dask-kubernetes",
        (".",),
        "default",
        "two writers of status.phase",
        lambda r: {400, 423} <= {line for _, line in _rules(r, "multi-writer-status-field")},
    ),
    Expectation(
        "adaptdl",
        ("sched",),
        "default",
        "two processes write status.allocation",
        lambda r: (
            {Path(path).name for path, _ in _rules(r, "multi-writer-status-field")} == {"allocator.py", "controller.py"}
        ),
    ),
    *(
        Expectation(name, (".",), "default", "no error", lambda r: not _errors(r))
        for name in (
            "cert-manager",
            "prometheus-operator",
            "cluster-api",
            "pkg",
            "kustomize-controller",
            "cluster-api-addon-provider",
            "azimuth-capi-operator",
            "azimuth-caas-operator",
            "rockoon",
            "dask-gateway",
            "rook",
        )
    ),
)


def main(arguments: list[str]) -> int:
    """Check every expectation whose checkout is there."""
    if len(arguments) != 1:
        print(__doc__)
        return 2
    root = Path(arguments[0]).resolve()
    failed = 0
    for expectation in EXPECTATIONS:
        place = root / expectation.checkout
        if not place.is_dir():
            print(f"skip  {expectation.checkout}: no checkout")
            continue
        os.chdir(place)
        began = time.perf_counter()
        report = audit(
            [path for path in expectation.paths if Path(path).exists()],
            replace(Settings(), policy=POLICIES[expectation.policy]),
        )
        good = expectation.holds(report)
        failed += not good
        print(
            f"{'ok  ' if good else 'FAIL'}  {expectation.checkout} ({expectation.policy}): {expectation.says}  "
            f"[{time.perf_counter() - began:.1f} s]"
        )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
