"""Containers whose commands say how they end: their starts, ends, restarts, and their probes.

:func:`advance` computes the status of a pod from the one before and the time. A container without a command that
:mod:`~kontend.controllers.nodes.shell` understands runs on, and is ready.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

import xxhash

from kontend.cluster.times import rfc3339, seconds
from kontend.controllers.nodes.images import answers, ends_at_once, is_server
from kontend.controllers.nodes.pod_script import becomes_ready
from kontend.controllers.nodes.shell import Files, Life, NotUnderstood, Shell
from kontend.runtime.client.patches import Object

#: Seconds before a restart; each one doubles them, up to the longest. The real back-off begins with ten.
_BACK_OFF: Final = 1
_LONGEST_BACK_OFF: Final = 300
_REFERENCE: Final = re.compile(r"\$\$|\$\(([-._a-zA-Z][-._a-zA-Z0-9]*)\)")
_METADATA: Final = re.compile(r"metadata\.(labels|annotations)\['(.+)'\]")
_SCRATCH: Final = ("/tmp/", "/var/tmp/", "/dev/termination-log")
_FOREVER: Final = Life(None, 0.0)
_AT_ONCE: Final = Life(0, 0.0)
_INITIALIZING: Final = {"waiting": {"reason": "PodInitializing"}}
_KILLED: Final = 137
_PROBES: Final = ("startupProbe", "readinessProbe", "livenessProbe")
_PARTS: Final = ("initContainerStatuses", "containerStatuses")


@dataclass(slots=True)
class Host:
    """The disks of the simulated nodes, and the runs of the containers on them."""

    #: Whether commands are followed. Without, all containers run on, which keeps the state space of an explorer small.
    commands: bool = False
    files: Files = field(default_factory=Files)
    lives: dict[tuple[str, str, int], Life] = field(default_factory=dict)

    def life(self, pod: Object, container: Mapping[str, Any], run: int, began: float) -> Life:
        """Return how a run of a container goes on; it is computed once, because a run changes files."""
        # An init container that never ended would be of no use to anybody.
        life = _AT_ONCE if _is_init(pod, container) else _FOREVER
        # Where pods are always restarted, busybox stands for some server more often than it is meant.
        if self.commands and ends_at_once(container) and pod["spec"].get("restartPolicy") != "Always":
            return _AT_ONCE
        if not self.commands or not container.get("command"):
            return life
        name = (pod["metadata"]["uid"], container["name"], run)
        if name not in self.lives:
            command = [*container["command"], *(container.get("args") or ())]
            with suppress(NotUnderstood):
                life = self._shell(pod, container, run, began).run(_expanded(command, pod, container))
            self.lives[name] = life
        return self.lives[name]

    def passes(
        self, pod: Object, container: Mapping[str, Any], run: int, probe: Mapping[str, Any], began: float, at: float
    ) -> bool:
        """Report whether a probe passes; one that is not understood does."""
        command = (probe.get("exec") or {}).get("command")
        if not self.commands:
            return True
        if not command:
            return answers(container, probe, at - began)
        try:
            return self._shell(pod, container, run, at).run(_expanded(command, pod, container)).code == 0
        except NotUnderstood:
            return True

    def follows(self, pod: Object) -> bool:
        """Report whether the containers of a pod change by themselves."""
        return self.commands and any(
            container.get("command") or any(_is_followed(container, kind) for kind in _PROBES)
            for container in (*(pod["spec"].get("initContainers") or ()), *pod["spec"]["containers"])
        )

    def forget(self, uid: str) -> None:
        """Forgets the containers of a pod that is gone."""
        self.lives = {name: life for name, life in self.lives.items() if name[0] != uid}
        of_pod = f"pod {uid} "
        for path in [path for path in self.files.changes if path.startswith(of_pod)]:
            del self.files.changes[path]

    def message(self, pod: Object, container: Mapping[str, Any], run: int, life: Life, at: float) -> str:
        """Return the termination message of a run."""
        path = container.get("terminationMessagePath") or "/dev/termination-log"
        try:
            text = self.files.read(_place(pod, container, run, path), at)
        except NotUnderstood:
            text = None
        if text or life.code == 0 or container.get("terminationMessagePolicy") != "FallbackToLogsOnError":
            return text or ""
        return life.output

    def _shell(self, pod: Object, container: Mapping[str, Any], run: int, at: float) -> Shell:
        environment = {**_environment(pod, container), "RANDOM": str(_random(pod))}
        return Shell(self.files, environment, at, lambda path: _place(pod, container, run, path))


def advance(pod: Object, now: str, host: Host) -> tuple[dict[str, Any], float | None]:
    """Return the status of a pod's containers, its phase and conditions; and the seconds until there is more."""
    spec, status = pod["spec"], pod.get("status") or {}
    turn = _Turn(pod, host, now, spec.get("restartPolicy") or "Always")
    known = {entry["name"]: entry for part in _PARTS for entry in status.get(part) or ()}
    init: list[dict[str, Any]] = []
    waits_for: list[str] = []
    failed = False
    for container in spec.get("initContainers") or ():
        sidecar = container.get("restartPolicy") == "Always"
        if waits_for or failed:
            entry = _waiting(container, known.get(container["name"]))
        else:
            policy = "Always" if sidecar else "Never" if turn.policy == "Never" else "OnFailure"
            entry = turn.step(container, known.get(container["name"]), policy)
        init.append(entry)
        terminated = entry["state"].get("terminated")
        if sidecar:
            initialized = bool(entry["started"])
        else:
            initialized = terminated is not None and terminated["exitCode"] == 0
            entry["ready"] = initialized
            failed = failed or (terminated is not None and not initialized and turn.policy == "Never")
        if not initialized:
            waits_for.append(container["name"])
    if waits_for:
        main = [_waiting(container, known.get(container["name"])) for container in spec["containers"]]
    else:
        main = [turn.step(container, known.get(container["name"]), turn.policy) for container in spec["containers"]]
    ends = [entry["state"].get("terminated") for entry in main]
    if failed:
        phase = "Failed"
    elif waits_for:
        phase = "Pending"
    elif all(end is not None and not turn.restarts(end, turn.policy) for end in ends):
        phase = "Succeeded" if all(end["exitCode"] == 0 for end in ends if end is not None) else "Failed"
    else:
        phase = "Running"
    new: dict[str, Any] = {"phase": phase, "containerStatuses": main}
    if init:
        new["initContainerStatuses"] = init
    finished = phase in ("Succeeded", "Failed")
    new["conditions"] = _conditions(pod, phase, waits_for, main, now)
    return new, None if finished else turn.delay


@dataclass(slots=True)
class _Turn:
    """One look at the containers of a pod."""

    pod: Object
    host: Host
    now: str
    policy: str
    delay: float | None = None

    def step(self, container: Mapping[str, Any], old: Mapping[str, Any] | None, policy: str) -> dict[str, Any]:
        """Take a container to its state of now."""
        entry = dict(old) if old is not None else _waiting(container, None)
        state = entry.get("state") or {}
        if "terminated" in state and self.restarts(state["terminated"], policy):
            entry["lastState"] = {"terminated": state["terminated"]}
            text = "back-off 10s restarting failed container"
            state = {"waiting": {"reason": "CrashLoopBackOff", "message": text}}
            entry["state"] = state
        if "waiting" in state:
            failure = (entry.get("lastState") or {}).get("terminated")
            if failure is not None:
                pause = min(_BACK_OFF * 2 ** min(entry["restartCount"], 20), _LONGEST_BACK_OFF)
                left = seconds(failure["finishedAt"]) + pause - seconds(self.now)
                if left > 0:
                    self._again(left)
                    return {**entry, "ready": False, "started": False}
                entry["restartCount"] += 1
            state = {"running": {"startedAt": self.now}}
            entry["state"] = state
        if "running" in state:
            self._run(container, entry)
        return entry

    def restarts(self, end: Mapping[str, Any], policy: str) -> bool:
        """Report whether a container that has ended begins again."""
        return policy == "Always" or (policy == "OnFailure" and end["exitCode"] != 0)

    def _run(self, container: Mapping[str, Any], entry: dict[str, Any]) -> None:
        """Lets a container run on, or end."""
        run, since = entry["restartCount"], seconds(entry["state"]["running"]["startedAt"])
        life, at = self.host.life(self.pod, container, run, since), seconds(self.now)
        if life.code is not None and since + life.seconds <= at:
            self._end(container, entry, life, life.code, since + life.seconds)
            return
        if life.code is not None:
            self._again(since + life.seconds - at)
        entry["started"] = self._passes(container, "startupProbe", run, since)
        if entry["started"] and self._is_sick(container, run, since):
            self._end(container, entry, life, _KILLED, at)
            return
        ready = entry["started"] and becomes_ready(self.pod)
        entry["ready"] = ready and self._passes(container, "readinessProbe", run, since)

    def _end(self, container: Mapping[str, Any], entry: dict[str, Any], life: Life, code: int, at: float) -> None:
        message = self.host.message(self.pod, container, entry["restartCount"], life, at)
        end = {
            "exitCode": code,
            "reason": "Completed" if code == 0 else "Error",
            "startedAt": entry["state"]["running"]["startedAt"],
            "finishedAt": rfc3339(int(at)),
            **({"message": message} if message else {}),
            "containerID": f"kontend://{self.pod['metadata']['uid']}/{container['name']}/{entry['restartCount']}",
        }
        entry.update(ready=False, started=False, state={"terminated": end})
        self._again(0.0 if code or self.policy == "Always" else None)

    def _passes(self, container: Mapping[str, Any], kind: str, run: int, since: int) -> bool:
        probe = container.get(kind)
        if not probe or not _is_followed(container, kind):
            return True
        first = since + (probe.get("initialDelaySeconds") or 0)
        at = seconds(self.now)
        self._again(max(first - at, probe.get("periodSeconds") or 10))
        if at < first:
            self._again(first - at)
            return False
        return self.host.passes(self.pod, container, run, probe, since, at)

    def _is_sick(self, container: Mapping[str, Any], run: int, since: int) -> bool:
        """Report whether a container has failed its liveness probe often enough to be killed."""
        probe = container.get("livenessProbe") or {}
        if not _is_followed(container, "livenessProbe"):
            return False
        period, at = probe.get("periodSeconds") or 10, seconds(self.now)
        self._again(period)
        times = [at - period * count for count in range(probe.get("failureThreshold") or 3)]
        if times[-1] < since + (probe.get("initialDelaySeconds") or 0):
            return False
        return not any(self.host.passes(self.pod, container, run, probe, since, time) for time in times)

    def _again(self, delay: float | None) -> None:
        if delay is not None:
            self.delay = delay if self.delay is None else min(self.delay, delay)


def _waiting(container: Mapping[str, Any], old: Mapping[str, Any] | None) -> dict[str, Any]:
    if old is not None:
        return dict(old)
    image = container.get("image") or ""
    return {
        "name": container["name"],
        "image": image,
        "imageID": f"kontend://{image}",
        "ready": False,
        "started": False,
        "restartCount": 0,
        "state": _INITIALIZING,
    }


def _conditions(
    pod: Object, phase: str, waits_for: list[str], main: list[dict[str, Any]], now: str
) -> list[dict[str, Any]]:
    """Return the conditions that have changed."""
    unready = [entry["name"] for entry in main if not entry["ready"]]
    old = {entry["type"]: entry for entry in (pod.get("status") or {}).get("conditions") or ()}
    gates = [gate["conditionType"] for gate in pod["spec"].get("readinessGates") or ()]
    closed = [gate for gate in gates if old.get(gate, {}).get("status") != "True"]
    ended = {"Succeeded": "PodCompleted", "Failed": "PodFailed"}.get(phase)
    not_ready = ("False", ended or "ContainersNotReady", "" if ended else _names("unready", unready))
    contained: tuple[str, str | None, str | None] = not_ready if unready or ended else ("True", None, None)
    ready = contained
    if closed and contained[0] == "True":
        text = f'the status of pod readiness gate "{closed[0]}" is not "True", but False'
        ready = ("False", "ReadinessGatesNotReady", text)
    initialized: tuple[str, str | None, str | None] = ("True", ended if phase == "Succeeded" else None, None)
    if waits_for:
        initialized = ("False", "ContainersNotInitialized", _names("incomplete", waits_for))
    wanted = {
        "PodReadyToStartContainers": ("False" if ended else "True", None, None),
        "Initialized": initialized,
        "Ready": ready,
        "ContainersReady": contained,
    }
    changed = []
    for kind, (value, reason, message) in wanted.items():
        before = old.get(kind, {})
        if (before.get("status"), before.get("reason"), before.get("message")) != (value, reason, message or None):
            since = before.get("lastTransitionTime") if before.get("status") == value else now
            changed.append(
                {"type": kind, "status": value, "reason": reason, "message": message or None, "lastProbeTime": None,
                 "lastTransitionTime": since or now}
            )  # fmt: skip
    return changed


def _names(what: str, names: list[str]) -> str:
    return f"containers with {what} status: [{' '.join(names)}]"


# Commands


def _is_followed(container: Mapping[str, Any], kind: str) -> bool:
    """Report whether the outcome of a probe may change."""
    return "exec" in (container.get(kind) or {}) or is_server(container)


def _is_init(pod: Object, container: Mapping[str, Any]) -> bool:
    return container.get("restartPolicy") != "Always" and container in (pod["spec"].get("initContainers") or ())


def _environment(pod: Object, container: Mapping[str, Any]) -> dict[str, str]:
    values: dict[str, str] = {}
    for variable in container.get("env") or ():
        path = ((variable.get("valueFrom") or {}).get("fieldRef") or {}).get("fieldPath")
        text = _field(pod, path) if path else variable.get("value", "")
        if text is not None:
            values[variable["name"]] = str(text)
    return values


def _field(pod: Object, path: str) -> str | None:
    metadata = pod["metadata"]
    found = _METADATA.fullmatch(path)
    if found is not None:
        return str((metadata.get(found[1]) or {}).get(found[2], ""))
    name = path.removeprefix("metadata.")
    return str(metadata.get(name) or "") if name in ("name", "namespace", "uid") else None


def _expanded(words: list[str], pod: Object, container: Mapping[str, Any]) -> list[str]:
    """Replace references to variables, as a kubelet does before the command sees them."""
    values = _environment(pod, container)

    def value(found: re.Match[str]) -> str:
        return "$" if found[0] == "$$" else values.get(found[1], found[0])

    return [_REFERENCE.sub(value, word) for word in words]


def _place(pod: Object, container: Mapping[str, Any], run: int, path: str) -> str:
    """Return the name of a file on the disks: a volume's outlive the container, those of a host path the pod."""
    volumes = {volume["name"]: volume for volume in pod["spec"].get("volumes") or ()}
    uid = pod["metadata"]["uid"]
    for mount in container.get("volumeMounts") or ():
        inside = path.removeprefix(mount["mountPath"].rstrip("/") + "/")
        volume = volumes.get(mount["name"], {})
        if inside != path and volume.get("hostPath"):
            return f"node {pod['spec'].get('nodeName')} {volume['hostPath']['path'].rstrip('/')}/{inside}"
        if inside != path and "emptyDir" in volume:
            return f"pod {uid} {mount['name']} {inside}"
        if inside != path:
            raise NotUnderstood(path)
    if path.startswith(_SCRATCH) or path == container.get("terminationMessagePath"):
        return f"pod {uid} {container['name']} {run} {path}"
    raise NotUnderstood(path)


def _random(pod: Object) -> int:
    """A number for ``$RANDOM``, another one for each pod."""
    return xxhash.xxh3_64_intdigest(pod["metadata"]["uid"].encode()) % 32768
