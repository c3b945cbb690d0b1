"""Runs the commands of docs/tutorial.md, and writes what they print into the page.

    python tools/run_tutorial.py           # writes the outputs
    python tools/run_tutorial.py --go      # the same for docs/explore-go.md, in a copy of examples/go
    python tools/run_tutorial.py --check   # says whether they differ, up to times, sizes and hashes

Blocks with a ``title`` are written to files, ``console`` blocks are run, all in one fresh directory.
"""

from __future__ import annotations

import difflib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

PAGE: Final = Path(__file__).parent.parent / "docs" / "tutorial.md"
GO_PAGE: Final = PAGE.with_name("explore-go.md")
GO_FILES: Final = PAGE.parent.parent / "examples" / "go"
_BLOCK: Final = re.compile(
    r'^```(?:python title="(?P<file>[^"]+)"|(?P<console>console))\n(?P<text>.*?)^```$', re.M | re.S
)
#: Text that differs from run to run, and from version to version without a meaning for the reader.
_MASKED: Final = {
    # pytest adds hours, minutes and seconds to what has taken longer than a minute.
    r"\b\d+(\.\d+)? ?s\b( \(\d+:\d+:\d+\))?": "N s",
    r"\b\d[\d,]* (states|steps|times|final states?)\b": r"N \1",
    r"-[0-9a-f]{8}\.(zip|html)": r"-HASH.\1",
    r"sha256 [0-9a-f]+": "sha256 HASH",
    r'@reproduce\("[^"]*"\)': '@reproduce("TOKEN")',
    r"/tmp/[^\s/]+/": "/tmp/DIRECTORY/",
    r"[.\s]+\[100%\]": " [100%]",
}


def rendered(page: str, directory: Path) -> str:
    """The page with the outputs of its commands."""
    parts: list[str] = []
    end = 0
    for block in _BLOCK.finditer(page):
        parts.append(page[end : block.start()])
        end = block.end()
        if block["file"]:
            (directory / block["file"]).write_text(block["text"])
            parts.append(block.group())
            continue
        parts.append("```console\n")
        for line in block["text"].splitlines():
            if line.startswith("$ "):
                parts.append(f"{line}\n{_output(line.removeprefix('$ '), directory)}")
        parts.append("```")
    return "".join([*parts, page[end:]])


def _output(command: str, directory: Path) -> str:
    """The output of a command in a shell; the tools are those of this environment."""
    tools = str(Path(sys.executable).parent)
    environment = {**os.environ, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}", "NO_COLOR": "1", "COLUMNS": "120"}
    environment["KONTEND_CACHE"] = str(directory / ".cache")
    environment.pop("PYTEST_ADDOPTS", None)
    ran = subprocess.run(
        ["bash", "-c", command],
        cwd=directory,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    lines = [line.rstrip() for line in ran.stdout.replace(str(directory), "/tmp/tutorial").splitlines()]
    return "".join(f"{line}\n" for line in lines)


def masked(page: str) -> list[str]:
    """The lines of a page without what may differ."""
    for pattern, mask in _MASKED.items():
        page = re.sub(pattern, mask, page)
    return page.splitlines()


def difference(page: str, files: Path | None = None) -> str:
    """The difference between a page and what its commands print now, with some files; empty for none."""
    with tempfile.TemporaryDirectory() as directory:
        if files is not None:
            shutil.copytree(files, directory, dirs_exist_ok=True)
        now = rendered(page, Path(directory).resolve())
    return "\n".join(difflib.unified_diff(masked(page), masked(now), "the page", "what is printed", lineterm=""))


def main() -> int:
    """Write or check the page."""
    page = PAGE.read_text(encoding="utf-8")
    if "--go" in sys.argv:
        with tempfile.TemporaryDirectory() as directory:
            shutil.copytree(GO_FILES, directory, dirs_exist_ok=True)
            GO_PAGE.write_text(
                rendered(GO_PAGE.read_text(encoding="utf-8"), Path(directory).resolve()), encoding="utf-8"
            )
        return 0
    if "--check" in sys.argv:
        differs = difference(page)
        print(differs or "the tutorial prints what it says")
        return 1 if differs else 0
    with tempfile.TemporaryDirectory() as directory:
        PAGE.write_text(rendered(page, Path(directory).resolve()), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
