"""A StatefulSet has its pods in line, each with a name, a revision and volumes of its own."""

from __future__ import annotations

from typing import Any

import pytest

from controllers.harness import PODS, STATEFUL_SETS, Harness, new_image, workload

CLAIMS = "PersistentVolumeClaim/v1"
TEMPLATES = [
    {
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
]


def _set(**spec: Any) -> dict[str, Any]:
    return workload("StatefulSet", serviceName="web", **spec)


def _images(harness: Harness) -> dict[str, str]:
    return {pod["metadata"]["name"]: pod["spec"]["containers"][0]["image"] for pod in harness.cluster.list(PODS)}


def test_pods_are_made_one_after_the_other() -> None:
    """Each when the one before it is ready."""
    harness = Harness()
    harness.create(_set(replicas=3))
    assert harness.names(PODS) == ["web-0"]
    harness.make_ready("web-0")
    assert harness.names(PODS) == ["web-0", "web-1"]
    harness.make_ready("web-1")
    assert harness.names(PODS) == ["web-0", "web-1", "web-2"]


def test_a_pod_knows_its_place() -> None:
    """By labels, hostname and subdomain."""
    harness = Harness()
    harness.create(_set(replicas=1))
    pod = harness.cluster.get(PODS, "web-0")
    labels = pod["metadata"]["labels"]
    assert labels["statefulset.kubernetes.io/pod-name"] == "web-0"
    assert labels["apps.kubernetes.io/pod-index"] == "0"
    assert labels["controller-revision-hash"] == harness.status(STATEFUL_SETS, "web")["updateRevision"]
    assert (pod["spec"]["hostname"], pod["spec"]["subdomain"]) == ("web-0", "web")


def test_parallel_pods_do_not_wait() -> None:
    """All at once, up and down."""
    harness = Harness()
    harness.create(_set(replicas=3, podManagementPolicy="Parallel"))
    assert harness.names(PODS) == ["web-0", "web-1", "web-2"]
    harness.patch(STATEFUL_SETS, "web", {"spec": {"replicas": 0}})
    assert harness.names(PODS) == []


def test_the_line_may_begin_anywhere() -> None:
    """With ordinals.start."""
    harness = Harness(nodes=1)
    harness.create(_set(replicas=2, ordinals={"start": 5}))
    assert harness.names(PODS) == ["web-5", "web-6"]


def test_the_last_pod_goes_first_and_waits_for_a_healthy_line() -> None:
    """Scaling down stops while a pod before the last one is not ready."""
    harness = Harness()
    harness.create(_set(replicas=1))
    for number in range(3):
        harness.make_ready(f"web-{number}")
        harness.patch(STATEFUL_SETS, "web", {"spec": {"replicas": min(number + 2, 3)}})
    broken = [{"type": "Ready", "status": "False", "lastTransitionTime": harness.cluster.now}]
    harness.patch(PODS, "web-0", {"status": {"conditions": broken}}, status=True)
    harness.patch(STATEFUL_SETS, "web", {"spec": {"replicas": 1}})
    assert harness.names(PODS) == ["web-0", "web-1", "web-2"]
    harness.make_ready("web-0")
    assert harness.names(PODS) == ["web-0"]


def test_a_pod_that_is_gone_comes_back_under_its_name() -> None:
    """It is another pod."""
    harness = Harness(nodes=1)
    harness.create(_set(replicas=2))
    uid = harness.cluster.get(PODS, "web-1")["metadata"]["uid"]
    harness.delete(PODS, "web-1")
    assert harness.cluster.get(PODS, "web-1")["metadata"]["uid"] != uid


def test_an_update_goes_from_the_last_pod_to_the_first() -> None:
    """One at a time, and it stops where the new template does not work."""
    harness = Harness()
    harness.create(_set(replicas=2))
    harness.make_ready("web-0")
    harness.make_ready("web-1")
    harness.patch(STATEFUL_SETS, "web", new_image("app:2"))
    assert _images(harness) == {"web-0": "app:1", "web-1": "app:2"}
    status = harness.status(STATEFUL_SETS, "web")
    assert status["currentRevision"] != status["updateRevision"]
    assert (status["currentReplicas"], status["updatedReplicas"]) == (1, 1)
    harness.make_ready("web-1")
    assert _images(harness) == {"web-0": "app:2", "web-1": "app:2"}
    harness.make_ready("web-0")
    status = harness.status(STATEFUL_SETS, "web")
    assert status["currentRevision"] == status["updateRevision"]


def test_a_partition_keeps_the_first_pods_as_they_are() -> None:
    """Also when one of them has to be made again."""
    harness = Harness(nodes=1)
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}
    harness.create(_set(replicas=2, updateStrategy=strategy))
    harness.patch(STATEFUL_SETS, "web", new_image("app:2"))
    assert _images(harness) == {"web-0": "app:1", "web-1": "app:2"}
    harness.delete(PODS, "web-0")
    assert _images(harness) == {"web-0": "app:1", "web-1": "app:2"}


def test_on_delete_leaves_the_update_to_the_user() -> None:
    """A pod gets the new template when it is made again."""
    harness = Harness(nodes=1)
    harness.create(_set(replicas=2, updateStrategy={"type": "OnDelete"}))
    harness.patch(STATEFUL_SETS, "web", new_image("app:2"))
    assert set(_images(harness).values()) == {"app:1"}
    harness.delete(PODS, "web-0")
    assert _images(harness) == {"web-0": "app:2", "web-1": "app:1"}


def test_revisions_are_kept_up_to_the_limit_and_used_again() -> None:
    """Going back to a template makes its old revision the newest."""
    harness = Harness(nodes=1)
    harness.create(_set(replicas=1, revisionHistoryLimit=1))
    first = harness.status(STATEFUL_SETS, "web")["updateRevision"]
    original = harness.cluster.get(STATEFUL_SETS, "web")["spec"]["template"]["spec"]["containers"]
    harness.patch(STATEFUL_SETS, "web", new_image("app:2"))
    harness.patch(STATEFUL_SETS, "web", {"spec": {"template": {"spec": {"containers": original}}}})
    assert harness.status(STATEFUL_SETS, "web")["updateRevision"] == first
    for number in range(3, 6):
        harness.patch(STATEFUL_SETS, "web", new_image(f"app:{number}"))
    assert len(harness.names("ControllerRevision.apps/v1")) == 2


def test_each_pod_has_its_own_claim_and_claims_stay() -> None:
    """A claim outlives its pod and its set."""
    harness = Harness(nodes=1)
    harness.create(_set(replicas=2, volumeClaimTemplates=TEMPLATES))
    assert harness.names(CLAIMS) == ["data-web-0", "data-web-1"]
    volume = harness.cluster.get(PODS, "web-1")["spec"]["volumes"][0]
    assert volume == {"name": "data", "persistentVolumeClaim": {"claimName": "data-web-1"}}
    assert harness.cluster.get(CLAIMS, "data-web-0")["metadata"]["labels"] == {"app": "web"}
    harness.delete(STATEFUL_SETS, "web")
    assert harness.names(PODS) == []
    assert harness.names(CLAIMS) == ["data-web-0", "data-web-1"]


@pytest.mark.parametrize(
    ("policy", "after_scaling", "after_deletion"),
    [
        ({"whenScaled": "Retain", "whenDeleted": "Retain"}, 2, 2),
        ({"whenScaled": "Delete", "whenDeleted": "Retain"}, 1, 1),
        ({"whenScaled": "Retain", "whenDeleted": "Delete"}, 2, 0),
        ({"whenScaled": "Delete", "whenDeleted": "Delete"}, 1, 0),
    ],
)
def test_claims_go_when_the_policy_says_so(policy: dict[str, str], after_scaling: int, after_deletion: int) -> None:
    """With the pod that is scaled away, or with the set."""
    harness = Harness(nodes=1)
    harness.create(_set(replicas=2, volumeClaimTemplates=TEMPLATES, persistentVolumeClaimRetentionPolicy=policy))
    harness.patch(STATEFUL_SETS, "web", {"spec": {"replicas": 1}})
    assert len(harness.names(CLAIMS)) == after_scaling
    harness.delete(STATEFUL_SETS, "web")
    assert len(harness.names(CLAIMS)) == after_deletion


def test_a_set_that_is_orphaned_and_made_again_with_another_template_takes_its_pods_over(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Its pods and revisions lose their owner, whatever is in the template, and its status is never negative."""
    harness = Harness(nodes=1)
    made = _set(replicas=2)
    made["spec"]["template"]["spec"]["containers"][0]["command"] = ["sh", "-c", "a && b < c > d"]
    harness.create(made)
    before = {pod["metadata"]["uid"] for pod in harness.cluster.list(PODS)}
    name = made["metadata"]["name"]
    harness.delete(STATEFUL_SETS, name, propagation="Orphan")
    left = [*harness.cluster.list(PODS), *harness.cluster.list("ControllerRevision.apps/v1")]
    assert [obj["metadata"].get("ownerReferences") for obj in left] == [None] * 3
    assert {pod["metadata"]["uid"] for pod in harness.cluster.list(PODS)} == before
    made["spec"]["template"]["spec"]["containers"][0]["image"] = "other"
    harness.create(made)
    assert set(_images(harness).values()) == {"other"}
    assert "must be greater" not in caplog.text
