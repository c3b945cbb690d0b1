"""``kontend audit`` and ``kontend rule`` as a user runs them: exit codes, formats, selection, fixes, changes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from xml.etree import ElementTree

import pytest

from kontend.audit.output import FORMATS
from kontend.cli import main
from kontend.cli.auditing.patterns import Pattern, trace_of

_GO = """\
package widget

import (
	"context"

	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	v1 "example.com/widget/api/v1"
)

type Reconciler struct {
	client.Client
}

func (r *Reconciler) patch(ctx context.Context, key client.ObjectKey) error {
	w := &v1.Widget{}
	if err := r.Get(ctx, key, w); err != nil {
		return err
	}
	base := client.MergeFrom(w.DeepCopy())
	w.Status.Restarts++
	return r.Status().Patch(ctx, w, base)
}

func (r *Reconciler) put(ctx context.Context, key client.ObjectKey) error {
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		w := &v1.Widget{}
		if err := r.Get(ctx, key, w); err != nil {
			return err
		}
		w.Status.Phase = "Ready"
		return r.Status().Update(ctx, w)
	})
}

func (r *Reconciler) finalizer(ctx context.Context, w *v1.Widget) error {
	controllerutil.AddFinalizer(w, "x")
	return r.Update(ctx, w)
}
"""
_WRITE = 24
"""The line of the unlocked patch."""


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with one controller that patches without a lock, which is the working directory."""
    (tmp_path / "tree" / "widget").mkdir(parents=True)
    (tmp_path / "tree" / "widget" / "a.go").write_text(_GO)
    monkeypatch.chdir(tmp_path / "tree")
    return tmp_path / "tree"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["."], 1),
        ([".", "--fail-on", "never"], 0),
        (["--help"], 0),
        (["nowhere"], 2),
        (["--policy", "loose", "."], 2),
        (["--baseline", "missing.json", "."], 2),
        (["--select", "nothing", "."], 2),
        (["--config", "missing.toml", "."], 2),
        (["--output-file", "no/such/directory", "."], 2),
    ],
)
def test_the_exit_code_says_whether_there_are_findings_or_wrong_use(
    tree: Path, arguments: list[str], code: int
) -> None:
    assert tree.exists()
    assert main(["audit", *arguments]) == code


def test_messages_name_the_thing_and_the_way_out(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tree.exists()
    main(["audit", "nowhere"])
    main(["audit", "--baseline", "missing.json", "."])
    main(["audit", "--select", "status-lock", "."])
    said = capsys.readouterr().err
    assert "kontend audit: nowhere: no such file or directory" in said
    assert "--write-baseline missing.json" in said
    assert "Did you mean" in said


def test_text_shows_the_code_the_steps_the_fix_and_the_counts(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tree.exists()
    main(["audit", "."])
    out = capsys.readouterr().out
    assert f"widget/a.go:{_WRITE}  KA001 status-patch-without-lock  error" in out
    assert "unlocked; writes status.restarts;" in out
    assert "19 | if err := r.Get(ctx, key, w); err != nil {    <- read" in out
    assert "22 | base := client.MergeFrom(w.DeepCopy())    <- base" in out
    assert f"> {_WRITE:>5} | return r.Status().Patch(ctx, w, base)    <- write" in out
    assert "1. Reconciler.patch reads Widget at :19 at resourceVersion 7." in out
    assert "2. Another writer changes status.restarts of Widget: resourceVersion 8." in out
    assert "+ base := client.MergeFromWithOptions(w.DeepCopy(), client.MergeFromWithOptimisticLock{})" in out
    assert "2 status writes: 1 unlocked, 1 full update, version checked. 1 other write: 1 update." in out
    assert "1 error, 0 warnings, 1 note in 1 file (policy default)" in out
    assert "\x1b" not in out


def test_brief_leaves_out_code_and_steps(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tree.exists()
    main(["audit", "--brief", "."])
    out = capsys.readouterr().out
    assert "KA001" in out
    assert "<- base" not in out
    assert "resourceVersion 7" not in out


def test_select_ignore_and_severity_choose_findings(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tree.exists()
    assert main(["audit", "--select", "KA005", "--severity", "info", "."]) == 0
    assert "conflict-retry-cached-read" in (out := capsys.readouterr().out)
    assert "status-patch-without-lock" not in out
    assert main(["audit", "--ignore", "status-patch-without-lock,KA005", "--severity", "info", "."]) == 0
    assert "0 errors, 0 warnings, 0 notes" in capsys.readouterr().out


def test_statistics_count_findings_by_rule(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tree.exists()
    main(["audit", "--statistics", "."])
    assert "     1  KA001  status-patch-without-lock" in capsys.readouterr().out


def test_the_table_has_a_row_for_every_write(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tree.exists()
    main(["audit", "--table", "."])
    lines = capsys.readouterr().out.splitlines()
    assert sum("widget/a.go:" in line for line in lines) == 3
    assert any("VIOLATION" in line and "local :22" in line for line in lines)


def test_an_empty_tree_says_that_there_is_nothing_to_audit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", str(tmp_path)]) == 0
    assert "Nothing was found to audit" in capsys.readouterr().out


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_prints_to_stdout_or_a_file(tree: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    assert main(["audit", ".", "--output-format", name]) == 1
    printed = capsys.readouterr().out
    assert main(["audit", ".", "--output-format", name, "--output-file", "out"]) == 1
    assert (tree / "out").read_text() == printed
    assert "status-patch-without-lock" in printed


def test_junit_is_xml_with_a_case_for_every_site(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tree.exists()
    main(["audit", ".", "--output-format", "junit"])
    suite = ElementTree.fromstring(capsys.readouterr().out)
    assert (suite.get("tests"), suite.get("failures")) == ("3", "1")


def test_github_commands_are_escaped(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tree.exists()
    main(["audit", ".", "--output-format", "github"])
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith(f"::error file=widget/a.go,line={_WRITE},endLine={_WRITE},title=status-patch-without-lock::")


def test_json_holds_sites_with_verdicts(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tree.exists()
    main(["audit", ".", "--output-format", "json"])
    document = json.loads(capsys.readouterr().out)
    assert [site["verdict"] for site in document["sites"]] == ["VIOLATION", "OK", "OK"]


def test_output_is_byte_identical_over_runs(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tree.exists()
    outputs = set()
    for seed in ("0", "1", "2"):
        program = "import sys; from kontend.cli import main; sys.exit(main(sys.argv[1:]))"
        ran = subprocess.run(
            [sys.executable, "-c", program, "audit", ".", "--output-format", "json"],
            capture_output=True,
            check=False,
            env={**os.environ, "PYTHONHASHSEED": seed},
        )
        outputs.add(ran.stdout)
    assert len(outputs) == 1
    assert capsys.readouterr().err == ""


def test_settings_of_the_audited_tree_are_reported_and_can_be_left_out(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tree / ".kontend.toml").write_text('[audit]\nignore = ["status-patch-without-lock"]\n')
    assert main(["audit", "."]) == 0
    assert "note: settings from .kontend.toml: ignore (--isolated leaves them out)" in capsys.readouterr().out
    assert main(["audit", "--isolated", "."]) == 1


def test_a_file_that_cannot_be_parsed_makes_the_audit_fail_unless_allowed(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tree / "broken.py").write_text("import kopf\ndef f(:\n")
    assert main(["audit", "--fail-on", "never", "."]) == 2
    assert "broken.py: line 2: does not parse as Python" in capsys.readouterr().err
    assert main(["audit", "--fail-on", "never", "--allow-unparsable", "."]) == 0


def test_fix_shows_the_diff_applies_it_and_leaves_nothing_to_find(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["audit", "--fix", "."]) == 0
    out = capsys.readouterr().out
    assert "-\tbase := client.MergeFrom(w.DeepCopy())" in out
    assert "+\tbase := client.MergeFromWithOptions(w.DeepCopy(), client.MergeFromWithOptimisticLock{})" in out
    assert "1 file changed." in out
    assert "MergeFromWithOptimisticLock{})" in (tree / "widget" / "a.go").read_text()
    assert main(["audit", "."]) == 0
    assert main(["audit", "--fix", "."]) == 0
    assert "Nothing can be fixed safely." in capsys.readouterr().out


def test_a_write_whose_error_is_dropped_is_not_fixed(tree: Path) -> None:
    file = tree / "widget" / "a.go"
    before = _GO.replace("return r.Status().Patch(ctx, w, base)", "_ = r.Status().Patch(ctx, w, base)\n\treturn nil")
    file.write_text(before)
    assert main(["audit", "--fix", "."]) == 0
    assert file.read_text() == before


def test_python_bodies_get_the_version_that_was_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "operator.py"
    file.write_text(
        dedent(
            """\
            from kubernetes import client
            api = client.CustomObjectsApi()
            def ready(name):
                obj = api.get_namespaced_custom_object("g", "v1", "ns", "widgets", name)
                obj["status"]["phase"] = "Ready"
                api.patch_namespaced_custom_object_status("g", "v1", "ns", "widgets", name, {"status": obj["status"]})
            """
        )
    )
    assert main(["audit", "."]) == 1
    assert main(["audit", "--fix", "."]) == 0
    assert '{"metadata": {"resourceVersion": obj["metadata"]["resourceVersion"]}, "status": obj["status"]}' in (
        file.read_text()
    )
    assert main(["audit", "."]) == 0


def _git(directory: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.com")
    subprocess.run(["git", *identity, *arguments], cwd=directory, check=True, capture_output=True)


@pytest.fixture
def repository(tree: Path) -> Path:
    """The tree, committed."""
    _git(tree, "init", "-q")
    _git(tree, "add", ".")
    _git(tree, "commit", "-qm", "first")
    return tree


def test_diff_leaves_out_what_was_there_even_when_lines_move(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = repository / "widget" / "a.go"
    file.write_text(_GO.replace("type Reconciler", "// A comment\n// of two lines.\ntype Reconciler"))
    assert main(["audit", "--diff", "HEAD", "."]) == 0
    assert "2 there before the change" in capsys.readouterr().out


def test_diff_reports_what_a_change_causes_on_other_lines(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Moving the read out of the retry makes the write below it wrong, and the write itself has not changed."""
    file = repository / "widget" / "a.go"
    read = "\t\tw := &v1.Widget{}\n\t\tif err := r.Get(ctx, key, w); err != nil {\n\t\t\treturn err\n\t\t}\n"
    retry = "\treturn retry.RetryOnConflict(retry.DefaultRetry, func() error {\n"
    assert read in _GO
    file.write_text(_GO.replace(retry + read, read.replace("\t\t", "\t") + retry))
    assert main(["audit", "--diff", "HEAD", "--brief", "."]) == 1
    out = capsys.readouterr().out
    assert "conflict-retry-stale-object" in out
    assert "status-patch-without-lock" not in out


def test_diff_follows_renamed_files(repository: Path) -> None:
    _git(repository, "mv", "widget/a.go", "widget/b.go")
    _git(repository, "commit", "-qm", "second")
    assert main(["audit", "--diff", "HEAD~1", "."]) == 0


def test_diff_reports_a_bad_revision_before_it_reads_anything(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    os.mkfifo(repository / "widget" / "pipe.go")
    assert main(["audit", "--diff", "no-such-branch", "."]) == 2
    assert "--diff no-such-branch: there is no such revision" in capsys.readouterr().err
    assert main(["audit", "--diff", "--output=x", "."]) == 2


def test_diff_runs_nothing_that_the_repository_configures(repository: Path, tmp_path: Path) -> None:
    """fsmonitor, hooks, filters, external diffs and pagers of a hostile checkout stay unused."""
    ran = tmp_path / "ran"
    command = f"touch {ran}; cat; true"
    script = tmp_path / "evil.sh"
    script.write_text(f"#!/bin/sh\ntouch {ran}\ncat\n")
    script.chmod(0o755)
    hooks = repository / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("post-index-change", "post-checkout", "reference-transaction"):
        (hooks / name).write_text(script.read_text())
        (hooks / name).chmod(0o755)
    for key, value in {
        "core.fsmonitor": str(script),
        "diff.external": str(script),
        "core.pager": command,
        "filter.evil.clean": str(script),
        "filter.evil.smudge": str(script),
        "diff.evil.textconv": str(script),
        "core.sshCommand": str(script),
        "core.alternateRefsCommand": str(script),
        "alias.ls-tree": f"!{script}",
    }.items():
        with (repository / ".git" / "config").open("a") as file:
            section, _, name = key.rpartition(".")
            head = section.split(".", 1)
            title = f'{head[0]} "{head[1]}"' if len(head) > 1 else head[0]
            file.write(f'[{title}]\n\t{name} = "{value}"\n')
    (repository / ".gitattributes").write_text("*.go filter=evil diff=evil\n")
    (repository / "widget" / "a.go").write_text(_GO + "\n// changed\n")
    assert main(["audit", "--diff", "HEAD", "."]) == 0
    assert not ran.exists()


def test_links_out_of_the_tree_are_not_followed(tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.go").write_text(_GO)
    (tree / "linked").symlink_to(outside)
    (tree / "widget" / "linked.go").symlink_to(outside / "secret.go")
    (tree / "inside").symlink_to("widget")
    main(["audit", "--brief", "."])
    out = capsys.readouterr().out
    assert "linked" not in out
    assert out.count("status-patch-without-lock") == 1
    assert "in 1 file " in out


def test_confirm_shows_the_trace_of_a_go_pattern_and_says_that_it_is_the_pattern(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tree.exists()
    assert main(["audit", "--confirm", "."]) == 1
    out = capsys.readouterr().out
    assert "Confirmed as a pattern" in out
    assert "and not this code" in out
    assert "audited: patch Widget.example.com/v1 default/w/status" in out


@pytest.mark.parametrize(
    ("part", "field", "is_list"),
    [
        ("status", "conditions", True),
        ("status", "phase", False),
        ("metadata", "finalizers", True),
        ("spec", "listeners", True),
    ],
)
def test_a_pattern_loses_a_write_exactly_where_it_does_not_lock(part: str, field: str, is_list: bool) -> None:
    assert trace_of(Pattern(part, field, is_list))
    assert trace_of(Pattern(part, field, is_list, locked=True)) == ()


def test_rule_prints_a_page_and_refuses_an_unknown_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rule", "KA001"]) == 0
    assert capsys.readouterr().out.startswith("# status-patch-without-lock")
    assert main(["rule", "status-lock"]) == 2
    assert "Did you mean" in capsys.readouterr().err
    assert main(["rule"]) == 2
    assert main(["rule", "--all"]) == 0
    assert "KA042" in capsys.readouterr().out


def test_the_command_needs_no_parser_until_it_meets_go() -> None:
    program = "import sys, kontend.cli.auditing.audit; sys.exit('tree_sitter' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_a_gitlab_report_has_what_the_merge_request_shows(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tree.exists()
    assert main(["audit", "--output-format", "gitlab", "."]) == 1
    (entry,) = json.loads(capsys.readouterr().out)
    assert entry["check_name"] == "status-patch-without-lock"
    assert entry["location"] == {"path": "widget/a.go", "lines": {"begin": _WRITE}}
    assert entry["severity"] == "critical"
    assert len(entry["fingerprint"]) == 32
