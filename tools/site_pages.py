"""Pages of the site that are made from the code when it is built: the start page, the commands, the rules.

A hook of mkdocs (``make docs``). They are not stored, so they cannot be out of date.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
from pathlib import Path, PurePosixPath
from typing import Any, Final

ROOT: Final = Path(__file__).parent.parent
_LINK: Final = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s:]+)\)")
_WIDTH: Final = "100"


def on_files(files: Any, config: Any) -> Any:
    """Add the generated pages."""
    from mkdocs.structure.files import File

    for name, content in generated_pages().items():
        if files.get_file_from_path(name) is not None:
            files.remove(files.get_file_from_path(name))
        files.append(File.generated(config, name, content=content))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Turn links to files outside of the manual into text."""
    return inside_links(markdown, page.file.src_uri)


def generated_pages() -> dict[str, str]:
    """The pages by name."""
    start = (ROOT / "README.md").read_text(encoding="utf-8").replace("](docs/", "](")
    return {"index.md": start, "commands.md": commands_page(), **rule_pages()}


def commands_page() -> str:
    """The reference of the commands: what each prints with ``--help``."""
    from kontend.cli import COMMANDS

    parts = ["# Commands\n", "Every command prints this with `--help`.\n"]
    for name, command in COMMANDS.items():
        parts += [f"## kontend {name}\n", f"{command.summary[0].upper()}{command.summary[1:]}.\n"]
        parts += ["```text", help_of(name).rstrip(), "```\n"]
    return "\n".join(parts)


def help_of(command: str) -> str:
    """The output of a command with ``--help``."""
    from kontend.cli import main

    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = _WIDTH
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            main([command, "--help"])
    finally:
        if before is None:
            del os.environ["COLUMNS"]
        else:
            os.environ["COLUMNS"] = before
    return printed.getvalue()


def rule_pages() -> dict[str, str]:
    """The rules of the auditor: a table, and a page for each."""
    from kontend.audit.rules import RULES, page

    lines = ["# Rules of kontend audit\n", "`kontend rule NAME` prints the page of a rule.\n"]
    lines += ["| code | rule | severity | |", "|---|---|---|---|"]
    pages: dict[str, str] = {}
    for rule in RULES.values():
        severity = rule.severity.value if rule.severity else "by policy"
        lines.append(f"| {rule.code} | [{rule.name}]({rule.name}.md) | {severity} | {rule.summary} |")
        pages[f"rules/{rule.name}.md"] = page(rule)
    return {"rules/README.md": "\n".join(lines) + "\n", **pages}


def inside_links(markdown: str, name: str) -> str:
    """The text of a page whose links to files outside of the manual are plain text.

    >>> inside_links("[a](b.md), [Changelog](../CHANGELOG.md)", "x.md")
    '[a](b.md), Changelog'
    """

    def replaced(link: re.Match[str]) -> str:
        image, text, target = link.groups()
        path = os.path.normpath(PurePosixPath(name).parent / target.partition("#")[0])
        # The start page is the README, whose links start at the root of the repository.
        outside = path.startswith("..") or (name == "index.md" and not (ROOT / "docs" / path).exists())
        return text if outside and not image else link.group()

    return _LINK.sub(replaced, markdown)
