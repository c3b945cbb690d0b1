"""Clients over HTTP: their users, and the users that they impersonate."""

from __future__ import annotations

import datetime
import json
import ssl
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest
import yaml

from serve.wire import Client, exchange, process

REVIEWS = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"


def who(client: Client, **headers: str) -> Any:
    answer = client.send("POST", REVIEWS, {}, **headers)
    return answer.json["status"]["userInfo"] if answer.code == 201 else (answer.code, answer.json["message"])


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def test_users_of_a_token_file_under_rbac(tmp_path: Path) -> None:
    path, config = tmp_path / "tokens.csv", tmp_path / "config"
    path.write_text('one,ann,u1,"dev,ops"\ntwo,bob,u2\n')
    with (
        process("--rbac", "--token-file", str(path), "--kubeconfig", str(config)) as server,
        Client(server.url) as client,
    ):
        groups = ["dev", "ops", "system:authenticated"]
        assert who(client, **bearer("one")) == {"username": "ann", "uid": "u1", "groups": groups}
        answer = client.get("/api/v1/nodes", **bearer("two"))
        assert answer.code == 403
        assert answer.json["message"].startswith('nodes is forbidden: User "bob" cannot list resource "nodes"')
        assert client.get("/version").code == 200
        assert client.get("/metrics").json["message"] == 'forbidden: User "system:anonymous" cannot get path "/metrics"'
        assert client.get("/version", **bearer("guess")).code == 401
        admin = yaml.safe_load(config.read_text())["users"][0]["user"]["token"]
        assert client.get("/api/v1/nodes", **bearer(admin)).code == 200


def test_a_service_account_token_identifies_its_bearer() -> None:
    with process() as server, Client(server.url) as client:
        client.send("POST", ACCOUNTS, {"metadata": {"name": "web"}})
        made = client.send("POST", f"{ACCOUNTS}/web/token", {"spec": {}}).json
        info = who(client, **bearer(made["status"]["token"]))
        assert info["username"] == "system:serviceaccount:default:web"
        assert info["uid"] == made["metadata"]["uid"]
        assert who(client)["username"] == "system:admin"
        keys = client.get("/openid/v1/jwks").json["keys"]
        assert [key["alg"] for key in keys] == ["RS256"]
        configuration = client.get("/.well-known/openid-configuration").json
        assert configuration["issuer"] == "https://kubernetes.default.svc"
        assert configuration["jwks_uri"] == f"{server.url}/openid/v1/jwks"


def test_impersonation(tmp_path: Path) -> None:
    path = tmp_path / "tokens.csv"
    path.write_text("one,ann,u1\n")
    with process("--rbac", "--token", "root=r00t", "--token-file", str(path)) as server, Client(server.url) as client:
        root = bearer("r00t")
        headers = {"Impersonate_User": "bob", "Impersonate_Uid": "u", "Impersonate_Extra_Foo%2fbar": "x"}
        info = {"username": "bob", "uid": "u", "groups": ["system:authenticated"], "extra": {"foo/bar": ["x"]}}
        assert who(client, **root, **headers) == info
        account = {"Impersonate_User": "system:serviceaccount:default:web"}
        assert who(client, **root, **account)["groups"][0] == "system:serviceaccounts"
        refused = 'users "bob" is forbidden: User "ann" cannot impersonate resource "users" in API group "" at the '
        assert who(client, **bearer("one"), Impersonate_User="bob") == (403, f"{refused}cluster scope")
        alone = (400, "requested [{Group  x    }] without impersonating a user")
        assert who(client, **root, Impersonate_Group="x") == alone
        assert client.get("/api/v1/pods", **root, Impersonate_User="bob").code == 403
        review = b'{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}'
        groups = "".join(f"Impersonate-Group: {group}\r\n" for group in ("a", "b,c", "a"))
        head = f"POST /apis/authentication.k8s.io/v1/selfsubjectreviews HTTP/1.1\r\nHost: x\r\n{groups}"
        head += f"Impersonate-User: bob\r\nAuthorization: Bearer r00t\r\nContent-Length: {len(review)}\r\n\r\n"
        answer = json.loads(exchange(server.url, head.encode() + review).partition(b"\r\n\r\n")[2])
        assert answer["status"]["userInfo"]["groups"] == ["a", "b,c", "a", "system:authenticated"]


def test_aggregated_roles_work() -> None:
    with process("--rbac", "--token", "root=r00t") as server, Client(server.url, bearer("r00t")) as client:
        roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
        rules = [{"apiGroups": ["example.com"], "resources": ["widgets"], "verbs": ["get"]}]
        labels = {"rbac.authorization.k8s.io/aggregate-to-view": "true"}
        client.send("POST", roles, {"metadata": {"name": "a-widgets", "labels": labels}, "rules": rules})
        review = {"user": "ann", "resourceAttributes": {"verb": "get", "group": "example.com", "resource": "widgets"}}
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "admin"}
        subjects = [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "ann"}]
        bound = {"metadata": {"name": "ann"}, "roleRef": reference, "subjects": subjects}
        client.send("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", bound)
        reviews = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
        while not client.send("POST", reviews, {"spec": review}).json["status"]["allowed"]:
            assert client.get(f"{roles}/admin").code == 200
        view = client.get(f"{roles}/view").json
        assert rules[0] in [{key: rule[key] for key in rules[0]} for rule in view["rules"] if "resources" in rule]
        assert "clusterrole-aggregation-controller" in [
            managed_field["manager"] for managed_field in view["metadata"]["managedFields"]
        ]


def test_client_certificates_name_users(tmp_path: Path) -> None:
    pytest.importorskip("cryptography", reason="the extra tls is not installed")
    authority, key, certificate = _client_certificate(tmp_path)
    with process("--tls", "--client-ca", str(authority), "--rbac", "--kubeconfig", str(tmp_path / "config")) as server:
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.load_cert_chain(certificate, key)
        request = urllib.request.Request(f"{server.url}/api/v1/pods")
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request, context=context)
        assert b'User \\"ann\\" cannot list' in refused.value.read()
        review = urllib.request.Request(
            server.url + REVIEWS, b"{}", {"Content-Type": "application/json"}, method="POST"
        )
        with urllib.request.urlopen(review, context=context) as answer:
            assert b'"groups":["dev","system:authenticated"]' in answer.read()


def _client_certificate(directory: Path) -> tuple[Path, Path, Path]:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    now = datetime.datetime.now(datetime.UTC)

    def made(subject: x509.Name, *, ca: bool) -> bytes:
        issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "authority")])
        builder = x509.CertificateBuilder().subject_name(issuer if ca else subject).issuer_name(issuer)
        builder = builder.public_key(key.public_key()).serial_number(x509.random_serial_number())
        builder = builder.not_valid_before(now - datetime.timedelta(hours=1))
        builder = builder.not_valid_after(now + datetime.timedelta(hours=1))
        builder = builder.add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
        return builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)

    attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, "dev"), x509.NameAttribute(NameOID.COMMON_NAME, "ann")]
    paths = directory / "ca.crt", directory / "client.key", directory / "client.crt"
    paths[0].write_bytes(made(x509.Name(attributes), ca=True))
    paths[2].write_bytes(made(x509.Name(attributes), ca=False))
    paths[1].write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return paths
