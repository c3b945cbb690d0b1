"""Properties as CEL expressions, in YAML.

    - {eventually: 'objects["Deployment.apps/v1"].size() == 1', name: one deployment}
    - {never: "object.status.size > object.spec.size", kind: Widget.example.com/v1}

An expression is about ``objects`` (by kind), or, with a ``kind``, about each ``object`` of that kind. An expression
without a value, because a field is missing, is false. One that uses ``before`` (by kind, like ``objects``) is about one
write, for ``always`` and ``never``: ``before`` are the objects before it, ``objects`` those after it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from kontend.cluster.cluster import Cluster
from kontend.cluster.startup.seed import UnknownKind, resource_of
from kontend.explore.problems import BadScenario
from kontend.explore.properties.fields import unknown_field
from kontend.explore.properties.property import Property, always, eventually, never, sometimes
from kontend.kube.cel.dynamic import compile_dynamic
from kontend.kube.cel.issues import CompileError, ProgramError
from kontend.kube.cel.values import EvalError
from kontend.kube.meta.named import shown
from kontend.kube.meta.names import BadName
from kontend.kube.schema.tree import Schema

_MODES: Final = {"always": always, "never": never, "eventually": eventually, "sometimes": sometimes}
#: Kinds in an expression, such as "Pod/v1" or 'Widget.example.com/v1'.
_KINDS: Final = re.compile(r"""["']([A-Z]\w*(?:\.[a-z0-9.-]+)?/v\w+)["']""")


def property_of(document: Any, where: str, kinds: tuple[str, ...] = ()) -> Property:
    """Read a property; raises :class:`~kontend.explore.problems.BadScenario`, which names the place.

    ``objects`` has the given kinds and those that the expression names.
    """
    modes = [name for name in _MODES if isinstance(document, Mapping) and name in document]
    if len(modes) != 1 or set(document) - {*_MODES, "name", "kind"}:
        raise BadScenario(f"{where}: expected always, never, eventually or sometimes, with name and kind")
    mode, source, kind = modes[0], str(document[modes[0]]), document.get("kind")
    try:
        expression = compile_dynamic(source, ("object",) if kind else ("objects", "before"))
    except (CompileError, ProgramError) as error:
        raise BadScenario(f"{where}: {source}: {error}") from error
    is_of_write = "before" in expression.used
    if is_of_write and mode not in ("always", "never"):
        raise BadScenario(f"{where}: {source}: {mode} is about a state; only always and never know what was before")
    every = tuple(dict.fromkeys([*kinds, *_KINDS.findall(source)]))

    def by_kind(cluster: Cluster) -> dict[str, list[dict[str, Any]]]:
        return {kind: _listed(cluster, kind) for kind in every}

    def about(cluster: Cluster, before: Cluster | None = None) -> list[dict[str, Any]]:
        """Return the variables of each evaluation."""
        if kind is None:
            return [{"objects": by_kind(cluster), "before": None if before is None else by_kind(before)}]
        return [{"object": obj} for obj in _listed(cluster, str(kind))]

    def values(cluster: Cluster, before: Cluster | None = None) -> Iterator[object]:
        """Evaluate it; None where there is no value."""
        for variables in about(cluster, before):
            try:
                yield expression.evaluate(variables)
            except EvalError:
                yield None

    def unanswered(cluster: Cluster) -> str:
        for variables in about(cluster):
            try:
                expression.evaluate(variables)
            except EvalError as error:
                of = f" for {shown(variables['object'])}" if kind else ""
                return f"{source} has no value{of} ({error}), which counts as false; has(...) tests for a field"
        return ""

    def question(cluster: Cluster) -> bool:
        answers = (value is True for value in values(cluster))
        return any(answers) if kind is None or mode in ("never", "sometimes") else all(answers)

    def question_of_write(before: Cluster, after: Cluster) -> bool:
        return any(value is True for value in values(after, before))

    def has_answer(cluster: Cluster) -> bool:
        return any(value is not None for value in values(cluster))

    def mistake(cluster: Cluster) -> str:
        def schema_of(kind: str) -> Schema | None:
            try:
                return resource_of(cluster.state.registry, kind).schema
            except (UnknownKind, BadName):
                return None

        unknown = unknown_field(expression.tree, None if kind is None else str(kind), schema_of)
        return f"{where}: {unknown}" if unknown else ""

    asked = question_of_write if is_of_write else question
    asked.__doc__ = source  # it is all of the code that there is to read
    made = _MODES[mode](asked, name=str(document.get("name") or source))
    # Only a state can be searched for a value: a write is never asked twice.
    if is_of_write:
        return replace(made, mistake=mistake)
    return replace(made, mistake=mistake, has_answer=has_answer, unanswered=unanswered)


def _listed(cluster: Cluster, kind: str) -> list[dict[str, Any]]:
    try:
        return cluster.list(kind)
    except UnknownKind:
        return []
