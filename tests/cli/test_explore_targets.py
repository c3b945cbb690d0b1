"""Targets of ``kontend explore``: directories, packages, modules, and inputs in YAML."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from kontend.cli import main
from kontend.cluster.cluster import Cluster
from kontend.explore.sources.action_documents import actions_of, read_actions
from kontend.kube.crd.permissive import permissive_crd
from kontend.live.runs.workload import read_actions as read_live_actions

ROOT = Path(__file__).parents[2]
KIND = "Widget.example.com/v1"

#: Fails with KeyError on an object without spec.size, and copies the size otherwise.
OPERATOR = """
from kontend import Controller, NotFound
from .names import KIND

class Widgets(Controller):
    kind = KIND

    async def reconcile(self, request, api):
        try:
            widget = await api.get(self.kind, request)
        except NotFound:
            return
        size = widget["spec"]["size"]
        if (widget.get("status") or {}).get("size") != size:
            widget["status"] = {"size": size}
            await api.status.update(widget)
"""
#: Reconciles of all objects create the same third object.
POOL = """
from kontend import AlreadyExists, Controller

class Pools(Controller):
    kind = "ConfigMap/v1"

    async def reconcile(self, request, api):
        if not any(each["metadata"]["name"] == request.name for each in await api.list(self.kind)):
            return
        try:
            await api.create({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "pool"}})
        except AlreadyExists:
            pass
"""
SCENARIOS = """
from depot.names import KIND
from depot.widgets import Widgets
from kontend import new_object
from kontend.explore import Scenario
from kontend.testing import permissive_crd

small = Scenario(
    controllers=[Widgets()], crds=[permissive_crd(KIND)], objects=[new_object(KIND, "w", spec={"size": 1})]
)
"""


def widget(name: str, **spec: object) -> dict[str, object]:
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}, "spec": spec}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A project with a package, in which the current directory is the root."""
    package = tmp_path / "src" / "depot"
    package.mkdir(parents=True)
    (tmp_path / "pyproject.toml").touch()
    (package / "__init__.py").touch()
    (package / "names.py").write_text("KIND = 'Widget.example.com/v1'\n")
    (package / "widgets.py").write_text(OPERATOR)
    (package / "scenarios.py").write_text(SCENARIOS)
    (package / "broken_tool.py").write_text("raise SystemExit('a script that must not be run')\n")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_it.py").write_text("from kontend import nothing_that_exists\n")
    (tmp_path / ".venv" / "lib").mkdir(parents=True)
    (tmp_path / ".venv" / "lib" / "other.py").write_text("import kontend, nothing_that_exists\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield tmp_path
    for name in [name for name in sys.modules if name.partition(".")[0] == "depot"]:
        del sys.modules[name]


def titles(text: str) -> list[str]:
    return re.findall(r"^(\S+):$", text, re.MULTILINE)


def test_a_misspelled_kind_of_a_built_in_group_gets_no_definition(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "objects.yaml").write_text("{apiVersion: v1, kind: ConfigMapp, metadata: {name: a}}\n")
    assert main(["explore", "src/depot/widgets.py", "--objects", "objects.yaml"]) == 2
    assert 'no kind "ConfigMapp" is served for version "v1": did you mean ConfigMap/v1?' in capsys.readouterr().err


@pytest.mark.usefixtures("project")
def test_one_scenario_of_a_file_is_named_behind_the_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explore", "src/depot/scenarios.py:small", "--one-process"]) == 0
    assert titles(capsys.readouterr().out) == ["small"]
    assert main(["explore", "src/depot/scenarios.py:smal"]) == 2
    assert "no scenario is called smal (did you mean small?)" in capsys.readouterr().err


def test_a_directory_is_explored_file_by_file(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Controllers that a scenario has get no generated one; scripts, tests and environments are not imported."""
    assert main(["explore", ".", "--one-process"]) == 0
    assert titles(capsys.readouterr().out) == ["small"]
    (project / "src" / "depot" / "more.py").write_text(
        "from depot.scenarios import small\nfrom .widgets import Widgets\nclass Gadgets(Widgets):\n"
        "    kind = 'ConfigMap/v1'\n    async def reconcile(self, request, api):\n        pass\n"
    )
    assert main(["explore", "src", "--one-process"]) == 0
    printed = capsys.readouterr().out
    # What more.py imports is not explored a second time; it has a scenario, so none is generated.
    assert titles(printed) == ["small"]
    (project / "src" / "depot" / "more.py").write_text(
        "from .widgets import Widgets\nclass Gadgets(Widgets):\n"
        "    kind = 'ConfigMap/v1'\n    async def reconcile(self, request, api):\n        pass\n"
    )
    assert main(["explore", "src", "--one-process"]) == 0
    printed = capsys.readouterr().out
    assert titles(printed) == [
        *(f"src/depot/more.py:controllers{user}" for user in ("", "/deleted", "/recreated")),
        "src/depot/scenarios.py:small",
    ]
    assert "generated: ConfigMap example; " in printed
    assert main(["explore", "src", "--one-process", "--scenario", "small"]) == 0
    assert titles(capsys.readouterr().out) == ["src/depot/scenarios.py:small"]


def test_a_directory_without_controllers_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "notes.py").write_text("x = 1\n")
    assert main(["explore", str(tmp_path)]) == 2
    assert f"{tmp_path}: no file below it defines a Scenario or a Controller" in capsys.readouterr().err


@pytest.mark.usefixtures("project")
def test_several_targets_are_explored(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explore", "src/depot/scenarios.py", str(ROOT / "examples" / "double_plan.py"), "--one-process"]) == 1
    explored = titles(capsys.readouterr().out)
    assert explored[0] == "src/depot/scenarios.py:small"
    assert [title.rpartition(":")[2] for title in explored] == ["small", "blind", "locked"]


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("target", ["depot.scenarios", "depot.scenarios:small"])
def test_modules_are_found_from_the_projects_root(target: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explore", target, "--one-process"]) == 0
    assert titles(capsys.readouterr().out) == ["small"]


def test_a_controller_of_a_module_gets_a_scenario_of_its_own(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also in the processes that run it again, and when its trace is replayed."""
    assert main(["explore", "depot.widgets:Widgets"]) == 1  # the generated object has no size
    printed = capsys.readouterr().out
    assert "Widgets:\n" in printed
    assert "KeyError: 'size'" in printed
    (archive,) = (project / "failures").glob("exception-*.zip")
    assert main(["replay", str(archive)]) == 1
    assert main(["explore", "depot.widgets:Gadgets"]) == 2
    assert "no scenario is called Gadgets" in capsys.readouterr().err


def test_definitions_objects_and_actions_are_read_from_yaml(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A violation that they lead to replays without the files."""
    (project / "start").mkdir()
    (project / "start" / "a.yaml").write_text(yaml.safe_dump(widget("a", size=1)))
    (project / "start" / "b.yaml").write_text(yaml.safe_dump_all([widget("b", size=2), widget("c", size=2)]))
    actions = project / "actions.yaml"
    actions.write_text(yaml.safe_dump([{"update": widget("a", size=5)}, {"delete": widget("b")}]))
    inputs = ["--objects", "start", "--actions", "actions.yaml"]
    options = ["--lag", "0", "--faults", "0", "--concurrent", "1", "--one-process"]
    assert main(["explore", "depot.widgets", *options, *inputs]) == 0
    shown = capsys.readouterr().out
    assert "widgets.example.com (accepts everything)" in shown
    assert "objects:" not in shown  # they were given, not generated
    actions.write_text(yaml.safe_dump({"update": {**widget("a"), "spec": None}}))
    assert main(["explore", "depot.widgets", *options, *inputs]) == 1
    assert "spec" in capsys.readouterr().out
    (archive,) = (project / "failures").glob("exception-*.zip")
    actions.unlink()
    for file in (project / "start").iterdir():
        file.unlink()
    assert main(["replay", str(archive)]) == 1
    assert "reproduced: exception" in capsys.readouterr().out


def test_the_explorer_and_live_read_the_same_actions(tmp_path: Path) -> None:
    """A patch of metadata keeps what names the object out of the merge patch; that of a subresource goes there."""
    file = tmp_path / "actions.yaml"
    named = {key: value for key, value in widget("w").items() if key != "spec"}
    steps: list[dict[str, object]] = [
        {"create": widget("w", size=1)},
        {"patch": {**named, "metadata": {"name": "w", "finalizers": ["example.com/hold"]}}},
        {"patch": {**named, "status": {"size": 2}}, "subresource": "status"},
        {"update": widget("w", size=3)},
        {"apply": {**widget("applied"), "spec": {"size": 4}}},
    ]
    file.write_text(yaml.safe_dump(steps))
    crd = permissive_crd(KIND)
    explored, lived = Cluster(crds=[crd]), Cluster(crds=[crd])
    for action in actions_of(read_actions([file]), "actions"):
        assert action.line is None
        action.perform(explored)
    for step in read_live_actions(file):
        assert step.perform(lived) == ""
    (applied, changed) = explored.list(KIND)
    assert (changed["spec"], changed["status"]) == ({"size": 3}, {"size": 2})
    assert changed["metadata"]["finalizers"] == ["example.com/hold"]
    assert applied["spec"] == {"size": 4}
    assert [changed["spec"], applied["spec"]] == [obj["spec"] for obj in reversed(lived.list(KIND))]
    assert explored.get(KIND, "w")["status"] == lived.get(KIND, "w")["status"]


@pytest.mark.usefixtures("project")
def test_fields_that_are_ignored_are_ignored_in_a_generated_scenario(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--faults", "0", "--concurrent", "1", "--one-process", "--ignore", "Widget.status.size"]
    main(["explore", "depot.widgets", *options])
    assert "final states may differ in" in capsys.readouterr().out


def test_properties_in_cel_are_judged_beside_the_built_in_ones(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A violation of one replays without its file."""
    (project / "objects.yaml").write_text(yaml.safe_dump(widget("a", size=1)))
    properties = project / "properties.yaml"
    properties.write_text(yaml.safe_dump([{"never": "object.status.size == 1", "kind": KIND, "name": "no size"}]))
    options = ["--objects", "objects.yaml", "--faults", "0", "--concurrent", "1", "--one-process"]
    assert main(["explore", "depot.widgets", *options]) == 0
    capsys.readouterr()
    assert main(["explore", "depot.widgets", *options, "--properties", "properties.yaml"]) == 1
    assert "no size: violated" in capsys.readouterr().out
    (archive,) = (project / "failures").glob("no-size-*.zip")
    properties.unlink()
    assert main(["replay", str(archive)]) == 1
    assert "reproduced: no size" in capsys.readouterr().out


def test_objects_and_actions_take_the_place_of_a_scenarios(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An object alone among the actions is applied: changed where it exists, else created."""
    (project / "objects.yaml").write_text(yaml.safe_dump(widget("mine", size=1)))
    (project / "actions.yaml").write_text(yaml.safe_dump_all([widget("mine", size=2), widget("new", size=3)]))
    options = ["--objects", "objects.yaml", "--actions", "actions.yaml", "--one-process", "--faults", "0"]
    options += ["--expect", "lost-update"]
    assert main(["explore", "depot.scenarios:small", *options]) == 0
    (project / "src" / "depot" / "scenarios.py").write_text(
        SCENARIOS.replace('"w", spec={"size": 1})]', '"w", spec={"size": 1})], properties=[never(seen)]').replace(
            "import Scenario",
            "import Scenario, never\n\ndef seen(cluster):\n"
            "    names = {widget['metadata']['name']: widget['spec']['size'] for widget in cluster.list(KIND)}\n"
            "    return names == {'mine': 2, 'new': 3}\n",
        )
    )
    for name in [name for name in sys.modules if name.partition(".")[0] == "depot"]:
        del sys.modules[name]
    assert main(["explore", "depot.scenarios:small", *options[:-2], "--failures", "f"]) == 1
    printed = capsys.readouterr().out
    assert "changes Widget default/mine: spec" in printed
    assert "creates Widget default/new" in printed


def test_the_schema_of_a_given_definition_is_used(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The generated object has its required field, and is shown."""
    spec = {"type": "object", "required": ["size"], "properties": {"size": {"type": "integer", "minimum": 3}}}
    status = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": status}}},
    }
    crd = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [version],
        },
    }
    (project / "given").mkdir()
    (project / "given" / "widgets.yaml").write_text(yaml.safe_dump(crd))
    assert main(["explore", "depot.widgets", "--crds", "given", "--one-process"]) == 0
    printed = capsys.readouterr().out
    assert "generated: Widget example {spec: {size: 3}}" in printed
    # The usual directory of the project's root needs no option.
    (project / "config" / "crd" / "bases").mkdir(parents=True)
    (project / "given" / "widgets.yaml").rename(project / "config" / "crd" / "bases" / "widgets.yaml")
    assert main(["explore", "depot.widgets", "--one-process"]) == 0
    printed = capsys.readouterr().out
    assert "size: 3" in printed
    assert "widgets.example.com (from a file of the project)" in printed


@pytest.mark.parametrize(
    ("option", "content", "message"),
    [
        ("--crds", "apiVersion: v1\nkind: ConfigMap\n", "there is no CustomResourceDefinition in it"),
        ("--objects", "a: [", "not YAML"),
        ("--objects", "- 1\n", "expected an object with apiVersion and kind"),
        ("--properties", "- {sometime: 'true'}\n", "expected always, never, eventually or sometimes"),
        ("--actions", "- remove: {}\n", "no action is called remove; there are: create, patch, update, apply, delete"),
        ("--actions", "- update: {kind: W}\n  subresource: status\n", "only patch: takes a subresource"),
        ("--actions", "- update: {kind: Widget}\n", "an action needs an object with a name"),
    ],
)
def test_inputs_that_cannot_be_used_are_refused(
    project: Path, option: str, content: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "input.yaml").write_text(content)
    assert main(["explore", "depot.scenarios", option, "input.yaml"]) == 2
    printed = capsys.readouterr().err
    assert "input.yaml" in printed
    assert message in printed
    assert main(["explore", "depot.scenarios", option, "missing.yaml"]) == 2
    assert "missing.yaml: no such file or directory" in capsys.readouterr().err


def test_scenarios_in_yaml_name_their_files(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "seed.yaml").write_text(yaml.safe_dump(widget("w", size=1)))
    document = {"name": "grow", "controllers": ["depot.widgets:Widgets"], "objects": ["seed.yaml"]}
    (project / "grow.yaml").write_text(yaml.safe_dump(document))
    sys.path.insert(0, str(project / "src"))
    assert main(["explore", "grow.yaml", "--one-process", "--output-format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["grow"]["states"] > 1


def test_a_scenario_reads_objects_and_definitions_from_directories(project: Path) -> None:
    (project / "src" / "depot" / "seed").mkdir()
    (project / "src" / "depot" / "seed" / "w.yaml").write_text(yaml.safe_dump(widget("w", size=1)))
    text = SCENARIOS.replace('objects=[new_object(KIND, "w", spec={"size": 1})]', 'objects=["seed"]')
    (project / "src" / "depot" / "scenarios.py").write_text(text)
    assert main(["explore", "depot.scenarios", "--one-process"]) == 0


def test_a_file_may_have_the_name_of_a_standard_module(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also in the processes that run its controllers again."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "operator.py").write_text(
        "from kontend import Controller\nclass Calm(Controller):\n    kind = 'ConfigMap/v1'\n"
        "    async def reconcile(self, request, api):\n        await api.list(self.kind)\n"
    )
    assert main(["explore", str(tmp_path / "operator.py")]) == 0
    assert "holds in all" in capsys.readouterr().out


def test_generated_users_delete_and_create_again(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each is a scenario of its own, with a garbage collector; two objects follow where they share a third one."""
    (project / "pool.py").write_text(POOL)
    assert main(["explore", "pool.py", "--one-process", "--no-perturbations"]) == 0
    printed = capsys.readouterr().out
    assert titles(printed) == [f"controllers{user}" for user in ("", "/deleted", "/recreated", "/two")]
    assert "the user deletes ConfigMap default/example and creates ConfigMap default/example" in printed
    assert "no user" in printed
    assert main(["explore", "pool.py", "--one-process", "--no-perturbations", "--scenario", "controllers/two"]) == 0
    assert titles(capsys.readouterr().out) == ["controllers/two"]


def test_a_violation_keeps_further_generated_users_from_being_explored(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "pool.py").write_text(POOL.replace("except AlreadyExists", "except KeyError"))
    assert main(["explore", "pool.py", "--one-process", "--no-perturbations"]) == 1
    printed = capsys.readouterr().out
    assert titles(printed) == ["controllers"]
    assert "finds a violation: controllers/deleted, controllers/recreated" in printed


def test_an_unknown_kind_of_a_generated_scenario_is_a_mistake(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "pool.py").write_text(POOL.replace('"apiVersion": "v1"', '"apiVersion": "example.com/v1"'))
    assert main(["explore", "pool.py", "--one-process"]) == 2
    error = capsys.readouterr().err
    assert "pool.py:11: no kind" in error
    assert "--crds FILE" in error


def test_a_watched_kind_without_an_object_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    watching = """
from kontend import Controller

class Rooms(Controller):
    kind = "ConfigMap/v1"
    watches = {"Secret/v1": lambda obj, cache: ["default/example"]}

    async def reconcile(self, request, api):
        await api.list("Secret/v1")
"""
    (tmp_path / "rooms.py").write_text(watching)
    assert main(["explore", str(tmp_path / "rooms.py"), "--failures", str(tmp_path / "failures")]) == 0
    assert "generated: ConfigMap example; no object of Secret/v1; the user" in capsys.readouterr().out


@pytest.mark.parametrize("document", ["[{}]", "{}"])
def test_a_file_of_objects_is_answered_with_the_way_to_give_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], document: str
) -> None:
    file = tmp_path / "objects.yaml"
    file.write_text(document.format("{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}"))
    assert main(["explore", str(file)]) == 2
    said = capsys.readouterr().err
    assert "expected a scenario with controllers: [...], found ConfigMap c; objects are given beside one" in said
