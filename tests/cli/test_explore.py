"""``kontend explore`` and ``kontend replay`` from the command line."""

from __future__ import annotations

import json
import re
import sys
import zipfile
from pathlib import Path

import pytest

from kontend.cli import main
from kontend.explore import check, reproduce
from kontend.explore.scenario_files import scenarios_in
from kontend.explore.trace.token import read_token

EXAMPLE = str(Path(__file__).parents[2] / "examples" / "double_plan.py")


def test_bounds_of_the_command_line_are_kept_with_the_counterexample(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--scenario", "blind", "--concurrent", "3", "--failures", str(tmp_path), "--output-format", "json"]
    assert main(["explore", EXAMPLE, *options]) == 1
    violations = json.loads(capsys.readouterr().out)["blind"]["violations"]
    assert {violation["property"] for violation in violations} == {"one_plan", "lost update"}
    for violation in violations:
        assert main(["replay", violation["replay"]]) == 1
        assert violation["sentence"] in " ".join(capsys.readouterr().out.split())


_MAKES = """
from kontend import Controller
from kontend.explore import Bounds, Scenario


class Makes(Controller):
    kind = "Secret/v1"

    async def reconcile(self, request, api):
        if not await api.live.list("ConfigMap/v1", namespace=request.namespace):
            for kind in ("ConfigMap", "ServiceAccount"):
                metadata = {"generateName": "made-", "namespace": request.namespace}
                await api.create({"apiVersion": "v1", "kind": kind, "metadata": metadata})


SECRET = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "default"}}
both = Scenario([Makes()], objects=[SECRET], bounds=Bounds(concurrent=2))
"""


def test_a_counterexample_with_a_fault_comes_with_the_way_to_one_without(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "makes.py"
    file.write_text(_MAKES)
    command = ["explore", str(file), "--one-process", "--failures", str(tmp_path)]
    hint = "Without faults: the same command with --faults 0 looks for runs that need none\n"
    assert main(command) == 1
    out = capsys.readouterr().out
    assert "Perturbed by a response that is lost in step 3." in out
    assert out.endswith(hint)
    assert main([*command, "--faults", "0"]) == 1
    out = capsys.readouterr().out
    assert "while another one is in flight" in out
    assert hint not in out


def test_a_search_that_was_cut_short_is_undecided(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explore", EXAMPLE, "--scenario", "locked", "--states", "5", "--one-process"]) == 3
    assert (
        "undecided: the space was not exhausted, because the limit of 5 states was reached" in capsys.readouterr().out
    )


def test_the_level_at_which_a_search_stopped_is_printed_and_can_be_made_the_bound(
    capsys: pytest.CaptureFixture[str],
) -> None:
    command = ["explore", EXAMPLE, "--scenario", "locked", "--one-process", "--states"]
    assert main([*command, "30"]) == 3
    out = capsys.readouterr().out
    assert "undecided: holds in all runs without perturbations (" in out
    assert "--perturbations 0 accepts this" in out
    assert main([*command, "30", "--output-format", "json"]) == 3
    found = json.loads(capsys.readouterr().out)["locked"]
    assert found["certain"] == 0
    assert sum(found["levels"]) == found["states"]
    assert found["suggestions"][-1] == {"bound": "perturbations", "value": 0, "states": found["levels"][0]}
    assert main([*command, "30", "--perturbations", "0"]) == 0
    assert f"holds in all {found['levels'][0]} states (" in capsys.readouterr().out


def test_walks_without_a_violation_are_undecided(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--scenario", "locked", "--search", "random", "--seed", "7", "--walks", "50", "--one-process"]
    assert main(["explore", EXAMPLE, *options]) == 3
    assert "nothing found in 50 random walks (seed 7); that proves nothing" in capsys.readouterr().out


def test_walks_with_a_violation_print_their_seed_and_how_to_replay_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--scenario", "blind", "--search", "pct", "--walks", "20", "--failures", str(tmp_path), "--one-process"]
    assert main(["explore", EXAMPLE, *options]) == 1
    out = capsys.readouterr().out
    assert "found in 20 PCT walks (seed 0); there may be more\n" in out
    replays = re.findall(r"^Replay: kontend replay (.*\.zip)$", out, re.MULTILINE)
    tokens = re.findall(r'^Or in a test: @reproduce\("(.*)"\)$', out, re.MULTILINE)
    assert len(replays) == len(tokens) == 1  # two violations with one cause
    assert [main(["replay", file]) for file in replays] == [1]
    for token in tokens:
        verdict = reproduce(token)(lambda: check(scenarios_in(EXAMPLE)["blind"]))()
        assert read_token(token).property in {violation.property for violation in verdict.violations}


def test_a_violation_without_a_trace_has_no_token(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine.py").write_text(
        "from dataclasses import replace\n"
        "from kontend.explore import sometimes\n"
        "from explore.widgets import LockedWidgets, double_plan\n"
        "race = replace(double_plan(LockedWidgets()), properties=[sometimes(lambda cluster: False, name='so')])\n"
    )
    options = ["--failures", str(tmp_path), "--one-process"]
    assert main(["explore", str(tmp_path / "mine.py"), *options]) == 1
    out = capsys.readouterr().out
    assert "so: violated" in out
    assert "@reproduce" not in out


@pytest.mark.parametrize(
    ("options", "limit"),
    [(["--memory", "1"], "the limit of 1 MiB of memory was reached"), (["--seconds", "1"], "the limit of 1 seconds")],
)
def test_time_and_memory_are_bounded(options: list[str], limit: str, capsys: pytest.CaptureFixture[str]) -> None:
    walks = ["--search", "random", "--walks", "1000000", "--one-process"]
    assert main(["explore", EXAMPLE, "--scenario", "locked", *walks, *options]) == 3
    assert limit in capsys.readouterr().out


def test_atomic_reconciles_cannot_race(capsys: pytest.CaptureFixture[str]) -> None:
    bounds = ["--atomic", "--lag", "0", "--faults", "0", "--one-process"]
    assert main(["explore", EXAMPLE, "--scenario", "blind", *bounds]) == 0
    assert "(lag ≤ 0, 2 instances, atomic reconciles, no crashes, " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--lag", "-1"], "argument --lag: expected a whole number, at least 0, found -1"),
        (["--walks", "0"], "argument --walks: expected a whole number, at least 1, found 0"),
        (["--search", "deep"], "argument --search: invalid choice: 'deep'"),
        (["--scenario", "none"], "no scenario is called none; there are: blind, locked"),
    ],
)
def test_usage_errors_are_printed(options: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explore", EXAMPLE, *options]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    "trace",
    [
        "[]",
        "{}",
        '{"schedule": [[1]]}',
        '{"format": 2, "source": {}}',
    ],
)
def test_a_file_that_is_no_counterexample_is_refused(
    trace: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr("trace.json", trace)
    assert main(["replay", str(tmp_path / "x.zip")]) == 2
    assert "x.zip: not a trace of kontend" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["run", "explore"])
@pytest.mark.parametrize("text", ["def x(:", "raise RuntimeError('no')"])
def test_a_file_that_cannot_be_imported_is_named(
    command: str, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.py").write_text(text)
    assert main([command, str(tmp_path / "mine.py")]) == 2
    assert "mine.py:1: it cannot be imported: " in capsys.readouterr().err


def test_objects_are_generated_from_the_schema_and_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The definition lies beside the operator; the required field has a value."""
    operator = str(Path(EXAMPLE).parent / "website_operator.py")
    options = ["--failures", str(tmp_path), "--one-process", "--states", "200"]
    assert main(["explore", operator, *options]) == 3
    printed = capsys.readouterr().out
    assert "controllers:\ngenerated: Website example {spec: {image: example}}; " in printed
    assert "websites.example.com (from a file of the project)" in printed
    assert "exception" not in printed


@pytest.mark.parametrize("imported", ["from .names import KIND", "from shop.names import KIND", "import shop.names"])
def test_a_file_of_a_package_is_explored(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, imported: str
) -> None:
    """With relative imports and with absolute ones, from any directory and also in other processes."""
    package = tmp_path / "src" / "shop"
    package.mkdir(parents=True)
    (tmp_path / "pyproject.toml").touch()
    (package / "__init__.py").touch()
    (package / "names.py").write_text("KIND = 'ConfigMap/v1'\n")
    (package / "mine.py").write_text(
        f"{imported}\n"
        "from kontend import Controller\n"
        "class Mine(Controller):\n"
        f"    kind = {'shop.names.KIND' if imported.startswith('import') else 'KIND'}\n"
        "    async def reconcile(self, request, api):\n"
        "        await api.list(self.kind)\n"
    )
    monkeypatch.setattr(sys, "path", [*sys.path])
    assert main(["explore", str(package / "mine.py"), "--failures", str(tmp_path / "failures")]) == 0
    assert "holds in all" in capsys.readouterr().out
    for name in [name for name in sys.modules if name.partition(".")[0] == "shop"]:
        del sys.modules[name]


def test_a_module_and_a_scenario_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """``pkg.mod:name`` from the project's root."""
    package = tmp_path / "depot"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "scenarios.py").write_text(Path(EXAMPLE).read_text())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    assert main(["explore", "depot.scenarios:locked", "--one-process"]) == 0
    assert "locked:" in capsys.readouterr().out
    assert main(["explore", "depot.scenarios:lockd", "--one-process"]) == 2
    assert "lockd" in capsys.readouterr().err
    assert main(["explore", "depot.nothing:locked"]) == 2
    assert "depot.nothing: no such module here" in capsys.readouterr().err
    for name in [name for name in sys.modules if name.partition(".")[0] == "depot"]:
        del sys.modules[name]


def test_several_processes_print_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--concurrent", "3", "--failures", str(tmp_path), "--one-process", "--output-format", "json"]
    printed = []
    for jobs in ("1", "2"):
        assert main(["explore", EXAMPLE, *options, "--jobs", jobs]) == 1
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1]
