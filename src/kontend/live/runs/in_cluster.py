"""A command that believes that it runs in a pod: its objects, the files of its service account, its environment.

Client libraries read the namespace from a file, and the address of the server from the environment; they insist on TLS
then, so each instance gets one more port of the server, with a certificate that the files vouch for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from kontend.safe_files import write_private
from kontend.serve.credentials.tls import Certificates, certificates

#: The service account of the pods, and the label that they carry.
ACCOUNT: Final = "operator"
_IMAGE: Final = "kontend.invalid/operator"


@dataclass(frozen=True, slots=True)
class InCluster:
    """The pods of the instances: their namespace, and the certificates of the server that they see."""

    namespace: str = "default"
    certificates: Certificates = field(default_factory=lambda: certificates("127.0.0.1"))

    def objects(self, names: tuple[str, ...]) -> Iterator[dict[str, Any]]:
        """Objects that are there before the command starts: its namespace, service account and pods."""
        meta = {"namespace": self.namespace, "labels": {"name": ACCOUNT}}
        yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace}}
        yield {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {**meta, "name": ACCOUNT}}
        for name in names:
            containers = [{"name": ACCOUNT, "image": _IMAGE}]
            ready = {"type": "Ready", "status": "True"}
            yield {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {**meta, "name": name},
                "spec": {"serviceAccountName": ACCOUNT, "containers": containers, "nodeName": "node-1"},
                "status": {"phase": "Running", "podIP": "127.0.0.1", "conditions": [ready]},
            }

    def environment(self, name: str, port: int) -> dict[str, str]:
        """Return what a pod's environment has, for an instance that uses a port of the server."""
        return {
            "KUBERNETES_SERVICE_HOST": "127.0.0.1",
            "KUBERNETES_SERVICE_PORT": str(port),
            "KUBERNETES_SERVICE_PORT_HTTPS": str(port),
            "POD_NAME": name,
            "POD_NAMESPACE": self.namespace,
            "POD_IP": "127.0.0.1",
            "NODE_NAME": "node-1",
            "HOSTNAME": name,
        }

    def write_files(self, files: Path) -> None:
        """Write the files of the service account to a directory."""
        files.mkdir(parents=True)
        write_private(files / "token", "kontend")
        write_private(files / "namespace", self.namespace)
        write_private(files / "ca.crt", self.certificates.ca.decode())
