"""Election records: objects in which older clients keep who holds a lock, as others do in a Lease.

client-go before 0.27 offered ConfigMaps and Endpoints for that, with the record in an annotation, and
controller-runtime before 0.12 took a ConfigMap and a Lease by default. They are renewed every two seconds, which is no
work, and say nothing about what a controller has done: a call about one counts as a call about a Lease.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import orjson

from kontend.cluster.state import State
from kontend.kube.meta.names import Key

#: The annotation that holds the record, and the resources that may have it.
LEADER: Final = "control-plane.alpha.kubernetes.io/leader"
HOLDERS: Final = ("configmaps", "endpoints")


def is_election(obj: Mapping[str, Any]) -> bool:
    """Return whether an object is one in which a holder of a lock is kept.

    >>> is_election({"metadata": {"annotations": {LEADER: "{}"}}}), is_election({"metadata": {"name": "settings"}})
    (True, False)
    """
    metadata = obj.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, Mapping) else None
    return isinstance(annotations, Mapping) and LEADER in annotations


def elects(state: State, resource: str, key: Key) -> bool:
    """Return whether an object of a state is an election record."""
    version = state.find(resource, key) if resource in HOLDERS else None
    return version is not None and is_election(version.content())


def elections(state: State) -> Iterator[tuple[str, Key, str]]:
    """Yield the election records of a state that have a holder: the kind, the key, and the record without one."""
    for resource, kind in zip(HOLDERS, ("ConfigMap/v1", "Endpoints/v1"), strict=True):
        for key, version in state.objects(resource).items():
            obj = version.content()
            if is_election(obj):
                record = _record(obj["metadata"]["annotations"][LEADER])
                if record.get("holderIdentity"):
                    yield kind, key, orjson.dumps(record | {"holderIdentity": ""}).decode()


def _record(text: str) -> dict[str, Any]:
    try:
        record = orjson.loads(text)
    except orjson.JSONDecodeError:
        return {}
    return record if isinstance(record, dict) else {}
