"""``kontend serve`` from the command line: what it prints, what it keeps, what it refuses."""

from __future__ import annotations

import gc
import signal
import socket
import sys
from pathlib import Path

import pytest
import yaml

from kontend.cli import main
from serve.objects import WIDGETS_PATH, widget, widgets
from serve.wire import CONFIG_MAPS, Client, config_map, process, watching


def test_it_serves_what_the_files_say_and_tells_how_to_reach_it(tmp_path: Path) -> None:
    """Two lines: where, and how to point a client there. Ctrl-C stops it, and leaves nothing behind."""
    (tmp_path / "crds").mkdir()
    (tmp_path / "crds" / "widgets.yaml").write_text(yaml.safe_dump(widgets()))
    (tmp_path / "seed.yaml").write_text(yaml.safe_dump(widget(size=4)))
    options = ("--crds", str(tmp_path / "crds"), "--objects", str(tmp_path / "seed.yaml"))
    with process(*options) as server, Client(server.url) as client:
        assert client.get(f"{WIDGETS_PATH}/w").json["spec"] == {"size": 4}
        with watching(server.url, WIDGETS_PATH) as events:
            next(events)
            server.popen.send_signal(signal.SIGINT)
            assert list(events) == []
        printed, complained = server.popen.communicate(timeout=20)
    first, second = printed.splitlines()
    assert first == f"kontend: serving Kubernetes 1.35 semantics on {server.url}"
    assert second.startswith("export KUBECONFIG=/")
    assert not Path(second.partition("=")[2]).exists()
    assert (complained, server.popen.returncode) == ("", 0)


def test_the_kubeconfig_goes_where_it_is_wanted(tmp_path: Path) -> None:
    """And stays there."""
    path = tmp_path / "config"
    with process("--kubeconfig", str(path)) as server:
        config = yaml.safe_load(path.read_text())
        assert config["clusters"][0]["cluster"]["server"] == server.url
        assert config["current-context"] == config["contexts"][0]["name"]
    assert path.exists()


def test_a_snapshot_is_saved_at_the_end_and_loaded_at_the_start(tmp_path: Path) -> None:
    """With versions and uids."""
    path = tmp_path / "state.json"
    with process("--snapshot", str(path)) as server, Client(server.url) as client:
        created = client.create("c", n="1").json
        server.popen.terminate()
        assert server.popen.wait(20) == 0
    with process("--snapshot", str(path), "--read-only") as server, Client(server.url) as client:
        assert client.get(f"{CONFIG_MAPS}/c").json == created
        assert client.patch("c", n="2").code == 403


def test_starting_again_with_the_same_files_changes_nothing(tmp_path: Path) -> None:
    """Stored objects stay as they are."""
    (tmp_path / "seed.yaml").write_text(yaml.safe_dump(config_map("c", n="seed")))
    options = ("--data", str(tmp_path / "data"), "--objects", str(tmp_path / "seed.yaml"))
    with process(*options) as server, Client(server.url) as client:
        patched = client.patch("c", n="changed").json
        server.popen.terminate()
        server.popen.wait(20)
    with process(*options) as server, Client(server.url) as client:
        assert client.get(f"{CONFIG_MAPS}/c").json == patched


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--address", "0.0.0.0"], "Add --token NAME=SECRET --tls, or leave out --address"),
        (["--address", "0.0.0.0", "--tls"], "without --token and --tls"),
        (["--token", "secret-without-name"], "expected name=secret"),
        (["--data", "d", "--snapshot", "s"], "choose one"),
        (["--port", "port"], "'port' is not a port"),
        (["--nonsense"], "unrecognized arguments"),
        (["--read-only", "--pods"], "--read-only and --pods: controllers write"),
    ],
)
def test_wrong_use_is_refused_with_the_way_out(
    options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2; secrets are not repeated."""
    assert main(["serve", *options]) == 2
    complained = capsys.readouterr().err
    assert message in complained
    assert "secret-without-name" not in complained


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--crds", "none.yaml"], "none.yaml: no such file or directory"),
        (["--objects", "bad.yaml"], "bad.yaml, document 1: not YAML"),
        (["--snapshot", "bad.yaml"], "bad.yaml: not a snapshot"),
        (["--snapshot", "none/state.json"], "the state would be lost"),
        (["--data", "bad.yaml"], "bad.yaml: cannot be used for data"),
        (["--audit-policy", "policy.yaml"], "--audit-policy policy.yaml needs --audit-log FILE, where the events go"),
        (["--audit-log", "a.log", "--audit-policy", "no.yaml"], "--audit-policy no.yaml: No such file or directory"),
        (["--audit-log", "none/audit.log"], "--audit-log none/audit.log: No such file or directory"),
        (["--kubeconfig", "none/config"], "none/config: No such file or directory"),
    ],
)
def test_what_cannot_be_used_is_named(
    options: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Exit code 2, as for every command that cannot do its work."""
    monkeypatch.chdir(tmp_path)
    Path("bad.yaml").write_text("a: [")
    assert main(["serve", "--port", "0", *options]) == 2
    assert message in capsys.readouterr().err


def test_a_port_that_is_taken_is_told_with_the_way_out(capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 2, as for every command that cannot do its work."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        before = gc.get_threshold(), sys.getrecursionlimit(), sys.getswitchinterval()
        assert main(["serve", "--port", str(port)]) == 2
        # A program that calls the command goes on with its own settings of the interpreter.
        assert (gc.get_threshold(), sys.getrecursionlimit(), sys.getswitchinterval()) == before
    assert f"port {port} is taken; --port 0 picks a free one" in capsys.readouterr().err


def test_a_ready_descriptor_that_is_not_open_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 2, as for every command that cannot do its work."""
    assert main(["serve", "--port", "0", "--ready-fd", "987"]) == 2
    assert "--ready-fd 987: Bad file descriptor" in capsys.readouterr().err


def test_tokens_are_not_printed(tmp_path: Path) -> None:
    """Neither at the start nor in the audit log."""
    log = tmp_path / "audit.log"
    options = ("--token", "ann=s3cret", "--audit-log", str(log))
    with process(*options) as server, Client(server.url, {"Authorization": "Bearer s3cret"}) as client:
        assert client.create("c").code == 201
        server.popen.terminate()
        printed, complained = server.popen.communicate(timeout=20)
    assert "s3cret" not in printed + complained + log.read_text()
    assert '"username":"ann"' in log.read_text()


def test_controllers_make_a_deployment_run_and_an_owner_take_its_children_along() -> None:
    """Controllers, a scheduler and a node act as they would in a cluster."""
    deployments = "/apis/apps/v1/namespaces/default/deployments"
    pods = "/api/v1/namespaces/default/pods"
    template = {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": 2, "selector": {"matchLabels": {"app": "a"}}, "template": template}
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": spec}
    with process("--controllers", "--pods") as server, Client(server.url) as client:
        with watching(server.url, deployments) as events:
            assert client.send("POST", deployments, body).code == 201
            assert next(event for event in events if event["object"].get("status", {}).get("readyReplicas") == 2)
        with watching(server.url, pods) as events:
            assert client.send("DELETE", f"{deployments}/d").code == 200
            gone = (event["object"]["metadata"]["name"] for event in events if event["type"] == "DELETED")
            assert next(gone) != next(gone)
        assert client.get(pods).json["items"] == []


def test_a_server_starts_without_what_few_requests_need(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests start servers hundreds of times, and most of the time of a start are imports."""
    monkeypatch.setenv("PYTHONPROFILEIMPORTTIME", "1")
    with process() as server:
        server.popen.terminate()
        _, imported = server.popen.communicate(timeout=20)
    modules = {line.rpartition("|")[2].strip() for line in imported.splitlines()}
    assert "kontend.serve.server" in modules
    assert not modules & {
        "yaml", "kontend.kube.cel.checker", "kontend.kube.crd.definition", "kontend.report.document",
        "importlib.metadata", "kontend.kube.builtin.strategies.devices", "kontend.cluster.admission.webhooks",
    }  # fmt: skip
