"""The ways in which users name an object: by a key, by text, by a tuple, or by the object itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, TypeAlias

from kontend.kube.errors import WrongObject
from kontend.kube.meta.names import Key, key_of


class HasKey(Protocol):
    """A :class:`Key` or a ``Request``."""

    @property
    def namespace(self) -> str:
        """The namespace; empty for a cluster-scoped object."""

    @property
    def name(self) -> str:
        """The name."""


#: What names an object.
Named: TypeAlias = HasKey | str | tuple[str, str] | Mapping[str, Any]


def as_key(key: Named) -> Key:
    """Return the key of an object that is named in any of the accepted ways.

    >>> as_key("default/web") == as_key(("default", "web"))
    True
    >>> as_key({"metadata": {"namespace": "default", "name": "web"}})
    Key(namespace='default', name='web')
    """
    found: Any = key
    namespace: Any
    name: Any
    if isinstance(found, str):
        namespace, _, name = found.rpartition("/")
    elif isinstance(found, Mapping):
        namespace, name = key_of(found)
    elif isinstance(found, tuple) and len(found) == 2:
        namespace, name = found
    else:
        namespace, name = getattr(found, "namespace", None), getattr(found, "name", None)
    if not isinstance(namespace, str) or not isinstance(name, str) or not name or "/" in namespace:
        raise WrongObject(
            f"{found!r} does not name an object: expected the request, 'namespace/name', ('namespace', 'name'), or an "
            "object with metadata"
        )
    return Key(namespace, name)


def shown(value: Any) -> str:
    """Return a value as a message shows it: an object by its kind and name, anything else as Python writes it.

    >>> shown({"kind": "Pod", "metadata": {"name": "web", "namespace": "default"}, "spec": {"containers": []}})
    'Pod default/web'
    >>> shown("web"), shown({"spec": {}})
    ("'web'", "{'spec': {}}")
    """
    metadata = value.get("metadata") if isinstance(value, Mapping) else None
    if not isinstance(metadata, Mapping) or not value.get("kind"):
        return repr(value)
    name = metadata.get("name") or f"{metadata.get('generateName') or 'without a name'}"
    return f"{value['kind']} {Key(str(metadata.get('namespace') or ''), str(name))}"
