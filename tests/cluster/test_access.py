"""Users, roles and reviews; the texts are those of kube-apiserver 1.35."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kontend.cluster.access.tokens import BadServiceToken, authenticate
from kontend.cluster.cluster import Cluster
from kontend.cluster.request import ApiRequest
from kontend.cluster.users import ADMIN, User, service_account_user
from kontend.kube.encoding.json_text import canonical
from kontend.kube.errors import BadRequest, Forbidden, Invalid, NotFound
from kontend.serve.credentials.signing_key import signing_key

ANN = User("ann", ("system:authenticated",))
GROUP = "rbac.authorization.k8s.io"
POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}
READER = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}]
WRITES_ROLES = {
    "apiGroups": [GROUP],
    "resources": ["roles", "rolebindings", "clusterroles", "clusterrolebindings"],
    "verbs": ["create", "update", "patch", "get"],
}


def role(kind: str, name: str, rules: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    return {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": {"name": name}, "rules": rules, **more}


def binding(kind: str, name: str, ref: str, *subjects: dict[str, str]) -> dict[str, Any]:
    role_kind, role_name = ref.split("/")
    reference = {"apiGroup": GROUP, "kind": role_kind, "name": role_name}
    metadata = {"name": name}
    subjects = tuple({**({} if s["kind"] == "ServiceAccount" else {"apiGroup": GROUP}), **s} for s in subjects)
    kind_fields = {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": metadata}
    return {**kind_fields, "roleRef": reference, "subjects": list(subjects)}


@pytest.fixture
def cluster() -> Cluster:
    return Cluster(bootstrap=True, rbac=True)


def grant(cluster: Cluster, rules: list[dict[str, Any]], kind: str = "ClusterRole") -> None:
    cluster.user = ADMIN
    cluster.create(role(kind, "mine", rules))
    bound = "ClusterRoleBinding" if kind == "ClusterRole" else "RoleBinding"
    cluster.create(binding(bound, "mine", f"{kind}/mine", {"kind": "User", "name": "ann"}))
    cluster.user = ANN


def test_a_request_that_was_allowed_when_it_arrived_is_carried_out(cluster: Cluster) -> None:
    request = ApiRequest("GET", "/api/v1/namespaces/default/pods", user=ANN)
    assert [cluster.request(asked).code for asked in (request, replace(request, authorized=True))] == [403, 200]


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (
            "/api/v1/namespaces/default/pods",
            'pods is forbidden: {ann} cannot list resource "pods" in API group "" in the namespace "default"',
        ),
        (
            "/api/v1/pods",
            'pods is forbidden: {ann} cannot list resource "pods" in API group "" at the cluster scope',
        ),
        (
            "/api/v1/namespaces/default/pods/x/log",
            'pods "x" is forbidden: {ann} cannot get resource "pods/log" in API group "" in the namespace "default"',
        ),
        (
            "/apis/nope.io/v1/foos",
            'foos.nope.io is forbidden: {ann} cannot list resource "foos" in API group "nope.io" at the cluster scope',
        ),
        (
            "/api/v1/namespaces/default",
            'namespaces "default" is forbidden: {ann} cannot get resource "namespaces" in API group "" '
            'in the namespace "default"',
        ),
        ("/metrics", 'forbidden: {ann} cannot get path "/metrics"'),
    ],
)
def test_what_no_role_allows_is_forbidden(cluster: Cluster, path: str, message: str) -> None:
    answer = cluster.request(ApiRequest("GET", path, user=ANN))
    assert (answer.code, answer.body["message"]) == (403, message.replace("{ann}", 'User "ann"'))


def test_cluster_roles_count_everywhere_and_roles_in_their_namespace(cluster: Cluster) -> None:
    grant(cluster, READER, "Role")
    assert cluster.list("Pod/v1", namespace="default") == []
    with pytest.raises(Forbidden):
        cluster.list("Pod/v1")
    with pytest.raises(Forbidden):
        cluster.create(POD)
    grant(cluster, READER)
    assert cluster.list("Pod/v1") == []


def test_names_and_subresources_of_rules(cluster: Cluster) -> None:
    cluster.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}})
    rule = {
        "apiGroups": [""],
        "resources": ["configmaps", "*/status"],
        "resourceNames": ["c"],
        "verbs": ["get", "watch"],
    }
    grant(cluster, [rule])
    assert cluster.get("ConfigMap/v1", "c")
    request = ApiRequest("GET", "/api/v1/namespaces/default/configmaps/d", user=ANN)
    assert cluster.request(request).code == 403
    watch = {"watch": ("1",), "fieldSelector": ("metadata.name=c",)}
    assert cluster.request(ApiRequest("GET", "/api/v1/namespaces/default/configmaps", watch, user=ANN)).code == 200
    assert cluster.request(ApiRequest("GET", "/api/v1/namespaces/default/pods/c/status", user=ANN)).code == 404


def test_service_accounts_and_groups_are_subjects(cluster: Cluster) -> None:
    cluster.create(role("Role", "mine", READER))
    account = {"kind": "ServiceAccount", "name": "web", "namespace": "default"}
    cluster.create(binding("RoleBinding", "mine", "Role/mine", account, {"kind": "Group", "name": "dev"}))
    for user in (service_account_user("default", "web"), User("bob", ("dev",))):
        cluster.user = user
        assert cluster.list("Pod/v1", namespace="default") == []
    cluster.user = service_account_user("other", "web")
    with pytest.raises(Forbidden):
        cluster.list("Pod/v1", namespace="default")


def test_a_role_that_is_missing_is_named(cluster: Cluster) -> None:
    cluster.create(binding("ClusterRoleBinding", "lost", "ClusterRole/gone", {"kind": "User", "name": "ann"}))
    cluster.user = ANN
    with pytest.raises(Forbidden, match=r'scope: RBAC: clusterrole.rbac.authorization.k8s.io "gone" not found$'):
        cluster.list("Pod/v1")


def test_nobody_grants_what_they_do_not_have(cluster: Cluster) -> None:
    grant(cluster, [*READER, WRITES_ROLES])
    wide = [
        {"apiGroups": ["", "apps"], "resources": ["pods", "secrets"], "verbs": ["get", "delete"]},
        {"nonResourceURLs": ["/metrics"], "verbs": ["get"]},
    ]
    with pytest.raises(Forbidden) as refused:
        cluster.create(role("ClusterRole", "e", wide))
    assert refused.value.message == (
        'clusterroles.rbac.authorization.k8s.io "e" is forbidden: user "ann" (groups=["system:authenticated"]) is '
        "attempting to grant RBAC permissions not currently held:\n"
        '{APIGroups:[""], Resources:["pods"], Verbs:["delete"]}\n'
        '{APIGroups:[""], Resources:["secrets"], Verbs:["get" "delete"]}\n'
        '{APIGroups:["apps"], Resources:["pods"], Verbs:["get" "delete"]}\n'
        '{APIGroups:["apps"], Resources:["secrets"], Verbs:["get" "delete"]}\n'
        '{NonResourceURLs:["/metrics"], Verbs:["get"]}'
    )
    cluster.create(role("Role", "fine", READER))
    named = [{"apiGroups": [""], "resources": ["pods"], "resourceNames": ["a"], "verbs": ["get"]}]
    cluster.create(role("ClusterRole", "narrower", named))
    aggregate = {"aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}}
    with pytest.raises(Forbidden, match="must have cluster-admin privileges to use the aggregationRule"):
        cluster.create(role("ClusterRole", "all", [], **aggregate))
    with pytest.raises(Forbidden, match=r'\{APIGroups:\["\*"\], Resources:\["\*"\], Verbs:\["\*"\]\}'):
        cluster.create(binding("ClusterRoleBinding", "b", "ClusterRole/cluster-admin"))
    with pytest.raises(NotFound, match='"nope" not found'):
        cluster.create(binding("RoleBinding", "b", "Role/nope"))
    cluster.create(binding("RoleBinding", "b", "Role/fine"))
    with pytest.raises(Forbidden, match="not currently held"):
        cluster.patch(f"Role.{GROUP}/v1", "fine", {"rules": wide[:1]})


def test_escalate_and_bind_allow_to_grant_more(cluster: Cluster) -> None:
    verbs = {"apiGroups": [GROUP], "resources": ["clusterroles"], "verbs": ["escalate", "bind"]}
    grant(cluster, [WRITES_ROLES, verbs])
    cluster.create(role("ClusterRole", "all", [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]))
    cluster.create(binding("ClusterRoleBinding", "all", "ClusterRole/all", {"kind": "User", "name": "ann"}))
    cluster.create(POD | {"spec": {"containers": [{"name": "a", "image": "b"}]}})


def review(cluster: Cluster, plural: str, spec: Any, user: User = ADMIN, namespace: str = "") -> Any:
    group = "authentication.k8s.io" if plural in ("selfsubjectreviews", "tokenreviews") else "authorization.k8s.io"
    path = f"/apis/{group}/v1/{f'namespaces/{namespace}/' if namespace else ''}{plural}"
    answer = cluster.request(ApiRequest("POST", path, body=canonical({"spec": spec}), user=user))
    if answer.code >= 400:
        raise {400: BadRequest, 422: Invalid}[answer.code](answer.body["message"])
    return answer.body["status"]


def test_access_reviews_are_answered_from_the_roles(cluster: Cluster) -> None:
    pods = {"resourceAttributes": {"verb": "list", "resource": "pods", "namespace": "default"}}
    assert review(cluster, "selfsubjectaccessreviews", pods, ANN) == {"allowed": False}
    nodes = {"verb": "list", "resource": "nodes"}
    status = review(cluster, "subjectaccessreviews", {"user": "system:kube-scheduler", "resourceAttributes": nodes})
    assert status == {
        "allowed": True,
        "reason": 'RBAC: allowed by ClusterRoleBinding "system:kube-scheduler" of ClusterRole "system:kube-scheduler" '
        'to User "system:kube-scheduler"',
    }
    masters = {"user": "ann", "groups": ["system:masters"], **pods}
    assert review(cluster, "subjectaccessreviews", masters) == {"allowed": True}
    with pytest.raises(Invalid, match="at least one of user or group must be specified"):
        review(cluster, "subjectaccessreviews", pods)
    with pytest.raises(Invalid, match="exactly one of nonResourceAttributes or resourceAttributes"):
        review(cluster, "subjectaccessreviews", {"user": "ann"})
    with pytest.raises(Invalid, match=r"must match metadata\.namespace"):
        review(cluster, "localsubjectaccessreviews", {"user": "ann", **pods}, namespace="kube-system")


def test_a_rules_review_lists_what_one_may_do(cluster: Cluster) -> None:
    grant(cluster, READER, "Role")
    status = review(cluster, "selfsubjectrulesreviews", {"namespace": "default"}, ANN)
    assert {"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods"]} in status["resourceRules"]
    assert {"verbs": ["get"], "nonResourceURLs": ["/healthz", "/livez", "/readyz", "/version", "/version/"]} in status[
        "nonResourceRules"
    ]
    assert status["incomplete"] is False


def test_who_am_i(cluster: Cluster) -> None:
    user = User("ann", ("system:authenticated",), "u1", (("foo.bar", ("x",)),))
    info = {"username": "ann", "uid": "u1", "groups": ["system:authenticated"], "extra": {"foo.bar": ["x"]}}
    assert review(cluster, "selfsubjectreviews", {}, user) == {"userInfo": info}


@pytest.fixture
def signing(cluster: Cluster) -> Cluster:
    cluster.state = cluster.state.replace(settings=replace(cluster.state.settings, signer=signing_key()))
    cluster.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "web"}})
    return cluster


def token(cluster: Cluster, **spec: Any) -> str:
    path = "/api/v1/namespaces/default/serviceaccounts/web/token"
    answer = cluster.request(ApiRequest("POST", path, body=canonical({"spec": spec})))
    if answer.code >= 400:
        raise BadRequest(answer.body["message"])
    return str(answer.body["status"]["token"])


def test_a_token_of_a_service_account_stands_for_it(signing: Cluster) -> None:
    given = token(signing)
    user, audiences = authenticate(signing.state, given)
    assert user.name == "system:serviceaccount:default:web"
    assert user.groups == ("system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated")
    assert audiences == ["https://kubernetes.default.svc"]
    assert dict(user.extra)["authentication.kubernetes.io/credential-id"][0].startswith("JTI=")
    status = review(signing, "tokenreviews", {"token": given})
    assert status["authenticated"]
    assert status["user"]["username"] == user.name
    status = review(signing, "tokenreviews", {"token": given, "audiences": ["x"]})
    assert "invalid for the target audiences" in status["error"]
    forged = given[:-4] + ("AAAA" if given[-4:] != "AAAA" else "BBBB")
    assert review(signing, "tokenreviews", {"token": forged}) == {"user": {}, "error": "invalid bearer token"}


def test_a_token_ends_with_its_time_its_account_and_its_pod(signing: Cluster) -> None:
    pod = signing.create(POD | {"spec": {"serviceAccountName": "web", "containers": [{"name": "a", "image": "b"}]}})
    short = token(signing, expirationSeconds=600)
    bound = token(signing, boundObjectRef={"kind": "Pod", "apiVersion": "v1", "name": "p"})
    assert dict(authenticate(signing.state, bound)[0].extra)["authentication.kubernetes.io/pod-uid"] == (
        pod["metadata"]["uid"],
    )
    signing.advance(600)
    with pytest.raises(BadServiceToken, match="expired"):
        authenticate(signing.state, short)
    signing.delete("Pod/v1", "p")
    with pytest.raises(BadServiceToken, match="invalidated"):
        authenticate(signing.state, bound)
    later = token(signing)
    signing.delete("ServiceAccount/v1", "web")
    with pytest.raises(BadServiceToken, match="invalidated"):
        authenticate(signing.state, later)


def test_tokens_are_bound_to_what_exists(signing: Cluster) -> None:
    with pytest.raises(BadRequest, match='pods "nope" not found'):
        token(signing, boundObjectRef={"kind": "Pod", "apiVersion": "v1", "name": "nope"})
    with pytest.raises(BadRequest, match="cannot bind token to object of type /v1, Kind=ConfigMap"):
        token(signing, boundObjectRef={"kind": "ConfigMap", "apiVersion": "v1", "name": "nope"})
    with pytest.raises(BadRequest, match="cannot bind token to object of type apps/v1, Kind=Pod"):
        token(signing, boundObjectRef={"kind": "Pod", "apiVersion": "apps/v1", "name": "nope"})
    with pytest.raises(BadRequest, match="cannot bind token to object of type /, Kind="):
        token(signing, boundObjectRef={})
    with pytest.raises(BadRequest, match="Name parameter required"):
        token(signing, boundObjectRef={"kind": "Pod"})
    spec = {"serviceAccountName": "other", "containers": [{"name": "c", "image": "i"}]}
    signing.create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "other"}, "spec": spec})
    with pytest.raises(BadRequest, match='serviceaccount "web" to pod running with different serviceaccount name'):
        token(signing, boundObjectRef={"kind": "Pod", "apiVersion": "v1", "name": "other"})


@pytest.mark.parametrize(
    ("selectors", "ignored"),
    [
        ({"labelSelector": {"requirements": [{"key": "a", "operator": "Foo"}]}}, "labelSelector ignored"),
        ({"labelSelector": {"rawSelector": "a in"}}, "labelSelector ignored"),
        ({"labelSelector": {"rawSelector": "a in (b)"}}, ""),
        (
            {
                "fieldSelector": {
                    "requirements": [
                        {"key": "a", "operator": "NotIn", "values": ["x"]},
                        {"key": "b", "operator": "Exists"},
                    ]
                }
            },
            "fieldSelector partially ignored",
        ),
    ],
)
def test_selectors_that_cannot_be_read_are_left_out_of_a_review(
    cluster: Cluster, selectors: dict[str, Any], ignored: str
) -> None:
    asked = {"user": "u", "resourceAttributes": {"verb": "list", "resource": "pods", **selectors}}
    kind = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview"}
    status = cluster.create({**kind, "spec": asked})["status"]
    text = f"spec.resourceAttributes.{ignored} due to parse error" if ignored else ""
    assert status.get("evaluationError", "") == text


def test_a_certificate_request_says_who_asks(cluster: Cluster) -> None:
    spec = {"request": "", "signerName": "a.b/c", "usages": ["client auth"], "username": "eve"}
    kind = {"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest"}
    request = {**kind, "metadata": {"name": "x"}, "spec": {**spec, "request": CSR}}
    made = cluster.create(request)["spec"]
    assert (made["username"], made["groups"]) == ("system:admin", ["system:masters", "system:authenticated"])


CSR = (
    "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlISE1HNENBUUF3RERFS01BZ0dBMVVFQXd3QmVEQlpNQk1HQnlx"
    "R1NNNDlBZ0VHQ0NxR1NNNDlBd0VIQTBJQQpCRlkyd2NlYnN0S2xRMTIzZEJ5SmtHaitCY2JzYVZQR0FzZ2taQUJNTWJjcENKdThM"
    "UjN6Tk5za3hEeU0xMlovClN2dDZuM0ZvQlZsRVBCLy9VM05jUjlxZ0FEQUtCZ2dxaGtqT1BRUURBZ05KQURCR0FpRUE0QWc2MDh4"
    "bGVMMGgKcFh4OTlHSUw4Q1g0VEJxeU1MMzNmc1ZaVXNTN0dPNENJUUNzY2dDWStaM2FDdkwwQWFhaXJSR2gwRUFiN1MySQptSlNw"
    "anh3SUpwZmszdz09Ci0tLS0tRU5EIENFUlRJRklDQVRFIFJFUVVFU1QtLS0tLQo="
)


@pytest.mark.parametrize(
    ("kind", "plural", "why"),
    [
        ("SubjectAccessReview", "subjectaccessreviews", "must be empty"),
        ("SelfSubjectAccessReview", "selfsubjectaccessreviews", "must be empty"),
        (
            "LocalSubjectAccessReview",
            "namespaces/default/localsubjectaccessreviews",
            "must be empty except for namespace",
        ),
    ],
)
def test_the_metadata_of_access_reviews_must_be_empty(kind: str, plural: str, why: str) -> None:
    """The message shows it in the order of Go's struct, with the owners that the server has added."""
    spec = {"user": "u", "resourceAttributes": {"verb": "get", "resource": "pods", "namespace": "default"}}
    body = {"kind": kind, "metadata": {"name": "a", "labels": {"x": "y"}}, "spec": spec}
    path = f"/apis/authorization.k8s.io/v1/{plural}"
    response = Cluster().request(ApiRequest("POST", path, {}, canonical(body), user_agent="m/1"))
    assert response.code == 422
    namespace = '"namespace":"default",' if "namespace" in plural else ""
    start = f'metadata: Invalid value: {{"name":"a",{namespace}"labels":{{"x":"y"}},"managedFields":[{{"manager":"m",'
    assert start in response.body["message"]
    assert response.body["message"].endswith(f"}}]}}: {why}")
    accepted = Cluster().request(ApiRequest("POST", path, {}, canonical({"kind": kind, "spec": spec})))
    assert (accepted.code, accepted.body["status"]) == (201, {"allowed": True})
