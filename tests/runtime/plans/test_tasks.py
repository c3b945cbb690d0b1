"""Tasks: a type, parameters that survive being stored, and errors that say what does not fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

import pytest

from cluster.objects import config_map
from kontend.cluster.cluster import Cluster
from kontend.kube.encoding.json_text import InvalidObject
from kontend.kube.errors import WrongObject
from kontend.runtime.plans.tasks import Run, Task, TerminalError, make_task, task_types
from kontend.runtime.writes.scope import StatusScope
from runtime.wire import wired


@dataclass(frozen=True)
class SetImage(Task):
    image: str
    args: tuple[str, ...] = ()


class MarkReady(Task):
    pass


class Named(Task):
    type = "my-name"


def test_the_type_is_made_from_the_class_name_unless_given() -> None:
    assert (SetImage.type, MarkReady.type, Named.type) == ("set-image", "mark-ready", "my-name")


def test_parameters_are_the_fields_as_json() -> None:
    assert SetImage("app:1", ("a",)).params() == {"image": "app:1", "args": ["a"]}
    assert MarkReady().params() == {}


def test_parameters_that_json_cannot_hold_are_refused_with_their_path() -> None:
    with pytest.raises(InvalidObject, match=r"args\[0\]: expected"):
        SetImage("app:1", (object(),)).params()  # type: ignore[arg-type]


def test_a_stored_task_is_made_again() -> None:
    types = task_types([SetImage, MarkReady])
    assert make_task(types, "set-image", {"image": "app:1"}) == SetImage("app:1")
    assert isinstance(make_task(types, "mark-ready", {}), MarkReady)


@pytest.mark.parametrize(
    ("name", "params", "complaint"),
    [
        ("unknown", {}, r"unknown task type 'unknown' \(known: set-image\)"),
        ("set-image", {}, "do not fit SetImage: .*'image'"),
        ("set-image", {"image": "app:1", "gone": 1}, "do not fit SetImage: .*'gone'"),
    ],
)
def test_a_stored_task_that_does_not_fit_cannot_work_out(name: str, params: Any, complaint: str) -> None:
    with pytest.raises(TerminalError, match=complaint):
        make_task(task_types([SetImage]), name, params)


def test_the_uuid_of_a_run_comes_from_its_id_alone() -> None:
    server = Cluster(objects=[config_map()])
    api, _ = wired(server)
    scope = StatusScope(api, server.get("ConfigMap/v1", "c"))
    first, again, other = (Run(api, scope, id).uuid for id in ("p-0-a", "p-0-a", "p-1-a"))
    assert first == again != other
    assert str(UUID(first)) == first


def test_what_are_no_task_classes_is_refused() -> None:
    class Other(Task):
        type = "set-image"

    for wrong in ([SetImage("a")], ["set-image"], [int]):
        with pytest.raises(WrongObject, match="expected Task classes"):
            task_types(wrong)
    with pytest.raises(WrongObject, match="are both of type 'set-image'"):
        task_types([SetImage, Other])
