"""CustomResourceDefinitions from YAML files: those that a scenario names, and those that lie beside a controller."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from kontend.explore.problems import BadScenario

_DEFINITION: Final = "CustomResourceDefinition"
_SUFFIXES: Final = (".yaml", ".yml")
#: Directories in which projects keep their definitions.
_DIRECTORIES: Final = (".", "crds", "crd", "config/crd/bases", "manifests", "deploy")


def definitions_in(file: Path) -> list[dict[str, Any]]:
    """The definitions of a YAML file. Raises :class:`BadScenario`."""
    try:
        found = list(_definitions(file))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        reason = getattr(error, "strerror", None) or " ".join(str(error).split())
        raise BadScenario(f"{file}: {reason}") from error
    if not found:
        raise BadScenario(f"{file}: it has no {_DEFINITION}")
    return found


def definitions_near(file: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """The definitions beside a Python file and in the usual directories, by group and kind.

    Files that cannot be read are left out: they need not belong to the controllers.
    """
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for name in _DIRECTORIES:
        directory = file.resolve().parent / name
        for path in sorted(directory.iterdir()) if directory.is_dir() else ():
            if path.suffix not in _SUFFIXES or not path.is_file():
                continue
            try:
                for crd in _definitions(path):
                    spec = crd.get("spec") or {}
                    found.setdefault((spec["group"], spec["names"]["kind"]), crd)
            except (OSError, UnicodeDecodeError, yaml.YAMLError, KeyError, TypeError, AttributeError):
                continue
    return found


def _definitions(file: Path) -> Iterator[dict[str, Any]]:
    for document in yaml.safe_load_all(file.read_text()):
        if not isinstance(document, Mapping):
            continue
        items = document.get("items") if str(document.get("kind", "")).endswith("List") else [document]
        for item in items or ():
            if isinstance(item, dict) and item.get("kind") == _DEFINITION:
                yield item
