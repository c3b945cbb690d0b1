"""Samples take the place of examples that a schema refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kontend import Api, Controller, Request
from kontend.explore import BadScenario
from kontend.explore.sources.generated import generated_scenarios
from kontend.explore.sources.samples import samples_of

TIME: dict[str, Any] = {"type": "string", "pattern": "^[0-9]+:[0-9]+$"}
SPEC: dict[str, Any] = {"type": "object", "required": ["at"], "properties": {"at": TIME}}
CRD: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "naps.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "naps", "singular": "nap", "kind": "Nap"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "required": ["spec"], "properties": {"spec": SPEC}}},
            }
        ],
    },
}
KNOWN = {("example.com", "Nap"): CRD}
SAMPLE = "apiVersion: example.com/v1\nkind: Nap\nmetadata: {name: noon}\nspec: {at: '12:30'}\n"


class Naps(Controller):
    """A controller that reads."""

    kind = "Nap.example.com/v1"

    async def reconcile(self, request: Request, api: Api) -> None:
        """Read."""
        await api.get(self.kind, request)


def test_a_sample_stands_for_an_object_that_cannot_be_guessed(tmp_path: Path) -> None:
    samples = tmp_path / "config" / "samples"
    samples.mkdir(parents=True)
    (samples / "a.yaml").write_text("not: [a manifest")
    (samples / "b.yaml").write_text(SAMPLE)
    scenarios = generated_scenarios("Naps", [Naps()], KNOWN, samples=samples_of([tmp_path]))
    assert scenarios["Naps"].objects[0]["metadata"]["name"] == "noon"
    assert "Naps/deleted" in scenarios


def test_without_a_sample_the_way_out_is_named() -> None:
    with pytest.raises(BadScenario, match=r"no example object could be generated: .*give one with --objects"):
        generated_scenarios("Naps", [Naps()], KNOWN)
