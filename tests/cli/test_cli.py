"""The command ``kontend`` finds its subcommands and says what to do when it does not."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from types import ModuleType

import pytest

from kontend.cli import COMMANDS, Command, main
from kontend.cli.command import ExitCode, Parser, UsageError


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    """Asked for, it is a success; without arguments it is not."""
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert all(f"kontend {name}" in shown for name in COMMANDS)
    assert main([]) == 2


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """On one line."""
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("kontend ")


@pytest.mark.parametrize(
    ("argument", "hint"),
    [("srve", "Did you mean kontend serve?"), ("xyz", "The commands are: "), ("--verbose", "no option '--verbose'")],
)
def test_an_unknown_command_is_answered_with_what_was_meant(
    argument: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The exit code is that of a usage error."""
    assert main([argument]) == 2
    assert hint in capsys.readouterr().err


def test_commands_are_mounted(capsys: pytest.CaptureFixture[str]) -> None:
    """Each one has help of its own."""
    for name in COMMANDS:
        assert main([name, "--help"]) == 0
        assert f"kontend {name}" in capsys.readouterr().out


def test_it_runs_as_a_module() -> None:
    """For users without the script on their path."""
    ran = subprocess.run([sys.executable, "-m", "kontend.cli", "--version"], capture_output=True, text=True, check=True)
    assert ran.stdout.startswith("kontend ")


def broken(arguments: Sequence[str]) -> int:
    """Stands for a command with a bug."""
    raise KeyError(list(arguments))


def refusing(arguments: Sequence[str]) -> int:
    raise UsageError(f"expected nothing, found {len(arguments)} arguments")


def parsing(arguments: Sequence[str]) -> int:
    Parser(prog="kontend parsing").parse_args(arguments)
    return ExitCode.OK


@pytest.fixture
def mounted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The three functions above as commands."""
    module = ModuleType("commands_for_tests")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    for function in (broken, refusing, parsing):
        setattr(module, function.__name__, function)
        monkeypatch.setitem(COMMANDS, function.__name__, Command(module.__name__, function.__name__, "for tests"))


@pytest.mark.usefixtures("mounted")
def test_a_usage_error_is_reported_with_the_name_of_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["refusing", "a", "b"]) == 2
    assert capsys.readouterr().err == "kontend refusing: expected nothing, found 2 arguments\n"


@pytest.mark.usefixtures("mounted")
def test_wrong_arguments_are_reported_like_any_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["parsing", "--what"]) == 2
    assert capsys.readouterr().err == (
        "kontend parsing: unrecognized arguments: --what\nTry 'kontend parsing --help'.\n"
    )


@pytest.mark.usefixtures("mounted")
def test_an_internal_error_does_not_exit_like_a_finding(capsys: pytest.CaptureFixture[str]) -> None:
    """Python's own exit code for an exception is 1, which means findings."""
    assert main(["broken"]) == ExitCode.ERROR
    message = capsys.readouterr().err
    assert "Traceback" in message
    assert message.endswith("kontend broken: internal error: KeyError: []\n")


def test_a_closed_pipe_is_not_an_error() -> None:
    code = "import sys; from kontend.cli import main; sys.stdin.read(); sys.exit(main(['--help']))"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        process.stdin.close()
        assert process.wait(30) == 0
        assert process.stderr.read() == ""
