"""Answers of pods, from a file of the user: the outcome of commands, the text of logs, the other end of ports.

    - exec: rabbitmqctl *             # the command with its arguments, as a pattern of a shell
      pod: default/hello-server-*     # namespace and name; all pods if it is not there
      container: rabbitmq
      run: ./rabbitmqctl.sh           # gets the command as its arguments, and the standard streams
    - exec: "*"
      stdout: ok                      # without run: what it says, and its exit code
      code: 0
    - logs: "*"                       # the container
      stdout: |
        started
    - forward: 8080                   # the port
      to: 127.0.0.1:9090              # or run, with the connection as its standard streams

The first that matches answers. Commands run in the directory of the file; ``KONTEND_RUN`` names a directory in which
those of one run may keep what they have to remember, because every run begins in the same state.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

from kontend.kube.encoding.json_text import MalformedYAML, parse_yaml

#: What is asked of a pod: the subresource by the word of a file.
ASKED: Final = {"exec": "exec", "logs": "log", "forward": "portforward"}
_OPTIONS: Final = {
    "exec": {"pod", "container", "run", "stdout", "stderr", "code"},
    "logs": {"pod", "run", "stdout"},
    "forward": {"pod", "run", "to"},
}


class BadAnswers(Exception):
    """A file of answers that cannot be used; the message names the place."""


@dataclass(frozen=True, slots=True)
class Question:
    """A request to a pod: a subresource, and the command, the container or the port that it names."""

    subresource: str
    #: The namespace and the name of the pod.
    pod: str
    subject: str
    container: str = ""
    command: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PodAnswer:
    """One answer of a file."""

    subresource: str
    #: A pattern of the command, the container or the port.
    subject: str
    pod: str = "*"
    container: str = "*"
    #: A command that answers, and its directory.
    run: tuple[str, ...] = ()
    directory: Path = Path()
    stdout: str = ""
    stderr: str = ""
    code: int = 0
    #: The address to which a port is forwarded.
    to: tuple[str, int] | None = None

    def answers(self, question: Question) -> bool:
        """Return whether it is the answer to a question.

        >>> answer = PodAnswer("exec", "nodetool *", pod="default/*")
        >>> answer.answers(Question("exec", "default/db-0", "nodetool status")), answer.answers(
        ...     Question("exec", "other/db-0", "nodetool status"))
        (True, False)
        """
        return (
            self.subresource == question.subresource
            and fnmatchcase(question.subject, self.subject)
            and fnmatchcase(question.pod, self.pod)
            and fnmatchcase(question.container, self.container)
        )


def read_answers(path: Path) -> tuple[PodAnswer, ...]:
    """Read a file of answers; raises :class:`BadAnswers`."""
    try:
        document = parse_yaml(path.read_bytes())[0]
    except OSError as error:
        raise BadAnswers(f"{path}: {error.strerror}") from None
    except MalformedYAML as error:
        raise BadAnswers(f"{path}: not YAML: {error.message}") from None
    if not isinstance(document, list) or not document:
        raise BadAnswers(f"{path}: expected a list of answers such as '- exec: \"*\"'")
    return tuple(_answer(item, f"{path}, answer {number}", path) for number, item in enumerate(document, start=1))


def _answer(item: Any, where: str, path: Path) -> PodAnswer:
    kinds = [kind for kind in ASKED if isinstance(item, Mapping) and kind in item]
    if len(kinds) != 1:
        raise BadAnswers(f"{where}: expected one of {', '.join(ASKED)}")
    kind = kinds[0]
    unknown = sorted(set(item) - _OPTIONS[kind] - {kind})
    if unknown:
        options = ", ".join(sorted(_OPTIONS[kind]))
        raise BadAnswers(f"{where}: {kind} has no option {', '.join(unknown)}; it has {options}")
    if not isinstance(item.get("code", 0), int):
        raise BadAnswers(f"{where}: code is the number with which the command ends, not {item['code']!r}")
    if kind == "forward" and not ("run" in item) != ("to" in item):
        raise BadAnswers(f"{where}: expected either 'to: HOST:PORT' or 'run: COMMAND'")
    return PodAnswer(
        ASKED[kind],
        str(item[kind]),
        str(item.get("pod", "*")),
        str(item.get("container", "*")),
        tuple(shlex.split(str(item.get("run", "")))),
        path.parent.resolve(),
        str(item.get("stdout", "")),
        str(item.get("stderr", "")),
        item.get("code", 0),
        _address(str(item["to"]), where) if "to" in item else None,
    )


def _address(text: str, where: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal():
        raise BadAnswers(f"{where}: expected 'to: HOST:PORT', found {text!r}")
    return host, int(port)
