"""Tests of what a garbage collector would delete."""

from __future__ import annotations

from typing import Any

from kontend.cluster.cluster import Cluster
from kontend.explore.model.state.canonical import canonical_cluster
from kontend.explore.model.state.collection import lasting_objects
from kontend.explore.model.state.ignored import Ignored

#: The uid of an object that is gone.
GONE = "00000000-0000-4000-8000-00000000dead"


def config_map(name: str, *owners: str, finalizers: tuple[str, ...] = ()) -> dict[str, Any]:
    """A ConfigMap with owners, by uid."""
    references = [{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid} for uid in owners]
    metadata = {"name": name, "namespace": "default", "ownerReferences": references, "finalizers": list(finalizers)}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


def lasting(cluster: Cluster) -> list[str]:
    """The names of the ConfigMaps that last."""
    objects = lasting_objects(cluster.state)
    return sorted(key.name for resource, key, _ in objects if resource == "configmaps")


def test_objects_whose_owners_are_all_gone_do_not_last() -> None:
    """One owner that is alive keeps an object; no owner at all keeps it, too."""
    cluster = Cluster()
    owner = cluster.create(config_map("owner"))["metadata"]["uid"]
    cluster.create(config_map("orphan", GONE))
    cluster.create(config_map("shared", GONE, owner))
    cluster.create(config_map("child", owner))
    assert lasting(cluster) == ["child", "owner", "shared"]


def test_dependents_of_what_is_collected_do_not_last() -> None:
    """Collection goes on to the grandchildren."""
    cluster = Cluster()
    child = cluster.create(config_map("child", GONE))["metadata"]["uid"]
    cluster.create(config_map("grandchild", child))
    assert lasting(cluster) == []


def test_an_orphan_with_a_finalizer_lasts_with_its_dependents() -> None:
    """A controller has to remove the finalizer first."""
    cluster = Cluster()
    held = cluster.create(config_map("held", GONE, finalizers=("example.com/hold",)))["metadata"]["uid"]
    cluster.create(config_map("dependent", held))
    assert lasting(cluster) == ["dependent", "held"]


def test_clusters_that_differ_in_garbage_have_the_same_form() -> None:
    """A child of an owner that is gone is nothing that stays."""
    with_garbage, without = Cluster(), Cluster()
    with_garbage.create(config_map("orphan", GONE))
    forms = [canonical_cluster(cluster.state, ignored=Ignored()) for cluster in (with_garbage, without)]
    assert forms[0] == forms[1]
    assert canonical_cluster(with_garbage.state) != canonical_cluster(without.state)
    with_garbage.create(config_map("real"))
    assert canonical_cluster(with_garbage.state, ignored=Ignored()) != forms[1]
