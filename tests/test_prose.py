"""The style of docstrings: a verb in the third person, or the noun that is defined."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "kontend"

#: Packages whose docstrings follow the rule.
PACKAGES = ("cluster", "controllers", "kube")

OPENING = re.compile(r"(What|Whether|Who|Whoever|How|Which|Where|When|Why)\b")


def _docstrings(path: Path) -> Iterator[tuple[str, str]]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            docstring = ast.get_docstring(node)
            if docstring is not None:
                yield f"{path.relative_to(SOURCE)}: {getattr(node, 'name', 'module')}", docstring


@pytest.mark.parametrize("package", PACKAGES)
def test_no_docstring_opens_with_a_question_word(package: str) -> None:
    paths = sorted((SOURCE / package).rglob("*.py"))
    assert paths
    bad = [
        f"{name}: {text.splitlines()[0]}" for path in paths for name, text in _docstrings(path) if OPENING.match(text)
    ]
    assert not bad, "\n".join(bad)
