"""Inputs of a Go package are judged before it is built."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kontend.explore import BadScenario
from kontend.explore.sources.go_packages import go_scenarios
from kontend.explore.sources.inputs import Inputs

POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p"},
    "spec": {"containers": [{"name": "c", "image": "i"}]},
}
NODE: dict[str, Any] = {"apiVersion": "example.com/v1", "kind": "Node", "metadata": {"name": "n"}}


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package that cannot be built."""
    (tmp_path / "go.mod").write_text("module example.com/m\n")
    (tmp_path / "explore_test.go").write_text("package broken because of this\n")
    return tmp_path


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"objects": [NODE, POD | {"spec": {**POD["spec"], "nodeName": False}}]}, r"^objects\[1\] \(Pod p\)"),
        ({"objects": [POD | {"apiVersion": "v2"}]}, 'no kind "Pod" is served for version "v2"'),
        ({"actions": [{"remove": POD}]}, r"actions\[0\]"),
        ({"properties": [{"never": "1 +"}]}, r"properties\[0\]"),
    ],
)
def test_wrong_inputs_are_refused_before_the_build(package: Path, inputs: dict[str, Any], message: str) -> None:
    with pytest.raises(BadScenario, match=message):
        go_scenarios(package, Inputs.from_json(inputs))


def test_objects_of_kinds_without_a_definition_wait_for_the_controllers(package: Path) -> None:
    with pytest.raises(BadScenario, match="neither controller-runtime nor client-go is among"):
        go_scenarios(package, Inputs.from_json({"objects": [NODE]}))
