"""The stored objects that a list selects, in the order of lists, found without reading all of them.

The objects of a resource are sorted once for each state of the collection, and the sorted list is derived from the
one before by the changes in between, so a page costs what it holds. Where there are many objects, equality
requirements of selectors are answered from an index of labels and selectable fields, which is made when the first
selector asks and derived in the same way. Small collections are read and compared: that is quicker, and it is what
the explorer does for every list of every state.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from operator import itemgetter
from typing import Any, Final, NamedTuple

from rpds import HashTrieMap, HashTrieSet

from kontend.cluster.request import Target
from kontend.cluster.resources import Resource
from kontend.cluster.state import Change, Objects, State, Version
from kontend.cluster.storage import served
from kontend.kube.meta import selectors
from kontend.kube.meta.field_selectors import EQUALS, FieldSelector
from kontend.kube.meta.names import Key
from kontend.kube.meta.selectors import LabelSelector

#: The path of an object within a list, by which lists are sorted, and the object as it was stored.
Pair = tuple[str, Version]

#: The most objects that are sorted again for each list, and the fewest for which selectors use an index.
_FEW: Final = 8
_MANY: Final = 256
#: The index is used for selectors that select less than one in so many objects.
_SHARE: Final = 4
#: Changes that are followed from one sorted list to the next before it is sorted anew.
_MOST_CHANGES: Final = 2000
#: Sorted lists that are remembered.
_REMEMBERED: Final = 16
_path_of: Final = itemgetter(0)


class Selection(NamedTuple):
    """The requirements of a list or watch; None stands for none."""

    labels: LabelSelector | None
    fields: FieldSelector | None

    def matches(self, resource: Resource, obj: Mapping[str, Any]) -> bool:
        """Report whether an object is selected."""
        if self.labels is not None and not self.labels.matches(obj["metadata"].get("labels") or {}):
            return False
        return self.fields is None or self.fields.matches(resource.strategy.field_labels(obj))


class Order:
    """The objects of one resource at one moment, sorted by namespace as lists ask for them."""

    __slots__ = ("indexes", "last", "objects", "pairs", "resource")

    def __init__(self, resource: Resource, objects: Objects, last: Change | None) -> None:
        self.resource = resource
        self.objects = objects
        #: The change that led here. Another order whose history has it is a later one of the same collection.
        self.last = last
        #: By namespace; all objects under the empty one.
        self.pairs: dict[str, list[Pair]] = {}
        self.indexes: dict[Resource, Index] = {}

    def of(self, namespace: str) -> list[Pair]:
        """Return the objects of a namespace, or all of them, in order."""
        known = self.pairs.get(namespace)
        if known is None:
            known = self.pairs[namespace] = _sorted(self.objects, self.resource, namespace)
        return known

    def index(self, resource: Resource) -> Index:
        """Return the index of labels and fields, as a version of the kind has them."""
        known = self.indexes.get(resource)
        if known is None:
            known = self.indexes[resource] = Index.of(resource, self.objects)
        return known

    def after(self, objects: Objects, changes: Sequence[Change]) -> Order:
        """Return the order that some later changes lead to."""
        order = Order(self.resource, objects, changes[-1])
        touched = {change.key for change in changes}
        for namespace, pairs in self.pairs.items():
            keys = [key for key in touched if not namespace or key.namespace == namespace]
            order.pairs[namespace] = _changed(pairs, self.resource, namespace, keys, objects) if keys else pairs
        order.indexes = {resource: index.after(touched, objects) for resource, index in self.indexes.items()}
        return order


class Index:
    """Objects by their labels and selectable fields."""

    __slots__ = ("_places", "_resource", "_values")

    def __init__(
        self,
        resource: Resource,
        places: HashTrieMap[_Place, HashTrieSet[Key]],
        values: HashTrieMap[Key, tuple[Mapping[str, str], Mapping[str, str]]],
    ) -> None:
        self._resource = resource
        self._places = places
        #: The labels and the fields of each object.
        self._values = values

    @classmethod
    def of(cls, resource: Resource, objects: Objects) -> Index:
        """Return the index of some objects."""
        values = {key: _values(resource, version) for key, version in objects.items()}
        places: dict[_Place, list[Key]] = {}
        for key, value in values.items():
            for place in _places(*value):
                places.setdefault(place, []).append(key)
        return cls(
            resource,
            HashTrieMap({place: HashTrieSet(keys) for place, keys in places.items()}),
            HashTrieMap(values),
        )

    def after(self, touched: Iterable[Key], objects: Objects) -> Index:
        """Return the index after some objects have changed."""
        places, values = self._places, self._values
        for key in touched:
            known = values.get(key)
            for place in () if known is None else _places(*known):
                places = places.insert(place, places[place].discard(key))
            version = objects.get(key)
            if version is None:
                values = values.discard(key)
                continue
            value = _values(self._resource, version)
            values = values.insert(key, value)
            for place in _places(*value):
                keys = places.get(place)
                places = places.insert(place, HashTrieSet([key]) if keys is None else keys.insert(key))
        return Index(self._resource, places, values)

    def select(self, selection: Selection) -> list[Key] | None:
        """Return the selected objects, or None where the index does not narrow them down."""
        smallest: Iterable[Key] | None = None
        size = 0
        for places in _equalities(selection):
            found = [keys for place in places if (keys := self._places.get(place)) is not None]
            total = sum(map(len, found))
            if smallest is None or total < size:
                smallest, size = [key for keys in found for key in keys], total
        if smallest is None or size * _SHARE > len(self._values):
            return None  # as quick to look at all of them in order, which a page need not do to the end
        return [key for key in smallest if self.matches(selection, key)]

    def matches(self, selection: Selection, key: Key) -> bool:
        """Report whether an object is selected."""
        labels, fields = self._values[key]
        if selection.labels is not None and not selection.labels.matches(labels):
            return False
        return selection.fields is None or selection.fields.matches(fields)


#: A label or a field, and its value.
_Place = tuple[bool, str, str]
#: Fields by which every object can be found without an index of them.
_IDENTITY: Final = ("metadata.name", "metadata.namespace")


def _values(resource: Resource, version: Version) -> tuple[Mapping[str, str], Mapping[str, str]]:
    obj = _read(resource, version)
    return obj["metadata"].get("labels") or {}, resource.strategy.field_labels(obj)


def _read(resource: Resource, version: Version) -> dict[str, Any]:
    return served(resource, version.versioned())


def _places(labels: Mapping[str, str], fields: Mapping[str, str]) -> list[_Place]:
    places = [(False, name, value) for name, value in labels.items()]
    places += [(True, name, value) for name, value in fields.items() if value and name not in _IDENTITY]
    return places


def _equalities(selection: Selection) -> Iterable[list[_Place]]:
    """Yield the requirements that one of some values be there, as the places of an index."""
    if selection.labels is not None:
        for requirement in selection.labels.requirements:
            if requirement.operator in (selectors.IN, selectors.EQUALS, selectors.DOUBLE_EQUALS):
                yield [(False, requirement.key, value) for value in requirement.values]
    if selection.fields is not None:
        for wanted in selection.fields.requirements:
            # A field that is not there counts as empty, and is in no place.
            if wanted.operator == EQUALS and wanted.value and wanted.field not in _IDENTITY:
                yield [(True, wanted.field, wanted.value)]


def in_order(state: State, target: Target, at: int) -> list[Pair]:
    """Return the objects of a target's resource and namespace as they were at a version, in the order of lists."""
    resource, namespace = target.resource, target.namespace
    if target.name:
        objects = state.objects(resource.key) if at == state.resource_version else state.objects_at(resource.key, at)
        version = objects.get(target.key)
        return [] if version is None else [(path_of(resource, target.key, namespace), version)]
    if at == state.resource_version and len(objects := state.objects(resource.key)) <= _FEW:
        return _sorted(objects, resource, namespace)
    return _order(state, resource, at).of(namespace if resource.namespaced else "")


def selected(
    state: State, target: Target, at: int, selection: Selection, start: str = "", most: int = 0
) -> list[Pair] | None:
    """Return the objects from a path on that a selection selects, or None where each must be read and compared.

    No more than ``most`` of them, unless that is 0.
    """
    resource, namespace = target.resource, target.namespace if target.resource.namespaced else ""
    if target.name or len(state.objects(resource.key)) < _MANY:
        return None
    if resource.custom is not None and resource.custom.converts_by_webhook:
        return None
    order = _order(state, resource, at)
    name = None if selection.fields is None else selection.fields.exact("metadata.name")
    if name is not None:
        named = starting_at(_named(order, namespace, name), start)
        return [pair for pair in named if selection.matches(resource, _read(resource, pair[1]))]
    index = order.index(resource)
    keys = index.select(selection)
    if keys is None:
        within = starting_at(_within(order, namespace, selection), start)
        matching = (pair for pair in within if index.matches(selection, key_at(resource, namespace, pair[0])))
        return list(islice(matching, most or None))
    pairs = [
        (path_of(resource, key, namespace), order.objects[key])
        for key in keys
        if not namespace or key.namespace == namespace
    ]
    pairs.sort(key=_path_of)
    return starting_at(pairs, start)


def _within(order: Order, namespace: str, selection: Selection) -> list[Pair]:
    """Return the objects of a namespace, or of the one that a selector of fields names."""
    pairs = order.of(namespace)
    only = None if selection.fields is None else selection.fields.exact("metadata.namespace")
    if namespace or only is None or not order.resource.namespaced:
        return pairs
    return pairs[bisect_left(pairs, f"{only}/", key=_path_of) : bisect_left(pairs, _after(only), key=_path_of)]


def _named(order: Order, namespace: str, name: str) -> list[Pair]:
    """Return the objects that have a name, at most one in each namespace."""
    if namespace or not order.resource.namespaced:
        version = order.objects.get(Key(namespace, name))
        return [] if version is None else [(name, version)]
    pairs = order.of("")
    found: list[Pair] = []
    at = 0
    while at < len(pairs):
        within = pairs[at][0].partition("/")[0]
        version = order.objects.get(Key(within, name))
        if version is not None:
            found.append((f"{within}/{name}", version))
        at = bisect_left(pairs, _after(within), lo=at, key=_path_of)
    return found


def _after(namespace: str) -> str:
    """Return a path that is later than all in a namespace and earlier than all in the next one."""
    return f"{namespace}{chr(ord('/') + 1)}"


def path_of(resource: Resource, key: Key, namespace: str) -> str:
    """Return the path of an object in a list of a namespace, or of all."""
    return key[1] if namespace or not resource.namespaced else f"{key[0]}/{key[1]}"


def key_at(resource: Resource, namespace: str, path: str) -> Key:
    """Return the key of an object from its path in a list of a namespace, or of all."""
    if namespace or not resource.namespaced:
        return Key(namespace, path)
    within, _, name = path.partition("/")
    return Key(within, name)


def starting_at(pairs: list[Pair], start: str) -> list[Pair]:
    """Return the objects from a path on."""
    return pairs[bisect_left(pairs, start, key=_path_of) :] if start else pairs


def _sorted(objects: Objects, resource: Resource, namespace: str) -> list[Pair]:
    if namespace and resource.namespaced:
        pairs = [(key[1], version) for key, version in objects.items() if key[0] == namespace]
    elif resource.namespaced:
        pairs = [(f"{key[0]}/{key[1]}", version) for key, version in objects.items()]
    else:
        pairs = [(key[1], version) for key, version in objects.items()]
    pairs.sort(key=_path_of)
    return pairs


def _changed(
    pairs: list[Pair], resource: Resource, namespace: str, keys: Iterable[Key], objects: Objects
) -> list[Pair]:
    """Return a sorted list after some of its objects have changed; the given one stays as it is."""
    changed = pairs.copy()
    for key in keys:
        path = path_of(resource, key, namespace)
        position = bisect_left(changed, path, key=_path_of)
        there = position < len(changed) and changed[position][0] == path
        version = objects.get(key)
        if version is None:
            if there:
                del changed[position]
        elif there:
            changed[position] = (path, version)
        else:
            changed.insert(position, (path, version))
    return changed


#: The orders used last, newest first; replaced as a whole, so that threads can share it without a lock.
_remembered: tuple[Order, ...] = ()


def _order(state: State, resource: Resource, at: int) -> Order:
    global _remembered
    order = _known(state, resource, at) or _derived(state, resource, at)
    remembered = _remembered
    if not remembered or remembered[0] is not order:
        _remembered = (order, *[other for other in remembered if other is not order][: _REMEMBERED - 1])
    return order


def _known(state: State, resource: Resource, at: int) -> Order | None:
    if at == state.resource_version:
        objects = state.objects(resource.key)
        return next((order for order in _remembered if order.objects is objects), None)
    last = next(
        (change for change in state.backwards() if change.resource_version <= at and change.resource == resource.key),
        None,
    )
    return None if last is None else next((order for order in _remembered if order.last is last), None)


def _derived(state: State, resource: Resource, at: int) -> Order:
    """Return a new order: one that is remembered, with the changes since, or the objects sorted anew."""
    objects = state.objects(resource.key) if at == state.resource_version else state.objects_at(resource.key, at)
    if len(objects) < _MANY:
        return Order(resource, objects, None)  # quicker than a walk through the history
    bases = {id(order.last): order for order in _remembered if order.last is not None}
    changes: list[Change] = []
    newest: Change | None = None
    for followed, change in enumerate(state.backwards()):
        if followed > _MOST_CHANGES:
            break
        if change.resource != resource.key or change.resource_version > at:
            continue
        newest = newest or change
        base = bases.get(id(change))
        if base is not None and changes:
            return base.after(objects, changes[::-1])
        changes.append(change)
    return Order(resource, objects, newest)
