"""The map of the code: its paths exist, and no package is missing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "kontend"
PAGE = (ROOT / "docs" / "architecture.md").read_text()


def section(title: str) -> str:
    return PAGE.split(f"## {title}\n", 1)[1].split("\n## ", 1)[0]


def rows(text: str) -> list[list[str]]:
    lines = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return lines[1:]


def names(cell: str) -> list[str]:
    return re.findall(r"`([a-z0-9_.]+)`", cell)


def sub_packages(package: str) -> list[str]:
    directory = PACKAGE / package
    return sorted(path.parent.name for path in directory.glob("*/__init__.py"))


def exists(module: str) -> bool:
    path = PACKAGE / module.replace(".", "/")
    return path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()


def test_every_path_exists() -> None:
    paths = re.findall(r"`(src/kontend/[\w/.]+|(?:explore|kube|cluster|verbs)/[\w/]+\.py)`", PAGE)
    assert len(paths) > 20
    places = (ROOT, PACKAGE, PACKAGE / "cluster")
    assert [path for path in paths if not any((place / path).exists() for place in places)] == []


def test_every_layer_exists() -> None:
    layers = [name for row in rows(section("Layers")) for name in names(row[0])]
    assert [layer for layer in layers if layer != "kontend" and not exists(layer.removeprefix("kontend."))] == []
    named = {layer.split(".")[1] for layer in layers if "." in layer}
    assert {path.parent.name for path in PACKAGE.glob("*/__init__.py")} <= named


@pytest.mark.parametrize(
    ("package", "title"),
    [
        ("cluster", "The API server: `kontend.cluster`"),
        ("serve", "The HTTP shell: `kontend.serve`"),
        ("kube", "API machinery: `kontend.kube`"),
        ("explore", "The explorer, package by package"),
        ("live", "Unmodified controllers: `kontend.live`"),
    ],
)
def test_every_part_of_a_layer_has_a_row(package: str, title: str) -> None:
    parts = [name for row in rows(section(title)) for name in names(row[0])]
    assert [part for part in parts if not exists(f"{package}.{part}")] == []
    assert set(sub_packages(package)) <= set(parts)


def test_every_module_of_the_explorer_is_named_beside_its_package() -> None:
    missing = []
    for row in rows(section("The explorer, package by package")):
        for part in names(row[0]):
            directory = PACKAGE / "explore" / part.replace(".", "/")
            modules = {path.stem for path in directory.glob("*.py")} - {"__init__"}
            named = set(re.findall(r"`@?(\w+)`", row[1])) | {Path(name).stem for name in names(row[2])}
            missing += [f"{part}.{module}" for module in sorted(modules - named)]
    assert missing == []
    assert section("The explorer, package by package").count("\n| ") > 15


def test_the_functions_that_answer_a_question_are_in_the_files_beside_them() -> None:
    answers = re.findall(r"`(src/kontend/[\w/]+\.py)`, `(?:\w+\.)?(\w+)`", section("Where is …?"))
    assert ("src/kontend/cluster/verbs/update.py", "_check_resource_version") in answers
    assert [name for path, name in answers if f"def {name}(" not in (ROOT / path).read_text()] == []
