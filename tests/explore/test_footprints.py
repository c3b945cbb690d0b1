"""Who touches what."""

from __future__ import annotations

from kontend.cluster.cluster import Cluster
from kontend.explore.footprints import Footprints, Looked, reads_of
from kontend.runtime.client.call import Call


def _looked() -> tuple[Looked, set[str]]:
    seen: set[str] = set()
    return Looked(
        Cluster(objects=[{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}]).state, seen
    ), seen


def test_the_kinds_that_a_property_asks_for_are_noted() -> None:
    cluster, seen = _looked()
    assert cluster.get("Secret/v1", "s")["metadata"]["name"] == "s"
    assert cluster.list("Pod/v1") == []
    assert seen == {"secrets", "pods"}


def test_whoever_takes_the_state_may_look_at_everything() -> None:
    cluster, seen = _looked()
    assert cluster.state.find("secrets", next(iter(cluster.state.objects("secrets"))))
    assert seen == {"*"}


def test_a_fork_of_it_is_a_plain_cluster_and_counts_as_everything() -> None:
    cluster, seen = _looked()
    cluster.fork().delete("Secret/v1", "s")
    assert cluster.get("Secret/v1", "s")
    assert seen


def test_news_are_what_nobody_had_told_before() -> None:
    known, other = Footprints(), Footprints()
    other.note(0, Call("create", "Pod/v1"), "pods")
    other.note(1, Call("get", "Secret/v1"), "secrets")
    other.seen.add("nodes")
    assert known.merge(other) == {"pods", "secrets", "nodes", reads_of(1)}
    assert known.merge(other) == set()
    assert known.is_written_by_others(1, "pods")
    assert not known.is_written_by_others(0, "pods")
    assert known.is_read_by_others(0, "secrets")
    assert known.is_seen("nodes")
    assert not known.is_seen("pods")
