"""Properties as CEL expressions, in YAML.

    - {eventually: 'objects["Deployment.apps/v1"].size() == 1', name: one deployment}
    - {never: "object.status.size > object.spec.size", kind: Widget.example.com/v1}

An expression is about ``objects`` (by kind), or, with a ``kind``, about each ``object`` of that kind. An expression
without a value, because a field is missing, is false.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from kontend.cluster.cluster import Cluster
from kontend.cluster.startup.seed import UnknownKind
from kontend.explore.problems import BadScenario
from kontend.explore.properties.property import Property, always, eventually, never, sometimes
from kontend.kube.cel.dynamic import compile_dynamic
from kontend.kube.cel.issues import CompileError, ProgramError
from kontend.kube.cel.values import EvalError

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
        expression = compile_dynamic(source, ("object",) if kind else ("objects",))
    except (CompileError, ProgramError) as error:
        raise BadScenario(f"{where}: {source}: {error}") from error
    every = tuple(dict.fromkeys([*kinds, *_KINDS.findall(source)]))

    def holds(values: Mapping[str, Any]) -> bool:
        try:
            return expression.evaluate(values) is True
        except EvalError:
            return False

    def question(cluster: Cluster) -> bool:
        if kind is None:
            return holds({"objects": {kind: _listed(cluster, kind) for kind in every}})
        answers = [holds({"object": obj}) for obj in _listed(cluster, str(kind))]
        return any(answers) if mode in ("never", "sometimes") else all(answers)

    question.__doc__ = source  # it is all of the code that there is to read
    return _MODES[mode](question, name=str(document.get("name") or source))


def _listed(cluster: Cluster, kind: str) -> list[dict[str, Any]]:
    try:
        return cluster.list(kind)
    except UnknownKind:
        return []
