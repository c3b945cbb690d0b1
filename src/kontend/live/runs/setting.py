"""The setting of runs: everything that the runs of one command share."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, Protocol

from kontend.explore.properties.property import Property
from kontend.live.gate.call import Call
from kontend.live.pods.answers import PodAnswer
from kontend.live.process.command import Command
from kontend.live.process.quiescence import Patience
from kontend.live.process.ready import Ready
from kontend.live.runs.in_cluster import InCluster
from kontend.live.runs.outcome import Run
from kontend.live.runs.webhooks import Webhooks
from kontend.live.runs.workload import Workload
from kontend.serve.credentials.tls import Certificates
from kontend.serve.server import Server

#: The names of the instances of a command: the one that is perturbed, and the one that takes over from it.
PRIMARY: Final = "controller"
SECOND: Final = "controller-2"


def companion(number: int) -> str:
    """Return the name of a command that runs beside the one that is perturbed.

    >>> companion(1)
    'beside-1'
    """
    return f"beside-{number}"


class InsideCluster(Protocol):
    """Controllers of the cluster's own."""

    @property
    def fails(self) -> bool:
        """Return whether the last attempt at something has failed."""

    def retry(self) -> None:
        """Try again at once what has failed."""


@dataclass(frozen=True, slots=True)
class Healing:
    """A watch over an idle process, for some seconds at most: it may repair by itself what a run has ended with."""

    seconds: float
    is_healed: Callable[[Run], bool]


#: Returns the watch over a process, which goes on idling meanwhile, when a run has come to rest.
Watch = Callable[[], Awaitable[Healing]]


@dataclass(frozen=True, slots=True)
class Setting:
    """A command, its surroundings, and what the baseline has learned about it."""

    command: Command
    workload: Workload
    patience: Patience
    #: The silence that ends a run, where it is longer than the one that ends a phase; in seconds.
    last_silence: float = 0.0
    #: The silence of a process whose last attempt at a call has failed, other than in unperturbed runs: it may be about
    #: to try again.
    retry_silence: float = 0.0
    failing: frozenset[Call] = frozenset()
    ready: Ready | None = None
    #: Seconds for which the first run watches the idle process, to list its later timers.
    observe: float = 0.0
    #: Learned from the baseline: calls that do not count as work, and the resources that a ready process watches.
    background: frozenset[Call] = frozenset()
    watches: frozenset[str] = frozenset()
    #: Learned from the baseline: the numbers of the user's actions that the server refuses anyway.
    refused: frozenset[int] = frozenset()
    #: The most writes of a phase of the baseline.
    most_writes: int = 0
    #: The user's properties, judged like those of a scenario.
    properties: tuple[Property, ...] = ()
    #: Starts what runs inside of the server: the built-in controllers.
    inside: Callable[[Server], InsideCluster] | None = None
    #: Commands that run beside it all the time and are not perturbed: other controllers of the same objects.
    companions: tuple[Command, ...] = ()
    #: The pod in which the command believes that it runs.
    in_cluster: InCluster | None = None
    #: The webhook server of the command.
    webhooks: Webhooks | None = None
    #: The command talks to the server over TLS.
    tls: Certificates | None = None
    #: Answers of pods to exec, logs and port-forward.
    pod_answers: tuple[PodAnswer, ...] = ()
    #: Watches the process when the run is over.
    watch: Watch | None = None
