"""The stand-in for kube-apiserver: our API server, with its flags."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kontend.cluster.admission.plugins import SERVICE_ACCOUNT
from kontend.cluster.settings import ISSUER, Settings, Signer
from kontend.cluster.startup.bootstrap import bootstrap
from kontend.cluster.startup.seed import empty_state
from kontend.live.envtest.flags import BadFlags, Flags
from kontend.serve.credentials.identity import Tokens
from kontend.serve.credentials.signing_key import LaterKey, RsaKey, signing_key
from kontend.serve.credentials.tls import Certificates
from kontend.serve.server import Server

if TYPE_CHECKING:
    from kontend.live.envtest.noise import NoiseGate

#: Seconds between two looks at the process that started this one.
_LOOK: Final = 1.0


async def serve(flags: Flags, gate: NoiseGate | None) -> None:
    """Serve the Kubernetes API until SIGTERM, SIGINT or the end of the parent."""
    stopped = _stopped(int(os.environ.get("KONTEND_PARENT") or os.getppid()))
    address, port = flags.text("bind-address", "127.0.0.1"), flags.port("secure-port")
    client_ca = flags.file("client-ca-file").decode()
    tokens = Tokens()
    if flags.text("token-auth-file"):
        tokens = tokens.with_file(Path(flags.text("token-auth-file")))
    state = empty_state(int(time.time()))
    server = Server(state, tokens=tokens, client_certificates=bool(client_ca), gate=gate)
    if gate is not None:
        gate.attach(server)
    await server.start(address, port, tls=_certificates(flags).context(client_ca))
    if flags.port("insecure-port"):
        await server.listen(flags.text("insecure-bind-address", "127.0.0.1"), flags.port("insecure-port"))
    url = f"https://{address}:{server.port}"
    disabled = set(flags.parts("disable-admission-plugins"))
    settings = Settings(
        rbac="RBAC" in flags.parts("authorization-mode"),
        signer=_signer(flags),
        issuer=flags.text("service-account-issuer") or ISSUER,
        tokens=tokens.users,
        url=url,
        plugins=frozenset({SERVICE_ACCOUNT} - disabled),
    )
    cluster = server.cluster
    cluster.state = bootstrap(cluster.state.replace(settings=settings), port=server.port, client_ca=client_ca)
    await stopped.wait()
    await server.stop()


def _certificates(flags: Flags) -> Certificates:
    directory = flags.text("cert-dir", "/var/run/kubernetes")
    certificate = flags.text("tls-cert-file") or f"{directory}/apiserver.crt"
    key = flags.text("tls-private-key-file") or f"{directory}/apiserver.key"
    try:
        return Certificates(b"", Path(certificate).read_bytes(), Path(key).read_bytes())
    except OSError as error:
        raise BadFlags(f"{error.filename}: {error.strerror}; envtest writes it before it starts the server") from None


def _signer(flags: Flags) -> Signer:
    """The key of service accounts: the given one if it is an RSA key, else (envtest brings an ECDSA key) our own."""
    pem = flags.file("service-account-signing-key-file")

    def make() -> Signer:
        try:
            key = RsaKey(pem)
            key.sign(b"")
        except (ImportError, ValueError, TypeError):
            return signing_key()
        return key

    return LaterKey(make)


def _stopped(parent: int) -> asyncio.Event:
    """Return an event that a signal sets, from the first moment on, or the end of the parent.

    Not every suite stops what it has started, and one that panics or is killed cannot.
    """
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)

    def look() -> None:
        if os.getppid() != parent:
            stopped.set()
        else:
            loop.call_later(_LOOK, look)

    look()
    return stopped
