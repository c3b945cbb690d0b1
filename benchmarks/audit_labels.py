"""Print the precision and recall of `kontend audit` on the labelled set in tests/audit/labels."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from benchmarks.audit_scoring import materialise, score, score_directory
from kontend.audit.finding import Severity

LABELS = Path(__file__).parent.parent / "tests" / "audit" / "labels"


def main() -> int:
    """Score the labelled set; exit 1 when a severity is below 95% either way."""
    with tempfile.TemporaryDirectory() as scratch:
        labels, report = score_directory(materialise(LABELS, Path(scratch, "labelled")))
        print(f"{len(labels)} labelled sites, {len(report.sites)} classified")
        enough = True
        for severity in Severity:
            result = score(labels, report, severity)
            print(
                f"{severity.value}: precision {result.precision:.1%}, recall {result.recall:.1%} "
                f"({len(result.found)} found, {len(result.missed)} missed, {len(result.wrong)} wrong)"
            )
            for label in result.missed:
                print(f"  missed  {Path(label.path).name}:{label.line} {label.rule}")
            for finding in result.wrong:
                print(f"  wrong   {Path(finding.path).name}:{finding.line} {finding.rule}")
            enough = enough and min(result.precision, result.recall) >= 0.95
    return 0 if enough else 1


if __name__ == "__main__":
    sys.exit(main())
