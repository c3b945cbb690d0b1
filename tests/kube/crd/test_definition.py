"""CustomResourceDefinitions."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kontend.kube.builtin.defaults.registration import custom_resource_definition
from kontend.kube.crd.definition import (
    crd_status,
    prepare_for_create,
    prepare_for_update,
    validate_crd,
    validate_crd_update,
)
from kontend.kube.encoding.decode import decode
from kontend.kube.kinds import schema_of

ANSWERS = json.loads((Path(__file__).parent / "answers.json").read_text())
KEYWORDS = [
    "type", "properties", "items", "additionalProperties", "anyOf", "not", "default", "pattern", "required", "a",
    "rule", "x-kubernetes-validations", "x-kubernetes-list-type", "x-kubernetes-list-map-keys",
]  # fmt: skip
NODES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(KEYWORDS), inner, max_size=4),
    max_leaves=12,
)


def defaulted(crd: dict[str, Any]) -> dict[str, Any]:
    """A definition as the decoder and the defaults leave it."""
    decoded, _ = decode(crd, schema_of("apiextensions.k8s.io", "v1", "CustomResourceDefinition"))
    custom_resource_definition(decoded)
    return decoded


def definition(**spec: Any) -> dict[str, Any]:
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
    names = {"plural": "things", "kind": "Thing"}
    crd: dict[str, Any] = {
        "metadata": {"name": "things.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version], **spec},
    }
    return defaulted(crd)


@pytest.mark.parametrize("answer", [pytest.param(answer, id=str(index)) for index, answer in enumerate(ANSWERS)])
def test_a_definition_is_refused_in_the_words_of_the_server(answer: dict[str, Any]) -> None:
    """Against what the server's own code answered, recorded in answers.json (in any order)."""
    crd = defaulted(copy.deepcopy(answer["crd"]))
    if "old" in answer:
        old = defaulted(copy.deepcopy(answer["old"]))
        prepare_for_update(crd, old)
        errors = validate_crd_update(crd, old)
    else:
        prepare_for_create(crd)
        errors = validate_crd(crd)
    assert sorted(map(str, errors)) == answer["errors"]


def test_what_is_left_out_follows_from_the_kind() -> None:
    crd = definition()
    assert crd["spec"]["names"] == {"plural": "things", "kind": "Thing", "singular": "thing", "listKind": "ThingList"}
    assert crd["spec"]["conversion"] == {"strategy": "None"}
    assert crd["status"]["storedVersions"] == ["v1"]


def test_a_new_storage_version_joins_those_that_were_stored() -> None:
    new, old = definition(), definition()
    new["spec"]["versions"][0]["name"] = "v2"
    prepare_for_update(new, old)
    assert new["status"]["storedVersions"] == ["v1", "v2"]


def test_a_good_definition_is_accepted_and_established() -> None:
    status = crd_status(definition(), now="T")
    assert [(condition["type"], condition["status"], condition["reason"]) for condition in status["conditions"]] == [
        ("NamesAccepted", "True", "NoConflicts"),
        ("Established", "True", "InitialNamesAccepted"),
    ]
    assert status["acceptedNames"]["kind"] == "Thing"
    assert status["storedVersions"] == ["v1"]


def test_the_status_of_an_accepted_definition_stays_as_it_is() -> None:
    crd = definition()
    crd["status"] = crd_status(crd, now="T")
    assert crd_status(crd, now="later") == crd["status"]


def test_a_name_that_is_taken_keeps_a_definition_from_being_established() -> None:
    other = definition()
    other["status"] = crd_status(other, now="T")
    rival = definition(names={"plural": "gadgets", "singular": "thing", "kind": "Gadget", "listKind": "GadgetList"})
    status = crd_status(rival, now="T", taken=[other])
    accepted, established = status["conditions"]
    assert (accepted["status"], accepted["reason"]) == ("False", "SingularConflict")
    assert accepted["message"] == '"thing" is already in use'
    assert (established["status"], established["reason"]) == ("False", "NotAccepted")


@given(NODES)
@settings(derandomize=True, deadline=None, max_examples=150)
def test_garbage_for_a_schema_is_refused_or_taken_but_never_raises(node: Any) -> None:
    crd = definition()
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = node  # more than the decoder lets through
    validate_crd(crd)
    validate_crd_update(crd, definition())
