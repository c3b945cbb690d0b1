"""Permissive definitions: one call makes any kind available."""

from __future__ import annotations

import pytest

from kontend import Cluster, NotFound, new_object
from kontend.testing import permissive_crd


@pytest.mark.parametrize("kind", ["Widget.example.com/v1", "Machine.cluster.x-k8s.io/v1beta1", "Set.cluster.k8s.io/v1"])
def test_objects_of_the_kind_keep_every_field(kind: str) -> None:
    cluster = Cluster(crds=[permissive_crd(kind)], objects=[new_object(kind, "a", spec={"any": [{"thing": 1}]})])
    assert cluster.get(kind, "a")["spec"] == {"any": [{"thing": 1}]}
    cluster.patch(kind, "a", {"status": {"phase": "Ready"}}, subresource="status")
    assert cluster.get(kind, "a")["status"] == {"phase": "Ready"}


def test_without_status_subresource_the_status_is_part_of_the_object() -> None:
    kind = "Widget.example.com/v1"
    cluster = Cluster(crds=[permissive_crd(kind, status=False)], objects=[new_object(kind, "a")])
    cluster.patch(kind, "a", {"status": {"phase": "Ready"}})
    assert cluster.get(kind, "a")["status"] == {"phase": "Ready"}
    with pytest.raises(NotFound):
        cluster.patch(kind, "a", {"status": {"phase": "Ready"}}, subresource="status")


def test_cluster_scoped_kinds_have_no_namespace() -> None:
    kind = "Policy.example.com/v1"
    crd = permissive_crd(kind, plural="policies", namespaced=False)
    cluster = Cluster(crds=[crd], objects=[new_object(kind, "a")])
    assert "namespace" not in cluster.get(kind, "a")["metadata"]
