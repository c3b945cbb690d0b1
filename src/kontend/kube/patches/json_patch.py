"""JSON Patch (RFC 6902) with the habits of the library inside kube-apiserver.

The server follows the standard with a few habits of its own, all kept here: ``replace`` and ``copy`` take a key that is
not there for ``null``, a negative index counts from the end, the text before the first ``/`` of a pointer is ignored,
and ``test`` compares numbers and strings as they are written, so that ``2.0`` is not ``2``. Whatever does not apply is
answered with one and the same sentence; a note on the exception says which operation it was.

The object that is patched is never changed: a container is copied when an operation first reaches it, and changed in
place from then on, so that a patch takes time in proportion to the object and to its operations.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from kontend.kube.encoding.json_syntax import MalformedJSON, go_kind, read
from kontend.kube.encoding.json_text import parse_json
from kontend.kube.errors import BadRequest, RequestEntityTooLarge, rejected
from kontend.kube.field_errors import go_json, go_json_float, go_quote
from kontend.kube.golang.strconv import whole_number
from kontend.kube.schema.tree import MISSING

MAX_OPERATIONS: Final = 10_000
#: All ``copy`` operations of a patch together may not add more bytes than this.
MAX_COPIED_BYTES: Final = 3 * 1024 * 1024

_FIELDS: Final = frozenset({"op", "path", "from", "value"})
#: Texts in which a value may be written in another way than the server writes it.
_UNUSUAL_SPELLING: Final = re.compile(rb"\\|[<>&]|[0-9][.eE]|-0|\xe2\x80[\xa8\xa9]")
_INDEX: Final = re.compile(r"[+-]?[0-9]{1,18}\Z", re.ASCII)


@dataclass(frozen=True, slots=True)
class Operation:
    """One step of a patch, with what was left out of it as :data:`~kontend.kube.schema.tree.MISSING`."""

    op: Any
    path: Any
    source: Any
    value: Any
    #: The value with every scalar as its source text, where the spelling may matter to ``test``.
    spelled: Any = MISSING


class _DoesNotApply(Exception):
    """An operation that cannot be carried out, with the reason."""


def parse_json_patch(raw: bytes | Sequence[Any], *, field_validation: str = "Warn") -> list[Operation]:
    """Return the operations of a patch, given as text or as parsed JSON.

    Raises :class:`BadRequest` for what is no patch at all. An operation that is merely impossible is refused when it is
    applied. The server decodes twice unless ``field_validation`` is ``Ignore``, and the first decoder has other words.
    """
    ignore = field_validation == "Ignore"
    prefix, whole, operation = (
        ("", "jsonpatch.Patch", "jsonpatch.Operation")
        if ignore
        else ("error decoding patch: ", "[]handlers.jsonPatchOp", "handlers.jsonPatchOp")
    )
    if isinstance(raw, bytes):
        try:
            patch = parse_json(raw)[0]
        except MalformedJSON as error:
            raise BadRequest(prefix + error.message) from error
    else:
        patch = raw
    if patch is None:
        return []
    if not isinstance(patch, (list, tuple)):
        raise BadRequest(f"{prefix}json: cannot unmarshal {go_kind(patch)} into Go value of type {whole}")
    operations: list[Operation] = []
    for step in patch:
        if step is None:
            step = {}
        if not isinstance(step, Mapping):
            raise BadRequest(f"{prefix}json: cannot unmarshal {go_kind(step)} into Go value of type {operation}")
        if not ignore:
            _check_types(step)
        get = step.get
        operations.append(Operation(get("op"), get("path"), get("from"), get("value", MISSING)))
    if len(operations) > MAX_OPERATIONS:
        raise RequestEntityTooLarge(
            "Request entity too large: The allowed maximum operations in a JSON patch is "
            f"{MAX_OPERATIONS}, got {len(operations)}"
        )
    if isinstance(raw, bytes) and _UNUSUAL_SPELLING.search(raw):
        return _with_spelling(raw, operations)
    return operations


def _check_types(step: Mapping[Any, Any]) -> None:
    for field in step:
        if field in ("op", "path", "from") and not isinstance(step[field], (str, type(None))):
            raise BadRequest(
                f"error decoding patch: json: cannot unmarshal {go_kind(step[field])} "
                f"into Go struct field jsonPatchOp.{field} of type string"
            )


def _with_spelling(raw: bytes, operations: list[Operation]) -> list[Operation]:
    if all(operation.op != "test" for operation in operations):
        return operations
    return [
        Operation(it.op, it.path, it.source, it.value, (spelled or {}).get("value", MISSING))
        for it, spelled in zip(operations, read(raw, literals=True)[0], strict=True)
    ]


def json_patch_strict_errors(raw: bytes) -> list[str]:
    """Return the errors of strict field validation in the text of a patch: unknown and repeated fields.

    >>> json_patch_strict_errors(b'[{"op": "remove", "path": "/a", "why": 1}]')
    ['json patch unknown field "[0].why"']
    """
    patch, duplicates = parse_json(raw, find_duplicates=True)
    unknown = [
        f"json patch unknown field {go_quote(f'[{index}].{field}')}"
        for index, step in enumerate(patch or ())
        for field in step or ()
        if field not in _FIELDS
    ]
    return unknown + [f"json patch duplicate field {go_quote(path)}" for path in duplicates]


def apply_json_patch(obj: Any, operations: Iterable[Operation]) -> Any:
    """``obj`` after all ``operations``, or ``Invalid`` and no change when one of them does not apply.

    >>> append = parse_json_patch([{"op": "add", "path": "/spec/args/-", "value": "b"}])
    >>> apply_json_patch({"spec": {"args": ["a"]}}, append)
    {'spec': {'args': ['a', 'b']}}
    """
    document = _Document(obj)
    for number, step in enumerate(operations):
        try:
            apply = _OPERATIONS.get(step.op) if isinstance(step.op, str) else None
            if apply is None:
                raise _DoesNotApply(f"unknown operation {step.op!r}")
            apply(document, step)
        except _DoesNotApply as why:
            raise rejected(f"operation {number} ({step.op} {step.path!r}): {why}") from why
    return document.root


class _Document:
    """The object as it is patched, with the containers in it that are copies of its own."""

    def __init__(self, root: Any) -> None:
        self.root = root
        self.copied_bytes = 0
        #: By identity; the values keep them alive, so that an identity stays theirs.
        self._own: dict[int, Any] = {}

    def _owned(self, container: Any) -> Any:
        """Return the container, or a copy of it that may be changed."""
        if id(container) in self._own:
            return container
        copy = container.copy()
        self._own[id(copy)] = copy
        return copy

    def disown(self, value: Any) -> None:
        """Note that a value is now found in two places: whoever changes one of them must copy it."""
        self._own.pop(id(value), None)
        if isinstance(value, (dict, list)):
            for below in value.values() if isinstance(value, dict) else value:
                if isinstance(below, (dict, list)):
                    self.disown(below)

    def container(self, pointer: list[str]) -> Any:
        """Return the container that the last part of a pointer is in, ready to be changed."""
        _container_of(self.root, pointer)
        at = self.root = self._owned(self.root)
        for part in pointer[:-1]:
            key: Any = _index(part, len(at)) if isinstance(at, list) else part
            at[key] = self._owned(at[key])
            at = at[key]
        return at


def _container_of(root: Any, pointer: list[str]) -> None:
    """Refuses a pointer whose way leads through anything but objects and lists."""
    at = _get(root, pointer[:-1])
    if not isinstance(at, (dict, list)):
        raise _DoesNotApply(f"there is no object or list around {pointer[-1]!r}")


def pointer_of(text: Any, field: str = "path") -> list[str]:
    """Return the keys of a pointer."""
    if not isinstance(text, str):
        raise _DoesNotApply(f"it has no {field}")
    parts = text.split("/")[1:]
    if not parts:
        raise _DoesNotApply(f"the pointer {text!r} names no field")
    return [part.replace("~1", "/").replace("~0", "~") for part in parts] if "~" in text else parts


def _index(text: str, size: int) -> int:
    """Return the position that a reference token names in a list of ``size`` items."""
    if not _INDEX.match(text):
        raise _DoesNotApply(f"{text!r} is not an index")
    index = whole_number(text)
    if index < 0:
        index += size
    if not 0 <= index < size:
        raise _DoesNotApply(f"index {text} is outside the list")
    return index


def _child(at: Any, key: str) -> Any:
    """Return the value at ``key``; a key that an object does not have is null."""
    if isinstance(at, dict):
        return at.get(key)
    if isinstance(at, list):
        return at[_index(key, len(at))]
    raise _DoesNotApply(f"there is no object or list around {key!r}")


def _get(obj: Any, pointer: list[str]) -> Any:
    for part in pointer:
        obj = _child(obj, part)
    return obj


def _add(at: Any, key: str, value: Any) -> None:
    if isinstance(at, dict):
        at[key] = value
    else:
        at.insert(len(at) if key == "-" else _index(key, len(at) + 1), value)


def _value(step: Operation) -> Any:
    return None if step.value is MISSING else step.value


def _op_add(document: _Document, step: Operation) -> None:
    pointer = pointer_of(step.path)
    _add(document.container(pointer), pointer[-1], _value(step))


def _op_remove(document: _Document, step: Operation) -> None:
    _take(document, pointer_of(step.path))


def _take(document: _Document, pointer: list[str]) -> Any:
    at, key = document.container(pointer), pointer[-1]
    if isinstance(at, list):
        return at.pop(_index(key, len(at)))
    if key not in at:
        raise _DoesNotApply(f"there is no {key!r} to remove")
    return at.pop(key)


def _op_replace(document: _Document, step: Operation) -> None:
    if step.path == "":
        if not isinstance(step.value, (dict, list)):
            raise _DoesNotApply("the whole document can only become an object or a list")
        document.root = step.value
        return
    pointer = pointer_of(step.path)
    at, key = document.container(pointer), pointer[-1]
    if isinstance(at, list):
        at[_index(key, len(at))] = _value(step)
    else:
        at[key] = _value(step)


def _op_move(document: _Document, step: Operation) -> None:
    source = pointer_of(step.source, "from")
    _get(document.root, source)
    value = _take(document, source)
    pointer = pointer_of(step.path)
    _add(document.container(pointer), pointer[-1], value)


def _op_copy(document: _Document, step: Operation) -> None:
    value = _get(document.root, pointer_of(step.source, "from"))
    document.copied_bytes += len(orjson.dumps(value))
    if document.copied_bytes > MAX_COPIED_BYTES:
        raise _DoesNotApply(f"copies more than {MAX_COPIED_BYTES} bytes")
    document.disown(value)
    pointer = pointer_of(step.path)
    _add(document.container(pointer), pointer[-1], value)


def _op_test(document: _Document, step: Operation) -> None:
    actual = document.root if step.path == "" else _get(document.root, pointer_of(step.path))
    if actual is None:
        same = _value(step) is None
    elif step.spelled is MISSING:
        same = _equal(actual, step.value)
    else:
        same = _equal_as_written(actual, step.spelled)
    if not same:
        raise _DoesNotApply(f"found {go_json(actual)}")


def _equal(one: Any, other: Any) -> bool:
    """Equality in which 1, 1.0 and true are three different things."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return len(one) == len(other) and all(key in other and _equal(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(_equal, one, other))
    return bool(one == other)


def _equal_as_written(value: Any, spelled: Any) -> bool:
    """Report whether the server would write ``value`` as the patch spells it (white space and order aside)."""
    if isinstance(value, dict):
        return (
            isinstance(spelled, dict)
            and len(value) == len(spelled)
            and all(key in spelled and _equal_as_written(value[key], spelled[key]) for key in value)
        )
    if isinstance(value, list):
        return isinstance(spelled, list) and len(value) == len(spelled) and all(map(_equal_as_written, value, spelled))
    if value is None or spelled is None:
        return value is spelled
    return isinstance(spelled, bytes) and _written(value).encode() == spelled


def _written(value: Any) -> str:
    """Return a scalar as Go's encoder writes it.

    >>> _written(2.0), _written(1e-7), _written(1e21), _written("a<b")
    ('2', '1e-7', '1e+21', '"a\\\\u003cb"')
    """
    if isinstance(value, float):
        return go_json_float(value)
    return go_json(value).replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


_OPERATIONS: Final[dict[str, Callable[[_Document, Operation], None]]] = {
    "add": _op_add,
    "remove": _op_remove,
    "replace": _op_replace,
    "move": _op_move,
    "copy": _op_copy,
    "test": _op_test,
}
