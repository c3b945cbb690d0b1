"""Functions of a scenario that read resourceVersions are found by their code."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from kontend.explore.program.version_readers import GENERATIONS, VERSIONS, any_names
from kontend.explore.properties.expressions import property_of
from kontend.runtime.controller import Controller
from kontend.runtime.predicates import GenerationChanged, ResourceVersionChanged


class Widgets(Controller):
    """A controller of this file."""

    kind = "Widget.example.com/v1"
    name = "widgets"


def _version(obj: dict[str, Any]) -> int:
    return int(obj["metadata"]["resourceVersion"])


def _through_another(obj: dict[str, Any]) -> bool:
    return _version(obj) > 3


class _Asks:
    def __call__(self, cluster: Any) -> bool:
        return bool(cluster.state.resource_version)


def _around(function: Any) -> Any:
    return lambda cluster: function(cluster) > 2


def _harmless(cluster: Any) -> bool:
    return bool(cluster.list("ConfigMap/v1")[0]["metadata"]["generation"] == 2)


@pytest.mark.parametrize(
    "function",
    [
        _version,
        _through_another,
        _Asks(),
        _around(_version),
        partial(_version, {}),
        lambda cluster: [obj.get(name) for obj in cluster for name in ("generation", "resourceVersion")],
        property_of(
            {"always": "object.metadata.resourceVersion != ''", "kind": "Pod/v1", "name": "x"}, "here"
        ).question,
    ],
)
def test_a_function_that_names_versions_reads_them(function: object) -> None:
    assert any_names(VERSIONS, [function], [Widgets()])


@pytest.mark.parametrize(
    "function",
    [
        _harmless,
        _around(_harmless),
        len,
        GenerationChanged() | ResourceVersionChanged(),
        property_of({"always": "object.spec.size == 1", "kind": "Pod/v1"}, "here").question,
    ],
)
def test_others_do_not(function: object) -> None:
    assert not any_names(VERSIONS, [function], [Widgets()])


def test_a_function_that_names_generations_reads_them() -> None:
    assert any_names(GENERATIONS, [_around(_harmless)], [Widgets()])
    assert not any_names(GENERATIONS, [_version], [Widgets()])
