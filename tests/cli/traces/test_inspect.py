"""``kontend inspect``, ``kontend report`` and ``kontend replay`` on a trace of the demo."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from kontend.cli import main
from kontend.report.archive import write_archive
from kontend.report.document import Fix
from report.documents import lost_update

EXAMPLE = Path(__file__).parents[3] / "examples" / "double_plan.py"
NODE = "Node.example.com/v1 default/n"


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The trace of a lost update."""
    directory = tmp_path_factory.mktemp("failures")
    assert main(["explore", str(EXAMPLE), "--scenario", "blind", "--one-process", "--failures", str(directory)]) == 1
    (file,) = directory.glob("lost-update-*.zip")
    return str(file)


def test_steps_shows_those_that_change_nothing_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = lost_update()
    quiet = tuple(replace(step, changes_nothing=True) for step in document.steps)
    archive = str(write_archive(tmp_path, replace(document, steps=quiet)))
    assert main(["inspect", archive, "steps"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert not any("·" in line for line in lines)
    assert sum(f"  {step.number}  {step.actor}" in line for line in lines for step in quiet) == len(quiet)


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        (
            [],
            [
                "lost update: violated after 6 steps",
                "nodes#2 wrote status.plan.id = ",
                "Fix at examples/double_plan.py",
            ],
        ),
        (
            ["failures"],
            [": lost update: violated after 6 steps (shortest, 1 perturbation, found 13 times)\n"],
        ),
        (["steps"], ["  ► 3  nodes#1  patch Node default/n/status: version 4, from version 3"]),
        (
            ["step", "6"],
            ["at fault", "from version 3 read in step 5", "  ►   57  ", "the cache of nodes#1 then has version 4"],
        ),
        (
            ["object", "Node/n", "at", "3"],
            ["on the server:", "resourceVersion: '4'", "which is stale (-) against the server"],
        ),
        (["object", "n", "at", "0"], ["resourceVersion: '3'", "the cache of nodes#2 has the same"]),
        (["who", "wrote", "status.plan.id"], ["step 3: nodes#1 wrote status.plan.id of ", "► step 6: nodes#2 wrote "]),
        (["who", ".status.plan", "of", "n"], ["from version 3 (read in step 2), as version 4: absent → "]),
        (["diff", "0", "3"], [NODE, "+  status:"]),
        (["diff"], ["the first 4 steps are those of the nearest good run; then"]),
    ],
)
def test_questions_are_answered(
    trace: str, question: list[str], parts: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["inspect", trace, *question]) == 0
    printed = capsys.readouterr().out
    for part in parts:
        assert part in printed


@pytest.mark.parametrize(
    "question",
    [[], ["failures"], ["steps"], ["step", "6"], ["object", "n"], ["who", "status"], ["diff"], ["diff", "0", "6"]],
)
def test_answers_are_also_json(trace: str, question: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", trace, *question, "--output-format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("question", "message"),
    [
        (["step", "9"], "there is no step 9; the trace has steps 1 to 6"),
        (["step", "six"], "expected the number of a step, found 'six'"),
        (["step"], "expected: kontend inspect FILE step N"),
        (["who", "spec"], "no step writes spec; the fields that are written: status.plan.id, status.plan.tasks"),
        (["object", "m"], f"no object is called m; there are: {NODE}"),
        (["why"], "no question 'why'; there are: failures, steps, step, object, who, diff"),
    ],
)
def test_bad_questions_are_refused(
    trace: str, question: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["inspect", trace, *question]) == 2
    assert message in capsys.readouterr().err


def test_a_bug_report_is_printed_or_written(trace: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", trace, "--markdown"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("## lost update: 6 steps\n")
    assert main(["report", trace, "--markdown", "--output", str(tmp_path / "bug.md")]) == 0
    assert (tmp_path / "bug.md").read_text() == printed


def test_a_bug_report_searches_again_with_the_options_that_were_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(EXAMPLE.parent.parent)
    first, second = tmp_path / "first", tmp_path / "second"
    target = ["explore", "examples/double_plan.py", "--scenario", "blind"]
    given = ["--lag", "2", "--faults", "0", "--ignore", "Node.status.seen"]
    assert main([*target, *given, "--one-process", "--failures", str(first)]) == 1
    found = sorted(path.name for path in first.glob("*.zip"))
    capsys.readouterr()
    assert main(["report", str(first / found[0]), "--markdown"]) == 0
    command = re.search(r"^kontend (explore .*?) +# or search again$", capsys.readouterr().out, re.MULTILINE)
    assert command is not None
    assert "--lag 2" in command[1]
    assert "--faults 0" in command[1]
    assert "--ignore Node.status.seen" in command[1]
    assert main([*shlex.split(command[1]), "--one-process", "--failures", str(second)]) == 1
    assert sorted(path.name for path in second.glob("*.zip")) == found


def test_a_trace_replays_with_a_file_from_elsewhere(
    trace: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["replay", trace]) == 2
    assert "examples/double_plan.py is neither here nor beside the trace" in capsys.readouterr().err
    assert main(["replay", trace, "--file", str(EXAMPLE)]) == 1
    assert capsys.readouterr().out.endswith("reproduced: lost update\n")
    fixed = tmp_path / "fixed.py"
    fixed.write_text(EXAMPLE.read_text().replace("lock = False", "lock = True"))
    assert main(["replay", trace, "--file", str(fixed)]) == 0
    assert capsys.readouterr().out == "not reproduced: step 6 now gets 409 Conflict\n"


def test_explore_unfolds_with_verbose(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    operator = EXAMPLE.parent.parent / "zoo" / "capi_245.py"
    options = ["--scenario", "buggy", "--one-process", "--failures", str(tmp_path)]
    lengths = []
    for more in ([], ["--verbose"]):
        main(["explore", str(operator), *options, *more])
        lengths.append(len(capsys.readouterr().out.splitlines()))
    assert lengths[0] < lengths[1]


def test_a_trace_cannot_control_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Names and sentences in a file that somebody sent may hold escape sequences."""
    document = lost_update()
    evil = "\x1b]0;title\x07\x1b[31mred \u202e \x9b2J"
    violation = replace(document.violation, sentence=evil, property=evil, fix=Fix(evil))
    steps = tuple(replace(step, text=evil, actor=evil) for step in document.steps)
    archive = str(write_archive(tmp_path, replace(document, violation=violation, steps=steps)))
    for question in ([], ["steps"], ["step", "1"], ["diff"], ["--output-format", "json"], ["nothing\x1b[2J"]):
        main(["inspect", archive, *question])
        shown = capsys.readouterr()
        for text in (shown.out, shown.err):
            assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", text)
    main(["inspect", archive, "--output-format", "json"])
    assert json.loads(capsys.readouterr().out)["violation"]["sentence"] == evil


def test_the_help_has_a_line_for_each_question(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", "--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "  kontend inspect FILE steps                    all steps" in lines
    assert "Answer questions about a trace. Nothing is run." in lines
