"""``kontend run FILE``: run the controllers of a Python file against a cluster.

The file either makes a :class:`~kontend.runtime.manager.process.Manager` and calls it ``manager``, or just defines
controllers: every subclass of ``Controller`` that it defines (not those it imports) and that can be made without
arguments is run.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from types import ModuleType
from urllib.parse import urlsplit

from kontend.kube.errors import ApiError
from kontend.runtime.client.kubeconfig import BadKubeconfig, Config, load
from kontend.runtime.controller import BadController, Controller
from kontend.runtime.guards import Guards
from kontend.runtime.manager.health import BadAddress
from kontend.runtime.manager.logs import FORMATS, LOGGER, configure
from kontend.runtime.manager.process import STATUS_ADDRESS, Manager
from kontend.runtime.user_file import BadFile, load_file


class WrongUse(Exception):
    """Something on the command line that cannot be; the message says the way out."""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="kontend run",
        description="Run the controllers of a Python file against a cluster, until Ctrl-C.",
        epilog="Without --server and --kubeconfig: $KUBECONFIG, the service account of the pod, or ~/.kube/config.",
    )
    add = parser.add_argument
    add("file", metavar="FILE", type=Path, help="a Python file with controllers, or with a Manager called manager")
    add("--kubeconfig", metavar="PATH", type=Path, help="which cluster, and as whom")
    add("--context", metavar="NAME", help="which context of the kubeconfig (default: the current one)")
    add("--server", metavar="URL", help="a server without credentials, such as http://127.0.0.1:6443")
    add("--leader-elect", metavar="LEASE", help="run only while holding this Lease")
    add(
        "--status-address",
        metavar="HOST:PORT",
        help="where to serve /healthz, /readyz and /metrics (default: 127.0.0.1:8080; 'off' does not)",
    )
    add("--log-format", choices=sorted(FORMATS), default="text", help="default: text")
    add(
        "--without-guard",
        metavar="NAME",
        action="append",
        default=[],
        choices=[each.name for each in fields(Guards)],
        help=f"switch a guard off (again for more): {', '.join(each.name for each in fields(Guards))}",
    )
    return parser


def run(argv: Sequence[str]) -> int:
    """Run ``kontend run`` until it is stopped, and return the exit code."""
    try:
        options = _parser().parse_args(list(argv))
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 2
    handler = configure(options.log_format)
    try:
        return _manager(options).run()
    except (WrongUse, BadFile, BadController) as error:
        return _say(str(error), 2)
    except (BadKubeconfig, BadAddress, ApiError) as error:
        return _say(str(error), 1)
    finally:
        LOGGER.removeHandler(handler)


def _say(message: str, code: int) -> int:
    sys.stderr.write(f"kontend run: {message}\n")
    return code


def _manager(options: argparse.Namespace) -> Manager:
    module = load_file(options.file)
    given = getattr(module, "manager", None)
    if isinstance(given, Manager):
        named = [
            name
            for name in ("leader_elect", "status_address", "without_guard")
            if getattr(options, name) not in (None, [])
        ]
        if named:
            option = "--" + named[0].replace("_", "-")
            raise WrongUse(f"{option}: {options.file} makes its own manager; say it there")
        if options.server or options.kubeconfig or options.context:
            given.config = _config(options)
        return given
    controllers = controllers_in(module)
    if not controllers:
        raise WrongUse(f"{options.file}: no controller: expected a class that extends kontend.Controller")
    return Manager(
        *controllers,
        config=_config(options),
        guards=replace(Guards(), **dict.fromkeys(options.without_guard, False)),
        leader_election=options.leader_elect,
        status_address={None: STATUS_ADDRESS, "off": None}.get(options.status_address, options.status_address),
    )


def _config(options: argparse.Namespace) -> Config:
    if options.server is None:
        return load(path=options.kubeconfig, context=options.context)
    if options.kubeconfig is not None or options.context is not None:
        raise WrongUse("--server and --kubeconfig or --context both say which cluster; choose one")
    parts = urlsplit(options.server)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise WrongUse(f"--server: expected a URL such as http://127.0.0.1:6443, found {options.server!r}")
    return Config(options.server.rstrip("/"))


def controllers_in(module: ModuleType) -> list[Controller]:
    """One of each controller class that a module defines."""
    found: list[Controller] = []
    for value in vars(module).values():
        if not isinstance(value, type) or not issubclass(value, Controller) or value.__module__ != module.__name__:
            continue
        if not value.kind:  # a base class of the file's own
            continue
        try:
            found.append(value())
        except TypeError as error:
            raise WrongUse(
                f"{value.__name__} cannot be made without arguments ({error}); "
                f"write manager = Manager({value.__name__}(...)) in the file"
            ) from None
    return found
