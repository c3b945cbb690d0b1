"""Validating admission policies; the texts are those of kube-apiserver 1.35."""

from __future__ import annotations

from typing import Any

import pytest

from kontend.cluster.cluster import Cluster
from kontend.cluster.users import ADMIN, User
from kontend.kube.errors import ApiError

Json = dict[str, Any]
API = "admissionregistration.k8s.io/v1"
RULES = [{"operations": ["CREATE", "UPDATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}]


def policy(*validations: Json, **spec: Any) -> Json:
    constraints = {"matchConstraints": {"resourceRules": RULES}, "validations": list(validations)}
    kind = {"apiVersion": API, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": "p"}}
    return {**kind, "spec": {**constraints, **spec}}


def binding(*actions: str, **spec: Any) -> Json:
    kind = {"apiVersion": API, "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": "b"}}
    return {**kind, "spec": {"policyName": "p", "validationActions": list(actions) or ["Deny"], **spec}}


def config_map(name: str = "c", **data: str) -> Json:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def refusal(cluster: Cluster, obj: Json) -> tuple[int, str, str]:
    with pytest.raises(ApiError) as refused:
        cluster.create(obj)
    error = refused.value
    prefix = "configmaps \"c\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: "
    assert error.message.startswith(prefix)
    assert error.causes == [{"message": error.message.removeprefix('configmaps "c" is forbidden: ')}]
    return error.http_code, error.status_reason, error.message.removeprefix(prefix)


@pytest.mark.parametrize(
    ("validation", "answer"),
    [
        ({"expression": "object.data.a == '2'"}, (422, "Invalid", "failed expression: object.data.a == '2'")),
        (
            {"expression": "object.data.a == '2'", "message": "must be 2", "reason": "Forbidden"},
            (403, "Forbidden", "must be 2"),
        ),
        (
            {"expression": "object.data.a == '2'", "messageExpression": "'found ' + object.data.a"},
            (422, "Invalid", "found 1"),
        ),
        (
            {"expression": "object.data.nope == '2'"},
            (422, "Invalid", "expression 'object.data.nope == '2'' resulted in error: no such key: nope"),
        ),
        ({"expression": "object.data.a == 3"}, (422, "Invalid", "failed expression: object.data.a == 3")),
    ],
)
def test_what_a_policy_refuses(validation: Json, answer: tuple[int, str, str]) -> None:
    cluster = Cluster(objects=[policy(validation), binding()])
    assert refusal(cluster, config_map(a="1")) == answer


def test_what_a_policy_allows_is_stored_and_others_are_not_its_business() -> None:
    cluster = Cluster(objects=[policy({"expression": "object.data.a == '1'"}), binding()])
    cluster.create(config_map(a="1"))
    cluster.create({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}})
    with pytest.raises(ApiError, match="denied request"):
        cluster.patch("ConfigMap/v1", "c", {"data": {"a": "2"}})
    cluster.delete("ConfigMap/v1", "c")


def test_errors_are_ignored_where_the_policy_says_so() -> None:
    failing = policy({"expression": "object.data.nope == '2'"}, failurePolicy="Ignore")
    assert Cluster(objects=[failing, binding()]).create(config_map(a="1"))


def test_warnings_instead_of_refusals() -> None:
    validations = [{"expression": "object.data.a == '2'"}, {"expression": "false", "message": "second"}]
    cluster = Cluster(objects=[policy(*validations), binding("Warn", "Audit")])
    cluster.create(config_map(a="1"))
    where = "Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b'"
    assert cluster.warnings == [f"{where}: failed expression: object.data.a == '2'", f"{where}: second"]


def test_variables_conditions_and_the_other_names() -> None:
    variables = [
        {"name": "text", "expression": "object.data.a + '!'"},
        {"name": "longer", "expression": "variables.text + request.operation + namespaceObject.metadata.name"},
    ]
    validation = {"expression": "variables.longer == 'x' || oldObject != null", "messageExpression": "variables.longer"}
    cluster = Cluster(objects=[policy(validation, variables=variables), binding()])
    assert refusal(cluster, config_map(a="1"))[2] == "1!CREATEdefault"
    condition = {"name": "updates", "expression": "request.operation == 'UPDATE'"}
    cluster = Cluster(objects=[policy({"expression": "false"}, matchConditions=[condition]), binding()])
    assert cluster.create(config_map(a="1"))


def test_parameters() -> None:
    kind = {"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}}
    validation = {"expression": "object.data.a == params.data.want", "messageExpression": "'want ' + params.data.want"}
    reference = {"name": "limits", "namespace": "kube-system", "parameterNotFoundAction": "Deny"}
    cluster = Cluster(objects=[policy(validation, **kind), binding(paramRef=reference)])
    missing = "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"
    assert refusal(cluster, config_map(a="1"))[2] == missing
    limits = config_map("limits", want="7")
    limits["metadata"]["namespace"] = "kube-system"
    cluster = Cluster(objects=[limits, policy(validation, **kind), binding(paramRef=reference)])
    assert refusal(cluster, config_map(a="1"))[2] == "want 7"
    assert cluster.create(config_map(a="7"))
    allowing = {**reference, "name": "nope", "parameterNotFoundAction": "Allow"}
    cluster = Cluster(objects=[policy(validation, **kind), binding(paramRef=allowing)])
    assert cluster.create(config_map(a="1"))
    selecting = {"selector": {"matchLabels": {"l": "1"}}, "namespace": "kube-system", "parameterNotFoundAction": "Deny"}
    limits["metadata"]["labels"] = {"l": "1"}
    cluster = Cluster(objects=[limits, policy(validation, **kind), binding(paramRef=selecting)])
    assert refusal(cluster, config_map(a="1"))[2] == "want 7"


def test_conditions_read_the_parameters() -> None:
    kind = {"apiVersion": "v1", "kind": "ConfigMap"}
    closed = [{"name": "closed", "expression": "params.data.open == 'no'"}]
    bound = binding(paramRef={"name": "settings", "namespace": "default", "parameterNotFoundAction": "Allow"})
    cluster = Cluster(objects=[policy({"expression": "false"}, paramKind=kind, matchConditions=closed), bound])
    assert cluster.create(config_map("settings", open="yes"))
    assert cluster.create(config_map())
    cluster.patch("ConfigMap/v1", "settings", {"data": {"open": "no"}})
    cluster.delete("ConfigMap/v1", "c")
    assert refusal(cluster, config_map())[2] == "failed expression: false"


def test_a_binding_narrows_its_policy() -> None:
    narrow = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}}}
    cluster = Cluster(objects=[policy({"expression": "false"}), binding(matchResources=narrow)])
    assert cluster.create(config_map(a="1"))
    other = config_map(a="1")
    other["metadata"]["namespace"] = "kube-system"
    with pytest.raises(ApiError, match="denied request"):
        cluster.create(other)


def test_a_policy_without_a_binding_does_nothing() -> None:
    assert Cluster(objects=[policy({"expression": "false"})]).create(config_map())


def test_a_policy_may_ask_what_the_user_may_do() -> None:
    rule = "authorizer.group('').resource('secrets').namespace('default').check('get').allowed()"
    validation = {"expression": rule, "message": "needs access to secrets"}
    cluster = Cluster(objects=[policy(validation), binding()], bootstrap=True, rbac=True)
    assert cluster.create(config_map())
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "r"},
        "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]}],
    }
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "r"}
    subjects = [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "ann"}]
    cluster.create(role)
    bound = {"apiVersion": role["apiVersion"], "kind": "ClusterRoleBinding", "metadata": {"name": "r"}}
    cluster.create({**bound, "roleRef": reference, "subjects": subjects})
    cluster.delete("ConfigMap/v1", "c")
    cluster.user = User("ann", ("system:authenticated",))
    assert refusal(cluster, config_map())[2] == "needs access to secrets"
    own = {"expression": "authorizer.requestResource.check('create').allowed()"}
    path = {"expression": "!authorizer.path('/metrics').check('get').allowed()"}
    other = "authorizer.serviceAccount('default', 'x').group('').resource('pods')"
    account = {"expression": f"!{other}.check('get').allowed()"}
    cluster.user = ADMIN
    name = "ValidatingAdmissionPolicy.admissionregistration.k8s.io/v1"
    cluster.patch(name, "p", {"spec": {"validations": [own, path, account]}})
    cluster.user = User("ann", ("system:authenticated",))
    assert cluster.create(config_map())
