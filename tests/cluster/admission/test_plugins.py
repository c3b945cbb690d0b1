"""Quotas, limit ranges, runtime classes and service accounts; the texts are those of kube-apiserver 1.35."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kontend.cluster.cluster import Cluster
from kontend.controllers.access.quotas import Quotas
from kontend.kube.errors import Forbidden, Invalid
from kontend.runtime.manager.in_process import settle

Json = dict[str, Any]
QUOTA = "ResourceQuota/v1"


def pod(name: str = "p", requests: Json | None = None, limits: Json | None = None, **spec: Any) -> Json:
    resources = {key: value for key, value in (("requests", requests), ("limits", limits)) if value}
    containers = [{"name": "a", "image": "b", "resources": resources}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": containers, **spec}}


def config_map(name: str) -> Json:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}


def quota(**hard: str) -> Json:
    limits = {name.replace("__", "/").replace("_", "."): value for name, value in hard.items()}
    return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": limits}}


def limited(**hard: str) -> Cluster:
    """A cluster with a quota that the controller has seen."""
    cluster = Cluster(objects=[quota(**hard)])
    settle(cluster, Quotas())
    return cluster


def used(cluster: Cluster) -> Json:
    amounts: Json = cluster.get(QUOTA, "q")["status"]["used"]
    return amounts


def test_a_quota_without_a_status_limits_nothing() -> None:
    cluster = Cluster(objects=[quota(configmaps="0")])
    assert cluster.create(config_map("c"))


def test_counts_of_objects() -> None:
    cluster = limited(configmaps="1", count__deployments_apps="0")
    cluster.create(config_map("c"))
    assert used(cluster) == {"configmaps": "1", "count/deployments.apps": "0"}
    exceeded = "exceeded quota: q, requested: configmaps=1, used: configmaps=1, limited: configmaps=1"
    for dry_run in (False, True):
        with pytest.raises(Forbidden) as refused:
            cluster.create(config_map("d"), dry_run=dry_run)
        assert refused.value.message == f'configmaps "d" is forbidden: {exceeded}'
    cluster.patch("ConfigMap/v1", "c", {"data": {"a": "1"}})
    cluster.delete("ConfigMap/v1", "c")
    assert used(cluster)["configmaps"] == "1"
    settle(cluster, Quotas())
    assert used(cluster)["configmaps"] == "0"


def test_a_rehearsal_is_not_charged() -> None:
    cluster = limited(configmaps="1")
    cluster.create(config_map("c"), dry_run=True)
    assert used(cluster) == {"configmaps": "0"}


def test_what_pods_ask_for() -> None:
    cluster = limited(pods="2", requests_cpu="1", limits_memory="1Gi")
    cluster.create(pod("p1", {"cpu": "100m"}, {"memory": "100Mi"}))
    assert used(cluster) == {"limits.memory": "100Mi", "pods": "1", "requests.cpu": "100m"}
    with pytest.raises(Forbidden) as refused:
        cluster.create(pod("p2"))
    missing = "failed quota: q: must specify limits.memory for: a; requests.cpu for: a"
    assert refused.value.message == f'pods "p2" is forbidden: {missing}'
    with pytest.raises(Forbidden) as refused:
        cluster.create(pod("p2", {"cpu": "2"}, {"memory": "2Gi"}))
    assert refused.value.message == (
        'pods "p2" is forbidden: exceeded quota: q, requested: limits.memory=2Gi,requests.cpu=2, '
        "used: limits.memory=100Mi,requests.cpu=100m, limited: limits.memory=1Gi,requests.cpu=1"
    )


def test_scopes() -> None:
    best_effort = quota(pods="0")
    best_effort["spec"]["scopes"] = ["BestEffort"]
    cluster = Cluster(objects=[best_effort])
    settle(cluster, Quotas())
    cluster.create(pod("burstable", {"cpu": "1m"}))
    with pytest.raises(Forbidden, match="exceeded quota"):
        cluster.create(pod("best-effort"))


LIMITS = {
    "apiVersion": "v1",
    "kind": "LimitRange",
    "metadata": {"name": "l"},
    "spec": {
        "limits": [
            {
                "type": "Container",
                "default": {"cpu": "200m", "memory": "64Mi"},
                "defaultRequest": {"cpu": "100m"},
                "max": {"cpu": "500m"},
                "min": {"cpu": "50m"},
                "maxLimitRequestRatio": {"cpu": "4"},
            },
            {"type": "Pod", "max": {"memory": "1Gi"}},
            {"type": "PersistentVolumeClaim", "max": {"storage": "1Gi"}, "min": {"storage": "1Mi"}},
        ]
    },
}


def test_limit_ranges_fill_in_what_is_left_out() -> None:
    cluster = Cluster(objects=[LIMITS])
    made = cluster.create(pod(initContainers=[{"name": "i", "image": "c"}]))
    resources = {"limits": {"cpu": "200m", "memory": "64Mi"}, "requests": {"cpu": "100m", "memory": "64Mi"}}
    assert made["spec"]["containers"][0]["resources"] == resources
    assert made["metadata"]["annotations"] == {
        "kubernetes.io/limit-ranger": "LimitRanger plugin set: cpu, memory request for container a; cpu, memory limit "
        "for container a; cpu, memory request for init container i; cpu, memory limit for init container i"
    }


@pytest.mark.parametrize(
    ("requests", "limits", "message"),
    [
        (None, {"cpu": "1"}, "maximum cpu usage per Container is 500m, but limit is 1"),
        (
            {"cpu": "1m"},
            {"cpu": "100m"},
            "[minimum cpu usage per Container is 50m, but request is 1m, cpu max limit to request ratio per Container "
            "is 4, but provided ratio is 100.000000]",
        ),
        (
            {"cpu": "50m"},
            {"cpu": "400m"},
            "cpu max limit to request ratio per Container is 4, but provided ratio is 8.000000",
        ),
        ({"memory": "2Gi"}, {"memory": "2Gi"}, "maximum memory usage per Pod is 1Gi, but limit is 2Gi"),
    ],
)
def test_limit_ranges_bound_pods(requests: Json | None, limits: Json, message: str) -> None:
    with pytest.raises(Forbidden) as refused:
        Cluster(objects=[LIMITS]).create(pod("p", requests, limits))
    assert refused.value.message == f'pods "p" is forbidden: {message}'


def test_limit_ranges_bound_claims() -> None:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "2Gi"}}}
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "x"}, "spec": spec}
    with pytest.raises(Forbidden, match="maximum storage usage per PersistentVolumeClaim is 1Gi, but request is 2Gi"):
        Cluster(objects=[LIMITS]).create(claim)


def test_runtime_classes() -> None:
    runtime = {
        "apiVersion": "node.k8s.io/v1",
        "kind": "RuntimeClass",
        "metadata": {"name": "r"},
        "handler": "x",
        "overhead": {"podFixed": {"cpu": "10m"}},
        "scheduling": {"nodeSelector": {"a": "b"}, "tolerations": [{"key": "k", "operator": "Exists"}]},
    }
    cluster = Cluster(objects=[runtime])
    spec = cluster.create(pod(runtimeClassName="r"))["spec"]
    assert (spec["overhead"], spec["nodeSelector"]) == ({"cpu": "10m"}, {"a": "b"})
    assert spec["tolerations"][-1] == {"key": "k", "operator": "Exists"}
    for more, message in (
        ({"runtimeClassName": "nope"}, 'pod rejected: RuntimeClass "nope" not found'),
        (
            {"runtimeClassName": "r", "overhead": {"cpu": "1"}},
            "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead",
        ),
        (
            {"runtimeClassName": "r", "nodeSelector": {"a": "c"}},
            "conflict: runtimeClass.scheduling.nodeSelector[a] = b; pod.spec.nodeSelector[a] = c",
        ),
        (
            {"overhead": {"cpu": "1"}},
            "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead",
        ),
    ):
        with pytest.raises(Forbidden) as refused:
            cluster.create(pod("q", **more))
        assert refused.value.message == f'pods "q" is forbidden: {message}'


def test_validation_comes_before_the_comparison_of_overheads() -> None:
    with pytest.raises(Invalid, match="nodeName"):
        Cluster().create(pod(overhead={"cpu": "1"}, nodeName="A_B"))


def test_service_accounts() -> None:
    cluster = Cluster()
    assert "serviceAccountName" not in cluster.create(pod("plain"))["spec"]
    cluster.state = cluster.state.replace(
        settings=replace(cluster.state.settings, plugins=frozenset({"ServiceAccount"}))
    )
    with pytest.raises(Forbidden) as refused:
        cluster.create(pod())
    missing = 'error looking up service account default/default: serviceaccount "default" not found'
    assert refused.value.message == f'pods "p" is forbidden: {missing}'
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
    cluster.create({**account, "imagePullSecrets": [{"name": "pull"}]})
    spec = cluster.create(pod())["spec"]
    assert (spec["serviceAccountName"], spec["imagePullSecrets"]) == ("default", [{"name": "pull"}])
    [volume] = spec["volumes"]
    assert volume["name"].startswith("kube-api-access-")
    [mount] = spec["containers"][0]["volumeMounts"]
    assert mount == {
        "name": volume["name"],
        "readOnly": True,
        "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount",
    }
    assert "volumes" not in cluster.create(pod("q", automountServiceAccountToken=False))["spec"]


def test_a_container_that_a_webhook_adds_gets_the_token_too() -> None:
    from cluster.admission.test_webhooks import URL, configuration, response, webhook

    def inject(review: Json) -> Json:
        sidecar = {"name": "side", "image": "side:1"}
        return response(review, patch=[{"op": "add", "path": "/spec/containers/-", "value": sidecar}])

    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
    hooks = [configuration("Mutating", "m", webhook("inject", "pods"))]
    cluster = Cluster(objects=[account, *hooks], webhooks={f"{URL}/inject": inject})
    settings = replace(cluster.state.settings, plugins=frozenset({"ServiceAccount"}))
    cluster.state = cluster.state.replace(settings=settings)
    spec = cluster.create(pod())["spec"]
    assert len(spec["volumes"]) == 1
    assert [len(container["volumeMounts"]) for container in spec["containers"]] == [1, 1]
