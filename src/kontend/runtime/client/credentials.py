"""Current credentials: tokens from files and from exec plugins are renewed, certificates become a TLS context."""

from __future__ import annotations

import base64
import contextlib
import os
import ssl
import subprocess
import tempfile
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import orjson

from kontend.runtime.client.kubeconfig import BadKubeconfig, Config, ExecPlugin

#: The seconds after which token files are read again: a projected token is replaced well before it expires.
_REREAD: Final = 60.0


class Credentials:
    """The headers and certificates to send, renewed when they are old or were refused."""

    def __init__(self, config: Config, *, clock: Callable[[], float] = time.time) -> None:
        self.config = config
        self._clock = clock
        self._token = ""
        self._until = 0.0
        #: The certificate and the key that an exec plugin gave.
        self.pair: tuple[str, str] | None = None

    def headers(self) -> dict[str, str]:
        """Return the headers that authenticate a request."""
        config = self.config
        headers = {"Impersonate-User": config.impersonate} if config.impersonate else {}
        if config.exec is not None or config.token_file is not None:
            self._renew()
        token = self._token or config.token
        if token:
            headers["Authorization"] = f"Bearer {token}"
        elif config.username:
            pair = base64.b64encode(f"{config.username}:{config.password}".encode()).decode()
            headers["Authorization"] = f"Basic {pair}"
        return headers

    def expire(self) -> bool:
        """Renew the credentials before the next request, after a 401. Returns False if they cannot change."""
        self._until = 0.0
        return self.config.exec is not None or self.config.token_file is not None

    def _renew(self) -> None:
        now = self._clock()
        if now < self._until:
            return
        if self.config.token_file is not None:
            try:
                self._token = self.config.token_file.read_text().strip()
            except OSError as error:
                raise BadKubeconfig(f"{self.config.token_file}: {error.strerror}") from None
            self._until = now + _REREAD
        elif self.config.exec is not None:
            status = run_plugin(self.config.exec)
            self._token = str(status.get("token") or "")
            certificate, key = status.get("clientCertificateData"), status.get("clientKeyData")
            pair = (str(certificate), str(key)) if certificate and key else None
            self.pair = pair if pair != self.pair else self.pair  # the same object as long as it is the same
            self._until = _expiry(status)

    def tls(self) -> ssl.SSLContext | None:
        """Return the TLS context: how to verify the server, and the client certificate. None without TLS."""
        config = self.config
        if not config.server.startswith("https://"):
            return None
        if config.exec is not None:
            self._renew()
        try:
            context = ssl.create_default_context(cadata=config.ca)
        except ssl.SSLError as error:
            raise BadKubeconfig(f"the certificate authority of {config.server} is not PEM: {error}") from None
        if config.insecure:
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        pair = self.pair or (config.client_certificate, config.client_key)
        if pair[0]:
            _load_pair(context, *pair)
        return context


def _load_pair(context: ssl.SSLContext, certificate: str, key: str) -> None:
    """Load a client certificate. Python's ssl reads files only: write a private one, and remove it at once."""
    descriptor, name = tempfile.mkstemp(prefix="kontend-", suffix=".pem")
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(f"{certificate}\n{key}\n")
        context.load_cert_chain(name)
    except ssl.SSLError as error:
        raise BadKubeconfig(f"the client certificate and its key do not fit or are not PEM: {error}") from None
    finally:
        with contextlib.suppress(OSError):
            Path(name).unlink()


def run_plugin(plugin: ExecPlugin) -> dict[str, Any]:
    """Run an exec plugin and return the ``status`` of the ExecCredential it prints."""
    spec: dict[str, Any] = {"interactive": False}
    if plugin.cluster is not None:
        spec["cluster"] = plugin.cluster
    info = {"apiVersion": plugin.api_version, "kind": "ExecCredential", "spec": spec}
    env = {**os.environ, **dict(plugin.env), "KUBERNETES_EXEC_INFO": orjson.dumps(info).decode()}
    try:
        ran = subprocess.run([plugin.command, *plugin.args], env=env, capture_output=True, timeout=60, check=False)
    except FileNotFoundError:
        hint = f". {plugin.install_hint.strip()}" if plugin.install_hint else ""
        raise BadKubeconfig(f"exec plugin {plugin.command}: not found{hint}") from None
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BadKubeconfig(f"exec plugin {plugin.command}: {error}") from None
    if ran.returncode != 0:
        said = ran.stderr.decode(errors="replace").strip()
        raise BadKubeconfig(f"exec plugin {plugin.command} failed with exit code {ran.returncode}: {said}")
    try:
        credential = orjson.loads(ran.stdout)
        status = credential["status"]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        raise BadKubeconfig(f"exec plugin {plugin.command} printed no ExecCredential with a status") from None
    if not isinstance(status, dict):
        raise BadKubeconfig(f"exec plugin {plugin.command}: status: expected an object, found {status!r}")
    return status


def _expiry(status: dict[str, Any]) -> float:
    text = status.get("expirationTimestamp")
    if not text:
        return float("inf")
    try:
        return datetime.fromisoformat(str(text).replace("Z", "+00:00")).timestamp()
    except ValueError:
        return 0.0
