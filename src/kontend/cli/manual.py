"""``kontend help TOPIC``: a page of the manual, which is installed with the package."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Sequence
from pathlib import Path

import kontend
from kontend.cli.command import ExitCode, Parser, UsageError, write
from kontend.explore.problems import not_among

#: The topic that lists the topics.
_LIST = "topics"
#: The pages to suggest for a word that is no topic.
_MOST = 3


def parser() -> Parser:
    """Return the parser of the options."""
    made = Parser(
        prog="kontend help",
        description="Show a page of the manual.",
        examples={"the place to start": "kontend help tutorial", "the list of pages": f"kontend help {_LIST}"},
    )
    made.add_argument("topic", metavar="TOPIC", choices=[*topics(), _LIST], help="the name of a page or of a command")
    return made


def run(argv: Sequence[str]) -> int:
    """Run ``kontend help``."""
    pages = topics()
    if len(argv) == 1 and not argv[0].startswith("-") and argv[0] not in (*pages, _LIST):
        return _command(argv[0], pages)
    topic = parser().parse_args(list(argv)).topic
    write(_listed(pages) if topic == _LIST else pages[topic].read_text(encoding="utf-8"))
    return ExitCode.OK


def _command(name: str, pages: dict[str, Path]) -> int:
    """Show the page of a command that has none of its own name, or its options."""
    from kontend.cli import COMMANDS, main

    if name in COMMANDS:
        return main([name, "--help"])
    about = _pages_about(name, pages)
    if about:
        raise UsageError(
            f"no topic is called {name}; the pages that say most about it: {', '.join(about)} ('kontend help topics' "
            "lists all)"
        )
    raise UsageError(not_among("topic", name, sorted({*pages, *COMMANDS})))


def _pages_about(word: str, pages: dict[str, Path]) -> list[str]:
    """Return the pages that have a word most often, at most three."""
    pattern = re.compile(rf"\b{re.escape(word)}\b", re.IGNORECASE)
    counts = {name: len(pattern.findall(path.read_text(encoding="utf-8"))) for name, path in pages.items()}
    return [name for name in sorted(pages, key=lambda name: -counts[name])[:_MOST] if counts[name]]


def topics() -> dict[str, Path]:
    """Return the pages of the manual by name."""
    folder = _folder()
    return {} if folder is None else {path.stem: path for path in sorted(folder.glob("*.md"))}


def _listed(pages: dict[str, Path]) -> str:
    width = max(map(len, pages), default=0)
    titles = {
        name: path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ") for name, path in pages.items()
    }
    return "".join(f"kontend help {name:<{width}}  {title}\n" for name, title in titles.items())


def _folder() -> Path | None:
    """Return the manual of this checkout, or the one that was installed with the package."""
    checkout = Path(kontend.__file__).parents[2] / "docs"
    if checkout.is_dir():
        return checkout
    installed = importlib.util.find_spec("kontend_manual")
    places = list(installed.submodule_search_locations or ()) if installed is not None else []
    return Path(places[0]) if places else None
