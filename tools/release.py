"""Release: the version, the notes of the changelog, and the check of a wheel on the Python that runs this.

    python tools/release.py version
    python tools/release.py notes
    python tools/release.py check dist/kontend-0.2.0-py3-none-any.whl

The version stands in pyproject.toml and not in a tag, so that a shallow clone and an archive build it too; the workflow
refuses a tag that differs.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent


def version() -> str:
    """Return the version of the project."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return str(project["version"])


def notes(changelog: str, wanted: str) -> str:
    """Return the section of a version.

    >>> notes("# Changelog\\n\\n## 0.2.0 (unreleased)\\n\\n- This.\\n\\n## 0.1.0\\n\\n- That.\\n", "0.2.0")
    '- This.\\n'
    """
    for section in re.split(r"^## ", changelog, flags=re.MULTILINE)[1:]:
        title, _, text = section.partition("\n")
        if title.split()[0] == wanted:
            return text.strip("\n") + "\n"
    raise SystemExit(f"CHANGELOG.md has no section for {wanted}")


def check(wheel: Path) -> None:
    """Install a wheel into an environment of its own, explore an example there, and show a page of the manual."""
    with tempfile.TemporaryDirectory() as directory:
        binaries = Path(directory, "venv", "bin")
        example = ROOT / "examples" / "double_plan.py"
        for command in (
            [sys.executable, "-m", "venv", str(binaries.parent)],
            [
                str(binaries / "python"),
                "-m",
                "pip",
                "install",
                "--quiet",
                "--disable-pip-version-check",
                str(wheel.resolve()),
            ],
            [str(binaries / "kontend"), "--version"],
            [str(binaries / "kontend"), "explore", str(example), "--scenario", "locked"],
            [str(binaries / "kontend"), "help", "topics"],
        ):
            subprocess.run(command, check=True, cwd=directory)


def main(arguments: list[str]) -> None:
    """Run one of the three."""
    match arguments:
        case ["version"]:
            print(version())
        case ["notes"]:
            print(notes((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), version()), end="")
        case ["check", wheel]:
            check(Path(wheel))
        case _:
            raise SystemExit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
