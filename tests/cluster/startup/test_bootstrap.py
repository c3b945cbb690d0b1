"""The objects that a new API server has."""

from __future__ import annotations

from typing import Any

from definitions import definition
from kontend.cluster.cluster import Cluster
from kontend.cluster.handle import handle
from kontend.cluster.request import ApiRequest
from kontend.cluster.startup.bootstrap import bootstrap
from kontend.cluster.startup.seed import empty_state

ROLES = "ClusterRole.rbac.authorization.k8s.io/v1"
SERVICES = "APIService.apiregistration.k8s.io/v1"


def names(cluster: Cluster, kind: str) -> list[str]:
    return [obj["metadata"]["name"] for obj in cluster.list(kind)]


def test_a_cluster_has_none_of_them_unless_asked() -> None:
    assert names(Cluster(), ROLES) == []
    assert names(Cluster(), "Service/v1") == []


def test_the_objects_are_those_of_kube_apiserver() -> None:
    cluster = Cluster(bootstrap=True)
    counts = {
        ROLES: 68,
        "ClusterRoleBinding.rbac.authorization.k8s.io/v1": 49,
        "Role.rbac.authorization.k8s.io/v1": 7,
        "RoleBinding.rbac.authorization.k8s.io/v1": 7,
        SERVICES: 21,
        "FlowSchema.flowcontrol.apiserver.k8s.io/v1": 11,
        "PriorityLevelConfiguration.flowcontrol.apiserver.k8s.io/v1": 8,
        "PriorityClass.scheduling.k8s.io/v1": 2,
        "ServiceCIDR.networking.k8s.io/v1": 1,
    }
    assert {kind: len(names(cluster, kind)) for kind in counts} == counts
    service = cluster.get("Service/v1", "kubernetes")
    assert service["spec"]["clusterIP"] == "10.0.0.1"
    assert service["metadata"]["labels"] == {"component": "apiserver", "provider": "kubernetes"}
    assert service["metadata"]["managedFields"][0]["manager"] == "kube-apiserver"
    assert "f:clusterIPs" not in service["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"]
    assert cluster.get("EndpointSlice.discovery.k8s.io/v1", "kubernetes")["ports"][0]["port"] == 6443
    assert cluster.get("ConfigMap/v1", "extension-apiserver-authentication", namespace="kube-system")
    view = cluster.get(ROLES, "system:aggregate-to-view")
    assert {"apiGroups": ["batch"], "resources": ["cronjobs", "cronjobs/status", "jobs", "jobs/status"]} in [
        {name: rule[name] for name in ("apiGroups", "resources")} for rule in view["rules"]
    ]
    schema = cluster.get("FlowSchema.flowcontrol.apiserver.k8s.io/v1", "exempt")
    assert [condition["reason"] for condition in schema["status"]["conditions"]] == ["Found"]


def test_bootstrapping_again_leaves_what_is_there() -> None:
    cluster = Cluster(bootstrap=True)
    changed = cluster.patch(ROLES, "view", {"metadata": {"labels": {"mine": "true"}}})
    cluster.delete(ROLES, "edit")
    cluster.state = bootstrap(cluster.state)
    assert cluster.get(ROLES, "view") == changed
    assert "edit" in names(cluster, ROLES)
    version = cluster.resource_version
    cluster.state = bootstrap(cluster.state)
    assert cluster.resource_version == version


def test_groups_of_custom_resources_are_registered_while_they_are_served() -> None:
    cluster = Cluster(bootstrap=True)
    widgets: dict[str, Any] = definition("Widget")
    name = f"v1.{widgets['spec']['group']}"
    cluster.create(widgets)
    service = cluster.get(SERVICES, name)
    assert service["metadata"]["labels"] == {"kube-aggregator.kubernetes.io/automanaged": "true"}
    assert service["spec"]["groupPriorityMinimum"] == 1000
    cluster.delete("CustomResourceDefinition.apiextensions.k8s.io/v1", widgets["metadata"]["name"])
    assert name not in names(cluster, SERVICES)


def test_the_address_of_the_api_server_is_its_own() -> None:
    cluster = Cluster(bootstrap=True)
    other = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": {"ports": [{"port": 80}]}}
    assert cluster.create(other)["spec"]["clusterIP"] == "10.0.0.2"


def test_components_are_healthy() -> None:
    """Their statuses are made up, as those of kube-apiserver are."""
    listed = handle(bootstrap(empty_state()), ApiRequest("GET", "/api/v1/componentstatuses"))[1].body["items"]
    assert [item["metadata"]["name"] for item in listed] == ["controller-manager", "etcd-0", "scheduler"]
    assert all(item["conditions"] == [{"type": "Healthy", "status": "True", "message": "ok"}] for item in listed)
    assert all("uid" not in item["metadata"] for item in listed)
