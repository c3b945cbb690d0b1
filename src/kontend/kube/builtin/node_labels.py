"""Labels of nodes that are deprecated, and the warnings about selectors that still use them."""

from __future__ import annotations

from typing import Final

from kontend.kube.json_types import JsonView

DEPRECATED: Final = {
    "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
    "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
    "failure-domain.beta.kubernetes.io/region": 'deprecated since v1.17; use "topology.kubernetes.io/region" instead',
    "failure-domain.beta.kubernetes.io/zone": 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
    "beta.kubernetes.io/instance-type": 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
    "app.kubernetes.io/created-by": "deprecated since v1.9",
    "scheduler.alpha.kubernetes.io/preferAvoidPods": "deprecated since v1.22; use Taints and Tolerations instead",
    "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
}


def term_warnings(term: JsonView, path: str) -> list[str]:
    """List the deprecated labels in the expressions of a node selector or a label selector.

    >>> term_warnings({"matchExpressions": [{"key": "beta.kubernetes.io/os"}]}, "t")
    ['t.matchExpressions[0].key: beta.kubernetes.io/os is deprecated since v1.14; use "kubernetes.io/os" instead']
    """
    keys = [expression.get("key", "") for expression in term.get("matchExpressions") or ()]
    return [
        f"{path}.matchExpressions[{index}].key: {key} is {DEPRECATED[key]}"
        for index, key in enumerate(keys)
        if key in DEPRECATED
    ]


def selector_warnings(selector: JsonView | None, path: str) -> list[str]:
    """List the deprecated labels in a label selector."""
    if not selector:
        return []
    names = sorted(name for name in selector.get("matchLabels") or () if name in DEPRECATED)
    return term_warnings(selector, path) + [f"{path}.matchLabels.{name}: {DEPRECATED[name]}" for name in names]
