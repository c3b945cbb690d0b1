"""Findings for editors: ranges in UTF-16 units, and quick fixes that do what --fix does."""

from __future__ import annotations

from pathlib import Path

from audit.conftest import GO_HEAD, Auditor
from kontend.audit.output.editor import QuickFix, Span, quick_fixes, span_of
from kontend.audit.output.fix import fixed
from kontend.audit.report import Report

_MARK = """func (r *Reconciler) mark(ctx context.Context, w *v1.Widget) error {
\tif err := r.Get(ctx, client.ObjectKeyFromObject(w), w); err != nil {
\t\treturn err
\t}
\t/* ü𝄞 */ base := client.MergeFrom(w.DeepCopy())
\tw.Status.Restarts++
\treturn r.Status().Patch(ctx, w, base)
}
"""


def _applied(text: str, fix: QuickFix) -> str:
    """Apply a fix as an editor does: by lines and UTF-16 units, from the end."""
    lines = text.split("\n")
    for replacement in reversed(fix.replacements):
        at = replacement.span
        assert at.line == at.end_line
        units = lines[at.line].encode("utf-16-le")
        new = units[: 2 * at.column] + replacement.text.encode("utf-16-le") + units[2 * at.end_column :]
        lines[at.line] = new.decode("utf-16-le")
    return "\n".join(lines)


def _audited(audited: Auditor) -> tuple[Report, str]:
    source = GO_HEAD + _MARK
    return audited({"a.go": source}, head=False), source


def test_a_quick_fix_does_what_fix_does_behind_characters_of_two_units(audited: Auditor) -> None:
    report, source = _audited(audited)
    (finding,) = report.findings
    fix, _ = quick_fixes(report, finding)
    assert fix.preferred
    assert _applied(source, fix).encode() == fixed(report)["a.go"]


def test_a_suppression_is_written_above_the_write_with_its_indentation(audited: Auditor) -> None:
    report, source = _audited(audited)
    (finding,) = report.findings
    *_, suppress = quick_fixes(report, finding)
    Path("a.go").write_text(_applied(source, suppress), "utf-8")
    lines = Path("a.go").read_text("utf-8").split("\n")
    assert lines[finding.line - 1] == "\t// kontend: ignore[status-patch-without-lock] -- REASON"
    assert lines[finding.line].strip() == "return r.Status().Patch(ctx, w, base)"


def test_a_finding_spans_its_lines_without_the_indentation(audited: Auditor) -> None:
    report, source = _audited(audited)
    (finding,) = report.findings
    line = source.split("\n")[finding.line - 1]
    assert span_of(finding, source.encode()) == Span(finding.line - 1, 1, finding.line - 1, len(line))
