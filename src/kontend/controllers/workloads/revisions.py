"""Revisions of a pod template, as StatefulSets and DaemonSets keep them: ControllerRevision objects.

A revision holds the template and is named after a hash of it, so that two controllers that see the same template make
the same revision. The hash is the one of kube-controller-manager, to the letter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any, Final

import orjson

from kontend.controllers.adoption import claim
from kontend.kube.errors import AlreadyExists
from kontend.kube.meta.accessors import controller_of, uid_of
from kontend.kube.meta.names import Key
from kontend.kube.meta.selectors import selector_from_json
from kontend.runtime.client.api import Api
from kontend.runtime.client.patches import Object
from kontend.runtime.writes.owners import owner_reference

REVISIONS: Final = "ControllerRevision.apps/v1"
#: The label by which pods and revisions name their revision.
HASH_LABEL: Final = "controller-revision-hash"
_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"
_ESCAPED: Final = ((b"<", b"\\u003c"), (b">", b"\\u003e"), (b"&", b"\\u0026"))


def safe_encode(text: str) -> str:
    """Encode a number without vowels, so that it never spells a word.

    >>> safe_encode("2874617930")
    '6dc8b5cf74'
    """
    return "".join(_LETTERS[ord(letter) % len(_LETTERS)] for letter in text)


def fnv32(data: bytes) -> int:
    """Return the FNV-1 hash."""
    value = 0x811C9DC5
    for byte in data:
        value = (value * 0x01000193 & 0xFFFFFFFF) ^ byte
    return value


def template_patch(owner: Mapping[str, Any]) -> dict[str, Any]:
    """Return the data of a revision: a patch that restores the template."""
    return {"spec": {"template": {**owner["spec"]["template"], "$patch": "replace"}}}


def revision_hash(data: Mapping[str, Any], collisions: int) -> str:
    """Return the hash in the name of a revision."""
    text = orjson.dumps(data, option=orjson.OPT_SORT_KEYS)
    for plain, escaped in _ESCAPED:
        text = text.replace(plain, escaped)
    return safe_encode(str(fnv32(text + str(collisions).encode())))


def template_of(revision: Mapping[str, Any]) -> dict[str, Any]:
    """Return the template that a revision stores."""
    template = deepcopy(revision["data"]["spec"]["template"])
    template.pop("$patch", None)
    return dict(template)


def in_order(revisions: Sequence[Object]) -> list[Object]:
    """Revisions, oldest first."""

    def age(revision: Object) -> tuple[int, str, str]:
        metadata = revision["metadata"]
        return revision.get("revision", 0), metadata.get("creationTimestamp") or "", metadata["name"]

    return sorted(revisions, key=age)


async def revisions_of(api: Api, owner: Object) -> list[Object]:
    """Return the revisions of an object, oldest first; those without a controller are adopted."""
    selector = selector_from_json(owner["spec"]["selector"])
    existing = await api.list(REVISIONS, namespace=owner["metadata"]["namespace"])
    mine = [
        revision
        for revision in existing
        if (controller_of(revision) or {"uid": uid_of(owner)}).get("uid") == uid_of(owner)
    ]
    matching = [revision for revision in mine if selector.matches(revision["metadata"].get("labels") or {})]
    return in_order(await claim(api, owner, matching, selector))


def new_revision(owner: Object, number: int) -> Object:
    """Return a revision of the template as it is now, not named yet."""
    metadata: dict[str, Any] = {
        "namespace": owner["metadata"]["namespace"],
        "labels": dict((owner["spec"]["template"].get("metadata") or {}).get("labels") or {}),
        "ownerReferences": [owner_reference(owner, controller=True)],
    }
    annotations = owner["metadata"].get("annotations")
    if annotations:
        metadata["annotations"] = dict(annotations)
    return {
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": metadata,
        "data": template_patch(owner),
        "revision": number,
    }


async def store_revision(api: Api, owner: Object, revision: Object, collisions: int) -> tuple[Object, int]:
    """Create a revision under the name of its hash; return it, and how many names were taken by others."""
    first = revision_hash(revision["data"], collisions)
    while True:
        name = f"{owner['metadata']['name']}-{revision_hash(revision['data'], collisions)}"
        made = deepcopy(revision)
        made["metadata"]["name"] = name
        made["metadata"]["labels"][HASH_LABEL] = first
        try:
            await api.create(made)
        except AlreadyExists:
            existing = await api.live.get(REVISIONS, Key(owner["metadata"]["namespace"], name))
            if existing.get("data") == revision["data"]:
                return existing, collisions
            collisions += 1
            continue
        return made, collisions
