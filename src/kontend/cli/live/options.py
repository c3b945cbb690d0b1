"""The options of ``kontend live`` and the setting that they describe."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from argparse import ArgumentTypeError, BooleanOptionalAction, Namespace
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from kontend.cli.command import Parser, UsageError, at_least
from kontend.cluster.startup import manifests
from kontend.cluster.startup.manifests import BadManifest, Manifest
from kontend.cluster.startup.seed import empty_state
from kontend.explore.problems import BadScenario
from kontend.explore.properties.expressions import property_of
from kontend.explore.properties.property import Property
from kontend.kube.encoding.json_text import MalformedYAML, parse_yaml
from kontend.live.baseline import Unusable
from kontend.live.gate.plan import BadPlan
from kontend.live.pods.answers import BadAnswers, read_answers
from kontend.live.process.command import Command, places_in
from kontend.live.process.process import CannotStart
from kontend.live.process.quiescence import Patience
from kontend.live.process.ready import BadReady, parse_ready
from kontend.live.properties.masking import FIRST_VERSION
from kontend.live.runs.in_cluster import InCluster
from kontend.live.runs.setting import PRIMARY, SECOND, InsideCluster, Setting
from kontend.live.runs.webhooks import CERTS, DEFAULT_DIRECTORY, Webhooks
from kontend.live.runs.workload import BadWorkload, Workload, read_actions
from kontend.runtime.user_file import BadFile, load_file
from kontend.serve.credentials.tls import Certificates, TlsUnavailable, certificates
from kontend.serve.server import Server

Result = TypeVar("Result")
#: Errors that are the user's.
ERRORS = (BadAnswers, BadFile, BadManifest, BadPlan, BadScenario, BadReady, BadWorkload, CannotStart, Unusable)


def parser() -> Parser:
    """Return the parser of the options before ``--``."""
    made = Parser(
        prog="kontend live",
        usage="kontend live [options] -- COMMAND [ARGUMENT ...] [-- COMMAND ...]",
        description="Explore an unmodified controller: run it against a gated API server, derive plans from what it "
        "does, and carry them out: crashes, lost responses, failures, stale caches, concurrent users, hand-overs.",
        examples={
            "every plan for a Go operator": "kontend live --crds config/crd --objects sample.yaml -- ./bin/manager",
            "what would be tried": "kontend live --list-plans --crds crd.yaml -- kopf run operator.py",
            "ten minutes, four runs at a time": "kontend live --seconds 600 --jobs 4 --crds crd.yaml -- ./bin/manager",
        },
        epilog="Exit codes: 0 no violation, 1 violations, 2 usage error, 3 not all plans were carried out.",
        topic="live",
    )
    add = made.add_argument_group("the cluster").add_argument
    paths: dict[str, Any] = {"action": "append", "default": [], "metavar": "PATH", "type": Path}
    add("--crds", **paths, help="file or directory with custom resource definitions (repeatable)")
    add("--objects", **paths, help="file or directory with objects to begin with (repeatable)")
    add("--actions", type=Path, metavar="FILE", help="YAML file with the steps of a user, taken one after the other")
    add(
        "--workload",
        type=Path,
        metavar="FILE",
        help="without --actions steps are derived from the definitions and samples; write them to this file (default: "
        "workload.yaml in --failures)",
    )
    add(
        "--properties",
        **paths,
        help="file with properties, in Python (always, never, eventually, sometimes) or in CEL (YAML; repeatable)",
    )
    add(
        "--controllers",
        action="store_true",
        help="run what kube-controller-manager runs: Deployments, Jobs ... (without: only garbage collection)",
    )
    add(
        "--pods",
        action="store_true",
        help="schedule pods and let them run; those of Jobs end with 0; claims get volumes (with --controllers)",
    )
    add = made.add_argument_group("plans").add_argument
    add("--list-plans", action="store_true", help="run the baseline, print the plans and stop")
    add("--only", default="", metavar="TEXT", help="carry out only plans whose name contains this text")
    add("--plan", action="append", default=[], type=Path, metavar="FILE", help="carry out this plan (repeatable)")
    add(
        "--seconds",
        type=at_least(1),
        default=0,
        metavar="N",
        help="end the whole command after N seconds; the verdict is what is known by then (default: no limit)",
    )
    add(
        "--pairs",
        action=BooleanOptionalAction,
        help="after single perturbations, pairs of them (default: if --seconds leave time for them)",
    )
    add = made.add_argument_group("runs").add_argument
    add(
        "--jobs",
        type=at_least(1),
        default=0,
        metavar="N",
        help="number of runs at the same time (default: as many as the processors have room for)",
    )
    add("--patience", type=_seconds, default=1.0, metavar="S", help="silence that ends the first run (default: 1)")
    add("--limit", type=_seconds, default=20.0, metavar="S", help="give up waiting for silence (default: 20)")
    add("--observe", type=_seconds, default=3.0, metavar="S", help="watch the idle process for timers (default: 3)")
    add(
        "--heal",
        type=_seconds,
        default=65.0,
        metavar="S",
        help="wait for the process to repair a wrong final state by itself: then it is no violation (default: 65)",
    )
    add = made.add_argument_group("the command").add_argument
    add("--ready", metavar="URL|REGEX", help="ready when this URL answers, or the output matches (default: when idle)")
    add(
        "--in-cluster",
        nargs="?",
        const="default",
        metavar="NAMESPACE",
        help="let the command believe that it runs in a pod (of this namespace; default: default): the files of its "
        "service account, KUBERNETES_SERVICE_HOST, POD_NAME, POD_NAMESPACE, and its Pod object",
    )
    add(
        "--webhooks",
        nargs="?",
        const="9443",
        metavar="PORT",
        type=_webhook_port,
        help="the command serves webhooks on this port (default: 9443; or {port3}, if it can be set): a certificate "
        f"is made, shown at {DEFAULT_DIRECTORY} or where {CERTS} is in the command, and trusted by the webhook "
        "configurations of --objects and --crds",
    )
    add("--tls", action="store_true", help="KUBECONFIG names a TLS port of the server, for clients that insist on it")
    add(
        "--pod-exec",
        type=Path,
        metavar="FILE",
        help="YAML file with the answers of pods to exec, logs and port-forward (without: nothing runs in pods)",
    )
    add("--env", action="append", default=[], metavar="NAME=VALUE", help="environment of the command (repeatable)")
    add("--directory", type=Path, default=Path(), metavar="DIR", help="its working directory (default: this one)")
    add = made.add_argument_group("output").add_argument
    add(
        "--failures",
        type=Path,
        default=Path("failures"),
        metavar="DIR",
        help="directory for traces (default: failures)",
    )
    add("--output-format", choices=("text", "json"), default="text", help="output format (default: text)")
    return made


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1e6:
        raise ArgumentTypeError(f"expected a number of seconds above 0, such as 2.5; found {text!r}")
    return value


def _webhook_port(text: str) -> str:
    if not text.isdecimal() and places_in(text) != {text}:
        raise ArgumentTypeError(f"expected a port such as 9443 or {{port3}}; found {text!r}")
    return text


def setting_of(options: Namespace, command: Sequence[str], beside: Sequence[Sequence[str]] = ()) -> Setting:
    """Return the setting of a command line; ``beside`` are the commands that run beside the one that is perturbed."""
    definitions, objects = manifests.read_definitions(options.crds), manifests.read(options.objects)
    webhooks = None
    if options.webhooks is not None:
        with _certificates_for("--webhooks"):
            webhooks = Webhooks.made_for(options.webhooks, [each.obj for each in (*definitions, *objects)])
        definitions, objects = [*map(webhooks.trusted, definitions)], [*map(webhooks.trusted, objects)]
    state = empty_state(int(time.time()))
    state, _ = manifests.store_all(state, definitions, manager="kontend")
    state, _ = manifests.store_all(state, objects, manager="user")
    in_cluster = _in_cluster(options.in_cluster)
    if in_cluster is not None:
        pods = [Manifest(obj, "--in-cluster") for obj in in_cluster.objects((PRIMARY, SECOND))]
        state, _ = manifests.store_all(state, pods, manager="kontend")
    # As on a cluster that has been used: a version in a label is no small number then.
    state = state.replace(resource_version=max(state.resource_version, FIRST_VERSION))
    actions = read_actions(options.actions) if options.actions else ()
    directory = options.directory.resolve()
    if not directory.is_dir():
        raise UsageError(f"--directory {options.directory}: not a directory")
    environment = {}
    for text in options.env:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise UsageError(f"--env {text}: expected NAME=VALUE")
        environment[name] = value
    made, *companions = (Command(_found(each), directory, environment) for each in (command, *beside))
    if options.ready and not made.names(places_in(options.ready)):
        raise UsageError(
            f"--ready {options.ready}: the command does not have its {{port}}: -- COMMAND --address=:{{port}}"
        )
    return Setting(
        made,
        Workload(state, actions),
        Patience(options.patience, options.limit),
        ready=parse_ready(options.ready) if options.ready else None,
        observe=options.observe,
        properties=_properties(options.properties),
        inside=_inside(options),
        in_cluster=in_cluster,
        webhooks=webhooks,
        tls=_tls(options),
        companions=tuple(companions),
        pod_answers=read_answers(options.pod_exec) if options.pod_exec else (),
    )


def _found(command: Sequence[str]) -> tuple[str, ...]:
    """Return a command whose program is found from any directory."""
    program, *arguments = command
    return (str(Path(program).absolute()) if os.sep in program else program, *arguments)


def _in_cluster(namespace: str | None) -> InCluster | None:
    if namespace is None:
        return None
    with _certificates_for("--in-cluster"):
        return InCluster(namespace)


def _tls(options: Namespace) -> Certificates | None:
    if not options.tls:
        return None
    with _certificates_for("--tls"):
        return certificates("127.0.0.1")


@contextmanager
def _certificates_for(option: str) -> Iterator[None]:
    try:
        yield
    except TlsUnavailable:
        raise UsageError(
            f"{option} needs the package cryptography; install it with: pip install 'kontend[tls]'"
        ) from None


def _properties(paths: Sequence[Path]) -> tuple[Property, ...]:
    """Return the properties that some files define, in Python or in CEL."""
    properties: dict[str, Property] = {}
    for path in paths:
        in_python = path.suffix == ".py"
        own = _in_python(path) if in_python else _in_cel(path)
        if not own:
            example = "ready = eventually(lambda cluster: ...)" if in_python else "- {always: 'CEL', name: NAME}"
            raise UsageError(f"--properties {path}: it defines none, such as {example}")
        for prop in own:
            if prop.name in properties:
                raise UsageError(f"--properties {path}: two properties are called {prop.name}; give one a name=")
            properties[prop.name] = prop
    return tuple(properties.values())


def _in_python(path: Path) -> list[Property]:
    return [var for var in vars(load_file(path)).values() if isinstance(var, Property)]


def _in_cel(path: Path) -> list[Property]:
    """Return the properties of a YAML file: a list, or a mapping with ``properties`` such as a scenario is."""
    try:
        document = parse_yaml(path.read_bytes())[0]
    except OSError as error:
        raise UsageError(f"--properties {path}: {error.strerror}") from None
    except MalformedYAML as error:
        raise UsageError(f"--properties {path}: not YAML: {error.message}") from None
    listed = document.get("properties") if isinstance(document, Mapping) else document
    if not isinstance(listed, list):
        raise UsageError(f"--properties {path}: expected a list of properties such as - {{always: 'CEL', name: NAME}}")
    return [property_of(item, f"--properties {path}: properties[{at}]") for at, item in enumerate(listed)]


def _inside(options: Namespace) -> Callable[[Server], InsideCluster]:
    """Objects whose owners are gone are always collected: controllers rely on it for what they make."""
    from kontend.cli.serving.controllers import Inside

    def start(server: Server) -> InsideCluster:
        inside = Inside(
            server,
            built_in=options.controllers,
            pods=options.pods,
            jobs_end=True,
            owners=True,
            storage=options.pods,
        )
        return inside.start()

    return start


def to_the_end(work: Coroutine[Any, Any, Result]) -> Result:
    """Run to the end; SIGTERM and Ctrl-C end it in an orderly way, so that no process is left behind."""

    async def main() -> Result:
        task = asyncio.ensure_future(work)
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, task.cancel)
        try:
            return await task
        except asyncio.CancelledError:
            raise KeyboardInterrupt from None

    return asyncio.run(main())
