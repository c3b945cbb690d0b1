"""Inputs of an exploration beside its scenario: definitions, objects, actions, and fields that are ignored.

They are plain JSON, so that a trace can carry them: a violation that was found with them replays without the files.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from kontend.cluster.startup.manifests import BadManifest, read, read_definitions
from kontend.explore.problems import BadScenario
from kontend.explore.scenario import Scenario
from kontend.explore.sources.action_documents import actions_of, read_actions
from kontend.kube.meta.names import kind_of


@dataclass(frozen=True, slots=True)
class Inputs:
    """Definitions and ignored fields are added to those of a scenario; objects and actions replace its own."""

    crds: Sequence[Mapping[str, Any]] = ()
    objects: Sequence[Mapping[str, Any]] = ()
    actions: Sequence[Mapping[str, Any]] = ()
    ignore: Sequence[str] = ()

    def __bool__(self) -> bool:
        return any(getattr(self, name) for name in _names())

    def to_json(self) -> dict[str, Any]:
        """The inputs as JSON; those that are absent are left out."""
        return {name: list(value) for name in _names() if (value := getattr(self, name))}

    @classmethod
    def from_json(cls, document: Mapping[str, Any] | None) -> Inputs:
        """Inputs from JSON. Raises :class:`BadScenario`.

        >>> Inputs.from_json({"objects": [{"kind": "Pod"}]}).to_json()
        {'objects': [{'kind': 'Pod'}]}
        """
        given = document or {}
        for name, value in given.items():
            if name not in _names() or not isinstance(value, (list, tuple)):
                raise BadScenario(f"{name}: expected lists of {', '.join(_names())}")
        return cls(**{name: tuple(value) for name, value in given.items()})

    @property
    def kinds(self) -> list[str]:
        """The kinds of the objects and of the actions."""
        acted = [action.kind for action in actions_of(self.actions, "actions")]
        return list(dict.fromkeys([*(str(kind_of(obj)) for obj in self.objects), *acted]))

    def applied(self, scenario: Scenario) -> Scenario:
        """A scenario with these inputs."""
        changes: dict[str, Any] = {}
        if self.crds:
            names = {_name(crd) for crd in self.crds}
            changes["crds"] = [*(crd for crd in scenario.crds if _name(crd) not in names), *self.crds]
        if self.objects:
            changes["objects"] = list(self.objects)
        if self.actions:
            objects = changes.get("objects", scenario.objects)
            changes["actions"] = actions_of(self.actions, "actions", objects)
        if self.ignore:
            changes["ignore"] = [*scenario.ignore, *self.ignore]
        return replace(scenario, **changes) if changes else scenario


def _names() -> list[str]:
    return [each.name for each in fields(Inputs)]


def read_inputs(
    crds: Iterable[Path], objects: Iterable[Path], actions: Iterable[Path], ignore: Iterable[str] = ()
) -> Inputs:
    """Inputs from YAML and JSON files, and from directories of them. Raises :class:`BadScenario`."""
    try:
        return Inputs(
            tuple(manifest.obj for manifest in read_definitions(crds)),
            tuple(manifest.obj for manifest in read(objects)),
            tuple(read_actions(actions)),
            tuple(ignore),
        )
    except BadManifest as error:
        raise BadScenario(str(error)) from error


def _name(crd: Any) -> Any:
    metadata = crd.get("metadata") if isinstance(crd, Mapping) else None
    return metadata.get("name") if isinstance(metadata, Mapping) else None
