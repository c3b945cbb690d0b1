"""Objects from files."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from kontend import Cluster
from kontend.cluster.startup.manifests import BadManifest, read, read_definitions, store_all
from serve.objects import widget, widgets
from serve.wire import config_map


def write(path: Path, *documents: object) -> Path:
    """A YAML file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n---\n".join(yaml.safe_dump(document) for document in documents))
    return path


def test_documents_lists_and_directories_are_read(tmp_path: Path) -> None:
    """In the order of their names."""
    write(tmp_path / "a.yaml", config_map("a"), None, {"apiVersion": "v1", "kind": "List", "items": [config_map("b")]})
    write(tmp_path / "sub" / "c.yml", config_map("c"))
    (tmp_path / "d.json").write_text('[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"d"}}]')
    (tmp_path / "README.md").write_text("not an object")
    assert [manifest.obj["metadata"]["name"] for manifest in read([tmp_path])] == ["a", "b", "d", "c"]


def test_dates_and_switches_are_read_as_kubernetes_reads_them(tmp_path: Path) -> None:
    """A date stays text."""
    path = tmp_path / "a.yaml"
    path.write_text('apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {day: 2024-01-01, on: "on"}\n')
    assert read([path])[0].obj["data"]["day"] == "2024-01-01"


def test_only_definitions_are_taken_from_a_directory_of_them(tmp_path: Path) -> None:
    """A kustomization beside them is left out; having none at all is a mistake."""
    write(tmp_path / "crds" / "w.yaml", widgets())
    write(tmp_path / "crds" / "kustomization.yaml", {"kind": "Kustomization", "resources": ["w.yaml"]})
    assert len(read_definitions([tmp_path / "crds"])) == 1
    with pytest.raises(BadManifest, match="there is no CustomResourceDefinition in it"):
        read_definitions([write(tmp_path / "x.yaml", config_map("x"))])


def test_definitions_are_stored_before_what_they_define(tmp_path: Path) -> None:
    """The order in the file does not matter."""
    path = write(tmp_path / "a.yaml", widget(size=1), widgets())
    state, count = store_all(Cluster().state, read([path]), manager="m")
    assert count == 2
    assert Cluster(state=state).get("Widget.example.com/v1", "w")["spec"] == {"size": 1}


def test_what_is_there_already_stays_as_it_is(tmp_path: Path) -> None:
    """So that a server can be started again with the same options."""
    path = write(tmp_path / "a.yaml", config_map("a", n="1"))
    state = Cluster(objects=[config_map("a", n="changed")]).state
    assert store_all(state, read([path]), manager="m") == (state, 0)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a: [", "document 1: not YAML"),
        ("just text", "expected an object with apiVersion and kind"),
        ("kind: Gadget\napiVersion: example.com/v1\nmetadata: {name: g}", 'Gadget g: no kind "Gadget" is served'),
        ("kind: ConfigMap\napiVersion: v1\nmetadata: {name: UPPER}", "ConfigMap UPPER: "),
        ("kind: ConfigMap\napiVersion: v1\nmetadata: []", "ConfigMap (without a name): "),
    ],
)
def test_what_cannot_be_used_is_refused_with_its_file(tmp_path: Path, content: str, message: str) -> None:
    """And with what is wrong with it."""
    path = tmp_path / "a.yaml"
    path.write_text(content)
    with pytest.raises(BadManifest) as refused:
        store_all(Cluster().state, read([path]), manager="m")
    assert str(refused.value).startswith(str(path))
    assert message in str(refused.value)


def test_a_path_that_is_not_there_is_named(tmp_path: Path) -> None:
    """And so is a directory without anything in it."""
    with pytest.raises(BadManifest, match="no such file"):
        read([tmp_path / "none.yaml"])
    with pytest.raises(BadManifest, match="there are no"):
        read([tmp_path])
