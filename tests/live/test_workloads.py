"""Workloads that are derived from definitions, samples and a first run."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from kontend import Cluster
from kontend.cli import main
from kontend.cluster.startup.seed import empty_state
from kontend.cluster.state import State
from kontend.kube.meta.names import Key
from kontend.live.gate.call import Call
from kontend.live.gate.plan import Plan
from kontend.live.gate.records import Log, Request
from kontend.live.process.quiescence import Rest
from kontend.live.runs.outcome import Run
from kontend.live.runs.setting import PRIMARY
from kontend.live.runs.workload import read_actions
from kontend.live.workloads.candidates import candidates
from kontend.live.workloads.steps import steps, with_children
from kontend.live.workloads.writing import as_yaml
from live.conftest import HERE, SUBJECTS


def definition(kind: str, spec: dict[str, Any], **more: Any) -> dict[str, Any]:
    plural = f"{kind.lower()}s"
    schema = {"type": "object", "properties": {"spec": spec}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
            "versions": [
                {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}, **more}
            ],
        },
    }


STRING = {"type": "string"}
SIZED = {
    "type": "object",
    "required": ["size", "mode", "image"],
    "properties": {
        "size": {"type": "integer", "minimum": 2},
        "mode": {"type": "string", "enum": ["calm", "loud"]},
        "image": {**STRING, "default": "app:1.9"},
        "nodes": {"type": "integer", "default": 1},
    },
}
SCALED = definition(
    "Sized", SIZED, subresources={"scale": {"specReplicasPath": ".spec.nodes", "statusReplicasPath": ".status.n"}}
)
REFERENCE = {"type": "object", "required": ["name"], "properties": {"name": STRING}}
USER = definition("User", {"type": "object", "required": ["sizedRef"], "properties": {"sizedRef": REFERENCE}})


def state_with(*definitions: dict[str, Any]) -> State:
    cluster = Cluster(state=empty_state())
    for each in definitions:
        cluster.create(each)
    return cluster.state


def test_objects_are_made_from_required_fields_and_refer_to_each_other_by_name() -> None:
    state = state_with(SCALED, USER)
    sized, user = candidates(state, [SCALED, USER], [])
    assert sized["spec"] == {"size": 2, "mode": "calm", "image": "app:1.9"}
    assert user["spec"] == {"sizedRef": {"name": sized["metadata"]["name"]}}


def test_a_sample_beside_the_definitions_is_preferred_and_one_that_the_server_refuses_is_not(tmp_path: Path) -> None:
    (tmp_path / "crd").mkdir()
    (tmp_path / "samples").mkdir()
    sample = {
        "apiVersion": "example.com/v1",
        "kind": "Sized",
        "metadata": {"name": "s"},
        "spec": {"size": 5, "mode": "loud"},
    }
    wrong = {**sample, "metadata": {"name": "a"}, "spec": {"size": 0, "mode": "loud"}}
    (tmp_path / "samples" / "a.yaml").write_text(yaml.safe_dump(wrong))
    (tmp_path / "samples" / "b.yaml").write_text(yaml.safe_dump(sample))
    (found,) = candidates(state_with(SCALED), [SCALED], [tmp_path / "crd"])
    assert found["spec"] == {"size": 5, "mode": "loud"}


def test_a_user_creates_scales_changes_deletes_and_creates_again(tmp_path: Path) -> None:
    state = state_with(SCALED)
    made = steps(state, candidates(state, [SCALED], []))
    patches = [action.obj["spec"] for action in made if action.verb == "patch"]
    assert patches[:3] == [{"nodes": 3}, {"nodes": 1}, {"image": "app:1.10"}]
    verbs = [(action.verb, action.key.name) for action in made if action.verb != "patch"]
    assert verbs == [("create", "sized"), ("create", "sized-2"), ("delete", "sized"), ("create", "sized")]
    path = tmp_path / "actions.yaml"
    path.write_text(as_yaml(made))
    assert [action.text for action in read_actions(path)] == [action.text for action in made]


def test_without_actions_a_workload_is_derived_shown_and_written_down(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first run shows the child, which the user then edits and deletes."""
    path = tmp_path / "workload.yaml"
    sample = {
        "apiVersion": "live.kontend.dev/v1",
        "kind": "Widget",
        "metadata": {"name": "widget"},
        "spec": {"size": 1},
    }
    for name, text in (("crd", (HERE / "crds.yaml").read_text()), ("samples", yaml.safe_dump(sample))):
        (tmp_path / name).mkdir()
        (tmp_path / name / "all.yaml").write_text(text)
    options = ["--patience", "0.5", "--observe", "0.1", "--list-plans", "--failures", str(tmp_path)]
    arguments = ["--crds", str(tmp_path / "crd"), "--workload", str(path), *options]
    assert main(["live", *arguments, "--", sys.executable, str(SUBJECTS / "plain.py")]) == 0
    out = capsys.readouterr().out
    actions = read_actions(path)
    assert out.startswith(f"workload: {len(actions)} steps, derived; {path} has them (--actions)\n")
    texts = [action.text for action in actions]
    assert texts[0] == "creates Widget default/widget"
    assert "deletes ConfigMap default/widget-config" in texts
    assert "next user action right after" in out


def test_a_child_without_data_gets_a_label_from_the_user() -> None:
    cluster = Cluster()
    before = cluster.state
    cluster.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "child"}})
    call = Call("create", "configmaps", "default", "child")
    request = Request(1, PRIMARY, call, 0.0, 1, Key("default", "child"), before=before, after=cluster.state)
    run = Run(Plan(()), Log([request]), Rest.IDLE, before, cluster.state)
    edit, deletion = with_children([], run)
    assert edit.obj["metadata"] == {"name": "child", "namespace": "default", "labels": {"edited": "by-hand"}}
    assert (deletion.verb, deletion.key.name) == ("delete", "child")


def test_what_the_controller_makes_before_the_user_acts_is_left_alone() -> None:
    cluster = Cluster()
    before = cluster.state
    requests = []
    for action, name in enumerate(("lock", "child")):
        cluster.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": "b"}})
        call = Call("create", "configmaps", "default", name)
        key = Key("default", name)
        requests.append(Request(1, PRIMARY, call, 0.0, action, key, before=before, after=cluster.state))
        before = cluster.state
    run = Run(Plan(()), Log([*requests]), Rest.IDLE, before, cluster.state)
    assert {action.key.name for action in with_children([], run)} == {"child"}


def test_the_time_limit_includes_the_run_from_which_a_workload_is_derived(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--crds", str(HERE / "crds.yaml"), "--failures", str(tmp_path), "--seconds", "1"]
    began = time.monotonic()
    assert main(["live", *arguments, "--", "sleep", "600"]) == 2
    assert time.monotonic() - began < 15  # --limit alone would be 20
    assert "the unperturbed runs were not over after 1 s (--seconds)" in capsys.readouterr().err
