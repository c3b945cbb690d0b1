"""The stand-ins for envtest, started as controller-runtime starts them."""

from __future__ import annotations

import datetime
import json
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from kontend.cli import main
from kontend.live.envtest.assets import write_assets
from kontend.live.envtest.etcd import answer
from kontend.live.envtest.noise import BadGate, Noise, parse_gate
from kontend.live.process.command import free_port
from kontend.serve.credentials.tls import certificates


def has_flag(command: Path, flag: str) -> bool:
    """Look for a flag in the help, with the pattern of envtest."""
    text = subprocess.run([command, "--help"], capture_output=True, text=True, check=True).stdout
    return re.search(rf"(?m)^\s*--{flag}\b", text) is not None


@pytest.fixture
def assets(tmp_path: Path) -> Path:
    return write_assets(tmp_path / "assets")


def test_envtest_finds_the_flags_that_it_looks_for(assets: Path) -> None:
    assert not has_flag(assets / "kube-apiserver", "insecure-port")
    assert has_flag(assets / "etcd", "unsafe-no-fsync")


def test_the_command_prints_the_directory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["envtest", "--directory", str(tmp_path / "bin")]) == 0
    assert capsys.readouterr().out == f"{tmp_path / 'bin'}\n"
    assert os.access(tmp_path / "bin" / "kube-apiserver", os.X_OK)


def client_certificate(directory: Path) -> None:
    """Writes a client CA and a certificate of it for an administrator, as envtest makes them."""
    now = datetime.datetime.now(datetime.UTC)

    def build(names: list[Any], key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
        authority = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "envtest")])
        return (
            x509.CertificateBuilder()
            .subject_name(x509.Name(names))
            .issuer_name(authority)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(hours=1))
            .not_valid_after(now + datetime.timedelta(hours=1))
        )

    ca_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    named = [x509.NameAttribute(NameOID.COMMON_NAME, "envtest")]
    ca = build(named, ca_key).add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    admin = [
        x509.NameAttribute(NameOID.ORGANIZATION_NAME, "system:masters"),
        x509.NameAttribute(NameOID.COMMON_NAME, "admin"),
    ]
    private = serialization.PrivateFormat.PKCS8
    pem = serialization.Encoding.PEM
    (directory / "client-cert-auth-ca.crt").write_bytes(ca.sign(ca_key, hashes.SHA256()).public_bytes(pem))
    (directory / "client.pem").write_bytes(
        build(admin, key).sign(ca_key, hashes.SHA256()).public_bytes(pem)
        + key.private_bytes(pem, private, serialization.NoEncryption())
    )
    (directory / "sa-signer.key").write_bytes(key.private_bytes(pem, private, serialization.NoEncryption()))


class Api:
    """Requests with a client certificate, or without."""

    def __init__(self, url: str, ca: Path, certificate: Path | None) -> None:
        self.url = url
        self._context = ssl.create_default_context(cafile=str(ca))
        if certificate is not None:
            self._context.load_cert_chain(certificate)

    def __call__(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, context=self._context, timeout=60) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()


def command_of(assets: Path, directory: Path, port: int) -> list[str]:
    """A kube-apiserver with the flags and the files of envtest."""
    made = certificates("127.0.0.1")
    for name, content in (("apiserver.crt", made.certificate), ("apiserver.key", made.key), ("ca.crt", made.ca)):
        (directory / name).write_bytes(content)
    client_certificate(directory)
    flags = {
        "service-cluster-ip-range": "10.0.0.0/24", "allow-privileged": "true", "cert-dir": str(directory),
        "disable-admission-plugins": "ServiceAccount", "authorization-mode": "RBAC", "secure-port": str(port),
        "bind-address": "127.0.0.1", "service-account-issuer": f"https://127.0.0.1:{port}/",
        "service-account-key-file": str(directory / "sa-signer.key"), "etcd-servers": "http://127.0.0.1:2379",
        "service-account-signing-key-file": str(directory / "sa-signer.key"),
        "client-ca-file": str(directory / "client-cert-auth-ca.crt"),
    }  # fmt: skip
    return [str(assets / "kube-apiserver"), *(f"--{name}={value}" for name, value in flags.items())]


@contextmanager
def apiserver(assets: Path, directory: Path, gate: str = "") -> Iterator[tuple[Api, Api]]:
    """A kube-apiserver that runs; yields an administrator and somebody without credentials."""
    port = free_port()
    running = subprocess.Popen(command_of(assets, directory, port), env={**os.environ, "KONTEND_GATE": gate})
    url = f"https://127.0.0.1:{port}"
    anybody, admin = Api(url, directory / "ca.crt", None), Api(url, directory / "ca.crt", directory / "client.pem")
    try:
        wait_for(anybody, running)
        yield admin, anybody
    finally:
        running.send_signal(signal.SIGTERM)
        assert running.wait(timeout=60) == 0


def wait_for(api: Api, running: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        assert running.poll() is None
        try:
            if api("GET", "/healthz") == (200, "ok"):
                return
        except urllib.error.URLError:
            continue
    raise AssertionError("the server did not start")


CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


def test_a_client_certificate_is_an_administrator_and_others_are_not(assets: Path, tmp_path: Path) -> None:
    with apiserver(assets, tmp_path) as (admin, anybody):
        assert admin("POST", CONFIG_MAPS, {"metadata": {"name": "c"}})[0] == 201
        assert anybody("GET", CONFIG_MAPS)[0] == 403
        # envtest brings an ECDSA key for service accounts, which is replaced by one of our own.
        assert admin("POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "s"}})[0] == 201
        path = "/api/v1/namespaces/default/serviceaccounts/s/token"
        code, token = admin(
            "POST", path, {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        )
        assert (code, bool(json.loads(token)["status"]["token"])) == (201, True)


def test_a_gate_refuses_locked_writes(assets: Path, tmp_path: Path) -> None:
    with apiserver(assets, tmp_path, "conflicts=1") as (admin, _):
        code, text = admin("POST", CONFIG_MAPS, {"metadata": {"name": "c"}})
        assert code == 201
        made = json.loads(text)
        assert admin("PUT", f"{CONFIG_MAPS}/c", {**made, "data": {"a": "b"}})[0] == 409
        del made["metadata"]["resourceVersion"]
        assert admin("PUT", f"{CONFIG_MAPS}/c", {**made, "data": {"a": "b"}})[0] == 200


def test_a_plan_is_carried_out_once(assets: Path, tmp_path: Path) -> None:
    plan = tmp_path / "plan.yaml"
    call = "{verb: create, resource: configmaps, namespace: default, name: c}"
    plan.write_text(f'perturbations:\n- {{do: fail, error: "500", at: {call}}}\n')
    with apiserver(assets, tmp_path, str(plan)) as (admin, _):
        assert [admin("POST", CONFIG_MAPS, {"metadata": {"name": "c"}})[0] for _ in range(2)] == [500, 201]


def test_noise_is_the_same_for_the_same_call() -> None:
    noise = Noise(conflicts=0.5, seed=1)
    drawn = [noise.draw("conflicts", "update pods a", number) for number in range(100)]
    assert drawn == [noise.draw("conflicts", "update pods a", number) for number in range(100)]
    assert 20 < sum(value < 0.5 for value in drawn) < 80
    assert drawn != [Noise(seed=2).draw("conflicts", "update pods a", number) for number in range(100)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("lags=1", "there is no 'lags'; there are lag, conflicts, failures, seed, or the path of a plan"),
        ("lag=slow", "lag is a number, found 'slow'"),
        ("/no/plan.yaml", "KONTEND_GATE /no/plan.yaml: No such file or directory"),
    ],
)
def test_a_gate_that_cannot_be_used(text: str, message: str) -> None:
    with pytest.raises(BadGate, match=re.escape(message)):
        parse_gate(text)


def test_an_etcd_that_cannot_listen_says_so(assets: Path) -> None:
    done = subprocess.run([assets / "etcd", "--data-dir=/tmp"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (
        1,
        "kontend etcd: --listen-client-urls: expected a URL with a port\n",
    )
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        done = subprocess.run(
            [assets / "etcd", f"--listen-client-urls={url}"], capture_output=True, text=True, check=False
        )
    assert done.returncode == 1
    assert done.stderr.endswith(": Address already in use\n")


def test_an_etcd_that_is_asked_by_silent_and_hasty_clients() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(b"GET /health HT")
        theirs.sendall(b"TP/1.1\r\n\r\n")
        answer(ours)
        assert theirs.recv(4096).endswith(b'\r\n\r\n{"health":"true"}')
    ours, theirs = socket.socketpair()
    with ours:
        theirs.close()
        answer(ours)  # does not fail


def test_the_stand_in_for_kube_apiserver_starts_on_little_processor_time() -> None:
    """The bound is generous: a loaded machine makes everything slower."""
    code = "import sys, time; import kontend.live.envtest.__main__; print(time.process_time()); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    seconds, modules = done.stdout.splitlines()
    assert float(seconds) < 3
    # What a start does not need.
    unneeded = {
        "kontend.live.envtest.noise",
        "kontend.live.runs.run",
        "kontend.explore",
        "kontend.cli",
        "argparse",
        "rsa",
    }
    assert not unneeded & set(modules.split())


def test_an_etcd_that_is_healthy(assets: Path, tmp_path: Path) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    running = subprocess.Popen([assets / "etcd", f"--listen-client-urls={url}", f"--data-dir={tmp_path}"])
    deadline = time.monotonic() + 120
    while True:
        try:
            with urllib.request.urlopen(f"{url}/health", timeout=5) as answer:
                assert json.load(answer) == {"health": "true"}
            break
        except urllib.error.URLError:
            assert time.monotonic() < deadline
    running.send_signal(signal.SIGTERM)
    assert running.wait(timeout=60) == 0


#: Starts commands as envtest does, each in a process group of its own, and waits.
SUITE = """
import json, subprocess, sys
for command in json.loads(sys.argv[1]):
    subprocess.Popen(command, process_group=0, pass_fds=[int(sys.argv[2])])
sys.stdin.read()
"""


def stand_ins(assets: Path, directory: Path, port: int) -> list[list[str]]:
    """The commands of an etcd and of a kube-apiserver at a port."""
    etcd = [str(assets / "etcd"), f"--listen-client-urls=http://127.0.0.1:{free_port()}", f"--data-dir={directory}"]
    return [etcd, command_of(assets, directory, port)]


def test_the_stand_ins_end_with_the_suite_that_started_them(assets: Path, tmp_path: Path) -> None:
    port = free_port()
    reading, writing = os.pipe()
    suite = subprocess.Popen(
        [sys.executable, "-c", SUITE, json.dumps(stand_ins(assets, tmp_path, port)), str(writing)],
        pass_fds=[writing],
        stdin=subprocess.PIPE,
    )
    os.close(writing)
    with suite, os.fdopen(reading) as held:
        wait_for(Api(f"https://127.0.0.1:{port}", tmp_path / "ca.crt", None), suite)
        suite.kill()
        # The stand-ins hold the other end of the pipe as long as they run.
        assert held.read() == ""


def test_a_suite_that_has_ended_before_the_stand_ins_are_up(assets: Path, tmp_path: Path) -> None:
    """The script notes its parent before Python starts."""
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    for command in stand_ins(assets, tmp_path, free_port()):
        script = Path(command[0])
        text = script.read_text(encoding="utf-8")
        assert "=$PPID\n" in text
        script.write_text(text.replace("=$PPID\n", f"={ended.pid}\n"), encoding="utf-8")
        assert subprocess.run(command, timeout=60, check=False).returncode == 0
