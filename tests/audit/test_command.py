"""The command line: exit codes, formats, and errors that say what to do."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from kontend.audit.output import FORMATS
from kontend.cli.audit import run
from kontend.cli.rule import run as rule

from .conftest import Auditor
from .test_policies import SOURCE


def test_exit_codes_are_0_1_and_2(audited: Auditor, capsys: pytest.CaptureFixture[str]) -> None:
    audited(SOURCE)
    assert run(["."]) == 1
    assert run([".", "--fail-on", "never"]) == 0
    assert run(["nowhere"]) == 2
    assert run(["--policy", "loose", "."]) == 2
    assert run(["--confirm", "."]) == 2
    assert run(["--baseline", "missing.json", "."]) == 2
    assert run(["--help"]) == 0
    said = capsys.readouterr().err
    assert "nowhere: no such file or directory" in said
    assert "--write-baseline missing.json" in said


def test_text_names_place_rule_severity_and_counts(audited: Auditor, capsys: pytest.CaptureFixture[str]) -> None:
    audited(SOURCE)
    run(["."])
    out = capsys.readouterr().out
    assert "widget/a.go:21  status-patch-without-lock  error" in out
    assert "2 status writes: 1 unlocked, 1 full update, version checked. 1 other write: 1 update." in out
    assert "\x1b" not in out


def test_the_table_has_a_row_for_every_write(audited: Auditor, capsys: pytest.CaptureFixture[str]) -> None:
    audited(SOURCE)
    run(["--table", "."])
    lines = capsys.readouterr().out.splitlines()
    assert sum("widget/a.go:" in line for line in lines) == 3
    assert any("VIOLATION" in line and "local :19" in line for line in lines)


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_prints_to_stdout_or_a_file(
    audited: Auditor, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    audited(SOURCE)
    assert run([".", "--output-format", name]) == 1
    printed = capsys.readouterr().out
    assert run([".", "--output-format", name, "--output-file", "out"]) == 1
    assert Path("out").read_text() == printed
    assert "status-patch-without-lock" in printed


def test_junit_is_xml_with_a_case_for_every_site(audited: Auditor, capsys: pytest.CaptureFixture[str]) -> None:
    audited(SOURCE)
    run([".", "--output-format", "junit"])
    suite = ElementTree.fromstring(capsys.readouterr().out)
    assert (suite.get("tests"), suite.get("failures")) == ("3", "1")


def test_github_commands_are_escaped(audited: Auditor, capsys: pytest.CaptureFixture[str]) -> None:
    audited(SOURCE)
    run([".", "--output-format", "github"])
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("::error file=widget/a.go,line=21,endLine=21,title=status-patch-without-lock::")


def test_json_holds_sites_with_verdicts(audited: Auditor, capsys: pytest.CaptureFixture[str]) -> None:
    audited(SOURCE)
    run([".", "--output-format", "json"])
    document = json.loads(capsys.readouterr().out)
    assert [site["verdict"] for site in document["sites"]] == ["VIOLATION", "OK", "OK"]


def test_rule_prints_a_page_and_refuses_an_unknown_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert rule(["KA001"]) == 0
    assert capsys.readouterr().out.startswith("# status-patch-without-lock")
    assert rule(["status-lock"]) == 2
    assert "Did you mean" in capsys.readouterr().err
    assert rule(["--all"]) == 0


def test_the_command_needs_no_parser_until_it_meets_go() -> None:
    program = "import sys, kontend.audit.command; sys.exit('tree_sitter' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
