"""Empty lists in fields that Go always writes: kept until the object is stored, null from then on.

A built-in object is stored as protobuf, which cannot tell an empty list from none. So the answer to a write, which is
read back from storage, and every later read have null. Validation and ownership of fields still see the empty list.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from kontend import Cluster, Invalid
from kontend.cluster.resources import Registry, Resource
from kontend.cluster.storage import encoded
from kontend.kube.kinds import resources
from kontend.kube.meta.names import kind_of
from kontend.kube.schema.tree import Schema

Object = dict[str, Any]
#: The steps to a field: names of fields, positions in lists.
Steps = tuple[str | int, ...]

_OBJECTS: Final = json.loads((Path(__file__).parents[1] / "kube" / "builtin" / "objects.json").read_text())
#: Stored as JSON, which keeps an empty list.
_STORED_AS_JSON: Final = ("apiextensions.k8s.io", "apiregistration.k8s.io")
_BUILT_IN: Final = Registry()


def resource_of(obj: Object) -> Resource:
    resource = _BUILT_IN.of_kind(kind_of(obj))
    assert resource is not None
    return resource


def required_lists(schema: Schema) -> Iterator[Steps]:
    """Yields the steps to every list of a type that Go never leaves out; 0 stands for the items of a list."""
    for name, child in schema.properties.items():
        assert child.additional is None or not list(required_lists(child.additional))
        if child.items is None:
            yield from ((name, *rest) for rest in required_lists(child))
            continue
        if not child.go_field.omit_empty:
            yield (name,)
        yield from ((name, 0, *rest) for rest in required_lists(child.items))


def at(obj: Any, steps: Steps) -> Any:
    for step in steps:
        obj = obj[step]
    return obj


def nested(steps: Steps) -> Any:
    """A value that has an empty list there and nothing else."""
    if not steps:
        return []
    return [nested(steps[1:])] if steps[0] == 0 else {steps[0]: nested(steps[1:])}


def instances(obj: Any, steps: Steps) -> Iterator[Steps]:
    """Yields the places of an object that ``steps`` leads to, in every item of the lists on the way."""
    if not steps:
        yield ()
    elif isinstance(obj, list):
        for index, item in enumerate(obj):
            yield from ((index, *rest) for rest in instances(item, steps[1:]))
    elif isinstance(obj, dict) and steps[0] in obj:
        yield from ((steps[0], *rest) for rest in instances(obj[steps[0]], steps[1:]))


def with_empty_list(obj: Object, steps: Steps) -> Object:
    changed: Object = json.loads(json.dumps(obj))
    at(changed, steps[:-1])[steps[-1]] = []
    return changed


FIELDS: Final = [
    pytest.param(resource, steps, id=f"{info.group}/{info.version}/{info.kind}:{'.'.join(map(str, steps))}")
    for info in resources()
    if "create" in info.verbs and "list" in info.verbs and info.group not in _STORED_AS_JSON
    for resource in [_BUILT_IN.at(info.group, info.version, info.plural)]
    if resource is not None
    for steps in required_lists(resource.schema)
]
OBJECTS: Final = [
    pytest.param(with_empty_list(row["object"], place), place, id=f"{row['object']['kind']}:{number}:{place}")
    for number, row in enumerate(_OBJECTS)
    if kind_of(row["object"]).group not in _STORED_AS_JSON
    for steps in required_lists(resource_of(row["object"]).schema)
    for place in instances(row["object"], steps)
]
#: The things that the objects refer to.
SURROUNDINGS: Final[list[Object]] = [
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ns"}},
    {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "pc"},
        "value": 1,
        "preemptionPolicy": "Never",
    },
    {
        "apiVersion": "node.k8s.io/v1",
        "kind": "RuntimeClass",
        "metadata": {"name": "rc"},
        "handler": "h",
        "overhead": {"podFixed": {"cpu": "1m"}},
    },
]


@pytest.mark.parametrize(("resource", "steps"), FIELDS)
def test_an_empty_list_is_kept_until_it_is_stored(resource: Resource, steps: Steps) -> None:
    obj, unknown = resource.normalized({"metadata": {"name": "x"}, **nested(steps)})
    assert unknown == []
    assert at(obj, steps) == []
    assert at(json.loads(encoded(resource, obj)), steps) is None


def accepted(cluster: Cluster, obj: Object) -> Object | None:
    """The answer to a dry run; None if validation requires an item, which is said without showing the list."""
    try:
        return cluster.create(obj, dry_run=True)
    except Invalid as refusal:
        message = refusal.message
    assert "Invalid value: null" not in message
    return None


@pytest.mark.parametrize(("obj", "steps"), OBJECTS)
def test_an_empty_list_is_null_in_every_answer(obj: Object, steps: Steps) -> None:
    cluster = Cluster(objects=SURROUNDINGS)
    rehearsed = accepted(cluster, obj)
    if rehearsed is None:
        return
    assert at(rehearsed, steps) is None
    created = cluster.create(obj)
    assert at(created, steps) is None
    resource = resource_of(obj)
    kind = f"{resource.kind}.{resource.api_version}" if resource.group else f"{resource.kind}/{resource.version}"
    namespace = created["metadata"].get("namespace", "")
    assert at(cluster.get(kind, obj["metadata"]["name"], namespace=namespace), steps) is None
    assert [at(item, steps) for item in cluster.list(kind)] == [None]
    # To compare objects, the server takes an empty list for none: nothing is changed.
    updated = cluster.update(with_empty_list(created, steps))
    assert at(updated, steps) is None
    assert updated["metadata"].get("generation") == created["metadata"].get("generation")


def job(values: Any) -> Object:
    rule = {"action": "FailJob", "onExitCodes": {"operator": "In", "values": values}}
    pod = {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"}
    spec = {"podFailurePolicy": {"rules": [rule]}, "template": {"spec": pod}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": spec}


@pytest.mark.parametrize(("values", "shown"), [([], "[]"), (None, "null")])
def test_a_refusal_shows_an_empty_list_as_it_was_sent(values: Any, shown: str) -> None:
    with pytest.raises(Invalid) as refusal:
        Cluster().create(job(values))
    message = f"onExitCodes.values: Invalid value: {shown}: at least one value is required"
    assert message in refusal.value.message


def test_a_writer_of_an_empty_list_owns_the_field() -> None:
    cluster = Cluster()
    volumes = [{"name": "v", "projected": {"sources": []}}]
    template = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"containers": [{"name": "c", "image": "i"}], "volumes": volumes},
    }
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    created = cluster.create({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": spec})
    steps: Steps = ("spec", "template", "spec", "volumes", 0, "projected", "sources")
    cluster.update(created, manager="reader")
    cluster.update(with_empty_list(created, steps), manager="writer")
    stored = cluster.get("Deployment.apps/v1", "d")
    assert at(stored, steps) is None
    owned = {entry["manager"]: entry["fieldsV1"] for entry in stored["metadata"]["managedFields"]}
    assert "reader" not in owned
    volume: Object = {'k:{"name":"v"}': {"f:projected": {"f:sources": {}}}}
    assert owned["writer"] == {"f:spec": {"f:template": {"f:spec": {"f:volumes": volume}}}}
