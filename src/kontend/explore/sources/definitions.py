"""CustomResourceDefinitions that lie in YAML files near a controller."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from kontend.cluster.startup.manifests import BadManifest, Manifest, read
from kontend.runtime.user_file import project_directories

_DEFINITION: Final = "CustomResourceDefinition"
_SUFFIXES: Final = (".yaml", ".yml")
#: Directories in which projects keep their definitions.
_DIRECTORIES: Final = (".", "crds", "crd", "config/crd", "config/crd/bases", "manifests", "deploy")


def definitions_near(file: Path) -> dict[tuple[str, str], Manifest]:
    """The definitions beside a Python file and in the usual directories there and of its project, by group and kind.

    Files that cannot be read are left out: they need not belong to the controllers.
    """
    manifests: dict[tuple[str, str], Manifest] = {}
    for base in dict.fromkeys([file.resolve().parent, *project_directories(file.resolve())]):
        for name in _DIRECTORIES:
            for crd in _definitions(base / name):
                try:
                    manifests.setdefault((crd.obj["spec"]["group"], crd.obj["spec"]["names"]["kind"]), crd)
                except (KeyError, TypeError):
                    continue
    return manifests


def _definitions(directory: Path) -> list[Manifest]:
    manifests: list[Manifest] = []
    for path in sorted(directory.iterdir()) if directory.is_dir() else ():
        if path.suffix in _SUFFIXES and path.is_file():
            try:
                manifests += [manifest for manifest in read([path]) if manifest.obj.get("kind") == _DEFINITION]
            except BadManifest:
                continue
    return manifests
