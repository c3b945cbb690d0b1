"""Policies with parameters: an object that the server reads for the writes of others."""

from __future__ import annotations

from kontend import Api, Controller, Forbidden, Invalid, Request
from kontend.explore import Bounds, Scenario, check, eventually, update
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
