"""The manual: its tutorial prints what it says, and the pages that are made from the code are complete."""

from __future__ import annotations

import re
import shutil
import sys
from importlib import import_module
from pathlib import Path

import pytest

from kontend.audit.rules import RULES
from kontend.cli import COMMANDS

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tools"))
run_tutorial = import_module("run_tutorial")
site_pages = import_module("site_pages")
sys.path.pop(0)


def test_the_tutorial_prints_what_it_says() -> None:
    """Every command, in a fresh directory; times, sizes and hashes may differ."""
    assert run_tutorial.difference(run_tutorial.PAGE.read_text()) == "", "run: python tools/run_tutorial.py"


def test_the_page_about_go_prints_what_it_says() -> None:
    """Every command, in a copy of the Go operators."""
    if shutil.which("go") is None:
        pytest.skip("there is no command go")
    page = run_tutorial.GO_PAGE.read_text()
    assert run_tutorial.difference(page, run_tutorial.GO_FILES) == "", "run: python tools/run_tutorial.py --go"


def test_a_changed_output_of_the_tutorial_is_noticed() -> None:
    page = '```python title="a.txt"\nhello\n```\n\n```console\n$ cat a.txt\nhello\n```\n'
    assert run_tutorial.difference(page) == ""
    assert "+hello" in run_tutorial.difference(page.replace("a.txt\nhello\n```\n", "a.txt\ngood-bye\n```\n"))


def test_every_command_has_its_options_in_the_reference() -> None:
    page = site_pages.commands_page()
    for name in COMMANDS:
        assert f"## kontend {name}\n" in page
        assert f"usage: kontend {name}" in page


def test_every_rule_has_a_page() -> None:
    pages = site_pages.rule_pages()
    assert set(pages) == {"rules/README.md", *(f"rules/{rule.name}.md" for rule in RULES.values())}
    assert all(f"]({rule.name}.md)" in pages["rules/README.md"] for rule in RULES.values())


def test_every_page_is_in_the_navigation() -> None:
    nav = (ROOT / "mkdocs.yml").read_text().partition("\nnav:\n")[2]
    listed = set(re.findall(r"[\w./-]+\.md", nav))
    stored = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    assert stored - listed == set()
    assert listed - stored == {"index.md", "commands.md"}


@pytest.mark.parametrize(
    ("link", "expected"),
    [
        ("[a](traces.md#the-file)", "[a](traces.md#the-file)"),
        ("[flux](../examples/flux/README.md)", "flux"),
        ("![page](images/page.png)", "![page](images/page.png)"),
    ],
)
def test_links_out_of_the_manual_become_text(link: str, expected: str) -> None:
    assert site_pages.inside_links(link, "explore.md") == expected
