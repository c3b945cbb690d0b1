"""``kontend serve``: an API server for real clients, from the command line.

$ kontend serve --crds crds/ --objects seed.yaml
kontend: serving Kubernetes 1.35 semantics on http://127.0.0.1:6443
export KUBECONFIG=/tmp/kontend-x7/kontend.kubeconfig
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import errno
import gc
import ipaddress
import os
import secrets
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from kontend.cli.command import ExitCode, Parser, UsageError, usage_errors
from kontend.cli.serving import certificates as server_certificates
from kontend.cluster.admission.plugins import SERVICE_ACCOUNT
from kontend.cluster.settings import Settings
from kontend.cluster.startup import manifests
from kontend.cluster.startup.seed import empty_state
from kontend.cluster.state import State
from kontend.safe_files import write_private
from kontend.serve.credentials.identity import BadToken, Tokens
from kontend.serve.credentials.kubeconfig import kubeconfig
from kontend.serve.credentials.signing_key import LaterKey, signing_key
from kontend.serve.server import Server
from kontend.serve.storage.store import Store, StoreError
from kontend.serve.webhooks import BadService, parse_services

if TYPE_CHECKING:
    from kontend.serve.audit_log import AuditLog

_MANAGER = "kontend"
_MOST_NODES = 1000


def parser() -> Parser:
    """Return the parser of the options."""
    made = Parser(
        prog="kontend serve",
        description="Serve the Kubernetes 1.35 API from one process: for kubectl, for controllers, for tests.",
        examples={
            "custom resources, and the controllers of Kubernetes": "kontend serve --crds crds/ --controllers --pods",
            "for a test: a free port, HTTPS, RBAC": "kontend serve --port 0 --tls --rbac --kubeconfig kubeconfig",
            "durable": "kontend serve --data state/",
        },
        epilog="Stop it with Ctrl-C. Without --data and --snapshot nothing is kept.",
        topic="serve",
    )
    add = made.add_argument_group("objects").add_argument
    add(
        "--crds",
        action="append",
        default=[],
        metavar="PATH",
        type=Path,
        help="file or directory with custom resource definitions (repeatable)",
    )
    add(
        "--objects",
        action="append",
        default=[],
        metavar="PATH",
        type=Path,
        help="file or directory with objects to begin with (repeatable)",
    )
    add = made.add_argument_group("address").add_argument
    add("--address", default="127.0.0.1", help="where to listen (default: 127.0.0.1, this machine only)")
    add("--port", type=_port, default=6443, metavar="N", help="port (default: 6443; 0 picks a free one)")
    add(
        "--kubeconfig",
        metavar="FILE",
        type=Path,
        help="write the kubeconfig there (default: a new directory, removed at the end)",
    )
    add("--ready-fd", metavar="N", type=int, help="write the URL to this file descriptor when ready, and close it")
    add = made.add_argument_group("what is kept").add_argument
    add("--data", metavar="DIR", type=Path, help="keep everything there: what was acknowledged survives any crash")
    add("--recover", action="store_true", help="with --data: keep what can be read of a damaged directory")
    add(
        "--snapshot",
        metavar="FILE",
        type=Path,
        help="load the state from there if it exists, and save it there at the end",
    )
    add = made.add_argument_group("controllers and admission").add_argument
    add(
        "--controllers",
        action="store_true",
        help="run what kube-controller-manager runs: Deployments, Jobs, owners ...",
    )
    add(
        "--disable-admission-plugins",
        action="append",
        default=[],
        choices=[SERVICE_ACCOUNT],
        metavar="NAME",
        help="with --controllers: ServiceAccount leaves pods without an account and its token",
    )
    add("--pods", action="store_true", help="schedule pods and let them run; declares nodes if there are none")
    add("--nodes", type=int, metavar="N", help="with --pods: the number of nodes to declare (default: 1)")
    add(
        "--no-bootstrap",
        action="store_true",
        help="begin without the objects that kube-apiserver makes: default roles, the Service kubernetes ...",
    )
    add = made.add_argument_group("access").add_argument
    add("--read-only", action="store_true", help="refuse writes")
    add(
        "--token",
        action="append",
        default=[],
        metavar="NAME=SECRET",
        help="require bearer tokens; NAME is the user (repeatable)",
    )
    add(
        "--token-file",
        metavar="FILE",
        type=Path,
        help='users by bearer token, as kube-apiserver reads them: lines of token,user,uid,"group1,group2"',
    )
    add(
        "--client-ca",
        metavar="FILE",
        type=Path,
        help="know clients by certificates of this authority: common name and organizations (needs --tls)",
    )
    add(
        "--client-ca-key",
        metavar="FILE",
        type=Path,
        help="with --controllers: the key of --client-ca, which signs certificate signing requests that are approved",
    )
    add("--rbac", action="store_true", help="allow only what roles and bindings allow")
    add("--tls", action="store_true", help="serve HTTPS with a certificate of its own, which the kubeconfig trusts")
    add("--no-http2", action="store_true", help="with --tls: serve HTTP/1.1 only")
    add = made.add_argument_group("webhooks and records").add_argument
    add(
        "--service",
        action="append",
        default=[],
        metavar="NAMESPACE/NAME[:PORT]=URL",
        help="where a service is that webhook configurations refer to (repeatable)",
    )
    add("--audit-log", metavar="FILE", type=Path, help="append an audit log in the format of Kubernetes")
    add(
        "--audit-policy",
        metavar="FILE",
        type=Path,
        help="log what an audit.k8s.io/v1 Policy says (default: everything, at the level RequestResponse)",
    )
    return made


def _audit_log(options: argparse.Namespace) -> AuditLog | None:
    """Open the audit log that the options ask for."""
    log, policy = options.audit_log, options.audit_policy
    if log is None:
        if policy is not None:
            raise UsageError(f"--audit-policy {policy} needs --audit-log FILE, where the events go")
        return None
    from kontend.serve.audit_log import AuditLog
    from kontend.serve.audit_policy import BadPolicy, read_policy

    try:
        rules = read_policy(policy.read_bytes()) if policy is not None else None
    except OSError as error:
        raise UsageError(f"--audit-policy {policy}: {error.strerror}") from None
    except BadPolicy as error:
        raise UsageError(f"--audit-policy {policy}: {error}") from None
    try:
        return AuditLog(log, rules)
    except OSError as error:
        raise UsageError(f"--audit-log {log}: {error.strerror}") from None


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port: expected a number from 0 to 65535")
    return int(text)


def run(argv: Sequence[str]) -> int:
    """Run ``kontend serve`` until it is stopped, and return the exit code."""
    options = parser().parse_args(list(argv))
    with usage_errors(StoreError, manifests.BadManifest):
        tokens = _tokens(options)
        _check(options, tokens)
        return _serve(options, tokens)


def _tokens(options: argparse.Namespace) -> Tokens:
    try:
        tokens = Tokens.parse(options.token)
    except BadToken as error:
        raise UsageError(f"--token: {error}") from None
    if options.rbac and not tokens:
        # Somebody must be able to do anything; the secret is in the kubeconfig, which only its owner can read.
        tokens = Tokens([("admin", secrets.token_urlsafe(24))])
    if options.token_file:
        try:
            return tokens.with_file(options.token_file)
        except BadToken as error:
            raise UsageError(f"--token-file: {error}") from None
        except OSError as error:
            raise UsageError(f"--token-file {options.token_file}: {error.strerror}") from None
    return tokens


def _check(options: argparse.Namespace, tokens: Tokens) -> None:
    if options.recover and not options.data:
        raise UsageError("--recover needs --data: there is nothing to recover")
    if options.data and options.snapshot:
        raise UsageError("--data and --snapshot both say where the state is kept; choose one")
    if options.read_only and (options.controllers or options.pods):
        name = "--controllers" if options.controllers else "--pods"
        raise UsageError(f"--read-only and {name}: controllers write; choose one")
    if options.nodes is not None and not options.pods:
        raise UsageError("--nodes needs --pods: without it no pod is put on a node")
    if options.nodes is not None and not 1 <= options.nodes <= _MOST_NODES:
        raise UsageError(f"--nodes {options.nodes}: expected a number from 1 to {_MOST_NODES}")
    if options.snapshot and not os.access(options.snapshot.absolute().parent, os.W_OK):
        raise UsageError(f"--snapshot {options.snapshot}: nothing can be written there, so the state would be lost")
    if options.client_ca and not options.tls:
        raise UsageError("--client-ca needs --tls: certificates are shown when a TLS connection begins")
    if options.client_ca_key and not (options.client_ca and options.controllers):
        raise UsageError("--client-ca-key needs --client-ca and --controllers: the signing controller is one of them")
    if options.rbac and options.no_bootstrap:
        raise UsageError("--rbac and --no-bootstrap: without the default roles nobody may even ask who they are")
    if not _is_loopback(options.address) and not (tokens and options.tls):
        raise UsageError(
            f"refusing to listen on {options.address} without --token and --tls: whoever can reach it could do "
            "anything. Add --token NAME=SECRET --tls, or leave out --address to serve this machine only."
        )


def _is_loopback(address: str) -> bool:
    if address == "localhost":
        return True
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


def _serve(options: argparse.Namespace, tokens: Tokens) -> int:
    with contextlib.ExitStack() as cleanup:
        store = _open_store(options)
        if store is not None:
            cleanup.callback(store.close)
        state = _first_state(options, store)
        audit_log = _audit_log(options)
        try:
            services = parse_services(options.service)
        except BadService as error:
            raise UsageError(f"--service: {error}") from None
        server = Server(
            state,
            tokens=tokens,
            store=store,
            audit_log=audit_log,
            read_only=options.read_only,
            client_certificates=bool(options.client_ca),
            services=services,
        )
        _raise_file_limit()
        with _interpreter_for_a_server():
            asyncio.run(_until_stopped(server, options, tokens, cleanup))
        if options.snapshot:
            from kontend.serve.storage import snapshot

            try:
                snapshot.save(server.state, options.snapshot)
            except OSError as error:
                raise UsageError(
                    f"--snapshot {options.snapshot}: the state could not be saved: {error.strerror}"
                ) from None
    return ExitCode.OK


@contextlib.contextmanager
def _interpreter_for_a_server() -> Iterator[None]:
    """Set the interpreter's limits for a process that serves, and set them back afterwards."""
    recursion, switching, collecting = sys.getrecursionlimit(), sys.getswitchinterval(), gc.get_threshold()
    # Expressions may be deep, and threads share the limit: nobody should have to raise and lower it.
    sys.setrecursionlimit(max(recursion, 10_000))
    # The loop waits this long at most, each time, for a thread that carries out a costly request.
    sys.setswitchinterval(0.0005)
    # Next to nothing that exists now will ever be garbage; what comes later mostly dies young.
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)
    try:
        yield
    finally:
        gc.set_threshold(*collecting)
        gc.unfreeze()
        sys.setswitchinterval(switching)
        sys.setrecursionlimit(recursion)


def _open_store(options: argparse.Namespace) -> Store | None:
    if not options.data:
        return None
    if not options.recover:
        return Store(options.data)
    from kontend.serve.storage.recovery import recover

    recovered = recover(options.data)
    for line in recovered.report:
        sys.stderr.write(f"kontend serve: --recover: {line}\n")
    return recovered.store


def _first_state(options: argparse.Namespace, store: Store | None) -> State:
    """Return the initial state: what was kept, and what the files add to it."""
    kept = store.load() if store is not None else None
    if options.snapshot and options.snapshot.exists():
        from kontend.serve.storage import snapshot

        try:
            kept = snapshot.load(options.snapshot)
        except snapshot.BadSnapshot as error:
            raise UsageError(str(error)) from None
    now = int(time.time())
    state = empty_state(now) if kept is None else kept.replace(now=max(kept.now, now))
    definitions = manifests.read_definitions(options.crds)
    state, _ = manifests.store_all(state, [*definitions, *manifests.read(options.objects)], manager=_MANAGER)
    if store is not None and (kept is None or state.resource_version > kept.resource_version):
        store.save(kept, state)
    return state


async def _until_stopped(
    server: Server, options: argparse.Namespace, tokens: Tokens, cleanup: contextlib.ExitStack
) -> None:
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    certificates = server_certificates.of_server(options)
    try:
        tls = server_certificates.context(options, certificates) if certificates else None
        await server.start(options.address, options.port, tls=tls)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise UsageError(f"port {options.port} is taken; --port 0 picks a free one") from None
        raise UsageError(f"cannot listen on {options.address} port {options.port}: {error.strerror or error}") from None
    url = _url(options.address, server.port, secure=options.tls)
    _configure(server, options, tokens, url)
    if not options.no_bootstrap:
        _bootstrap(server, options.address, server_certificates.client_ca(options))
        await server.saved()
    try:
        path = _kubeconfig_path(options, cleanup)
        try:
            content = kubeconfig(url, secrets=tokens.secrets(), ca=certificates.ca if certificates else None)
            write_private(path, content)
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT) or options.kubeconfig or not options.data:
                raise UsageError(f"--kubeconfig {path}: {error.strerror}") from None
            # On a full disk objects must still be deleted, for which somebody has to connect.
            path = _temporary_kubeconfig(cleanup)
            write_private(path, content)
        if options.controllers or options.pods or options.rbac:
            from kontend.cli.serving.controllers import Inside

            authority = certificates.ca.decode() if certificates else ""
            signing = server_certificates.signing_authority(options, certificates)
            parts = {"built_in": options.controllers, "pods": options.pods, "nodes": options.nodes or 1}
            Inside(server, **parts, authority=authority, signing=signing).start()
        sys.stdout.write(f"kontend: serving Kubernetes 1.35 semantics on {url}\nexport KUBECONFIG={path}\n")
        sys.stdout.flush()
        if options.ready_fd is not None:
            _tell_ready(options.ready_fd, url)
        await stopped.wait()
    finally:
        await server.stop()


def _configure(server: Server, options: argparse.Namespace, tokens: Tokens, url: str) -> None:
    """Tell the API server what the command line says."""
    signer = LaterKey(partial(signing_key, Path(options.data, "tls") if options.data else None))
    plugins = {SERVICE_ACCOUNT} if options.controllers else set()
    settings = Settings(
        rbac=options.rbac,
        signer=signer,
        tokens=tokens.users,
        url=url,
        plugins=frozenset(plugins - set(options.disable_admission_plugins)),
    )
    cluster = server.cluster
    cluster.state = cluster.state.replace(settings=settings)


def _bootstrap(server: Server, address: str, client_ca: str) -> None:
    """Add what a new cluster has, when the port is known and before the first request is read."""
    from kontend.cluster.startup.bootstrap import bootstrap

    reachable = {"address": address} if _is_address(address) and not _is_loopback(address) else {}
    cluster = server.cluster
    cluster.state = bootstrap(cluster.state, port=server.port, client_ca=client_ca, **reachable)


def _is_address(text: str) -> bool:
    try:
        return not ipaddress.ip_address(text).is_unspecified
    except ValueError:
        return False


def _url(address: str, port: int, *, secure: bool) -> str:
    host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(address, f"[{address}]" if ":" in address else address)
    return f"{'https' if secure else 'http'}://{host}:{port}"


def _kubeconfig_path(options: argparse.Namespace, cleanup: contextlib.ExitStack) -> Path:
    if options.kubeconfig:
        return Path(options.kubeconfig).absolute()
    if options.data:
        return Path(options.data, "kontend.kubeconfig").absolute()
    return _temporary_kubeconfig(cleanup)


def _temporary_kubeconfig(cleanup: contextlib.ExitStack) -> Path:
    directory = tempfile.mkdtemp(prefix="kontend-")
    cleanup.callback(shutil.rmtree, directory, ignore_errors=True)
    return Path(directory, "kontend.kubeconfig")


def _tell_ready(descriptor: int, url: str) -> None:
    try:
        os.write(descriptor, f"{url}\n".encode())
        os.close(descriptor)
    except OSError as error:
        raise UsageError(f"--ready-fd {descriptor}: {error.strerror}") from None


def _raise_file_limit() -> None:
    """A connection is a file: allow as many as the system lets us."""
    try:
        import resource
    except ImportError:  # not on this system, which then has no such limit
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
