"""``kontend completion SHELL``: completions for bash, zsh and fish, made from the parsers of the commands.

The script is static: completing starts no Python, so it is immediate. It has to be printed again after an upgrade.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Final

from kontend.cli.command import ExitCode, Parser, write


def parser() -> Parser:
    """Return the parser of the options."""
    made = Parser(
        prog="kontend completion",
        description="Print completions for a shell.",
        examples={
            "bash": "kontend completion bash > ~/.local/share/bash-completion/completions/kontend",
            "zsh, in a directory of $fpath": "kontend completion zsh > ~/.zfunc/_kontend",
            "fish": "kontend completion fish > ~/.config/fish/completions/kontend.fish",
        },
    )
    made.add_argument("shell", choices=tuple(_SCRIPTS), help="the shell")
    return made


def run(argv: Sequence[str]) -> int:
    """Run ``kontend completion``."""
    shell = parser().parse_args(list(argv)).shell
    write(_SCRIPTS[shell](known_commands()))
    return ExitCode.OK


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a command: its spellings, its help, and the words that may follow."""

    spellings: tuple[str, ...]
    help: str
    takes_value: bool
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Subcommand:
    """A command: its summary, its options, and the words that it takes; without words it takes files."""

    summary: str
    options: tuple[Option, ...]
    words: tuple[str, ...] = ()

    @property
    def spellings(self) -> list[str]:
        """The spellings of all options."""
        return [spelling for option in self.options for spelling in option.spellings]


def known_commands() -> dict[str, Subcommand]:
    """Return all commands, with the options of their parsers."""
    from kontend.cli import COMMANDS

    shown: dict[str, Subcommand] = {}
    for name, command in COMMANDS.items():
        made = _parser_of(command.module)
        words = [str(word) for action in made._actions if not action.option_strings for word in action.choices or ()]
        shown[name] = Subcommand(command.summary, tuple(_options(made)), tuple(words))
    return shown


def _parser_of(module: str) -> argparse.ArgumentParser:
    made: argparse.ArgumentParser = import_module(module).parser()
    return made


def _options(made: argparse.ArgumentParser) -> Iterator[Option]:
    for action in made._actions:
        if action.option_strings:
            text = re.sub(r"\s+", " ", (action.help or "").replace("%%", "%"))
            words = tuple(str(word) for word in action.choices or ())
            yield Option(tuple(action.option_strings), text, action.nargs != 0, words)


def _bash(commands: Mapping[str, Subcommand]) -> str:
    cases = "\n".join(
        f"    {name}) options={_quoted(' '.join(shown.spellings))} words={_quoted(' '.join(shown.words))} ;;"
        for name, shown in commands.items()
    )
    values = "\n".join(
        f"    {_quoted(f'{name} {spelling}')}) chosen={_quoted(' '.join(option.words))} ;;"
        for name, shown in commands.items()
        for option in shown.options
        if option.words
        for spelling in option.spellings
    )
    return f"""# bash completion for kontend
_kontend() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}} command=${{COMP_WORDS[1]}}
  local options words chosen=
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W {_quoted(" ".join([*commands, "--help", "--version"]))} -- "$word"))
    return
  fi
  case $command in
{cases}
  esac
  chosen=$words
  case "$command $previous" in
{values}
  esac
  case $word in
    -*) COMPREPLY=($(compgen -W "$options" -- "$word")) ;;
    *) COMPREPLY=($(if [ -n "$chosen" ]; then compgen -W "$chosen" -- "$word"; else compgen -f -- "$word"; fi)) ;;
  esac
}}
complete -o filenames -F _kontend kontend
"""


def _zsh(commands: Mapping[str, Subcommand]) -> str:
    summaries = " ".join(_quoted(f"{name}:{shown.summary}") for name, shown in commands.items())
    cases = "\n".join(f"    {name}) _arguments {_zsh_arguments(shown)} ;;" for name, shown in commands.items())
    return f"""#compdef kontend
_kontend() {{
  local -a commands=({summaries})
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
{cases}
  esac
}}
_kontend "$@"
"""


def _zsh_arguments(shown: Subcommand) -> str:
    arguments = []
    for option in shown.options:
        after = f":value:({' '.join(option.words)})" if option.words else ":value:_files" if option.takes_value else ""
        text = option.help.translate(_ZSH_ESCAPES)
        arguments += [_quoted(f"*{spelling}[{text}]{after}") for spelling in option.spellings]
    arguments.append(_quoted(f"*:word:({' '.join(shown.words)})" if shown.words else "*:file:_files"))
    return " ".join(arguments)


def _fish(commands: Mapping[str, Subcommand]) -> str:
    lines = ["# fish completion for kontend"]
    lines += [
        f"complete -c kontend -n __fish_use_subcommand -f -a {name} -d {_fish_quoted(shown.summary)}"
        for name, shown in commands.items()
    ]
    for name, shown in commands.items():
        start = f"complete -c kontend -n {_fish_quoted(f'__fish_seen_subcommand_from {name}')}"
        if shown.words:
            lines.append(f"{start} -f -a {_fish_quoted(' '.join(shown.words))}")
        for option in shown.options:
            spellings = " ".join(
                f"-l {spelling[2:]}" if spelling.startswith("--") else f"-s {spelling[1:]}"
                for spelling in option.spellings
            )
            value = (
                f" -x -a {_fish_quoted(' '.join(option.words))}"
                if option.words
                else " -r"
                if option.takes_value
                else ""
            )
            lines.append(f"{start} {spellings}{value} -d {_fish_quoted(option.help)}")
    return "\n".join(lines) + "\n"


#: In the descriptions of zsh's _arguments.
_ZSH_ESCAPES: Final = str.maketrans({"[": "\\[", "]": "\\]", ":": "\\:"})


def _quoted(text: str) -> str:
    """Return a word of bash and zsh.

    >>> print(_quoted("it's"))
    'it'\\''s'
    """
    return "'" + text.replace("'", "'\\''") + "'"


def _fish_quoted(text: str) -> str:
    """Return a word of fish.

    >>> print(_fish_quoted("it's"))
    'it\\'s'
    """
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


_SCRIPTS: Final[Mapping[str, Callable[[Mapping[str, Subcommand]], str]]] = {"bash": _bash, "zsh": _zsh, "fish": _fish}
