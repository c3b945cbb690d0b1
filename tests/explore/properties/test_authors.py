"""The author of a field, by managed fields."""

from __future__ import annotations

from typing import Any

import pytest

from explore.widgets import CRD, KIND, WIDGET
from kontend.cluster.cluster import Cluster
from kontend.cluster.state import Version
from kontend.explore.properties.authors import author_of, creator_of
from kontend.explore.properties.overwrites import Element, Path
from kontend.kube.meta.names import Key

SERVICE: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "s", "namespace": "default"},
    "spec": {"ports": [{"name": "http", "port": 80}]},
}


def _patched(obj: dict[str, Any], kind: str, *patches: tuple[str, dict[str, Any]]) -> Version:
    cluster = Cluster(crds=[CRD], objects=[obj], manager="user")
    for manager, patch in patches:
        cluster.patch(kind, obj["metadata"]["name"], patch, namespace="default", manager=manager)
    resource = "widgets.example.com" if kind == KIND else "services"
    version = cluster.state.find(resource, Key("default", obj["metadata"]["name"]))
    assert version is not None
    return version


@pytest.mark.parametrize(
    ("path", "author"),
    [
        (("spec", "size"), "bob"),
        (("spec", "steps"), "alice"),
        (("spec", "steps", Element("", "x")), "alice"),  # a list of an unknown type is owned whole
        (("metadata", "finalizers", Element("", "example.com/a")), "alice"),
        (("metadata", "finalizers", Element("", "example.com/c")), ""),
        (("metadata", "labels", "a"), ""),
    ],
)
def test_the_author_is_the_manager_that_owns_the_field(path: Path, author: str) -> None:
    version = _patched(
        WIDGET,
        KIND,
        ("alice", {"spec": {"size": 1, "steps": ["x"]}, "metadata": {"finalizers": ["example.com/a"]}}),
        ("bob", {"spec": {"size": 2}}),
    )
    assert author_of(version, path) == author


def test_an_element_of_a_list_with_keys_has_its_own_author() -> None:
    ports = [{"name": "http", "port": 80}, {"name": "https", "port": 443}]
    version = _patched(SERVICE, "Service/v1", ("bob", {"spec": {"ports": ports}}))
    assert author_of(version, ("spec", "ports", Element("port", 443))) == "bob"
    assert author_of(version, ("spec", "ports", Element("port", 80), "name")) == "user"


def test_a_field_with_two_owners_has_no_known_author() -> None:
    cluster = Cluster(crds=[CRD], objects=[WIDGET], manager="user")
    for manager in ("alice", "bob"):
        cluster.apply({**WIDGET, "spec": {"size": 1}}, manager=manager)
    version = cluster.state.find("widgets.example.com", Key("default", "w"))
    assert version is not None
    assert author_of(version, ("spec", "size")) == ""


def test_the_creator_is_the_manager_of_the_first_version() -> None:
    version = _patched(WIDGET, KIND)
    assert creator_of(version) == "user"
    assert creator_of(Version(version.body, (), 1)) == ""


def test_a_field_that_the_only_manager_does_not_own_has_no_author() -> None:
    assert author_of(_patched(SERVICE, "Service/v1"), ("spec", "ports", Element("port", 80), "name")) == "user"
    assert author_of(_patched(SERVICE, "Service/v1"), ("metadata", "labels", "app")) == ""
