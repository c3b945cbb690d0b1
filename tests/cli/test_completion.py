"""Completions of shells: what is completed after a word, in the shells that are installed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from kontend.cli import COMMANDS, main
from kontend.cli.completion import known_commands

SHELLS = ("bash", "zsh", "fish")


@pytest.fixture
def script(tmp_path: Path, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]) -> Path:
    """The script for the shell that the test asks for."""
    shell: str = request.param
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    assert main(["completion", shell]) == 0
    file = tmp_path / shell
    file.write_text(capsys.readouterr().out)
    return file


@pytest.mark.parametrize("script", SHELLS, indirect=True)
def test_the_script_is_valid(script: Path) -> None:
    subprocess.run([script.name, "-n", str(script)], check=True)


@pytest.mark.parametrize("script", ["bash"], indirect=True)
@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("kontend expl", ["explore"]),
        ("kontend explore --lag", ["--lag", "--lag-seconds"]),
        ("kontend explore --search ", ["breadth", "depth", "random", "pct"]),
        ("kontend help gloss", ["glossary"]),
        ("kontend explore script_", ["script_of_a_user.py"]),
    ],
)
def test_bash_completes(script: Path, tmp_path: Path, typed: str, expected: list[str]) -> None:
    (tmp_path / "script_of_a_user.py").touch()
    words = typed.split(" ")
    line = " ".join(f"'{word}'" for word in words)
    code = f'. {script}; COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _kontend; echo "${{COMPREPLY[@]}}"'
    ran = subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert ran.stdout.split() == expected
    assert ran.stderr == ""


@pytest.mark.parametrize("script", ["fish"], indirect=True)
def test_fish_completes_options_and_their_values(script: Path) -> None:
    for typed, expected in (
        ("kontend explore --search ", "pct"),
        ("kontend aud", "audit"),
        ("kontend help tut", "tutorial"),
    ):
        code = f"source {script}; complete --do-complete '{typed}'"
        ran = subprocess.run(["fish", "-c", code], capture_output=True, text=True, check=True)
        assert expected in [line.partition("\t")[0] for line in ran.stdout.splitlines()]


def test_all_options_of_all_commands_are_known() -> None:
    known = known_commands()
    assert set(known) == set(COMMANDS)
    assert "--handovers" in known["explore"].spellings
    assert known["completion"].words == SHELLS
