"""Fields in which final states may differ: a counter, a rotated secret, the name of the last writer.

A field is named by its kind and its path, such as ``ConfigMap.data.next``; a name with dots stands in brackets, such as
``Pod.metadata.annotations["example.com/seen"]``. A path leads through lists into all of their elements. Only the
comparison of final states leaves such fields out. States with different values stay different states, because code may
read the field.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from kontend.explore.problems import BadScenario
from kontend.runtime.source_location import SourceLocation

_SEGMENT: Final = re.compile(r"""\.([^.\[\]"]+)|\["([^"]+)"\]""")
_KIND: Final = re.compile(r"[A-Z][A-Za-z0-9]*")


@dataclass(frozen=True, slots=True)
class Ignored:
    """The fields and objects that comparisons of final states leave out.

    >>> Ignored.of(["ConfigMap.data.next"]).without(b'{"kind":"ConfigMap","data":{"next":"3","a":"b"}}')
    b'{"kind":"ConfigMap","data":{"a":"b"}}'
    """

    #: The kind and the path of each.
    fields: tuple[tuple[str, tuple[str, ...]], ...] = ()
    #: Objects that a garbage collector deletes are left out, too.
    garbage: bool = True

    @classmethod
    def of(cls, texts: Iterable[str], line: SourceLocation | None = None) -> Ignored:
        """Parse fields. Raises :class:`~kontend.explore.problems.BadScenario`."""
        return cls(tuple(_parsed(text, line) for text in texts))

    def without(self, body: bytes) -> bytes:
        """An object without its ignored fields."""
        if not self.fields:
            return body
        obj = orjson.loads(body)
        paths = [path for kind, path in self.fields if kind == obj.get("kind")]
        if not paths:
            return body
        for path in paths:
            _remove(obj, path)
        return orjson.dumps(obj)


#: Nothing is ignored: final states are the same only if no question about them can be answered differently.
NOTHING: Final = Ignored(garbage=False)


def _parsed(text: str, line: SourceLocation | None) -> tuple[str, tuple[str, ...]]:
    kind = _KIND.match(text) if isinstance(text, str) else None
    path: list[str] = []
    if kind is not None:
        at = kind.end()
        while at < len(text) and (segment := _SEGMENT.match(text, at)):
            path.append(segment[1] or segment[2])
            at = segment.end()
        if path and at == len(text):
            return kind[0], tuple(path)
    raise BadScenario(
        f"ignore={text!r}: expected a kind and a path, such as ConfigMap.data.next or "
        'Pod.metadata.annotations["example.com/seen"]',
        line,
    )


def _remove(value: Any, path: Sequence[str]) -> None:
    """Remove a field. An object that it leaves empty goes, too: only the runs that write the field have it."""
    if isinstance(value, list):
        for element in value:
            _remove(element, path)
    elif isinstance(value, dict) and path[0] in value:
        if len(path) > 1:
            inner = value[path[0]]
            _remove(inner, path[1:])
            if inner != {}:
                return
        del value[path[0]]
