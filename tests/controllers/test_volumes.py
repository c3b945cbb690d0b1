"""Claims get volumes, both sides agree, and neither goes while it is in use."""

from __future__ import annotations

from typing import Any

from controllers.world import PODS, World, template

CLAIMS, VOLUMES = "PersistentVolumeClaim/v1", "PersistentVolume/v1"


def _volume(name: str, size: str = "1Gi", **spec: Any) -> dict[str, Any]:
    body = {"capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/x"}, **spec}
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": body}


def _claim(name: str = "c", size: str = "1Gi", **spec: Any) -> dict[str, Any]:
    body = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}, **spec}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": body}


def _phases(world: World, kind: str) -> dict[str, str]:
    return {each["metadata"]["name"]: each["status"]["phase"] for each in world.cluster.list(kind)}


def test_a_claim_gets_the_smallest_volume_that_is_large_enough() -> None:
    """And each names the other."""
    world = World()
    for name, size in (("small", "1Gi"), ("large", "10Gi"), ("right", "5Gi")):
        world.create(_volume(name, size))
    made = world.create(_claim(size="4Gi"))
    claim, volume = world.cluster.get(CLAIMS, "c"), world.cluster.get(VOLUMES, "right")
    assert claim["spec"]["volumeName"] == "right"
    assert claim["status"] == {"phase": "Bound", "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "5Gi"}}
    assert claim["metadata"]["annotations"]["pv.kubernetes.io/bind-completed"] == "yes"
    assert volume["spec"]["claimRef"]["uid"] == made["metadata"]["uid"]
    assert _phases(world, VOLUMES) == {"large": "Available", "right": "Bound", "small": "Available"}


def test_a_claim_waits_for_a_volume() -> None:
    """And gets the one that comes."""
    world = World()
    world.create(_claim())
    assert _phases(world, CLAIMS) == {"c": "Pending"}
    world.create(_volume("v"))
    assert _phases(world, CLAIMS) == {"c": "Bound"}


def test_class_mode_and_selector_must_match() -> None:
    """One volume for each way not to."""
    world = World()
    world.create(_volume("class", storageClassName="fast"))
    world.create(_volume("mode", volumeMode="Block"))
    world.create(_volume("access", accessModes=["ReadOnlyMany"]))
    world.create(_claim("plain"))
    world.create(_claim("choosy", selector={"matchLabels": {"a": "b"}}))
    assert _phases(world, CLAIMS) == {"choosy": "Pending", "plain": "Pending"}


def test_two_claims_never_share_a_volume() -> None:
    """The second one waits."""
    world = World()
    world.create(_claim("a"), settle=False)
    world.create(_claim("b"), settle=False)
    world.create(_volume("v"))
    assert sorted(_phases(world, CLAIMS).values()) == ["Bound", "Pending"]


def test_a_volume_that_a_user_keeps_for_a_claim_goes_to_that_one() -> None:
    """By a reference without a uid."""
    world = World()
    world.create(_volume("v", claimRef={"namespace": "default", "name": "mine"}))
    world.create(_claim("other"))
    world.create(_claim("mine"))
    assert _phases(world, CLAIMS) == {"mine": "Bound", "other": "Pending"}


def test_a_class_that_waits_for_a_pod_is_not_bound_before() -> None:
    """WaitForFirstConsumer."""
    world = World()
    late = {"metadata": {"name": "late"}, "provisioner": "x", "volumeBindingMode": "WaitForFirstConsumer"}
    world.create({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", **late})
    world.create(_volume("v", storageClassName="late"))
    world.create(_claim(storageClassName="late"))
    assert _phases(world, CLAIMS) == {"c": "Pending"}


def test_a_volume_whose_claim_is_gone_is_released_and_not_given_away() -> None:
    """What is on it belongs to whoever had it."""
    world = World()
    world.create(_volume("v"))
    world.create(_claim())
    world.delete(CLAIMS, "c")
    world.create(_claim("next"))
    assert _phases(world, VOLUMES) == {"v": "Released"}
    assert _phases(world, CLAIMS) == {"next": "Pending"}


def test_a_claim_whose_volume_is_gone_is_lost() -> None:
    """The volume waited for its claim, until somebody forced it."""
    world = World()
    world.create(_volume("v"))
    world.create(_claim())
    world.delete(VOLUMES, "v")
    assert world.names(VOLUMES) == ["v"]
    world.patch(VOLUMES, "v", {"metadata": {"finalizers": None}})
    assert _phases(world, CLAIMS) == {"c": "Lost"}


def test_a_claim_stays_while_a_pod_uses_it() -> None:
    """And goes with the pod."""
    world = World(nodes=1)
    world.create(_claim())
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]
    spec = {**template()["spec"], "volumes": volumes}
    world.create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec})
    world.delete(CLAIMS, "c")
    assert world.names(CLAIMS) == ["c"]
    world.delete(PODS, "p")
    assert world.names(CLAIMS) == []
