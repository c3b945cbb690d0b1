"""Objects that the server reads for the writes of others: parameters of policies, the default storage class."""

from __future__ import annotations

from typing import Any

from kontend import AlreadyExists, Api, Cluster, Controller, Forbidden, Invalid, Request
from kontend.explore import Bounds, Scenario, check, create, eventually, patch, update
from kontend.testing import permissive_crd

GADGET = "Gadget.example.com/v1"
OBJECT = {
    "apiVersion": "example.com/v1",
    "kind": "Gadget",
    "metadata": {"name": "g", "namespace": "default"},
    "spec": {"size": 1},
}
PARAMETERS = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "p", "namespace": "default"},
    "data": {"open": "yes"},
}
RULE = {
    "apiGroups": ["example.com"],
    "apiVersions": ["v1"],
    "operations": ["UPDATE"],
    "resources": ["gadgets/status"],
}
POLICY = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "ValidatingAdmissionPolicy",
    "metadata": {"name": "pol"},
    "spec": {
        "failurePolicy": "Fail",
        "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
        "matchConstraints": {"resourceRules": [RULE]},
        "validations": [{"expression": "params.data.open == 'yes'"}],
    },
}
BINDING = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "ValidatingAdmissionPolicyBinding",
    "metadata": {"name": "b"},
    "spec": {
        "policyName": "pol",
        "validationActions": ["Deny"],
        "paramRef": {"name": "p", "namespace": "default", "parameterNotFoundAction": "Deny"},
    },
}


class Gadgets(Controller):
    kind = GADGET

    async def reconcile(self, request: Request, api: Api) -> None:
        gadget = await api.get(self.kind, request)
        if gadget.get("status"):
            return
        gadget["status"] = {"x": "done"}
        try:
            await api.status.update(gadget)
        except (Invalid, Forbidden):
            return  # it gives up, and nothing enqueues it again


def test_the_parameters_of_a_policy_concern_the_writes_of_others() -> None:
    verdict = check(
        Scenario(
            controllers=[Gadgets()],
            crds=[permissive_crd(GADGET)],
            objects=[OBJECT, POLICY, BINDING, PARAMETERS],
            actions=[update(OBJECT, spec={"size": 2}), update(PARAMETERS, data={"open": "no"})],
            properties=[eventually(lambda cluster: bool(cluster.get(GADGET, "g").get("status")), name="reported")],
            bounds=Bounds(lag=1, faults=0),
        )
    )
    assert "reported" in [violation.property for violation in verdict.violations]


class Claims(Controller):
    """Claims storage, and reports the class that the server has given it."""

    kind = GADGET

    async def reconcile(self, request: Request, api: Api) -> None:
        gadget = await api.get(self.kind, request)
        if gadget.get("status"):
            return
        claim: dict[str, Any] = {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "c", "namespace": "default"},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
        }
        try:
            claim = await api.create(claim)
        except AlreadyExists:
            claim = await api.live.get("PersistentVolumeClaim/v1", "default/c")
        gadget["status"] = {"class": claim["spec"].get("storageClassName", "none")}
        await api.status.update(gadget)


DEFAULT_CLASS = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {"name": "fast", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
    "provisioner": "example.com/disks",
}


def test_whatever_the_server_reads_concerns_the_writes_of_others() -> None:
    def fast(cluster: Cluster) -> bool:
        return bool((cluster.get(GADGET, "g").get("status") or {}).get("class") == "fast")

    verdict = check(
        Scenario(
            controllers=[Claims()],
            crds=[permissive_crd(GADGET)],
            objects=[OBJECT],
            actions=[create(DEFAULT_CLASS)],
            properties=[eventually(fast, name="fast")],
            bounds=Bounds(lag=0, faults=0),
        )
    )
    assert [violation.property for violation in verdict.violations] == ["fast"]


RBAC = "rbac.authorization.k8s.io"
ROLE = {
    "apiVersion": f"{RBAC}/v1",
    "kind": "ClusterRole",
    "metadata": {"name": "r"},
    "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}],
}
ROLE_BINDING = {
    "apiVersion": f"{RBAC}/v1",
    "kind": "ClusterRoleBinding",
    "metadata": {"name": "rb"},
    "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "r"},
    "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": "default"}],
}


def test_a_role_that_a_policy_asks_for_concerns_the_writes_of_others() -> None:
    asked = "authorizer.serviceAccount('default', 'default').group('').resource('pods').check('get').allowed()"
    spec = {"failurePolicy": "Fail", "matchConstraints": {"resourceRules": [RULE]}}
    policy = {**POLICY, "spec": {**spec, "validations": [{"expression": asked}]}}
    binding = {**BINDING, "spec": {"policyName": "pol", "validationActions": ["Deny"]}}
    verdict = check(
        Scenario(
            controllers=[Gadgets()],
            crds=[permissive_crd(GADGET)],
            objects=[OBJECT, policy, binding, ROLE, ROLE_BINDING],
            actions=[patch(ROLE, {"rules": []})],
            properties=[eventually(lambda cluster: bool(cluster.get(GADGET, "g").get("status")), name="reported")],
            bounds=Bounds(lag=0, faults=0),
        )
    )
    assert [violation.property for violation in verdict.violations] == ["reported"]
