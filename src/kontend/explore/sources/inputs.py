"""Inputs of an exploration beside its scenario: definitions, objects, actions, properties, and fields that are ignored.

They are plain JSON, so that a trace can carry them: a violation that was found with them replays without the files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from kontend.cluster.startup.manifests import BadManifest, documents_in, read, read_definitions
from kontend.explore.problems import BadScenario
from kontend.explore.properties.expressions import property_of
from kontend.explore.properties.property import Property
from kontend.explore.scenario import Scenario
from kontend.explore.sources.action_documents import actions_of, read_actions
from kontend.kube.meta.names import kind_of


@dataclass(frozen=True, slots=True)
class Inputs:
    """Definitions, properties and ignored fields are added to a scenario; objects and actions replace its own."""

    crds: Sequence[Mapping[str, Any]] = ()
    objects: Sequence[Mapping[str, Any]] = ()
    actions: Sequence[Mapping[str, Any]] = ()
    ignore: Sequence[str] = ()
    #: Properties in CEL.
    properties: Sequence[Mapping[str, Any]] = ()

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

    def properties_of(self, objects: Iterable[Any]) -> list[Property]:
        """The properties; ``objects`` in them has the kinds of these objects, and those that they name."""
        kinds = tuple(dict.fromkeys([*(str(kind_of(obj)) for obj in objects if isinstance(obj, Mapping)), *self.kinds]))
        return [property_of(item, f"properties[{at}]", kinds) for at, item in enumerate(self.properties)]

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
        if self.properties:
            objects = changes.get("objects", scenario.objects)
            changes["properties"] = [*scenario.properties, *self.properties_of(objects)]
        return replace(scenario, **changes) if changes else scenario


def _names() -> list[str]:
    return [each.name for each in fields(Inputs)]


def read_inputs(
    crds: Iterable[Path],
    objects: Iterable[Path],
    actions: Iterable[Path],
    ignore: Iterable[str] = (),
    properties: Iterable[Path] = (),
) -> Inputs:
    """Inputs from YAML and JSON files, and from directories of them. Raises :class:`BadScenario`."""
    try:
        return Inputs(
            tuple(manifest.obj for manifest in read_definitions(crds)),
            tuple(manifest.obj for manifest in read(objects)),
            tuple(read_actions(actions)),
            tuple(ignore),
            tuple(_read_properties(properties)),
        )
    except BadManifest as error:
        raise BadScenario(str(error)) from error


def _read_properties(paths: Iterable[Path]) -> Iterator[Mapping[str, Any]]:
    for path in paths:
        for where, value in documents_in(path):
            for item in value if isinstance(value, list) else [value]:
                property_of(item, where)  # a mistake is reported with its file
                yield item


def _name(crd: Any) -> Any:
    metadata = crd.get("metadata") if isinstance(crd, Mapping) else None
    return metadata.get("name") if isinstance(metadata, Mapping) else None
