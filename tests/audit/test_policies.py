"""The same sites under different policies and settings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from audit.conftest import Auditor
from kontend.audit.finding import Severity
from kontend.audit.rules import RULES, page
from kontend.audit.settings.config import ConfigError, Settings, discover
from kontend.audit.settings.policy import POLICIES

SOURCE = {
    "widget/a.go": """
    func (r *Reconciler) patch(ctx context.Context, w *v1.Widget) error {
        base := client.MergeFrom(w.DeepCopy())
        w.Status.Phase = "Ready"
        return r.Status().Patch(ctx, w, base)
    }
    func (r *Reconciler) put(ctx context.Context, w *v1.Widget) error {
        w.Status.Phase = "Ready"
        return r.Status().Update(ctx, w)
    }
    func (r *Reconciler) finalizer(ctx context.Context, w *v1.Widget) error {
        controllerutil.AddFinalizer(w, "x")
        return r.Update(ctx, w)
    }
    """
}


@pytest.mark.parametrize(
    ("policy", "errors"),
    [
        ("default", []),
        ("strict", ["status-patch-without-lock"]),
        ("disjoint", ["status-full-update", "metadata-full-update"]),
    ],
)
def test_two_good_projects_disagree_about_the_same_code(audited: Auditor, policy: str, errors: list[str]) -> None:
    report = audited(SOURCE, replace(Settings(), policy=POLICIES[policy]))
    assert [finding.rule for finding in report.findings if finding.severity is Severity.ERROR] == errors


def test_declared_owners_may_patch_without_a_lock_and_others_may_not(audited: Auditor) -> None:
    policy = replace(POLICIES["disjoint"], owners={"Widget": ("widget/*",)})
    assert "status-of-another-controller" not in {
        finding.rule for finding in audited(SOURCE, Settings(policy=policy)).findings
    }
    policy = replace(POLICIES["disjoint"], owners={"Widget": ("elsewhere/*",)})
    assert "status-of-another-controller" in {
        finding.rule for finding in audited(SOURCE, Settings(policy=policy)).findings
    }


def test_settings_may_differ_by_path(tmp_path: Path) -> None:
    tmp_path.joinpath("pyproject.toml").write_text(
        """
        [tool.kontend.audit]
        policy = "strict"
        [[tool.kontend.audit.paths]]
        path = "legacy/*"
        policy = "disjoint"
        severity = { "status-full-update" = "warning" }
        """
    )
    settings = discover(str(tmp_path))
    assert settings.for_path(str(tmp_path / "a.go")).name == "strict"
    legacy = settings.for_path(str(tmp_path / "legacy" / "a.go"))
    assert (legacy.name, legacy.severity("status-full-update")) == ("disjoint", Severity.WARNING)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[audit]\npolicy = 'loose'", "there is no policy 'loose'"),
        ("[audit]\npolcy = 'strict'", "unknown setting polcy"),
        ("[audit]\nignore = ['nothing']", "there is no rule 'nothing'"),
        ("[audit", "not valid TOML"),
    ],
)
def test_a_wrong_setting_is_named_with_its_file(tmp_path: Path, text: str, said: str) -> None:
    tmp_path.joinpath(".kontend.toml").write_text(text)
    with pytest.raises(ConfigError, match=r"\.kontend\.toml.*") as caught:
        discover(str(tmp_path))
    assert said in str(caught.value)


@pytest.mark.parametrize("name", list(RULES))
def test_every_rule_has_a_page_with_its_parts(name: str) -> None:
    text = page(RULES[name])
    for part in (
        f"# {name}",
        RULES[name].code,
        "## What it does",
        "interleaving",
        "## Example",
        "## Use instead",
        "## References",
    ):
        assert part in text


def test_the_documentation_lists_every_rule() -> None:
    index = Path(__file__).parents[2].joinpath("docs", "rules", "README.md").read_text()
    for rule in RULES.values():
        assert f"| {rule.code} | [{rule.name}]" in index
        assert rule.summary in index
