"""Claims get volumes, both sides agree, and neither goes while it is in use."""

from __future__ import annotations

from typing import Any

from controllers.harness import PODS, Harness, template
from kontend.controllers.storage.provisioning import VolumeProvisioner, VolumeReclaim, default_class

CLAIMS, VOLUMES = "PersistentVolumeClaim/v1", "PersistentVolume/v1"


def _volume(name: str, size: str = "1Gi", **spec: Any) -> dict[str, Any]:
    body = {"capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/x"}, **spec}
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": body}


def _claim(name: str = "c", size: str = "1Gi", **spec: Any) -> dict[str, Any]:
    body = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}, **spec}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": body}


def _phases(harness: Harness, kind: str) -> dict[str, str]:
    return {obj["metadata"]["name"]: obj["status"]["phase"] for obj in harness.cluster.list(kind)}


def test_a_claim_gets_the_smallest_volume_that_is_large_enough() -> None:
    """And each names the other."""
    harness = Harness()
    for name, size in (("small", "1Gi"), ("large", "10Gi"), ("right", "5Gi")):
        harness.create(_volume(name, size))
    made = harness.create(_claim(size="4Gi"))
    claim, volume = harness.cluster.get(CLAIMS, "c"), harness.cluster.get(VOLUMES, "right")
    assert claim["spec"]["volumeName"] == "right"
    assert claim["status"] == {"phase": "Bound", "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "5Gi"}}
    assert claim["metadata"]["annotations"]["pv.kubernetes.io/bind-completed"] == "yes"
    assert volume["spec"]["claimRef"]["uid"] == made["metadata"]["uid"]
    assert _phases(harness, VOLUMES) == {"large": "Available", "right": "Bound", "small": "Available"}


def test_a_claim_waits_for_a_volume() -> None:
    """And gets the one that comes."""
    harness = Harness()
    harness.create(_claim())
    assert _phases(harness, CLAIMS) == {"c": "Pending"}
    harness.create(_volume("v"))
    assert _phases(harness, CLAIMS) == {"c": "Bound"}


def test_class_mode_and_selector_must_match() -> None:
    """One volume for each way not to."""
    harness = Harness()
    harness.create(_volume("class", storageClassName="fast"))
    harness.create(_volume("mode", volumeMode="Block"))
    harness.create(_volume("access", accessModes=["ReadOnlyMany"]))
    harness.create(_claim("plain"))
    harness.create(_claim("choosy", selector={"matchLabels": {"a": "b"}}))
    assert _phases(harness, CLAIMS) == {"choosy": "Pending", "plain": "Pending"}


def test_two_claims_never_share_a_volume() -> None:
    """The second one waits."""
    harness = Harness()
    harness.create(_claim("a"), settle=False)
    harness.create(_claim("b"), settle=False)
    harness.create(_volume("v"))
    assert sorted(_phases(harness, CLAIMS).values()) == ["Bound", "Pending"]


def test_a_volume_that_a_user_keeps_for_a_claim_goes_to_that_one() -> None:
    """By a reference without a uid."""
    harness = Harness()
    harness.create(_volume("v", claimRef={"namespace": "default", "name": "mine"}))
    harness.create(_claim("other"))
    harness.create(_claim("mine"))
    assert _phases(harness, CLAIMS) == {"mine": "Bound", "other": "Pending"}


def test_a_class_that_waits_for_a_pod_is_not_bound_before() -> None:
    """WaitForFirstConsumer."""
    harness = Harness()
    late = {"metadata": {"name": "late"}, "provisioner": "x", "volumeBindingMode": "WaitForFirstConsumer"}
    harness.create({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", **late})
    harness.create(_volume("v", storageClassName="late"))
    harness.create(_claim(storageClassName="late"))
    assert _phases(harness, CLAIMS) == {"c": "Pending"}


def test_a_volume_whose_claim_is_gone_is_released_and_not_given_away() -> None:
    """Its data belong to the claim that had it."""
    harness = Harness()
    harness.create(_volume("v"))
    harness.create(_claim())
    harness.delete(CLAIMS, "c")
    harness.create(_claim("next"))
    assert _phases(harness, VOLUMES) == {"v": "Released"}
    assert _phases(harness, CLAIMS) == {"next": "Pending"}


def test_a_claim_whose_volume_is_gone_is_lost() -> None:
    """The volume waited for its claim, until somebody forced it."""
    harness = Harness()
    harness.create(_volume("v"))
    harness.create(_claim())
    harness.delete(VOLUMES, "v")
    assert harness.names(VOLUMES) == ["v"]
    harness.patch(VOLUMES, "v", {"metadata": {"finalizers": None}})
    assert _phases(harness, CLAIMS) == {"c": "Lost"}


def test_a_claim_stays_while_a_pod_uses_it() -> None:
    """And goes with the pod."""
    harness = Harness(nodes=1)
    harness.create(_claim())
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]
    spec = {**template()["spec"], "volumes": volumes}
    harness.create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec})
    harness.delete(CLAIMS, "c")
    assert harness.names(CLAIMS) == ["c"]
    harness.delete(PODS, "p")
    assert harness.names(CLAIMS) == []


def _driven() -> Harness:
    """A cluster with a storage driver and a class of it."""
    harness = Harness(also=[VolumeProvisioner(), VolumeReclaim()])
    harness.create(default_class())
    return harness


def test_a_driver_makes_a_volume_for_a_claim_of_the_default_class() -> None:
    harness = _driven()
    made = harness.create(_claim(size="4Gi"))
    claim = harness.cluster.get(CLAIMS, "c")
    assert claim["spec"]["volumeName"] == f"pvc-{made['metadata']['uid']}"
    assert claim["status"]["capacity"] == {"storage": "4Gi"}
    assert list(_phases(harness, VOLUMES).values()) == ["Bound"]


def test_a_class_may_name_any_provisioner() -> None:
    harness = Harness(also=[VolumeProvisioner(), VolumeReclaim()])
    harness.create({**default_class(), "provisioner": "rancher.io/local-path"})
    harness.create(_claim())
    assert _phases(harness, CLAIMS) == {"c": "Bound"}


def test_a_claim_of_a_driver_may_grow_and_its_volume_grows_with_it() -> None:
    harness = _driven()
    harness.create(_claim(size="4Gi"))
    harness.cluster.patch(CLAIMS, "c", {"spec": {"resources": {"requests": {"storage": "8Gi"}}}})
    harness.settle()
    claim = harness.cluster.get(CLAIMS, "c")
    (volume,) = harness.cluster.list(VOLUMES)
    assert (claim["status"]["capacity"], volume["spec"]["capacity"]) == ({"storage": "8Gi"}, {"storage": "8Gi"})


def test_a_volume_goes_with_its_claim_if_its_class_says_so() -> None:
    harness = _driven()
    harness.create(_claim())
    harness.cluster.delete(CLAIMS, "c")
    harness.settle()
    assert harness.cluster.list(VOLUMES) == []
