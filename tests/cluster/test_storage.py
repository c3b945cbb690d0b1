"""Storage: the size of objects."""

from __future__ import annotations

import pytest

from cluster.objects import WIDGET, definition, widget
from kontend import ApiError, Cluster
from kontend.kube.meta.names import Key

#: The largest value that etcd takes.
LARGEST = 1_572_864


def test_an_object_may_be_as_large_as_etcd_allows_and_no_larger() -> None:
    cluster = Cluster(crds=[definition()])
    cluster.create(widget(spec={"text": ""}))
    cluster.patch(WIDGET, "w", {"spec": {"text": "xx"}})
    changed = cluster.state.find("widgets.example.com", Key("default", "w"))
    assert changed is not None
    room = LARGEST - len(changed.body) + 2
    with pytest.raises(ApiError, match="etcdserver: request is too large"):
        cluster.patch(WIDGET, "w", {"spec": {"text": "x" * (room + 1)}})
    cluster.patch(WIDGET, "w", {"spec": {"text": "x" * room}})
    largest = cluster.state.find("widgets.example.com", Key("default", "w"))
    assert largest is not None
    assert len(largest.body) == LARGEST
