"""Kubeconfigs, pods and credentials."""

from __future__ import annotations

import base64
import json
import stat
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from kontend.runtime.client.credentials import Credentials, run_plugin
from kontend.runtime.client.kubeconfig import BadKubeconfig, Config, ExecPlugin, from_files, in_cluster, load


def written(path: Path, **changes: Any) -> Path:
    """A kubeconfig of two contexts."""
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "one",
        "clusters": [{"name": "c", "cluster": {"server": "https://c:6443/"} | changes.pop("cluster", {})}],
        "users": [{"name": "u", "user": {"token": "t"} | changes.pop("user", {})}],
        "contexts": [
            {"name": "one", "context": {"cluster": "c", "user": "u"}},
            {"name": "two", "context": {"cluster": "c", "user": "u", "namespace": "n"}},
        ],
    } | changes
    path.write_text(yaml.safe_dump(content))
    return path


def test_the_current_context_is_used_unless_another_is_named(tmp_path: Path) -> None:
    file = written(tmp_path / "config")
    assert from_files([file]) == Config("https://c:6443", token="t")
    assert from_files([file], context="two").namespace == "n"


def test_of_several_files_the_first_that_says_something_counts(tmp_path: Path) -> None:
    one = written(tmp_path / "a")
    two = written(tmp_path / "b", cluster={"server": "https://other"})
    two.write_text(two.read_text().replace("name: c", "name: d").replace("cluster: c", "cluster: d"))
    missing = tmp_path / "missing"
    config = load(env={"KUBECONFIG": f"{missing}:{one}:{two}"})
    assert config.server == "https://c:6443"


def test_files_are_relative_to_the_kubeconfig_and_inline_data_wins(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("CA")
    (tmp_path / "key.pem").write_text("KEY")
    inline = base64.b64encode(b"CERT").decode()
    file = written(
        tmp_path / "config",
        cluster={"certificate-authority": "ca.pem"},
        user={"client-certificate-data": inline, "client-certificate": "nowhere", "client-key": "key.pem"},
    )
    config = from_files([file])
    assert (config.ca, config.client_certificate, config.client_key) == ("CA", "CERT", "KEY")


def test_a_proxy_is_ignored_with_a_message(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    from_files([written(tmp_path / "config", cluster={"proxy-url": "http://proxy"})])
    assert "proxy-url is not supported and is ignored" in caplog.text


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"current-context": "three"}, "no context 'three'; there are: one, two"),
        ({"current-context": ""}, "no current-context; choose one of: one, two"),
        ({"clusters": []}, "no cluster 'c'; there are: none"),
        ({"clusters": {"c": {}}}, "clusters: expected a list, found dict"),
        ({"users": ["u"]}, "users[0]: expected name and user"),
        ({"cluster": {"server": "c:6443"}}, "expected https://..., found 'c:6443'"),
        ({"cluster": {"certificate-authority-data": "%"}}, "certificate-authority-data is not base64"),
        ({"user": {"client-key": "nowhere"}}, "client-key"),
        ({"user": {"auth-provider": {"name": "gcp"}}}, "use an exec plugin"),
        ({"user": {"exec": {"args": []}}}, "exec: expected a command"),
        ({"user": {"exec": {"command": "x", "apiVersion": "v9"}}}, "apiVersion v9 is not supported"),
    ],
)
def test_a_kubeconfig_that_cannot_be_used_is_refused_with_the_reason(
    tmp_path: Path, changes: dict[str, Any], words: str
) -> None:
    with pytest.raises(BadKubeconfig) as raised:
        from_files([written(tmp_path / "config", **changes)])
    assert words in str(raised.value)


@pytest.mark.parametrize("text", ["", "- 1", "a: [", "\t"])
def test_garbage_is_no_kubeconfig(tmp_path: Path, text: str) -> None:
    (tmp_path / "config").write_text(text)
    with pytest.raises(BadKubeconfig, match="config"):
        from_files([tmp_path / "config"])


def test_without_any_server_the_error_names_the_options(tmp_path: Path) -> None:
    with pytest.raises(BadKubeconfig, match="Name a file with --kubeconfig or a server with --server"):
        load(env={"HOME": str(tmp_path)})
    with pytest.raises(BadKubeconfig, match="no such file"):
        load(path=tmp_path / "missing")


def test_inside_a_pod_the_service_account_is_used(tmp_path: Path) -> None:
    for name, text in (("token", "secret\n"), ("ca.crt", "CA"), ("namespace", "prod")):
        (tmp_path / name).write_text(text)
    env = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443", "HOME": str(tmp_path)}
    config = load(env=env, service_account=tmp_path)
    assert (config.server, config.namespace, config.ca) == ("https://[fd00::1]:443", "prod", "CA")
    assert Credentials(config).headers() == {"Authorization": "Bearer secret"}
    with pytest.raises(BadKubeconfig, match="not in a pod"):
        in_cluster(env={}, service_account=tmp_path)


def test_a_token_file_is_read_again_after_a_minute(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("one")
    now = 0.0
    credentials = Credentials(Config("https://c", token_file=file), clock=lambda: now)
    assert credentials.headers()["Authorization"] == "Bearer one"
    file.write_text("two")
    assert credentials.headers()["Authorization"] == "Bearer one"
    now = 61
    assert credentials.headers()["Authorization"] == "Bearer two"


def plugin(path: Path, body: str) -> str:
    path.write_text(f"#!{sys.executable}\n{body}")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def test_an_exec_plugin_gives_a_token_until_it_expires(tmp_path: Path) -> None:
    command = plugin(
        tmp_path / "plugin",
        "import json, os, sys\n"
        "info = json.loads(os.environ['KUBERNETES_EXEC_INFO'])\n"
        "with open(sys.argv[1], 'a') as file: file.write('x')\n"
        "token = f\"{os.environ['WHO']}-{info['spec']['cluster']['server']}-{os.path.getsize(sys.argv[1])}\"\n"
        "status = {'token': token, 'expirationTimestamp': '2026-01-01T00:00:00Z'}\n"
        "print(json.dumps({'kind': 'ExecCredential', 'status': status}))\n",
    )
    counter = tmp_path / "count"
    given = {"command": command, "args": [str(counter)], "env": [{"name": "WHO", "value": "me"}]}
    user = {"exec": {**given, "provideClusterInfo": True}}
    config = from_files([written(tmp_path / "config", user=user)])
    now = 0.0
    credentials = Credentials(config, clock=lambda: now)
    first = credentials.headers()
    assert first["Authorization"].startswith("Bearer me-https://c:6443/-")
    assert credentials.headers() == first
    now = 1_767_225_600.0 + 1
    assert credentials.headers() != first


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("raise SystemExit('no login')", "failed with exit code 1: no login"),
        ("print('hello')", "printed no ExecCredential"),
        ("print('{\"status\": 5}')", "expected an object, found 5"),
    ],
)
def test_an_exec_plugin_that_fails_is_reported_with_its_output(tmp_path: Path, body: str, words: str) -> None:
    with pytest.raises(BadKubeconfig) as raised:
        run_plugin(ExecPlugin(plugin(tmp_path / "plugin", body)))
    assert words in str(raised.value)


def test_an_exec_plugin_that_is_not_installed_gives_its_hint() -> None:
    with pytest.raises(BadKubeconfig, match=r"not found. Install it with care"):
        run_plugin(ExecPlugin("no-such-plugin-here", install_hint="Install it with care"))


def test_malformed_certificates_are_refused() -> None:
    with pytest.raises(BadKubeconfig, match="certificate authority"):
        Credentials(Config("https://c", ca="-----BEGIN CERTIFICATE-----\nno\n")).tls()
    with pytest.raises(BadKubeconfig, match="client certificate"):
        Credentials(Config("https://c", client_certificate="no", client_key="no")).tls()


def test_secrets_are_not_shown() -> None:
    config = Config("https://c", token="hidden-token", password="hidden-password", client_key="hidden-key")
    assert "hidden" not in repr(config)
    assert json.dumps(Credentials(config).headers())


def test_a_pod_without_a_token_is_not_a_pod(tmp_path: Path) -> None:
    with pytest.raises(BadKubeconfig, match="not in a pod"):
        in_cluster(env={"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, service_account=tmp_path)


def test_the_kubeconfig_in_the_home_directory_is_the_last_resort(tmp_path: Path) -> None:
    (tmp_path / ".kube").mkdir()
    written(tmp_path / ".kube" / "config")
    config = load(env={"HOME": str(tmp_path)}, service_account=tmp_path / "nothing")
    assert config.server == "https://c:6443"


@pytest.mark.parametrize(
    ("command", "expected"), [("plugin", "plugin"), ("bin/plugin", "{}/bin/plugin"), ("/bin/plugin", "/bin/plugin")]
)
def test_a_path_of_an_exec_plugin_is_relative_to_the_kubeconfig(tmp_path: Path, command: str, expected: str) -> None:
    config = from_files([written(tmp_path / "config", user={"exec": {"command": command}})])
    assert config.exec is not None
    assert config.exec.command == expected.format(tmp_path)
