"""Defaults of built-in kinds."""

from __future__ import annotations

import copy
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kontend.kube.builtin.defaults import apply_defaults
from kontend.kube.encoding.decode import decode
from kontend.kube.kinds import resources, schema_of

CONTAINER: dict[str, Any] = {"name": "main", "image": "app:1"}
DEFAULTED_CONTAINER = {
    **CONTAINER,
    "imagePullPolicy": "IfNotPresent",
    "resources": {},
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
}
DEFAULTED_SPEC = {
    "containers": [DEFAULTED_CONTAINER],
    "dnsPolicy": "ClusterFirst",
    "restartPolicy": "Always",
    "schedulerName": "default-scheduler",
    "securityContext": {},
    "terminationGracePeriodSeconds": 30,
}
TEMPLATE = {"metadata": {"labels": {"app": "d"}}, "spec": {"containers": [CONTAINER]}}
DEFAULTED_TEMPLATE = {"metadata": {"labels": {"app": "d"}}, "spec": DEFAULTED_SPEC}


def defaulted(group: str, kind: str, version: str = "v1", **fields: Any) -> dict[str, Any]:
    obj, _ = decode(copy.deepcopy(fields), schema_of(group, version, kind))
    apply_defaults(obj, group, version, kind)
    return obj


def spec_of(group: str, kind: str, version: str = "v1", **spec: Any) -> dict[str, Any]:
    result: dict[str, Any] = defaulted(group, kind, version, spec=spec)["spec"]
    return result


def container_of(**fields: Any) -> dict[str, Any]:
    result: dict[str, Any] = spec_of("", "Pod", containers=[{**CONTAINER, **fields}])["containers"][0]
    return result


def test_a_pod_gets_what_a_template_gets_and_service_links() -> None:
    assert spec_of("", "Pod", containers=[CONTAINER]) == {**DEFAULTED_SPEC, "enableServiceLinks": True}


def test_a_deployment_rolls_out_a_quarter_at_a_time() -> None:
    assert spec_of("apps", "Deployment", template=TEMPLATE) == {
        "progressDeadlineSeconds": 600,
        "replicas": 1,
        "revisionHistoryLimit": 10,
        "selector": None,
        "strategy": {"rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}, "type": "RollingUpdate"},
        "template": DEFAULTED_TEMPLATE,
    }
    recreate = spec_of("apps", "Deployment", template=TEMPLATE, strategy={"type": "Recreate"})
    assert recreate["strategy"] == {"type": "Recreate"}


def test_zero_replicas_are_not_no_replicas() -> None:
    assert spec_of("apps", "Deployment", replicas=0)["replicas"] == 0


def test_a_stateful_set_rolls_out_in_order_and_keeps_its_claims() -> None:
    spec = spec_of("apps", "StatefulSet", template=TEMPLATE, volumeClaimTemplates=[{"metadata": {"name": "data"}}])
    assert spec["podManagementPolicy"] == "OrderedReady"
    assert spec["updateStrategy"] == {"rollingUpdate": {"partition": 0}, "type": "RollingUpdate"}
    assert spec["persistentVolumeClaimRetentionPolicy"] == {"whenDeleted": "Retain", "whenScaled": "Retain"}
    claim = spec["volumeClaimTemplates"][0]
    assert claim["spec"] == {"resources": {}, "volumeMode": "Filesystem"}
    assert claim["status"] == {"phase": "Pending"}


def test_a_stateful_set_that_names_its_strategy_gets_no_partition() -> None:
    assert spec_of("apps", "StatefulSet", updateStrategy={"type": "RollingUpdate"})["updateStrategy"] == {
        "type": "RollingUpdate"
    }


def test_a_daemon_set_rolls_out_a_node_at_a_time() -> None:
    strategy = spec_of("apps", "DaemonSet", template=TEMPLATE)["updateStrategy"]
    assert strategy == {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}, "type": "RollingUpdate"}


def test_a_replication_controller_is_labelled_like_its_template() -> None:
    controller = defaulted("", "ReplicationController", spec={"template": TEMPLATE})
    assert controller["metadata"]["labels"] == controller["spec"]["selector"] == {"app": "d"}
    assert controller["spec"]["replicas"] == 1


def test_a_job_runs_one_pod() -> None:
    job = defaulted("batch", "Job", spec={"template": TEMPLATE})
    assert job["metadata"]["labels"] == {"app": "d"}
    expected = {
        "backoffLimit": 6,
        "completionMode": "NonIndexed",
        "completions": 1,
        "manualSelector": False,
        "parallelism": 1,
        "podReplacementPolicy": "TerminatingOrFailed",
        "suspend": False,
    }
    assert {name: job["spec"].get(name) for name in expected} == expected


def test_a_job_with_parallelism_alone_has_no_completions() -> None:
    assert "completions" not in spec_of("batch", "Job", parallelism=3)
    assert spec_of("batch", "Job", backoffLimitPerIndex=1)["backoffLimit"] == 2**31 - 1


def test_the_template_of_a_cron_job_is_not_a_job() -> None:
    spec = spec_of("batch", "CronJob", jobTemplate={"spec": {"template": TEMPLATE}})
    assert (spec["concurrencyPolicy"], spec["suspend"]) == ("Allow", False)
    assert (spec["successfulJobsHistoryLimit"], spec["failedJobsHistoryLimit"]) == (3, 1)
    assert spec["jobTemplate"]["spec"] == {"template": DEFAULTED_TEMPLATE}


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("app", "Always"),
        ("app:latest", "Always"),
        ("app:1", "IfNotPresent"),
        ("host:5000/app", "Always"),
        ("host:5000/app:2", "IfNotPresent"),
        ("app@sha256:" + "0" * 64, "IfNotPresent"),
        ("app:latest@sha256:" + "0" * 64, "Always"),
        ("app:latest@sha256:" + "0" * 40, "IfNotPresent"),
        ("App", "IfNotPresent"),
        ("", "IfNotPresent"),
        ("a" * 64, "IfNotPresent"),
    ],
)
def test_images_that_mean_latest_are_always_pulled(image: str, policy: str) -> None:
    assert container_of(image=image)["imagePullPolicy"] == policy


def test_probes_and_hooks() -> None:
    container = container_of(
        livenessProbe={"httpGet": {"port": 80}},
        readinessProbe={"grpc": {"port": 1}, "periodSeconds": 5},
        lifecycle={"preStop": {"httpGet": {"port": 80, "path": "/x"}}},
    )
    counts = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
    assert container["livenessProbe"] == {"httpGet": {"port": 80, "path": "/", "scheme": "HTTP"}, **counts}
    assert container["readinessProbe"] == {"grpc": {"port": 1, "service": ""}, **counts, "periodSeconds": 5}
    assert container["lifecycle"] == {"preStop": {"httpGet": {"port": 80, "path": "/x", "scheme": "HTTP"}}}


def test_requests_come_from_limits_in_pods_only() -> None:
    resources_given = {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m"}}
    assert container_of(resources=resources_given)["resources"]["requests"] == {"cpu": "500m", "memory": "1Gi"}
    template = {"spec": {"containers": [{**CONTAINER, "resources": resources_given}]}}
    spec = spec_of("apps", "Deployment", template=template)["template"]["spec"]
    assert spec["containers"][0]["resources"] == resources_given


def test_small_quantities_are_rounded_up_to_thousandths() -> None:
    assert container_of(resources={"requests": {"cpu": "0.0001"}})["resources"] == {"requests": {"cpu": "1m"}}


def test_host_ports_of_pods_in_the_hosts_network() -> None:
    spec = spec_of("", "Pod", hostNetwork=True, containers=[{**CONTAINER, "ports": [{"containerPort": 80}]}])
    assert spec["containers"][0]["ports"] == [{"containerPort": 80, "hostPort": 80, "protocol": "TCP"}]


def test_requests_of_the_whole_pod_come_from_its_containers_and_then_from_its_limits() -> None:
    spec = spec_of(
        "", "Pod",
        resources={"limits": {"cpu": "4", "memory": "1Gi"}},
        containers=[{**CONTAINER, "resources": {"requests": {"cpu": "1"}}}],
        initContainers=[
            {**CONTAINER, "restartPolicy": "Always", "resources": {"requests": {"cpu": "500m"}}},
            {**CONTAINER, "resources": {"requests": {"cpu": "2"}}},
        ],
    )  # fmt: skip
    assert spec["resources"]["requests"] == {"cpu": "2500m", "memory": "1Gi"}


def test_volumes() -> None:
    volumes = [
        {"name": "none"},
        {"name": "c", "configMap": {"name": "c"}},
        {"name": "h", "hostPath": {"path": "/x"}},
        {"name": "p", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}},
        {"name": "d", "downwardAPI": {"items": [{"path": "l", "fieldRef": {"fieldPath": "metadata.labels"}}]}},
        {"name": "i", "image": {"reference": "app"}},
        {"name": "e", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}},
    ]
    spec = spec_of("", "Pod", volumes=volumes)
    none, config, host, projected, downward, image, ephemeral = spec["volumes"]
    assert none == {"name": "none", "emptyDir": {}}
    assert config["configMap"] == {"name": "c", "defaultMode": 420}
    assert host["hostPath"] == {"path": "/x", "type": ""}
    token = {"serviceAccountToken": {"path": "t", "expirationSeconds": 3600}}
    assert projected["projected"] == {"sources": [token], "defaultMode": 420}
    assert downward["downwardAPI"]["items"][0]["fieldRef"]["apiVersion"] == "v1"
    assert image["image"] == {"reference": "app", "pullPolicy": "Always"}
    assert ephemeral["ephemeral"]["volumeClaimTemplate"]["spec"]["volumeMode"] == "Filesystem"


def test_a_service_sends_a_port_to_the_same_port() -> None:
    assert spec_of("", "Service", ports=[{"port": 80}]) == {
        "internalTrafficPolicy": "Cluster",
        "ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}],
        "sessionAffinity": "None",
        "type": "ClusterIP",
    }
    external = spec_of("", "Service", type="ExternalName", externalName="e.com")
    assert external == {"externalName": "e.com", "sessionAffinity": "None", "type": "ExternalName"}
    balanced = spec_of("", "Service", type="LoadBalancer", sessionAffinity="ClientIP")
    assert balanced["externalTrafficPolicy"] == "Cluster"
    assert balanced["allocateLoadBalancerNodePorts"] is True
    assert balanced["sessionAffinityConfig"] == {"clientIP": {"timeoutSeconds": 10800}}


def test_small_kinds() -> None:
    assert defaulted("", "Secret")["type"] == "Opaque"
    namespace = defaulted("", "Namespace", metadata={"name": "n"})
    assert namespace["metadata"]["labels"] == {"kubernetes.io/metadata.name": "n"}
    assert namespace["status"] == {"phase": "Active"}
    assert defaulted("", "PersistentVolumeClaim")["status"] == {"phase": "Pending"}
    assert spec_of("", "PersistentVolume")["persistentVolumeReclaimPolicy"] == "Retain"
    subsets = defaulted("", "Endpoints", subsets=[{"ports": [{"port": 80}]}])["subsets"]
    assert subsets == [{"ports": [{"port": 80, "protocol": "TCP"}]}]
    slices = defaulted("discovery.k8s.io", "EndpointSlice", ports=[{"port": 80}])["ports"]
    assert slices == [{"name": "", "port": 80, "protocol": "TCP"}]
    assert defaulted("storage.k8s.io", "StorageClass")["volumeBindingMode"] == "Immediate"
    assert defaulted("scheduling.k8s.io", "PriorityClass")["preemptionPolicy"] == "PreemptLowerPriority"
    assert spec_of("networking.k8s.io", "NetworkPolicy", egress=[{}])["policyTypes"] == ["Ingress", "Egress"]


def test_bindings_point_to_the_rbac_group() -> None:
    binding = defaulted("rbac.authorization.k8s.io", "RoleBinding",
                        subjects=[{"kind": "User", "name": "u"}, {"kind": "ServiceAccount", "name": "s"}])  # fmt: skip
    assert binding["roleRef"]["apiGroup"] == "rbac.authorization.k8s.io"
    assert binding["subjects"] == [
        {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "u"},
        {"kind": "ServiceAccount", "name": "s"},
    ]


def test_an_autoscaler_watches_cpu() -> None:
    spec = spec_of("autoscaling", "HorizontalPodAutoscaler", "v2", maxReplicas=3, behavior={"scaleDown": {}})
    assert spec["minReplicas"] == 1
    target = {"averageUtilization": 80, "type": "Utilization"}
    assert spec["metrics"] == [{"resource": {"name": "cpu", "target": target}, "type": "Resource"}]
    percent = {"periodSeconds": 15, "type": "Percent", "value": 100}
    assert spec["behavior"]["scaleDown"] == {"policies": [percent], "selectPolicy": "Max"}
    assert spec["behavior"]["scaleUp"]["policies"] == [{"periodSeconds": 15, "type": "Pods", "value": 4}, percent]
    assert spec["behavior"]["scaleUp"]["stabilizationWindowSeconds"] == 0


def test_limits_for_containers_follow_from_each_other() -> None:
    limits = [{"type": "Container", "max": {"cpu": "2"}, "min": {"cpu": "1", "memory": "1Gi"}}]
    item = spec_of("", "LimitRange", limits=limits)["limits"][0]
    assert item["default"] == {"cpu": "2"}
    assert item["defaultRequest"] == {"cpu": "2", "memory": "1Gi"}


def test_a_definition_names_itself_after_its_kind() -> None:
    definition = defaulted(
        "apiextensions.k8s.io", "CustomResourceDefinition",
        spec={"names": {"kind": "Widget"}, "versions": [{"name": "v1"}, {"name": "v2", "storage": True}]},
    )  # fmt: skip
    names = definition["spec"]["names"]
    assert (names["singular"], names["listKind"]) == ("widget", "WidgetList")
    assert definition["spec"]["conversion"] == {"strategy": "None"}
    assert definition["status"]["storedVersions"] == ["v2"]


def test_webhooks_fail_closed() -> None:
    webhooks = [{"name": "w", "clientConfig": {"service": {}}, "rules": [{}]}]
    webhook = defaulted("admissionregistration.k8s.io", "MutatingWebhookConfiguration", webhooks=webhooks)["webhooks"][
        0
    ]
    assert (webhook["failurePolicy"], webhook["matchPolicy"], webhook["timeoutSeconds"]) == ("Fail", "Equivalent", 10)
    assert webhook["clientConfig"]["service"]["port"] == 443
    assert webhook["rules"] == [{"scope": "*"}]


def test_kinds_without_defaults_stay_as_they_are() -> None:
    metadata = {"name": "c"}
    assert defaulted("", "ConfigMap", metadata=metadata) == {"metadata": metadata}


@settings(derandomize=True, deadline=None, max_examples=500)
@given(seed=st.integers(0, 2**32), which=st.sampled_from(range(len(resources()))))
def test_defaults_applied_twice_are_defaults_applied_once(
    random_object: Callable[..., Any], seed: int, which: int
) -> None:
    info = resources()[which]
    schema = schema_of(info.group, info.version, info.kind)
    once, _ = decode(random_object(Random(seed), schema) or {}, schema)
    apply_defaults(once, info.group, info.version, info.kind)
    twice = copy.deepcopy(once)
    apply_defaults(twice, info.group, info.version, info.kind)
    assert twice == once
    assert decode(copy.deepcopy(once), schema)[0] == once
