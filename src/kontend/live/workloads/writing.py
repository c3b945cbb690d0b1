"""Workloads as files of actions: what was derived can be read, edited and given again."""

from __future__ import annotations

from collections.abc import Sequence

import yaml

from kontend.live.runs.workload import UserAction

_HEADER = "# Steps of a user, each taken when the controller is idle; give it with --actions.\n"


def as_yaml(actions: Sequence[UserAction]) -> str:
    """Return the file of some actions.

    >>> print(as_yaml([UserAction("delete", {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}})]))
    # Steps of a user, each taken when the controller is idle; give it with --actions.
    - delete:
        apiVersion: v1
        kind: Secret
        metadata:
          name: s
    <BLANKLINE>
    """
    documents = [
        {action.verb: dict(action.obj)} | ({"subresource": action.subresource} if action.subresource else {})
        for action in actions
    ]
    return _HEADER + yaml.safe_dump(documents, sort_keys=False)
