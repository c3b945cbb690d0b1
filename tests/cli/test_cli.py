"""The command ``kontend`` finds its subcommands and says what to do when it does not."""

from __future__ import annotations

import subprocess
import sys

import pytest

from kontend.cli import COMMANDS, main


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    """Asked for, it is a success; without arguments it is not."""
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert all(f"kontend {name}" in shown for name in COMMANDS)
    assert main([]) == 2


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """On one line."""
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("kontend ")


@pytest.mark.parametrize(
    ("argument", "hint"),
    [("srve", "Did you mean kontend serve?"), ("xyz", "There are: "), ("--verbose", "no option '--verbose'")],
)
def test_an_unknown_command_is_answered_with_what_was_meant(
    argument: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """And with the exit code for wrong use."""
    assert main([argument]) == 2
    assert hint in capsys.readouterr().err


def test_commands_are_mounted(capsys: pytest.CaptureFixture[str]) -> None:
    """Each one has help of its own."""
    for name in COMMANDS:
        assert main([name, "--help"]) == 0
        assert f"kontend {name}" in capsys.readouterr().out


def test_it_runs_as_a_module() -> None:
    """For who has no script on the path."""
    found = subprocess.run(
        [sys.executable, "-m", "kontend.cli", "--version"], capture_output=True, text=True, check=True
    )
    assert found.stdout.startswith("kontend ")
