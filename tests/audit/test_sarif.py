"""SARIF 2.1.0: the parts of the schema that code scanning relies on, and fingerprints that do not move."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from audit.conftest import Auditor
from kontend.audit.auditor import audit
from kontend.audit.output.data import sarif
from kontend.audit.settings.config import Settings

from .test_policies import SOURCE

LEVELS = {"none", "note", "warning", "error"}


def check(document: Any) -> None:
    """Check the properties that the schema requires of the objects used here, and their types."""
    assert document["version"] == "2.1.0"
    assert document["$schema"].endswith("sarif-2.1.0.json")
    for run in document["runs"]:
        driver = run["tool"]["driver"]
        assert driver["name"]
        assert re.match(r"^\d+\.\d+\.\d+", driver["semanticVersion"])
        ids = [rule["id"] for rule in driver["rules"]]
        assert len(ids) == len(set(ids))
        for rule in driver["rules"]:
            assert rule["shortDescription"]["text"]
            assert rule["defaultConfiguration"]["level"] in LEVELS
        for invocation in run["invocations"]:
            assert isinstance(invocation["executionSuccessful"], bool)
        for result in run["results"]:
            assert result["message"]["text"]
            assert result["level"] in LEVELS
            assert ids[result["ruleIndex"]] == result["ruleId"]
            assert all(isinstance(value, str) for value in result["partialFingerprints"].values())
            for location in result["locations"]:
                place = location["physicalLocation"]
                assert not place["artifactLocation"]["uri"].startswith(("/", "./"))
                assert 1 <= place["region"]["startLine"] <= place["region"]["endLine"]


def test_sarif_has_the_shape_of_2_1_0(audited: Auditor) -> None:
    check(json.loads(sarif(audited({**SOURCE, "broken.py": "import kopf\ndef f(:"}))))
    check(json.loads(sarif(audited({}, head=False))))


def test_fingerprints_stay_when_lines_move_and_differ_between_equals(audited: Auditor) -> None:
    def prints() -> set[str]:
        findings = audit(["."], Settings()).findings
        return {finding.fingerprint for finding in findings}

    audited(SOURCE)
    before = prints()
    path = Path("widget/a.go")
    path.write_text(path.read_text().replace("type Reconciler", "// one\n// two\n\ntype Reconciler"))
    assert prints() == before
    body = path.read_text()
    path.write_text(
        body.replace(
            "return r.Status().Patch(ctx, w, base)",
            "_ = 1\n_ = r.Status().Patch(ctx, w, base)\nreturn r.Status().Patch(ctx, w, base)",
        )
    )
    fingerprints = [finding.fingerprint for finding in audit(["."], Settings()).findings]
    assert len(fingerprints) == len(set(fingerprints))
