"""Scenarios in YAML, and the translation of kamera's input."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml

from kontend.explore import BadScenario, check
from kontend.explore.planned.kamera import translated
from kontend.explore.planned.plan import plan_of
from kontend.explore.planned.running import explore_plan
from kontend.explore.scenario_documents import scenario_documents

CONTROLLER = """
from kontend import Controller, NotFound, new_object

class Exports(Controller):
    kind = "APIExport.apis.kcp.io/v1alpha1"

    async def reconcile(self, request, api):
        export = await api.get(self.kind, request)
        try:
            await api.live.get("ConfigMap/v1", "default/first")
        except NotFound:
            for name in ("first", "second"):
                await api.create(new_object("ConfigMap/v1", name, namespace="default", data=export["spec"]))
"""
EXPORT = {"apiVersion": "apis.kcp.io/v1alpha1", "kind": "APIExport", "metadata": {"name": "e"}, "spec": {"n": "1"}}
INPUT: list[dict[str, Any]] = [
    {
        "name": "kcp",
        "environmentState": {"objects": [EXPORT]},
        "externalInputs": [{"id": "later", "opType": "UPDATE", "object": {**EXPORT, "spec": {"n": "2"}}}],
        "tuning": {
            "maxDepth": 44,
            "permuteControllers": ["ExportController"],
            "permuteDepthRange": {"min": 1, "max": 10},
            "permuteAfterEvent": {"opType": "CREATE", "kind": "apis.kcp.io/APIExport"},
            "userActionReadyDepths": {"0": 2},
            "stalenessIntervals": [
                {"reconciler": "ExportController", "kind": "APIExport", "staleAt": 3, "catchUpAt": 6, "lag": 1}
            ],
            "faultInjection": [
                {"reconciler": "ExportController", "crashAfterEffect": 1, "recoverAtDepth": 9, "triggerOnce": True}
            ],
            "search": {"mode": "dfs"},
        },
    }
]
MAPPED = {"ExportController": "exports_module:Exports"}


def written(tmp_path: Path, document: Any) -> Path:
    (tmp_path / "exports_module.py").write_text(CONTROLLER)
    file = tmp_path / "scenario.yaml"
    file.write_text(yaml.safe_dump(document))
    sys.modules.pop("exports_module", None)
    return file


def test_a_translated_input_is_explored_under_its_plan(tmp_path: Path) -> None:
    document, notes = translated(INPUT, MAPPED, {})
    assert [note.split(" is left out")[0] for note in notes] == ["kcp: maxDepth", "kcp: recoverAtDepth"]
    ((scenario, plan),) = scenario_documents(written(tmp_path, document)).values()
    verdict = explore_plan(scenario, plan_of(plan, "plan"))
    assert [violation.property for violation in verdict.violations] == ["diverged"]
    assert not scenario.guards.on


def test_the_command_writes_a_file_that_the_explorer_reads(tmp_path: Path) -> None:
    (tmp_path / "input.json").write_bytes(orjson.dumps(INPUT))
    command = [sys.executable, "-m", "kontend"]
    mapped = ["--controller", "ExportController=exports_module:Exports"]
    done = subprocess.run(
        [*command, "import", "kamera", "input.json", *mapped], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert "maxDepth is left out" in done.stderr
    written(tmp_path, yaml.safe_load(done.stdout))
    done = subprocess.run(
        [*command, "explore", "scenario.yaml"], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 1, done.stderr
    assert "only what the plan says" in done.stdout


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"tuning": {"stalenessIntervals": [{"reconciler": "x", "kind": "Export", "staleAt": 1}]}},
            "no kind is called",
        ),
        ({"tuning": {"permuteForSteps": 3}}, "no field is called permuteForSteps"),
        ({"externalInputs": [{"opType": "APPLY", "object": EXPORT}]}, "no opType is called apply"),
    ],
)
def test_names_that_kamera_ignores_silently_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(BadScenario, match=message):
        translated([{**INPUT[0], **change}], MAPPED, {})


def test_a_scenario_in_yaml_has_actions_properties_and_bounds(tmp_path: Path) -> None:
    document = {
        "name": "exports",
        "controllers": ["exports_module:Exports"],
        "objects": [EXPORT],
        "actions": [{"update": {**EXPORT, "spec": {"n": "2"}}}, {"delete": EXPORT}],
        "properties": [
            {"eventually": 'objects["ConfigMap/v1"].size() == 2', "name": "two"},
            {"never": 'object.data.n == "2"', "kind": "ConfigMap/v1", "name": "second size"},
        ],
        "bounds": {"lag": 0, "faults": 0},
    }
    ((scenario, plan),) = scenario_documents(written(tmp_path, document)).values()
    assert plan is None
    assert scenario.bounds.lag == 0
    verdict = check(scenario)
    assert "second size" in {violation.property for violation in verdict.violations}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"controler": []}, r"no field is called controler \(did you mean controllers"),
        ({"controllers": ["nowhere:Exports"]}, "No module named 'nowhere'"),
        ({"controllers": ["pathlib:Path"]}, "is not a Controller"),
        ({"bounds": {"lags": 1}}, r"no field is called lags \(did you mean lag"),
        ({"actions": [{"replace": EXPORT}]}, "no action is called replace"),
        ({"properties": [{"always": "1 +"}]}, "properties"),
        ({"properties": [{"maybe": "true"}]}, "expected always, never, eventually or sometimes"),
    ],
)
def test_a_mistake_in_a_scenario_file_is_named(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    document = {"controllers": ["exports_module:Exports"], "objects": [EXPORT], **change}
    with pytest.raises(BadScenario, match=message):
        scenario_documents(written(tmp_path, document))
