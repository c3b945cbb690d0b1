"""Sample objects that a project carries, such as those of kubebuilder in ``config/samples``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from kontend.cluster.startup.manifests import BadManifest, read

_SAMPLES: Final = "config/samples"
_SUFFIXES: Final = (".yaml", ".yml")


def samples_of(directories: Iterable[Path]) -> dict[tuple[str, str], Mapping[str, Any]]:
    """The first sample of each kind near some directories, by API version and kind.

    Files that cannot be read are left out: they need not be manifests.
    """
    samples: dict[tuple[str, str], Mapping[str, Any]] = {}
    for directory in directories:
        for path in sorted((directory / _SAMPLES).glob("*")):
            if path.suffix not in _SUFFIXES:
                continue
            try:
                found = [manifest.obj for manifest in read([path])]
            except BadManifest:
                continue
            for obj in found:
                samples.setdefault((str(obj.get("apiVersion")), str(obj.get("kind"))), obj)
    return samples
