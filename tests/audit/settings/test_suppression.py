"""Suppressions, baselines and diffs: what is not reported again."""

from __future__ import annotations

import subprocess
from pathlib import Path

from audit.conftest import GO_HEAD, Auditor
from kontend.audit.auditor import audit
from kontend.audit.settings.baseline import write_baseline
from kontend.audit.settings.config import Settings

WRITE = """
func (r *Reconciler) f(ctx context.Context, w *v1.Widget) error {{
    base := client.MergeFrom(w.DeepCopy())
    w.Status.Phase = "Ready"
    {above}
    return r.Status().Patch(ctx, w, base) {beside}
}}
"""


def rules(audited: Auditor, *, above: str = "", beside: str = "") -> list[str]:
    return [finding.rule for finding in audited({"a.go": WRITE.format(above=above, beside=beside)}).findings]


def test_a_suppression_with_a_reason_suppresses(audited: Auditor) -> None:
    assert rules(audited, beside="// kontend: ignore[status-patch-without-lock] -- only writer") == []
    assert rules(audited, above="// kontend: ignore[KA001] -- only writer") == []


def test_a_suppression_without_a_reason_does_not_count_and_is_reported(audited: Auditor) -> None:
    reported = rules(audited, beside="// kontend: ignore[status-patch-without-lock]")
    assert sorted(reported) == ["status-patch-without-lock", "suppression-without-reason"]


def test_an_unused_suppression_is_reported(audited: Auditor) -> None:
    reported = rules(audited, beside="// kontend: ignore[base-after-mutation] -- because")
    assert sorted(reported) == ["status-patch-without-lock", "unused-suppression"]


def test_a_suppression_of_an_unknown_rule_is_reported(audited: Auditor) -> None:
    assert "unused-suppression" in rules(audited, beside="// kontend: ignore[no-such-rule] -- because")


def test_the_mark_in_a_string_is_no_suppression(audited: Auditor) -> None:
    assert rules(audited, above='_ = "// kontend: ignore[status-patch-without-lock] -- x"') == [
        "status-patch-without-lock"
    ]


def test_python_comments_suppress_too(audited: Auditor) -> None:
    report = audited(
        {
            "a.py": """
            import kubernetes
            def f(api):
                obj = api.get_namespaced_custom_object("g", "v", "n", "p", "x")
                # kontend: ignore[status-read-modify-write-unguarded] -- a migration, run once
                api.patch_namespaced_custom_object_status("g", "v", "n", "p", "x", {"status": obj["status"]})
            """
        }
    )
    assert (report.findings, report.suppressed) == ([], 1)


def test_a_baseline_hides_what_was_there_even_when_lines_move(audited: Auditor, tmp_path: Path) -> None:
    old = audited({"a.go": WRITE.format(above="", beside="")})
    write_baseline(str(tmp_path / "base.json"), old.findings)
    moved = (
        GO_HEAD
        + "\n// a comment\n\n"
        + WRITE.format(above="", beside="")
        + WRITE.format(above="", beside="").replace("f(", "g(")
    )
    Path("a.go").write_text(moved)
    report = audit(["."], Settings(), baseline=str(tmp_path / "base.json"))
    assert ([finding.function for finding in report.findings], report.known) == (["Reconciler.g"], 1)


def test_a_diff_reports_only_what_stands_on_changed_lines(audited: Auditor) -> None:
    audited({"a.go": WRITE.format(above="", beside="")})
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com"]
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-qm", "start"]):
        subprocess.run([*git, *arguments], check=True)
    assert audit(["."], Settings(), diff="HEAD").findings == []
    with Path("a.go").open("a") as file:
        file.write(WRITE.format(above="", beside="").replace("f(", "g("))
    assert [finding.function for finding in audit(["."], Settings(), diff="HEAD").findings] == ["Reconciler.g"]
