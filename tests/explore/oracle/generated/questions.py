"""The mapping functions and the properties of generated scenarios, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from explore.oracle.generated.objects import CM, LEASE, NAMESPACE, POD, SECRET, W, at, blank
from kontend.cluster.cluster import Cluster
from kontend.cluster.request import ApiRequest
from kontend.kube.errors import ApiError, NotFound
from kontend.kube.meta.names import Key, key_of
from kontend.runtime.cache.views import Cache

# Mapping functions


def to_widget(_obj: Mapping[str, Any], _cache: Cache) -> list[str]:
    """The widget, whatever changed."""
    return ["default/w"]


def to_nobody(_obj: Mapping[str, Any], _cache: Cache) -> list[str]:
    """Nobody."""
    return []


def to_labelled(_obj: Mapping[str, Any], cache: Cache) -> list[Key]:
    """The widgets that have labels, as far as the cache knows."""
    return [key_of(widget) for widget in cache.list(W) if at(widget, ("metadata", "labels"))]


def to_namesake(obj: Mapping[str, Any], _cache: Cache) -> list[Key]:
    """The object of the same name."""
    return [key_of(obj)]


def to_crowd(_obj: Mapping[str, Any], cache: Cache) -> list[str]:
    """The widget, if the cache has two config maps or more."""
    return ["default/w"] if len(cache.list(CM)) > 1 else []


def to_alone(_obj: Mapping[str, Any], cache: Cache) -> list[str]:
    """The widget, if the cache has one config map."""
    return ["default/w"] if len(cache.list(CM)) == 1 else []


def to_leased(_obj: Mapping[str, Any], cache: Cache) -> list[str]:
    """The widget, if the cache has a lease."""
    return ["default/w"] if cache.list(LEASE) else []


def to_all(_obj: Mapping[str, Any], cache: Cache) -> list[Key]:
    """All widgets that the cache has."""
    return [key_of(widget) for widget in cache.list(W)]


def size_of(obj: Mapping[str, Any]) -> list[str]:
    """The size of a widget, or the value of a config map: what an index finds it by."""
    return [str(at(obj, ("spec", "size")) or at(obj, ("data", "v")))]


MAPPERS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "widget": to_widget,
    "nobody": to_nobody,
    "labelled": to_labelled,
    "namesake": to_namesake,
    "crowded": to_crowd,
    "alone": to_alone,
    "leased": to_leased,
    "all": to_all,
}


# Properties


def _widget(cluster: Cluster) -> dict[str, Any]:
    try:
        return cluster.get(W, "w")
    except NotFound:
        return {}


def many_maps(cluster: Cluster) -> bool:
    """There are two config maps or more."""
    return len(cluster.list(CM)) >= 2


def many_maps_in_state(cluster: Cluster) -> bool:
    """The same, asked of the state."""
    return len(list(cluster.state.objects("configmaps"))) >= 2


def map_after_fork(cluster: Cluster) -> bool:
    """A copy of the cluster would refuse to create a config map."""
    copied = cluster.fork()
    try:
        copied.create(blank(CM, "default", "out"))
    except ApiError:
        return True
    return False


def secret_by_request(cluster: Cluster) -> bool:
    """A request lists a secret."""
    return bool(cluster.request(ApiRequest("GET", "/api/v1/secrets")).body["items"])


def has_status(cluster: Cluster) -> bool:
    """The widget has a status, or is gone."""
    widget = _widget(cluster)
    return not widget or bool(widget.get("status"))


def third_generation(cluster: Cluster) -> bool:
    """The widget is in its third generation."""
    return bool(at(_widget(cluster), ("metadata", "generation")) == 3)


def labelled(cluster: Cluster) -> bool:
    """The widget has labels, or is gone."""
    widget = _widget(cluster)
    return not widget or bool(at(widget, ("metadata", "labels")))


def noted(cluster: Cluster) -> bool:
    """The config map ``out`` holds the version of the widget."""
    version = at(_widget(cluster), ("metadata", "resourceVersion"))
    try:
        return bool((cluster.get(CM, "out").get("data") or {}).get("v") == version)
    except NotFound:
        return False


def same_widget(before: Cluster, after: Cluster) -> bool:
    """No widget takes the place of another."""
    one, two = (at(_widget(cluster), ("metadata", "uid")) for cluster in (before, after))
    return one is None or two is None or one == two


def status_stays(before: Cluster, after: Cluster) -> bool:
    """A status that is there stays."""
    one, two = (_widget(cluster) for cluster in (before, after))
    return not one or not two or not one.get("status") or bool(two.get("status"))


def owned_by_first(cluster: Cluster) -> bool:
    """The first controller wrote the status, or there is none."""
    widget = _widget(cluster)
    entries = at(widget, ("metadata", "managedFields")) or []
    return not widget.get("status") or any(
        entry["manager"] == "p0" and "f:status" in (entry.get("fieldsV1") or {}) for entry in entries
    )


def pod_gone(cluster: Cluster) -> bool:
    """The pod is gone."""
    return not cluster.list(POD)


def late_is_there(cluster: Cluster) -> bool:
    """The namespace ``late`` exists and is not on its way out."""
    namespaces = [namespace for namespace in cluster.list(NAMESPACE) if namespace["metadata"]["name"] == "late"]
    return any(not namespace["metadata"].get("deletionTimestamp") for namespace in namespaces)


def different_uids(cluster: Cluster) -> bool:
    """No two objects have the same uid."""
    uids = [obj["metadata"]["uid"] for kind in (W, CM, SECRET, LEASE, POD) for obj in _all(cluster, kind)]
    return len(uids) == len(set(uids))


def _all(cluster: Cluster, kind: str) -> list[dict[str, Any]]:
    try:
        return cluster.list(kind)
    except NotFound:
        return []


PROPERTIES: Final[dict[str, Callable[..., bool]]] = {
    question.__name__: question
    for question in (
        many_maps, many_maps_in_state, map_after_fork, secret_by_request, has_status, third_generation, labelled, noted,
        same_widget, status_stays, owned_by_first, pod_gone, late_is_there, different_uids,
    )
}  # fmt: skip
OF_WRITES: Final = ("same_widget", "status_stays")
#: The conditions on which users wait.
CONDITIONS: Final = {question.__name__: question for question in (has_status, labelled, many_maps)}
