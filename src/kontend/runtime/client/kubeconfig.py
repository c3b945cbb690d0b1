"""The address of a server and the credentials for it: from a kubeconfig, from a pod's service account, or a URL.

The rules are kubectl's: ``$KUBECONFIG`` may name several files, of which the first one with a value counts; without
it ``~/.kube/config``; inside a pod, the service account. The result is plain data; credentials that change
(token files, exec plugins) are read by :mod:`kontend.runtime.client.credentials` when they are needed.
"""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

from kontend.kube.encoding.yaml_text import not_yaml
from kontend.runtime.telemetry.logs import LOGGER, fields

_SERVICE_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")


class BadKubeconfig(ValueError):
    """A kubeconfig that cannot be used; the message says where and why."""


@dataclass(frozen=True, slots=True)
class ExecPlugin:
    """A program that prints credentials."""

    command: str
    args: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    api_version: str = "client.authentication.k8s.io/v1"
    install_hint: str = ""
    #: The cluster information for the plugin, if it asks for it (``provideClusterInfo``).
    cluster: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Config:
    """The address of a server, and the credentials for it.

    >>> Config("https://127.0.0.1:6443", token="secret")
    Config(server='https://127.0.0.1:6443', namespace='default', ca=None, insecure=False, tls_server_name='', \
token_file=None, client_certificate='', username='', exec=None, impersonate='')
    """

    server: str
    namespace: str = "default"
    #: PEM; None for the certificate authorities of the system.
    ca: str | None = None
    insecure: bool = False
    #: The name to expect in the server's certificate, where it is not the host of the URL.
    tls_server_name: str = ""
    token: str = field(default="", repr=False)
    token_file: Path | None = None
    client_certificate: str = ""
    client_key: str = field(default="", repr=False)
    username: str = ""
    password: str = field(default="", repr=False)
    exec: ExecPlugin | None = None
    impersonate: str = ""


def load(
    *,
    path: str | Path | None = None,
    context: str | None = None,
    env: Mapping[str, str] = os.environ,
    service_account: Path = _SERVICE_ACCOUNT,
) -> Config:
    """Read the configuration that kubectl would use.

    That is the given file, ``$KUBECONFIG``, a pod's service account or ``~/.kube/config``.
    """
    if path is not None:
        return from_files([Path(path)], context=context)
    if env.get("KUBECONFIG"):
        files = [Path(name) for name in env["KUBECONFIG"].split(os.pathsep) if name]
        return from_files(files, context=context)
    if context is None and env.get("KUBERNETES_SERVICE_HOST") and (service_account / "token").exists():
        return in_cluster(env=env, service_account=service_account)
    home = Path(env.get("HOME", "~")).expanduser() / ".kube" / "config"
    if not home.exists():
        raise BadKubeconfig(
            f"no server is configured: {home} does not exist, KUBECONFIG is not set, and this is not a pod. "
            "Name a file with --kubeconfig or a server with --server"
        )
    return from_files([home], context=context)


def in_cluster(*, env: Mapping[str, str] = os.environ, service_account: Path = _SERVICE_ACCOUNT) -> Config:
    """Read the service account of the pod that this process runs in."""
    host, port = env.get("KUBERNETES_SERVICE_HOST"), env.get("KUBERNETES_SERVICE_PORT", "443")
    if not host or not (service_account / "token").exists():
        raise BadKubeconfig(f"not in a pod: KUBERNETES_SERVICE_HOST is not set or {service_account}/token is not there")
    host = f"[{host}]" if ":" in host else host
    namespace = service_account / "namespace"
    return Config(
        f"https://{host}:{port}",
        namespace=namespace.read_text().strip() if namespace.exists() else "default",
        ca=(service_account / "ca.crt").read_text(),
        token_file=service_account / "token",
    )


def from_files(files: Sequence[Path], *, context: str | None = None) -> Config:
    """Read the current (or given) context of some kubeconfig files; of equal names the first one counts."""
    merged: dict[str, dict[str, Any]] = {"clusters": {}, "users": {}, "contexts": {}}
    current = ""
    missing = []
    for file in files:
        if not file.exists():
            missing.append(str(file))
            continue
        content = _read(file)
        current = current or str(content.get("current-context") or "")
        for section, singular in (("clusters", "cluster"), ("users", "user"), ("contexts", "context")):
            for index, entry in enumerate(_list(file, content, section)):
                if not isinstance(entry, Mapping) or not isinstance(entry.get(singular) or {}, Mapping):
                    raise BadKubeconfig(f"{file}: {section}[{index}]: expected name and {singular}, found {entry!r}")
                value = dict(entry.get(singular) or {}, _file=file)
                merged[section].setdefault(str(entry.get("name")), value)
    if missing and len(missing) == len(files):
        raise BadKubeconfig(f"{', '.join(missing)}: no such file")
    named = context or current
    where = ", ".join(map(str, files))
    if not named:
        raise BadKubeconfig(f"{where}: no current-context; choose one of: {_names(merged['contexts'])}")
    chosen = _find(merged["contexts"], named, "context", where)
    cluster = _find(merged["clusters"], str(chosen.get("cluster")), "cluster", where)
    user = _find(merged["users"], str(chosen["user"]), "user", where) if chosen.get("user") else {"_file": files[0]}
    return _config(cluster, user, str(chosen.get("namespace") or "default"))


def _config(cluster: Mapping[str, Any], user: Mapping[str, Any], namespace: str) -> Config:
    server = str(cluster.get("server") or "")
    if not server.startswith(("http://", "https://")):
        raise BadKubeconfig(f"{cluster['_file']}: the cluster has no server, expected https://..., found {server!r}")
    if cluster.get("proxy-url"):
        LOGGER.warning("proxy-url is not supported and is ignored", extra=fields(file=str(cluster["_file"])))
    if user.get("auth-provider"):
        raise BadKubeconfig(f"{user['_file']}: auth-provider is no longer supported by Kubernetes; use an exec plugin")
    token_file = user.get("tokenFile")
    return Config(
        server.rstrip("/"),
        namespace=namespace,
        ca=_pem(cluster, "certificate-authority") or None,
        insecure=bool(cluster.get("insecure-skip-tls-verify")),
        tls_server_name=str(cluster.get("tls-server-name") or ""),
        token=str(user.get("token") or ""),
        token_file=_beside(user["_file"], token_file) if token_file else None,
        client_certificate=_pem(user, "client-certificate"),
        client_key=_pem(user, "client-key"),
        username=str(user.get("username") or ""),
        password=str(user.get("password") or ""),
        exec=_exec(cluster, user),
        impersonate=str(user.get("as") or ""),
    )


def _exec(cluster: Mapping[str, Any], user: Mapping[str, Any]) -> ExecPlugin | None:
    given = user.get("exec")
    if not given:
        return None
    if not isinstance(given, Mapping) or not given.get("command"):
        raise BadKubeconfig(f"{user['_file']}: exec: expected a command, found {given!r}")
    api_version = str(given.get("apiVersion") or "client.authentication.k8s.io/v1")
    if api_version not in ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"):
        raise BadKubeconfig(f"{user['_file']}: exec: apiVersion {api_version} is not supported")
    command = str(given["command"])
    if os.sep in command and not os.path.isabs(command):
        command = str(_beside(user["_file"], command))
    about = None
    if given.get("provideClusterInfo"):
        about = {name: value for name, value in cluster.items() if name != "_file"}
    return ExecPlugin(
        command,
        tuple(str(argument) for argument in given.get("args") or ()),
        tuple((str(variable["name"]), str(variable["value"])) for variable in given.get("env") or ()),
        api_version,
        str(given.get("installHint") or ""),
        about,
    )


def _pem(entry: Mapping[str, Any], name: str) -> str:
    """Return a certificate or a key: inline, which wins, or from a file."""
    data = entry.get(f"{name}-data")
    if data:
        try:
            return base64.b64decode(str(data), validate=True).decode()
        except (binascii.Error, UnicodeDecodeError) as error:
            raise BadKubeconfig(f"{entry['_file']}: {name}-data is not base64 of PEM: {error}") from None
    file = entry.get(name)
    if not file:
        return ""
    path = _beside(entry["_file"], file)
    try:
        return path.read_text()
    except OSError as error:
        raise BadKubeconfig(f"{entry['_file']}: {name}: {path}: {error.strerror}") from None


def _beside(kubeconfig: Path, path: Any) -> Path:
    """Resolve a path of a kubeconfig, which is relative to the kubeconfig."""
    return kubeconfig.parent / Path(str(path)).expanduser()


def _read(file: Path) -> Mapping[str, Any]:
    try:
        content = yaml.safe_load(file.read_text())
    except OSError as error:
        raise BadKubeconfig(f"{file}: {error.strerror}") from None
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise BadKubeconfig(not_yaml(file, error)) from None
    if not isinstance(content, Mapping):
        raise BadKubeconfig(f"{file}: expected a kubeconfig (kind: Config), found {type(content).__name__}")
    return content


def _list(file: Path, content: Mapping[str, Any], section: str) -> Sequence[Any]:
    entries = content.get(section) or []
    if not isinstance(entries, list):
        raise BadKubeconfig(f"{file}: {section}: expected a list, found {type(entries).__name__}")
    return entries


def _find(entries: Mapping[str, Any], name: str, what: str, where: str) -> dict[str, Any]:
    if name not in entries:
        raise BadKubeconfig(f"{where}: no {what} {name!r}; there are: {_names(entries)}")
    entry: dict[str, Any] = entries[name]
    return entry


def _names(entries: Mapping[str, Any]) -> str:
    return ", ".join(sorted(entries)) or "none"
