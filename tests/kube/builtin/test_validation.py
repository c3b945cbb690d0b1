"""Validation of objects, compared with the answers of kube-apiserver's own code.

``objects.json`` holds valid objects of every kind; ``verdicts.json`` holds single changes of them (a field set to an
odd value, or removed) with all that the validation code of kube-apiserver 1.35 found wrong with the result, on a
create, on an update of the valid object and on an update of its status.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from kontend.kube.builtin import strategy_for
from kontend.kube.builtin.defaults import apply_defaults
from kontend.kube.encoding.decode import decode
from kontend.kube.kinds import schema_of
from kontend.kube.meta.names import GroupVersionKind, kind_of
from kontend.kube.meta.object_meta import validate_object_meta, validate_object_meta_update

Object = dict[str, Any]

_HERE: Final = Path(__file__).parent
OBJECTS: Final[list[Object]] = json.loads((_HERE / "objects.json").read_text())
VERDICTS: Final[list[Object]] = json.loads((_HERE / "verdicts.json").read_text())


def copy_of(obj: Any) -> Any:
    return json.loads(json.dumps(obj))


def decoded(raw: Object) -> tuple[Object, GroupVersionKind]:
    kind = kind_of(raw)
    obj, _ = decode(copy_of(raw), schema_of(kind.group, kind.version, kind.kind))
    apply_defaults(obj, kind.group, kind.version, kind.kind)
    strategy_for(kind.group, kind.kind).convert(obj)
    return obj, kind


def created(raw: Object) -> tuple[Object, list[str]]:
    obj, kind = decoded(raw)
    strategy = strategy_for(kind.group, kind.kind)
    strategy.prepare_for_create(obj)
    errors = []
    if strategy.checks_metadata:
        errors += validate_object_meta(obj["metadata"], namespaced=strategy.namespaced, name_rule=strategy.name_rule)
    errors += strategy.validate(obj)
    return obj, [str(error) for error in errors]


def updated(raw: Object, old: Object, subresource: str) -> list[str]:
    obj, kind = decoded(raw)
    strategy = strategy_for(kind.group, kind.kind)
    strategy.prepare(subresource, obj, old)
    metadata = obj["metadata"]
    errors = []
    if strategy.rechecks_metadata and not subresource:
        errors += validate_object_meta(metadata, namespaced=strategy.namespaced, name_rule=strategy.name_rule)
    if strategy.rechecks_metadata_update:
        errors += validate_object_meta_update(metadata, old["metadata"])
    errors += strategy.validate_changes(subresource, obj, old)
    return [str(error) for error in errors]


def stored(index: int, *, with_status: bool) -> Object:
    obj, errors = created(OBJECTS[index]["object"])
    assert errors == []
    obj["metadata"]["resourceVersion"] = "5"
    if with_status:
        obj["status"] = OBJECTS[index]["status"]
        obj, _ = decoded(obj)
    return obj


def changed(obj: Object, verdict: Object) -> Object:
    result = copy_of(obj)
    *parents, last = verdict["path"]
    holder: Any = result
    for step in parents:
        holder = holder[step]
    if "value" in verdict:
        holder[last] = verdict["value"]
    else:
        del holder[last]
    return dict(result)


@pytest.mark.parametrize("index", range(len(OBJECTS)), ids=lambda index: f"{index}-{OBJECTS[index]['object']['kind']}")
def test_a_changed_object_is_wrong_for_the_reasons_that_the_server_gives(index: int) -> None:
    for verdict in VERDICTS:
        if verdict["object"] != index:
            continue
        if verdict["write"] == "create":
            _, errors = created(changed(OBJECTS[index]["object"], verdict))
        else:
            old = stored(index, with_status=verdict["write"] == "status")
            errors = updated(changed(old, verdict), old, "status" if verdict["write"] == "status" else "")
        # Maps have no order in Go, so errors about their entries come in any.
        assert sorted(errors) == sorted(verdict["errors"]), (verdict["write"], verdict["path"], verdict.get("value"))


def test_every_kind_with_rules_of_its_own_has_verdicts() -> None:
    kinds = {OBJECTS[verdict["object"]]["object"]["kind"] for verdict in VERDICTS}

    assert len(kinds) >= 36
    assert len(VERDICTS) > 500
