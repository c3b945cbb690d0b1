"""``kontend run FILE``: run the controllers of a Python file or package against a cluster.

The file either makes a :class:`~kontend.runtime.manager.process.Manager` and calls it ``manager``, or just defines
controllers: every subclass of ``Controller`` that it defines (not those it imports) is run. A directory is a package:
its ``__init__.py`` imports the controllers from its modules.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from urllib.parse import urlsplit

from kontend.cli.command import ExitCode, Parser, UsageError, usage_errors
from kontend.kube.errors import ApiError
from kontend.runtime.client.kubeconfig import BadKubeconfig, Config, load
from kontend.runtime.controller import BadController
from kontend.runtime.guards import Guards
from kontend.runtime.manager.health import BadAddress
from kontend.runtime.manager.process import STATUS_ADDRESS, Manager
from kontend.runtime.telemetry.logs import FORMATS, LOGGER, configure
from kontend.runtime.user_file import BadFile, controllers_in, load_file


def parser() -> Parser:
    """Return the parser of the options."""
    made = Parser(
        prog="kontend run",
        description="Run the controllers of a Python file or package against a cluster, until Ctrl-C.",
        examples={
            "against the cluster of the current context": "kontend run operator.py",
            "against kontend serve": "kontend run operator.py --server http://127.0.0.1:6443",
            "one replica of several": "kontend run operator.py --leader-elect my-operator",
        },
        topic="runtime",
        epilog="Without --server and --kubeconfig: $KUBECONFIG, the service account of the pod, or ~/.kube/config.",
    )
    add = made.add_argument
    add(
        "file",
        metavar="FILE",
        type=Path,
        help="a Python file with controllers, or with a Manager called manager; or a directory that is such a package",
    )
    add("--kubeconfig", metavar="PATH", type=Path, help="kubeconfig of the cluster")
    add("--context", metavar="NAME", help="context of the kubeconfig (default: the current one)")
    add("--server", metavar="URL", help="URL of a server that needs no credentials, such as http://127.0.0.1:6443")
    add("--leader-elect", metavar="LEASE", help="run only while holding the Lease of this name")
    add(
        "--status-address",
        metavar="HOST:PORT",
        help="address of /healthz, /readyz and /metrics (default: 127.0.0.1:8080; 'off' disables it)",
    )
    add("--log-format", choices=sorted(FORMATS), default="text", help="log format (default: text)")
    add(
        "--without-guard",
        metavar="NAME",
        action="append",
        default=[],
        choices=[guard.name for guard in fields(Guards)],
        help=f"switch a guard off (repeatable): {', '.join(guard.name for guard in fields(Guards))}",
    )
    return made


def run(argv: Sequence[str]) -> int:
    """Run ``kontend run`` until it is stopped."""
    options = parser().parse_args(list(argv))
    handler = configure(options.log_format)
    try:
        with usage_errors(BadFile, BadController, BadKubeconfig, BadAddress, ApiError):
            return ExitCode.OK if _manager(options).run() == 0 else ExitCode.ERROR
    finally:
        LOGGER.removeHandler(handler)


def _manager(options: Namespace) -> Manager:
    module = load_file(options.file)
    given = getattr(module, "manager", None)
    if isinstance(given, Manager):
        ignored = [
            name
            for name in ("leader_elect", "status_address", "without_guard")
            if getattr(options, name) not in (None, [])
        ]
        if ignored:
            option = "--" + ignored[0].replace("_", "-")
            raise UsageError(f"{option}: {options.file} makes its own manager; set it there")
        if options.server or options.kubeconfig or options.context:
            given.config = _config(options)
        return given
    controllers = controllers_in(module, otherwise="construct it in the file and write manager = Manager(...)")
    if not controllers:
        raise UsageError(f"{options.file}: it defines no controller: expected a class that extends kontend.Controller")
    return Manager(
        *controllers,
        config=_config(options),
        guards=replace(Guards(), **dict.fromkeys(options.without_guard, False)),
        leader_election=options.leader_elect,
        status_address={None: STATUS_ADDRESS, "off": None}.get(options.status_address, options.status_address),
    )


def _config(options: Namespace) -> Config:
    if options.server is None:
        return load(path=options.kubeconfig, context=options.context)
    if options.kubeconfig is not None or options.context is not None:
        raise UsageError("--server and --kubeconfig or --context both name a cluster; choose one")
    parts = urlsplit(options.server)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"--server: expected a URL such as http://127.0.0.1:6443, found {options.server!r}")
    return Config(options.server.rstrip("/"))
