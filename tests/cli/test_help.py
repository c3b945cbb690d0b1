"""Help: commands by what people want to do, examples that parse, and the manual in the terminal."""

from __future__ import annotations

import shlex
from importlib import import_module

import pytest

from kontend.cli import COMMANDS, GROUPS, main
from kontend.cli.command import Parser
from kontend.cli.manual import topics
from kontend.explore.scenario import Bounds

_EXAMPLES = [
    (name, line)
    for name, command in COMMANDS.items()
    for line in import_module(command.module).parser().examples.values()
]


def parser_of(name: str) -> Parser:
    parser: Parser = import_module(COMMANDS[name].module).parser()
    return parser


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_examples_and_a_page_of_the_manual(name: str) -> None:
    parser = parser_of(name)
    assert len(parser.examples) >= 2
    assert parser.topic in topics() or name in ("help", "completion")


@pytest.mark.parametrize(("name", "line"), _EXAMPLES)
def test_an_example_is_accepted_by_its_command(name: str, line: str) -> None:
    """Up to what the shell does, and up to the command of ``kontend live``."""
    words = shlex.split(line)
    end = next((at for at, word in enumerate(words) if word in (">", "--")), len(words))
    assert words[:2] == ["kontend", name]
    parser_of(name).parse_args(words[2:end])


def test_the_help_lists_the_commands_by_what_people_want_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    places = [shown.index(f"{title}:") for title in GROUPS]
    assert places == sorted(places)


def test_defaults_of_bounds_are_shown_as_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explore", "--help"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert f"stop after this many states (default: {Bounds().states:,})" in shown
    assert "(default: as in the scenario)" not in shown


def test_many_options_are_listed_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explore", "--help"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("usage: kontend explore [options] [TARGET ...]\n")
    assert shown.count("--handovers") == 1


def test_a_topic_is_a_page_of_the_manual(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", "glossary"]) == 0
    assert capsys.readouterr().out.startswith("# Glossary\n")


def test_the_topics_are_listed_with_their_titles(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", "topics"]) == 0
    shown = capsys.readouterr().out
    assert all(f"kontend help {name} " in shown for name in topics())


def test_a_command_without_a_page_shows_its_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", "init"]) == 0
    assert capsys.readouterr().out.startswith("usage: kontend init")


def test_an_unknown_topic_is_answered_with_what_was_meant(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", "glosary"]) == 2
    assert "did you mean glossary?" in capsys.readouterr().err


def test_a_word_that_is_no_topic_leads_to_the_pages_about_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", "finalizers"]) == 2
    assert "the pages that say most about it: status, " in capsys.readouterr().err
