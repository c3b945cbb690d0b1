"""Webhooks of the command: certificates where it looks for them, and calls that reach the process.

In a cluster a Service leads to the webhook server of the operator, cert-manager or the operator itself makes a
certificate for the name of that Service, and the kubelet shows it as files. Here every Service that a webhook
configuration names leads to the port of the current process; the files have a certificate for these names, and
configurations that trust nobody yet trust its authority. An operator that makes its certificate itself keeps it in a
Secret: the files follow that, as those of a mounted Secret do. It is known by the names that its certificate is for.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from kontend.cluster.admission.configurations import MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS
from kontend.cluster.startup.manifests import Manifest
from kontend.cluster.state import State
from kontend.live.process.command import places_in
from kontend.safe_files import write_private
from kontend.serve.credentials.tls import Certificates, certificates

#: Where controller-runtime looks for the certificate of its webhook server, unless it is told otherwise.
DEFAULT_DIRECTORY: Final = "/tmp/k8s-webhook-server/serving-certs"
#: In the command: the directory with the certificate.
CERTS: Final = "{certs}"

_DEFINITIONS: Final = "customresourcedefinitions.apiextensions.k8s.io"
SECRETS: Final = "secrets"
_CERTIFICATE: Final = "tls.crt"
_KEY: Final = "tls.key"

Content = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Webhooks:
    """The webhook server of each instance: its port, which may be a place such as ``{port3}``, and certificates."""

    port: str
    certificates: Certificates

    @classmethod
    def made_for(cls, port: str, objects: Iterable[Content]) -> Webhooks:
        """Make certificates for the Services that some objects name."""
        return cls(port, certificates("127.0.0.1", names=sorted(set(_host_names(objects)))))

    @property
    def has_fixed_port(self) -> bool:
        """Return whether every process uses the same port."""
        return not places_in(self.port)

    def trusted(self, manifest: Manifest) -> Manifest:
        """Return an object whose webhooks trust the certificates, if they trust nobody yet."""
        bundle = b64encode(self.certificates.ca).decode()
        return Manifest(_with_bundle(manifest.obj, bundle), manifest.source)

    def write_files(self, state: State, directory: Path) -> None:
        """Write the files that the process sees: of the Secret with its certificate, or else the generated ones."""
        directory.mkdir(parents=True, exist_ok=True)
        own = self.certificates
        files = {"ca.crt": own.ca, _CERTIFICATE: own.certificate, _KEY: own.key}
        files = _secret_for(state, set(_host_names(_configurations(state)))) or files
        for name in sorted(files, key=lambda name: name == _CERTIFICATE):  # the key is there before its certificate
            path = directory / name
            if not path.exists() or path.read_bytes() != files[name]:
                write_private(path, files[name])


def without_webhooks(state: State) -> State:
    """Return a state in which nobody is asked about writes: no process is there that could answer."""
    return state.replace(kinds=state.kinds.discard(MUTATING_WEBHOOKS).discard(VALIDATING_WEBHOOKS))


def _configurations(state: State) -> Iterator[Content]:
    for resource in (MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS, _DEFINITIONS):
        for version in state.objects(resource).values():
            yield version.content()


def _client_configs(obj: Content) -> Iterator[Content]:
    """Yield the client configurations of an object: a webhook configuration, or a definition with conversions."""
    hooks = [*(obj.get("webhooks") or ())]
    hooks.append(((obj.get("spec") or {}).get("conversion") or {}).get("webhook"))
    yield from (hook["clientConfig"] for hook in hooks if isinstance(hook, Mapping) and hook.get("clientConfig"))


def _host_names(objects: Iterable[Content]) -> Iterator[str]:
    for obj in objects:
        for config in _client_configs(obj):
            service = config.get("service")
            if service:
                yield f"{service.get('name')}.{service.get('namespace')}.svc"


def _with_bundle(obj: Content, bundle: str) -> Content:
    if not any(True for _ in _client_configs(obj)):
        return obj
    if obj.get("webhooks"):
        return {**obj, "webhooks": [_trusting(hook, bundle) for hook in obj["webhooks"]]}
    spec = obj["spec"]
    conversion = spec["conversion"]
    return {**obj, "spec": {**spec, "conversion": {**conversion, "webhook": _trusting(conversion["webhook"], bundle)}}}


def _trusting(hook: Content, bundle: str) -> Content:
    config = hook.get("clientConfig") or {}
    if not config.get("service") or _decoded(config.get("caBundle")).strip():
        return hook  # scaffolds have an empty line where the authority is to be
    return {**hook, "clientConfig": {**config, "caBundle": bundle}}


def _secret_for(state: State, names: set[str]) -> dict[str, bytes]:
    """Return the files of the Secret whose certificate is for one of some names; empty if there is none."""
    for version in state.objects(SECRETS).values():
        data = version.content().get("data") or {}
        files = {name: _decoded(value) for name, value in data.items()}
        if files.get(_KEY) and names & _names_of(files.get(_CERTIFICATE, b"")):
            return files
    return {}


def _names_of(certificate: bytes) -> set[str]:
    """Return the names that a certificate is for; empty if it is none."""
    from cryptography import x509

    try:
        made = x509.load_pem_x509_certificate(certificate)
        extension = made.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except (ValueError, x509.ExtensionNotFound):
        return set()
    return set(extension.value.get_values_for_type(x509.DNSName))


def _decoded(text: object) -> bytes:
    try:
        return b64decode(text) if isinstance(text, str) else b""
    except NotBase64:
        return b""
