"""Pruning, defaulting and validation against what the server's own code answered, recorded in answers.json."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from kontend.kube.openapi.validation import validate
from kontend.kube.schema.defaulting import apply_defaults
from kontend.kube.schema.pruning import prune
from kontend.kube.schema.structural import structural_schema
from kontend.kube.schema.tree import MISSING

GROUPS = json.loads((Path(__file__).parent / "answers.json").read_text())


@pytest.mark.parametrize("group", [pytest.param(group, id=str(index)) for index, group in enumerate(GROUPS)])
def test_an_object_fares_as_it_does_on_the_server(group: dict[str, Any]) -> None:
    """The same fields are dropped, the same defaults filled in and the same mistakes reported (in any order)."""
    schema = structural_schema(group["schema"])
    for case in group["cases"]:
        obj, old = copy.deepcopy(case["obj"]), case.get("old", MISSING)
        assert prune(obj, schema) == case["pruned"]
        apply_defaults(obj, schema)
        assert obj == case["stored"]
        errors = validate(obj, schema, old, status=case.get("status", False))
        assert sorted(map(str, errors)) == case["errors"]
