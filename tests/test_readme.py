"""What the README shows is so."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

_ROOT = Path(__file__).parent.parent
_README = (_ROOT / "README.md").read_text()
_TEN_LINES, _OPERATOR = re.findall(r"```python\n(.*?)```", _README, re.DOTALL)


def test_the_ten_lines_print_what_they_say() -> None:
    ran = subprocess.run([sys.executable, "-c", _TEN_LINES], capture_output=True, text=True, check=True, timeout=60)
    said = re.search(r"# (Operation .*?) \.\.\.", _TEN_LINES)
    assert said is not None
    assert ran.stdout.startswith(said[1])


def test_the_operator_is_the_example_and_short() -> None:
    """The tests of the runtime run the example, in process and against a server."""
    example = (_ROOT / "examples" / "website_operator.py").read_text()
    assert example.endswith(_OPERATOR)
    assert len(_OPERATOR.splitlines()) < 40


def test_links_lead_somewhere() -> None:
    """In the README, and in every page of docs."""
    for page in [_ROOT / "README.md", *sorted((_ROOT / "docs").rglob("*.md"))]:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_paths_in_the_architecture_exist() -> None:
    page = (_ROOT / "docs" / "architecture.md").read_text()
    paths = re.findall(r"`((?:src|tests|tools)/[^`]+)`", page)
    assert len(paths) > 10
    assert [path for path in paths if not (_ROOT / path).exists()] == []
