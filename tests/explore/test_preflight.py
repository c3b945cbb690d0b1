"""Scenarios that cannot be explored are refused before the search, with the line and the way out."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
import yaml

from explore.widgets import CRD, KIND, WIDGET, LockedWidgets, Widgets, double_plan
from kontend.cli import main
from kontend.cluster.cluster import Cluster
from kontend.controllers import by_name
from kontend.explore import (
    Action,
    BadScenario,
    Bounds,
    Scenario,
    always,
    assert_discovery,
    check,
    create,
    delete,
    eventually,
    patch,
    sometimes,
    update,
)
from kontend.explore.preflight import checked_cluster, resolved_controllers
from kontend.explore.properties.built_in import BuiltIn
from kontend.kube.meta.names import Key
from kontend.runtime.client.api import Api
from kontend.runtime.controller import Controller, Mapper, Request

FILE = Path(__file__)
SERVED = (
    'no kind "Gadget" is served for version "example.com/v1": add its CustomResourceDefinition: crds=[...]; '
    "permissive_crd of kontend.testing makes one that accepts everything: "
    'permissive_crd("Gadget.example.com/v1")'
)
ANSWER = "a property must have an answer for every cluster, also where something is missing"
GADGET = {"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {"name": "g"}}
POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p", "namespace": "default"},
    "spec": {"containers": [{"name": "main", "image": "example:1"}]},
}
#: The file of the controllers.
WIDGETS = "widgets.py"


@pytest.fixture(autouse=True)
def _in_the_directory_of_the_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines of this file are shown without a directory."""
    monkeypatch.chdir(FILE.parent)


def _line(mark: str, file: Path = FILE) -> str:
    """The only line that ends with a mark."""
    lines = file.read_text().splitlines()
    (number,) = [number for number, line in enumerate(lines, 1) if line.endswith(mark)]
    return f"{file.name}:{number}"


@contextmanager
def _refused(message: str) -> Iterator[None]:
    with pytest.raises(BadScenario) as caught:
        yield
    assert str(caught.value) == message


def _scenario(**fields: Any) -> Scenario:
    given = {"controllers": [Widgets()], "crds": [CRD], "objects": [WIDGET], **fields}
    return Scenario(**given)  # a scenario


SCENARIO = _line("# a scenario")


# Lines


def test_the_line_takes_no_part_in_equality_and_is_not_shown() -> None:
    one = Bounds(lag=2)
    two = Bounds(lag=2)
    assert one.line != two.line
    assert one == two
    assert hash(one) == hash(two)
    assert repr(one).startswith(
        "Bounds(lag=2, concurrent=1, instances={}, atomic=False, faults=1, crashes=1, failed=1, lost=1, handovers=0"
    )
    assert "line" not in repr(one)


def test_a_copy_keeps_its_line() -> None:
    scenario = _scenario()
    changed = replace(scenario, bounds=replace(scenario.bounds, lag=0))
    assert str(changed.line) == SCENARIO
    assert changed.bounds.line == scenario.bounds.line


def test_a_file_elsewhere_is_shown_with_its_whole_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert str(_scenario().line) == str(FILE.parent / SCENARIO)


# Bounds and fields


def test_a_negative_bound_is_refused_on_its_line() -> None:
    with _refused(f"{_line('# a negative lag')}: Bounds(lag=-1): expected a whole number, at least 0"):
        Bounds(lag=-1)  # a negative lag


def test_a_bound_that_is_no_number_is_refused() -> None:
    with _refused(f"{_line('# half an instance')}: Bounds(concurrent=0.5): expected a whole number, at least 1"):
        Bounds(concurrent=0.5)  # type: ignore[arg-type]  # half an instance
    with _refused(f"{_line('# somewhat atomic')}: Bounds(atomic='yes'): expected True or False"):
        Bounds(atomic="yes")  # type: ignore[arg-type]  # somewhat atomic


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"controllers": []}, "Scenario(controllers=[]): there is nothing to explore without a controller"),
        ({"objects": {"a": 1}}, "Scenario(objects=...): expected a list, found {'a': 1}"),
        ({"objects": WIDGET}, "Scenario(objects=...): expected a list, found a dict"),
        ({"controllers": "deployment"}, "Scenario(controllers=...): expected a list, found 'deployment'"),
        ({"bounds": 3}, "Scenario(bounds=...): expected Bounds(...), found 3"),
    ],
)
def test_a_field_of_the_wrong_type_is_refused(fields: dict[str, Any], message: str) -> None:
    with _refused(f"{SCENARIO}: {message}"):
        check(_scenario(**fields))


@pytest.mark.parametrize("name", ["enforced", "ignore"])
def test_a_field_of_a_kind_that_is_not_served_is_refused(name: str) -> None:
    field = "Widgt.spec.size"
    with _refused(f"{SCENARIO}: Scenario({name}=['{field}']): no kind 'Widgt' is served: did you mean Widget?"):
        check(_scenario(**{name: [field]}))


@pytest.mark.parametrize("name", ["enforced", "ignore"])
@pytest.mark.parametrize(
    ("field", "problem"),
    [
        ("ConfigMap.dta.next", "no schema has the field dta (did you mean data?); there are: "),
        ("Pod.spec.containers.imag", "no schema has the field imag (did you mean image?); there are: "),
        ("Pod.metadata.labls.app", "no schema has the field labls (did you mean labels?); there are: "),
        ("Pod.spec.nodeName.first", "nodeName has no fields"),
        ("configmap.data", "expected a kind and a path, such as ConfigMap.data.next or "),
    ],
)
def test_a_field_that_the_kind_does_not_have_is_refused(name: str, field: str, problem: str) -> None:
    with pytest.raises(BadScenario) as raised:
        check(_scenario(**{name: [field]}))
    assert f"'{field}'" in str(raised.value)
    assert problem in str(raised.value)


@pytest.mark.parametrize(
    "field",
    [
        "Widget.spec.anything",
        'Pod.metadata.annotations["example.com/seen"]',
        "Pod.status.conditions.lastProbeTime",
        "ConfigMap.data.any",
        "Pod.spec.containers.args",
    ],
)
def test_a_field_that_the_kind_may_have_is_accepted(field: str) -> None:
    check(_scenario(enforced=[field], ignore=[field]))


# Objects


def test_an_object_of_an_unknown_kind_is_refused() -> None:
    with _refused(f"{SCENARIO}: objects[1] (Gadget g): {SERVED}"):
        check(_scenario(objects=[WIDGET, GADGET]))


def test_no_definition_is_asked_for_where_none_could_help() -> None:
    gadget = {**GADGET, "apiVersion": "apps/v1"}
    message = 'no kind "Gadget" is served for version "apps/v1": a built-in group has no other kinds'
    with _refused(f"{SCENARIO}: objects[1] (Gadget g): {message}"):
        check(_scenario(objects=[WIDGET, gadget]))


def test_an_object_that_the_server_refuses_is_refused_with_its_message() -> None:
    nameless = {**POD, "metadata": {}}
    with _refused(
        f"{SCENARIO}: objects[0] (Pod without a name): "
        'Pod "" is invalid: metadata.name: Required value: name or generateName is required'
    ):
        check(_scenario(objects=[nameless]))
    with _refused(f'{SCENARIO}: objects[1] (Widget default/w): widgets.example.com "w" already exists'):
        check(_scenario(objects=[WIDGET, WIDGET]))


def test_a_value_that_is_no_object_is_refused() -> None:
    with _refused(f"{SCENARIO}: crds[1]: expected an object (a dict), found 5"):
        check(_scenario(crds=[CRD, 5]))


# Controllers


class Astray(Controller):  # a controller astray
    """Reconciles a kind that does not exist."""

    kind = "Gadget.example.com/v1"

    async def reconcile(self, request: Request, api: Api) -> None:
        """Do nothing."""


class Parent(Astray):  # a parent
    """Owns a kind that does not exist."""

    kind = KIND
    owns: ClassVar = ["Pod/v1", "Gadget.example.com/v1"]


class Onlooker(Astray):  # an onlooker
    """Watches a kind that does not exist."""

    kind = KIND
    watches: ClassVar[Mapping[str, Mapper]] = {"Gadget.example.com/v1": lambda _obj, _cache: ()}


class Kindless(Astray):  # kindless
    """Has a kind without a version."""

    kind = "Gadget"


@pytest.mark.parametrize(
    ("controller", "mark", "message"),
    [
        (Astray(), "# a controller astray", f"Astray.kind: {SERVED}"),
        (Parent(), "# a parent", f"Parent.owns: {SERVED}"),
        (Onlooker(), "# an onlooker", f"Onlooker.watches: {SERVED}"),
        (
            Kindless(),
            "# kindless",
            "Kindless: 'Gadget' does not name a kind: expected Kind.group/version, such as 'Deployment.apps/v1' or "
            "'Pod/v1'",
        ),
    ],
)
def test_a_controller_of_an_unknown_kind_is_refused_on_the_line_of_its_class(
    controller: Controller, mark: str, message: str
) -> None:
    with _refused(f"{_line(mark)}: {message}"):
        check(_scenario(controllers=[controller]))


def test_a_version_that_is_not_served_is_refused_with_one_that_is() -> None:
    old = {**WIDGET, "apiVersion": "example.com/v2"}
    with _refused(
        f'{SCENARIO}: objects[0] (Widget default/w): no kind "Widget" is served for version "example.com/v2": '
        "did you mean Widget.example.com/v1?"
    ):
        check(_scenario(objects=[old]))


def test_built_in_controllers_can_be_named() -> None:
    scenario = _scenario(controllers=[Widgets(), "deployment", "garbagecollector"])
    widgets, deployments, collector = resolved_controllers(scenario, checked_cluster(scenario))
    assert (widgets.name, deployments.name, deployments.kind) == ("widgets", "deployment", "Deployment.apps/v1")
    # It collects the kinds of the scenario, too.
    assert KIND in collector.kinds
    assert check(scenario).exhausted


def test_an_unknown_name_of_a_controller_is_refused_with_the_known_ones() -> None:
    with _refused(
        f"{SCENARIO}: controllers[1]: no built-in controller is called Deploymnt (did you mean deployment?); "
        f"there are: {', '.join(sorted(by_name([])))}"
    ):
        check(_scenario(controllers=[Widgets(), "Deploymnt"]))


def test_a_value_that_is_no_controller_is_refused() -> None:
    with _refused(
        f"{SCENARIO}: controllers[0]: expected a Controller or the name of a built-in one, found {Widgets!r}; "
        "write Widgets(), not Widgets"
    ):
        check(_scenario(controllers=[Widgets]))
    with _refused(f"{SCENARIO}: controllers[1]: expected a Controller or the name of a built-in one, found 5"):
        check(_scenario(controllers=[Widgets(), 5]))


def test_two_controllers_of_one_name_are_refused_with_their_lines() -> None:
    widgets, locked = (_line(f"class {name}:", FILE.parent / WIDGETS) for name in _SAME_NAME)
    with _refused(
        f"{SCENARIO}: two controllers are called widgets: Widgets ({widgets}) and LockedWidgets ({locked}); "
        "give one of them another name = 'widgets2'"
    ):
        check(_scenario(controllers=[Widgets(), LockedWidgets()]))


_SAME_NAME = ("Widgets(Controller)", "LockedWidgets(Widgets)")


@pytest.mark.parametrize("twice", ["deployment", None])
def test_one_controller_twice_is_refused(twice: str | None) -> None:
    one = Widgets()
    with pytest.raises(BadScenario, match=r"; for more instances of one controller say Bounds\(concurrent=2\)$"):
        check(_scenario(controllers=[twice or one, twice or one]))


# Properties


def ready(cluster: Cluster) -> bool:
    """Raises in the initial state."""
    return bool(cluster.get(KIND, "w")["status"]["plan"])  # no status yet


def unnamed(cluster: Cluster) -> bool:
    """Raises once there is a plan."""
    status = cluster.get(KIND, "w").get("status")
    return status is None or bool(status["name"])  # no name ever


def unnamed_by_a_write(before: Cluster, after: Cluster) -> bool:
    """Raises at the first write."""
    return bool(before) and bool(after.get(KIND, "w")["status"]["name"])  # no name written


def readable(cluster: Cluster) -> bool:
    """Raises in a library."""
    return bool(json.loads(cluster.get(KIND, "w").get("text", "")))  # not JSON


def found(cluster: Cluster) -> bool:
    """Raises in kontend."""
    return bool(cluster.get(KIND, "nobody"))  # nobody


@pytest.mark.parametrize(
    ("given", "mark", "message"),
    [
        (eventually(ready), "# no status yet", "eventually(ready) raised KeyError: 'status'"),
        (
            sometimes(readable),
            "# not JSON",
            "sometimes(readable) raised JSONDecodeError: Expecting value: line 1 column 1 (char 0)",
        ),
        (always(found), "# nobody", 'always(found) raised NotFound: widgets.example.com "nobody" not found'),
    ],
)
def test_a_property_that_raises_in_the_initial_state_is_refused_before_the_search(
    given: Any, mark: str, message: str
) -> None:
    with _refused(f"{_line(mark)}: {message} (asked about the initial cluster); {ANSWER}"):
        checked_cluster(_scenario(properties=[given]))


@pytest.mark.parametrize(("given", "mark"), [(unnamed, "# no name ever"), (unnamed_by_a_write, "# no name written")])
def test_a_property_that_raises_later_is_refused_with_its_line(given: Any, mark: str) -> None:
    scenario = _scenario(properties=[always(given)])
    checked_cluster(scenario)
    name = given.__name__
    with _refused(f"{_line(mark)}: always({name}) raised KeyError: 'name' (during the search); {ANSWER}"):
        check(scenario)


def test_two_properties_of_one_name_are_refused_with_both_lines() -> None:
    properties = [
        always(lambda cluster: bool(cluster)),  # the first
        eventually(lambda cluster: bool(cluster)),  # the second
    ]
    with _refused(
        f"{_line('# the second')}: two properties are called <lambda>: always(<lambda>) at {_line('# the first')}, "
        "and eventually(<lambda>) here; give one another name: name='...'"
    ):
        check(_scenario(properties=properties))


def test_a_property_with_the_name_of_a_built_in_one_is_refused() -> None:
    mine = always(unnamed, name="diverged")  # a built-in name
    with _refused(
        f"{_line('# a built-in name')}: always(diverged): diverged is always checked, by that name; "
        "give this property another: name='...'"
    ):
        check(_scenario(properties=[mine]))


def test_a_value_that_is_no_property_is_refused() -> None:
    with _refused(
        f"{SCENARIO}: properties[0]: expected always(...), never(...), eventually(...) or sometimes(...), "
        "found the function ready; write always(ready)"
    ):
        check(_scenario(properties=[ready]))


def test_a_property_of_the_wrong_arguments_is_refused_on_its_line() -> None:
    with _refused(f"{_line('# five')}: always: expected a function of a cluster, found 5"):
        always(5)  # type: ignore[arg-type]  # five
    with _refused(
        f"{_line('# of two')}: eventually(unnamed_by_a_write): expected a function of (cluster), it has 2 arguments"
    ):
        eventually(unnamed_by_a_write)  # of two


def test_a_property_may_have_arguments_with_defaults() -> None:
    def named(cluster: Cluster, name: str = "w") -> bool:
        return bool(cluster.get(KIND, name))

    assert check(_scenario(properties=[always(named)], bounds=Bounds(faults=0))).ok


def test_a_coroutine_is_no_property() -> None:
    async def later(cluster: Cluster) -> bool:
        return bool(cluster)

    with _refused(f"{_line('# a coroutine')}: always(later): expected a plain function; write def, not async def"):
        always(later)  # a coroutine


def test_a_discovery_of_an_unknown_property_is_refused_with_the_known_ones() -> None:
    scenario = double_plan(Widgets())
    with _refused(
        f"{_line('# one plam')}: no property is called one_plam (did you mean one_plan?); "
        f"there are: planned, one_plan, {', '.join(BuiltIn)}"
    ):
        assert_discovery(scenario, "one_plam", [])  # one plam


# Actions


def test_an_action_on_an_unknown_kind_is_refused_on_its_line() -> None:
    actions = [create(GADGET)]  # creates a gadget
    with _refused(f"{_line('# creates a gadget')}: the action 'creates Gadget default/g' is never possible: {SERVED}"):
        check(_scenario(actions=actions))


def test_an_action_that_the_server_always_refuses_is_refused_on_its_line() -> None:
    bare = create({**POD, "spec": {"containers": []}})  # a pod without containers
    with _refused(
        f"{_line('# a pod without containers')}: the action 'creates Pod default/p' is never possible: "
        'Pod "p" is invalid: spec.containers: Required value'
    ):
        check(_scenario(actions=[bare]))


def test_an_action_is_tried_after_those_before_it() -> None:
    changed = update(POD, spec={"nodeName": "elsewhere"})  # reschedules a pod
    with pytest.raises(BadScenario) as caught:
        check(_scenario(actions=[create(POD), changed]))
    assert str(caught.value).startswith(
        f"{_line('# reschedules a pod')}: the action 'changes Pod default/p: spec' is never possible: "
        'Pod "p" is invalid: spec: Forbidden: pod updates may not change fields other than '
    )


def test_an_action_that_a_controller_may_make_possible_is_accepted() -> None:
    missing = {**WIDGET, "metadata": {"name": "x"}}
    checked_cluster(_scenario(actions=[delete(missing), update(missing, spec={}), create(WIDGET)]))


def test_trying_the_actions_does_not_change_the_cluster() -> None:
    scenario = _scenario(actions=[delete(WIDGET)])
    assert checked_cluster(scenario).get(KIND, "w")


def test_an_action_that_was_refused_in_every_state_is_a_mistake() -> None:
    gone = delete({**WIDGET, "metadata": {"name": "x"}})  # deletes x
    message = 'widgets.example.com "x" not found'
    with _refused(
        f"{_line('# deletes x')}: the action 'deletes Widget default/x' is never possible: {message}; "
        "create the object first, or list it in objects="
    ):
        check(_scenario(actions=[gone]))
    again = create(WIDGET)  # creates w
    message = 'widgets.example.com "w" already exists'
    with _refused(
        f"{_line('# creates w')}: the action 'creates Widget default/w' is never possible: {message}; "
        "delete the object first, or change it with update(...)"
    ):
        check(_scenario(actions=[again]))


def test_an_action_that_raises_is_refused() -> None:
    def broken(cluster: Cluster, manager: str = "") -> None:
        raise RuntimeError(f"no {type(cluster).__name__} for {manager}")

    action = Action("breaks", broken, KIND, Key("default", "w"))  # breaks
    with _refused(f"{_line('# breaks')}: the action 'breaks' raised RuntimeError: no Cluster for user"):
        check(_scenario(actions=[action]))


def test_a_value_that_is_no_action_is_refused() -> None:
    with _refused(
        f"{SCENARIO}: actions[0]: expected create(...), update(...), patch(...) or delete(...), found 'delete'"
    ):
        check(_scenario(actions=["delete"]))


def test_an_action_without_an_object_or_a_change_is_refused() -> None:
    with _refused(
        f"{_line('# deletes nothing')}: delete: an action needs an object with a name: apiVersion, kind and "
        "metadata.name, found {'kind': 'Pod'}"
    ):
        delete({"kind": "Pod"})  # deletes nothing
    with _refused(f"{_line('# no change')}: update: say what changes, such as update(obj, spec={{...}})"):
        update(WIDGET)  # no change
    with _refused(f"{_line('# a list')}: patch: expected a merge patch, such as {{'spec': {{...}}}}, found []"):
        patch(WIDGET, [])  # type: ignore[arg-type]  # a list


# The command

_FILE = """\
from explore.widgets import CRD, WIDGET, Widgets
from kontend.explore import Bounds, Scenario, always, delete

def planned(cluster):
    return cluster.get("Widget.example.com/v1", "w")["status"]["plan"]

mine = Scenario(
    [Widgets(), {controller}],
    crds=[CRD],
    objects=[WIDGET],
    properties=[{property}],
    bounds=Bounds({bounds}),
)
"""


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ({"bounds": "lag=-1"}, "mine.py:12: Bounds(lag=-1): expected a whole number, at least 0"),
        (
            {"property": "always(planned)"},
            "mine.py:5: always(planned) raised KeyError: 'status' (asked about the initial cluster); " + ANSWER,
        ),
        (
            {"controller": "None"},
            "mine.py:7: controllers[1]: expected a Controller or the name of a built-in one, found None",
        ),
        ({"controller": "Widgts()"}, "mine.py:8: it cannot be imported: NameError: name 'Widgts' is not defined"),
    ],
)
def test_the_command_names_the_line_and_shows_no_traceback(
    written: dict[str, str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(_FILE.format(**{"controller": "", "property": "", "bounds": "", **written}))
    assert main(["explore", "mine.py"]) == 2
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", f"kontend explore: {message}\n")


def test_controllers_without_a_scenario_are_named_by_their_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(
        "from kontend import Controller\n\nclass Mine(Controller):\n    kind = 'Widget'\n"
        "    async def reconcile(self, request, api):\n        pass\n"
    )
    assert main(["explore", "mine.py"]) == 2
    assert capsys.readouterr().err == (
        "kontend explore: mine.py:3: Mine: 'Widget' does not name a kind: expected Kind.group/version, "
        "such as 'Deployment.apps/v1' or 'Pod/v1'\n"
    )


@pytest.mark.parametrize(("option", "least"), [("lag", 0), ("concurrent", 1), ("states", 1), ("steps", 1)])
@pytest.mark.parametrize("value", ["-1", "many"])
def test_a_bad_bound_of_the_command_line_is_named_by_its_option(
    option: str, least: int, value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explore", "mine.py", f"--{option}", value]) == 2
    message = f"argument --{option}: expected a whole number, at least {least}, found {value}"
    assert capsys.readouterr().err.startswith(f"kontend explore: {message}\n")


# Definitions from files


def test_definitions_are_read_from_files(tmp_path: Path) -> None:
    """The path is relative to the file of the scenario; a wrong one is reported with the scenario's line."""
    file = tmp_path / "crd.yaml"
    file.write_text(yaml.safe_dump(CRD))
    assert list(_scenario(crds=[str(file)]).crds) == [CRD]
    file.write_text("kind: ConfigMap\n")
    for name, reason in ((file, "there is no CustomResourceDefinition"), (tmp_path / "x.yaml", "no such file")):
        with pytest.raises(BadScenario, match=reason):
            _scenario(crds=[name])
