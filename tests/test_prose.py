"""Docstrings start with a verb or with the noun that they define."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PYTHON = ("src", "tests", "tools", "benchmarks", "examples", "zoo")
OPENINGS = ("What ", "Whatever ", "Whether ", "Who ", "Whoever ", "How ", "Which ", "Where ", "When ")


def docstrings(file: Path) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            text = ast.get_docstring(node)
            if text is not None:
                yield getattr(node, "lineno", 1), text


@pytest.mark.parametrize("place", PYTHON)
def test_docstrings_do_not_start_with_a_question_word(place: str) -> None:
    files = sorted((ROOT / place).rglob("*.py"))
    assert files
    questions = [
        f"{file.relative_to(ROOT)}:{line}: {text.splitlines()[0]}"
        for file in files
        for line, text in docstrings(file)
        if text.startswith(OPENINGS)
    ]
    assert questions == []


#: Terms of an earlier vocabulary that mean nothing else here, with the terms that replace them (docs/glossary.md).
REPLACED = {
    r"leaps?(?! year)": "macro-step",
    r"pilots?": "instance",
    r"flights": "in-flight reconciles",
    r"(?<!in )(?<!in-)flight(?! =)": "in-flight reconcile",
    r"stor(?:y|ies)": "trace, counterexample",
    r"conversations?": "reconcile run, recorded exchange",
    r"undisturbed": "unperturbed",
    r"choosers?": "scheduler",
    r"diar(?:y|ies)": "observation log",
    r"same end": "diverged",
    r"retried for ?ever": "fails forever",
    r"(?:nobody|no one) (?:is|was) (?:ever )?told": "reported",
    r"held again": "re-run",
    r"held_again|pinned_places|junctors": "(modules that were renamed)",
}
WRITTEN = (*PYTHON, "docs", "README.md", "CHANGELOG.md")


@pytest.mark.parametrize("place", WRITTEN)
def test_terms_that_were_replaced_are_not_used(place: str) -> None:
    path = ROOT / place
    files = [path] if path.is_file() else sorted((*path.rglob("*.py"), *path.rglob("*.md")))
    assert files
    pattern = re.compile(rf"\b(?:{'|'.join(REPLACED)})\b", re.IGNORECASE)
    used = [
        f"{file.relative_to(path.parent)}:{number}: {match.group()}"
        for file in files
        if "data" not in file.parts and file != Path(__file__)
        for number, line in enumerate(file.read_text("utf-8").splitlines(), 1)
        if (match := pattern.search(line.replace("``", "")))
    ]
    assert used == []
