"""``kontend campaign``: outcomes, exit codes, reports, and what happens when a run or a file fails."""

from __future__ import annotations

import json
import os
from pathlib import Path
from xml.etree import ElementTree

import pytest

from campaign import scenario_files as files
from campaign.scenario_files import write_files
from kontend.cli import main


@pytest.fixture(autouse=True)
def _in_a_directory_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def campaign(*arguments: str) -> int:
    """Run a campaign without comparing runs in other processes, which takes seconds."""
    return main(["campaign", "--one-process", *arguments])


@pytest.mark.parametrize(
    ("name", "content", "code", "shown"),
    [
        ("holds", files.HOLDS, 0, "holds: f.py:holds: holds in all "),
        ("violated", files.VIOLATED, 1, "violated: f.py:raises: "),
        ("refused", files.REFUSED, 2, "refused: f.py:refused: "),
        ("crashes", files.CRASHES, 2, "crashed: f.py:dies: its process was ended by SIGSEGV"),
        ("limited", files.LIMITED, 3, "undecided: f.py:limited: undecided: "),
    ],
)
def test_each_outcome_has_its_exit_code(
    name: str, content: str, code: int, shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write_files(Path(), f=content)
    assert campaign("f.py", "--jobs", "1") == code, name
    assert capsys.readouterr().out.startswith(shown)


def test_one_bad_scenario_does_not_keep_the_others_from_running(capsys: pytest.CaptureFixture[str]) -> None:
    write_files(
        Path("all"),
        a_ends=files.ENDS,
        b_unreadable=files.UNREADABLE,
        c_crashes=files.CRASHES,
        d_refused=files.REFUSED,
        e_violated=files.VIOLATED,
        f_limited=files.LIMITED,
        g_holds=files.HOLDS,
    )
    outputs = []
    for jobs in ("1", "3"):
        options = ["--directory", f"journal{jobs}", "--json", f"{jobs}.json", "--junit", f"{jobs}.xml"]
        assert campaign("all", "--jobs", jobs, *options) == 2
        outputs.append(capsys.readouterr().out.replace(f"journal{jobs}", "journal"))
    assert outputs[0] == outputs[1]
    assert outputs[0].endswith("7 runs: 1 hold, 1 violated, 1 undecided, 2 refused, 2 crashed\n")
    assert "crashed: all/a_ends.py: its process ended with exit code 7" in outputs[0]
    assert "refused: all/b_unreadable.py: " in outputs[0]
    assert "cannot be imported" in outputs[0]
    assert "  | about to die" in outputs[0]
    document = json.loads(Path("1.json").read_text())
    assert document["summary"] == {"holds": 1, "violated": 1, "undecided": 1, "refused": 2, "crashed": 2}
    assert Path("1.json").read_text() == Path("3.json").read_text().replace("journal3", "journal1")
    violated = next(result for result in document["results"] if result["status"] == "violated")
    assert main(["replay", violated["violations"][0]["replay"]]) == 1
    _check_junit(Path("1.xml"), tests=7, failures=1, errors=4, skipped=1)


def _check_junit(path: Path, **expected: int) -> None:
    """A report is well formed, has the elements and attributes of JUnit in their order, and counts that add up."""
    root = ElementTree.fromstring(path.read_bytes())
    assert root.tag == "testsuites"
    assert {name: int(root.attrib[name]) for name in expected} == expected
    outcomes = {"failure": "failures", "error": "errors", "skipped": "skipped"}
    totals = dict.fromkeys(expected, 0)
    names = set()
    for suite in root:
        assert suite.tag == "testsuite"
        assert set(suite.attrib) == {"name", "tests", "failures", "errors", "skipped"}
        counted = {"tests": len(suite), "failures": 0, "errors": 0, "skipped": 0}
        for case in suite:
            assert case.tag == "testcase"
            assert set(case.attrib) == {"classname", "name"}
            names.add((case.attrib["classname"], case.attrib["name"]))
            assert len(case) <= 1
            for outcome in case:
                counted[outcomes[outcome.tag]] += 1
                assert outcome.attrib["message"]
                assert outcome.tag == "skipped" or outcome.attrib["type"]
        assert {name: int(suite.attrib[name]) for name in counted} == counted
        totals = {name: totals[name] + counted[name] for name in totals}
    assert totals == expected
    assert len(names) == expected["tests"]


def test_combinations_of_bounds_strategies_seeds_and_plans(capsys: pytest.CaptureFixture[str]) -> None:
    write_files(Path(), f=files.HOLDS)
    options = ["--bounds", "lag=0", "--bounds", "lag=1,atomic=true", "--search", "depth", "--search", "random"]
    assert campaign("f.py", *options, "--seeds", "2", "--walks", "3") == 3
    titles = [line.split(": ")[1] for line in capsys.readouterr().out.splitlines()[:-1]]
    assert titles == [
        f"f.py:holds {bounds} {how}"
        for bounds in ("lag=0", "lag=1 atomic=True")
        for how in ("depth", "random seed=0", "random seed=1")
    ]
    Path("plan.yaml").write_text("permuteControllers: [reader]\n")
    assert campaign("f.py", "--plan", "plan.yaml") == 0
    assert capsys.readouterr().out.startswith("holds: f.py:holds plan plan.yaml: holds in all ")


def test_a_campaign_file_lists_explorations_and_live_commands(capsys: pytest.CaptureFixture[str]) -> None:
    write_files(Path("d"), f=files.HOLDS, g=files.LIMITED)
    Path("d/nightly.yaml").write_text(
        """
campaign:
  - explore: f.py
  - explore: [f.py, g.py]
    scenario: limited
    bounds: [{states: 3}]
  - live: [./no-such-program, --flag]
    options: {seconds: 5}
"""
    )
    assert campaign("d/nightly.yaml") == 2
    out = capsys.readouterr().out
    assert "holds: d/f.py:holds: " in out
    assert "undecided: d/g.py:limited states=3: " in out
    assert "refused: live d/no-such-program --flag --seconds=5: kontend live: " in out


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ("campaign: []", "expected campaign: with a list of entries"),
        ("campaign: [{explore: f.py, live: [x]}]", "expected either explore: or live:"),
        ("campaign: [{explore: f.py, boundz: {}}]", "no field is called boundz (did you mean bounds?)"),
        ("campaign: [{explore: f.py, bounds: {lagg: 1}}]", "no bound is called lagg (did you mean lag?)"),
        ("campaign: [{explore: f.py, bounds: {lag: -1}}]", "Bounds(lag=-1): expected a whole number"),
        ("campaign: [{explore: f.py, search: [sideways]}]", "no strategy is called sideways"),
        ("campaign: [{explore: f.py, seeds: 0}]", "seeds: expected a whole number, at least 1, found 0"),
        ("campaign: [{live: ./manager}]", "expected the command and its arguments as a list"),
        ("campaign: [{live: [x], options: {jobs: 2}}]", "jobs is set by the campaign"),
        ("campaign: [{explore: f.py, plans: none.yaml}]", "none.yaml: No such file"),
        ("campaign: [{explore: f.py, scenario: nothing}]", "no scenario is called nothing"),
    ],
)
def test_mistakes_in_a_campaign_file(document: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    write_files(Path(), f=files.HOLDS)
    Path("c.yaml").write_text(document)
    assert campaign("c.yaml") == 2
    assert message in capsys.readouterr().err


def test_mistakes_on_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    Path("empty").mkdir()
    write_files(Path(), f=files.HOLDS)
    for arguments, message in (
        (["nowhere.py"], "nowhere.py: no such file or directory"),
        (["f.py", "--bounds", "lag"], "--bounds lag: expected NAME=NUMBER"),
        (["f.py", "--bounds", "logs=1"], "no bound is called logs"),
        (["f.py", "--scenario", "hold"], "no scenario is called hold (did you mean holds?)"),
    ):
        assert campaign(*arguments) == 2
        assert message in capsys.readouterr().err
    assert campaign("empty") == 2
    out = capsys.readouterr().out
    assert "refused: empty: empty: no file below it defines a Scenario or a Controller" in out


def test_the_same_scenario_given_twice_runs_once_and_equal_titles_are_numbered(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_files(Path(), f=files.HOLDS)
    Path("o.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other, namespace: default}\n")
    Path("c.yaml").write_text("campaign: [{explore: f.py}, {explore: f.py, objects: o.yaml}]")
    assert campaign("f.py", "f.py", "c.yaml") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(": ")[1] for line in lines[:-1]] == ["f.py:holds", "f.py:holds (2)"]


def test_a_run_that_does_not_end_is_ended(capsys: pytest.CaptureFixture[str]) -> None:
    endless = files.HOLDS.replace("await api.get(self.kind, request)", "\n        while True: pass")
    write_files(Path(), f=endless)
    assert campaign("f.py", "--timeout", "3") == 2
    assert "crashed: f.py:holds: it did not end within 3 seconds" in capsys.readouterr().out


def test_new_processes_give_the_same_outcomes(capsys: pytest.CaptureFixture[str]) -> None:
    write_files(Path(), f=files.VIOLATED)
    assert campaign("f.py", "--executor", "spawn", "--directory", "d") == 1
    spawned = capsys.readouterr().out
    assert campaign("f.py", "--fresh", "--directory", "d") == 1
    assert capsys.readouterr().out == spawned


@pytest.mark.skipif(os.name == "nt" or os.getuid() == 0, reason="root may write everywhere")
def test_a_directory_that_cannot_be_written(capsys: pytest.CaptureFixture[str]) -> None:
    write_files(Path(), f=files.HOLDS)
    Path("locked").mkdir(mode=0o500)
    assert campaign("f.py", "--directory", "locked/below") == 2
    assert "Permission denied; choose another directory" in capsys.readouterr().err


def test_a_file_or_a_link_in_place_of_the_directory(capsys: pytest.CaptureFixture[str]) -> None:
    write_files(Path(), f=files.HOLDS)
    Path("file").write_text("")
    Path("link").symlink_to(".")
    for name in ("file", "link"):
        assert campaign("f.py", "--directory", name) == 2
        assert "choose another directory" in capsys.readouterr().err


def test_a_report_that_cannot_be_written_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    write_files(Path(), f=files.HOLDS)
    assert campaign("f.py", "--junit", "nowhere/report.xml") == 2
    assert "--junit: nowhere/report.xml: No such file or directory" in capsys.readouterr().err
