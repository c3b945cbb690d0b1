"""The garbage collector deletes what nobody owns any more, and nothing else."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from controllers.harness import WIDGETS, Harness, config_map, reference_to
from kontend import Cluster
from kontend.controllers.garbage_collector import GarbageCollector, Identity
from kontend.kube.errors import Conflict, NotFound
from kontend.runtime.client.api import Api
from kontend.runtime.client.call import Call
from kontend.runtime.client.in_process import InProcess
from kontend.testing import settle

CONFIG_MAPS = "ConfigMap/v1"
NOBODY = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "11111111-2222-3333-4444-555555555555"}


def _collect(backend: InProcess, obj: dict[str, Any]) -> None:
    """Let the garbage collector look at one object."""
    asyncio.run(GarbageCollector().reconcile(Identity.of(obj).request(), Api(backend)))


def test_a_dependent_goes_with_its_last_owner() -> None:
    """One owner left keeps it, and the reference to the one that is gone is removed."""
    harness = Harness()
    one, two = harness.create(config_map("one")), harness.create(config_map("two"))
    harness.create(config_map("d", one, two))
    harness.delete(CONFIG_MAPS, "one")
    left = harness.cluster.get(CONFIG_MAPS, "d")["metadata"]["ownerReferences"]
    assert [reference["name"] for reference in left] == ["two"]
    harness.delete(CONFIG_MAPS, "two")
    assert harness.names(CONFIG_MAPS) == []


def test_a_chain_of_owners_goes_to_its_end() -> None:
    """The deleted object is an owner itself."""
    harness = Harness()
    last = harness.create(config_map("0"))
    for number in range(1, 6):
        last = harness.create(config_map(str(number), last))
    harness.delete(CONFIG_MAPS, "0")
    assert harness.names(CONFIG_MAPS) == []


def test_a_namesake_of_the_owner_does_not_count() -> None:
    """An owner is a uid, not a name."""
    harness = Harness()
    harness.create(config_map("o"))
    harness.create(config_map("d", NOBODY))
    assert harness.names(CONFIG_MAPS) == ["o"]


def test_an_owner_in_another_namespace_does_not_count() -> None:
    """A reference is looked up in the namespace of the dependent."""
    harness = Harness()
    owner = harness.create(config_map("o"))
    harness.create(config_map("d", owner, namespace="kube-public"))
    assert harness.names(CONFIG_MAPS) == ["o"]


def test_a_cluster_scoped_object_with_an_owner_in_a_namespace_stays() -> None:
    """Such a reference can never be looked up, so nothing is concluded from it."""
    harness = Harness()
    owner = harness.create(config_map("o"))
    cluster_role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "r", "ownerReferences": [reference_to(owner)]},
        "rules": [],
    }
    harness.create(cluster_role)
    harness.delete(CONFIG_MAPS, "o")
    assert harness.names("ClusterRole.rbac.authorization.k8s.io/v1") == ["r"]


def test_an_owner_of_an_unknown_kind_is_looked_up_when_it_is_defined() -> None:
    """Not knowing a kind is not knowing that the owner is gone."""
    harness = Harness()
    gadget = {"apiVersion": "example.com/v1", "kind": "Widget", "name": "w", "uid": NOBODY["uid"]}
    harness.create(config_map("d", gadget))
    assert harness.names(CONFIG_MAPS) == ["d"]
    harness.create(WIDGETS, settle=False)
    harness.settle(seconds=60)
    assert harness.names(CONFIG_MAPS) == []


def test_orphaned_dependents_lose_the_reference_and_stay() -> None:
    """The owner goes when all dependents have let go of it, and the others' references stay."""
    harness = Harness()
    owner, other = harness.create(config_map("o")), harness.create(config_map("other"))
    harness.create(config_map("d", owner, other))
    harness.delete(CONFIG_MAPS, "o", propagation="Orphan")
    assert harness.names(CONFIG_MAPS) == ["d", "other"]
    left = harness.cluster.get(CONFIG_MAPS, "d")["metadata"]["ownerReferences"]
    assert [reference["name"] for reference in left] == ["other"]


def test_orphaning_works_for_kinds_without_strategic_patches() -> None:
    """Custom resources are patched under a lock instead."""
    harness = Harness(crds=[WIDGETS])
    owner = harness.create({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "o"}})
    dependent = {"name": "d", "ownerReferences": [reference_to(owner)]}
    harness.create({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": dependent})
    harness.delete("Widget.example.com/v1", "o", propagation="Orphan")
    assert harness.names("Widget.example.com/v1") == ["d"]
    assert "ownerReferences" not in harness.cluster.get("Widget.example.com/v1", "d")["metadata"]


def test_foreground_deletion_waits_for_blocking_dependents_only() -> None:
    """The owner is there while a blocking dependent is, whatever the others do."""
    harness = Harness()
    owner = harness.create(config_map("o"))
    blocking = reference_to(owner, blockOwnerDeletion=True)
    harness.create(config_map("blocking", blocking, finalizers=["a.io/x"]))
    harness.create(config_map("other", owner, finalizers=["a.io/x"]))
    harness.delete(CONFIG_MAPS, "o", propagation="Foreground")
    assert harness.names(CONFIG_MAPS) == ["blocking", "o", "other"]
    harness.patch(CONFIG_MAPS, "blocking", {"metadata": {"finalizers": None}})
    assert harness.names(CONFIG_MAPS) == ["other"]
    assert harness.cluster.get(CONFIG_MAPS, "other")["metadata"]["deletionTimestamp"]


def test_a_circle_of_foreground_deletions_is_broken() -> None:
    """Two objects that block each other would otherwise wait forever."""
    harness = Harness()
    one = harness.create(config_map("one"))
    two = harness.create(config_map("two", reference_to(one, blockOwnerDeletion=True)))
    back = {"metadata": {"ownerReferences": [reference_to(two, blockOwnerDeletion=True)]}}
    harness.patch(CONFIG_MAPS, "one", back)
    harness.delete(CONFIG_MAPS, "one", propagation="Foreground")
    assert harness.names(CONFIG_MAPS) == []


def test_an_object_that_got_a_new_owner_meanwhile_is_not_deleted() -> None:
    """The delete names the version whose owners were looked at."""

    class Adopting(InProcess):
        """Somebody adopts the object between the look and the delete."""

        async def call(self, call: Call) -> Any:
            if call.verb == "delete":
                new = self.cluster.get(CONFIG_MAPS, "new")
                patch = {"metadata": {"ownerReferences": [reference_to(new)]}}
                self.cluster.patch(CONFIG_MAPS, "d", patch)
            return await super().call(call)

    cluster = Cluster()
    cluster.create(config_map("new"))
    dependent = cluster.create(config_map("d", NOBODY))
    with pytest.raises(Conflict):
        _collect(Adopting(cluster), dependent)
    assert cluster.get(CONFIG_MAPS, "d")


def test_an_object_whose_status_changed_meanwhile_is_deleted() -> None:
    """Only owners count: a busy status does not keep an object alive."""

    class Busy(InProcess):
        """Somebody writes the object between the look and the first delete."""

        written = False

        async def call(self, call: Call) -> Any:
            if call.verb == "delete" and not self.written:
                self.written = True
                self.cluster.patch(CONFIG_MAPS, "d", {"data": {"busy": "yes"}})
            return await super().call(call)

    cluster = Cluster()
    dependent = cluster.create(config_map("d", NOBODY))
    _collect(Busy(cluster), dependent)
    assert cluster.list(CONFIG_MAPS) == []


def test_a_page_that_is_not_found_says_nothing_about_an_owner() -> None:
    """Over HTTP a kind that is not served is a 404 as well, but one that names no object."""

    class NoSuchPage(InProcess):
        """A server that does not serve the owner's kind."""

        async def call(self, call: Call) -> Any:
            if call.verb == "get" and call.name == "o":
                raise NotFound("404 page not found")
            return await super().call(call)

    cluster = Cluster()
    dependent = cluster.create(config_map("d", NOBODY))
    _collect(NoSuchPage(cluster), dependent)
    assert cluster.get(CONFIG_MAPS, "d")


def test_only_the_named_kinds_are_looked_at() -> None:
    """Other kinds are neither watched nor collected."""
    cluster = Cluster(objects=[config_map("d", NOBODY)])
    collector = GarbageCollector(only=["Secret/v1"])
    assert collector.kinds == ("CustomResourceDefinition.apiextensions.k8s.io/v1", "Secret/v1")
    settle(cluster, collector)
    assert [config_map["metadata"]["name"] for config_map in cluster.list(CONFIG_MAPS)] == ["d"]
    settle(cluster, GarbageCollector(only=[CONFIG_MAPS]))
    assert cluster.list(CONFIG_MAPS) == []
