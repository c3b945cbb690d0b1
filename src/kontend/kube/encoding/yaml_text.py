"""YAML request bodies, read as the server's YAML library reads them.

That library speaks YAML 1.1 with rules of its own: ``y`` and ``on`` are booleans, ``0755`` is octal, base 60 is not
known, dates stay strings, and only the first document of a text counts. The grammar is PyYAML's; which value a plain
word stands for is decided here.
"""

from __future__ import annotations

import base64
import math
import re
from typing import Any, Final

import yaml

from kontend.kube.encoding.json_syntax import MAX_DEPTH, MalformedYAML
from kontend.kube.field_errors import go_float, go_quote

_PLAIN: Final = "!plain"
_MERGE: Final = "<<"
_TAG: Final = "tag:yaml.org,2002:"
#: The most bytes that aliases may add to a document. The server has no such limit.
_MAX_ALIASED: Final = 8 << 20
_NODE_SIZE: Final = 64
#: More digits than any 64-bit integer has in base 2.
_LONGEST_INTEGER: Final = 80
#: The server's limits: the share of nodes that may come from aliases falls from 0.99 to 0.1 as a document grows.
_RATIO_LOW, _RATIO_HIGH = 400_000, 4_000_000
_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?\Z")
_INTEGER: Final = re.compile(
    r"(?P<sign>[-+]?)(?:0[xX](?P<hex>[0-9a-fA-F]+)|0[bB](?P<bin>[01]+)|0[oO]?(?P<oct>[0-7]+)|(?P<dec>0|[1-9][0-9]*))\Z"
)
_WORDS: Final[dict[str, Any]] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
}


# The C parser has the messages that the server has; the other one is the fallback where it was not built.
class _Loader(getattr(yaml, "CBaseLoader", yaml.BaseLoader)):  # type: ignore[misc]
    """Reads events only."""


def parse_yaml(raw: bytes, *, find_duplicates: bool = False) -> tuple[Any, list[str]]:
    """Return the value of the first document in ``raw``, and the server's strict complaint (at most one) about repeated
    keys.

    >>> parse_yaml(b"a: y\\nb: [0x10, 1_000, '1', 2024-01-01]\\n")[0]
    {'a': True, 'b': [16, 1000, '1', '2024-01-01']}
    >>> parse_yaml(b"a: 1\\na: 2\\n", find_duplicates=True)
    ({'a': 2}, ['yaml: unmarshal errors:\\n  line 2: key "a" already set in map'])
    """
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise MalformedYAML(f"yaml: {_bad_octets(raw[error.start : error.start + 4])}") from None
    try:
        node = _compose(text)
    except yaml.MarkedYAMLError as error:
        raise MalformedYAML(f"yaml: {_place(error)}{error.problem or error.context}") from None
    except yaml.YAMLError as error:
        reason = getattr(error, "reason", None) or "unknown problem parsing YAML content"
        raise MalformedYAML(f"yaml: {reason}") from None
    except ValueError:
        raise MalformedYAML("yaml: exceeded max depth") from None
    reader = _Reader()
    value = reader.value(node, 0)
    if find_duplicates and reader.duplicates:
        return value, ["yaml: unmarshal errors:\n  " + "\n  ".join(reader.duplicates)]
    return value, []


def _compose(text: str) -> Any:
    """Return the node of the first document.

    From events, not by the library's composer: that one recurses, and does not let other threads run until it is done.
    """
    anchors: dict[str, Any] = {}
    stack: list[Any] = []
    pending: list[Any] = []  # keys of open mappings that wait for their values; None where a key comes next
    root: Any = None
    event: Any
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.ScalarEvent):
            node: Any = yaml.ScalarNode(_tag(event), event.value, _mark(event))
        elif isinstance(event, yaml.CollectionStartEvent):
            kind = yaml.SequenceNode if isinstance(event, yaml.SequenceStartEvent) else yaml.MappingNode
            node = kind(event.tag or "", [], _mark(event))
        elif isinstance(event, yaml.AliasEvent):
            if event.anchor not in anchors:
                raise MalformedYAML(f"yaml: unknown anchor '{event.anchor}' referenced")
            node = anchors[event.anchor]
        elif isinstance(event, yaml.CollectionEndEvent):
            stack.pop()
            pending.pop()
            continue
        elif isinstance(event, yaml.DocumentEndEvent):
            return root
        else:
            continue
        if event.anchor is not None and not isinstance(event, yaml.AliasEvent):
            anchors[event.anchor] = node
        if not stack:
            root = node
        elif isinstance(stack[-1], yaml.SequenceNode):
            stack[-1].value.append(node)
        elif pending[-1] is None:
            pending[-1] = node
        else:
            stack[-1].value.append((pending[-1], node))
            pending[-1] = None
        if isinstance(event, yaml.CollectionStartEvent):
            if len(stack) > MAX_DEPTH:  # the scanner takes quadratic time for deeper ones
                raise MalformedYAML("yaml: exceeded max depth")
            stack.append(node)
            pending.append(None)
    return root


def _mark(event: Any) -> Any:
    return event.start_mark


def _tag(event: Any) -> str:
    """Return the tag of a scalar: its own, or what follows from how it is written."""
    if event.tag is not None and event.tag != "!":
        return str(event.tag)
    return _PLAIN if event.implicit[0] else _TAG + "str"


def _bad_octets(octets: bytes) -> str:
    """Says what is wrong with bytes that are no character of UTF-8.

    >>> _bad_octets(b"\\xffa"), _bad_octets(b"\\xc3("), _bad_octets(b"\\xe2\\x82"), _bad_octets(b"\\xc0\\x80")
    ('invalid leading UTF-8 octet', 'invalid trailing UTF-8 octet', 'incomplete UTF-8 octet sequence', \
'invalid length of a UTF-8 sequence')
    """
    first = octets[0]
    width = next((width for width, (mask, lead) in _LEADS.items() if first & mask == lead), 0)
    if not width:
        return "invalid leading UTF-8 octet"
    if width > len(octets):
        return "incomplete UTF-8 octet sequence"
    value = first & (0x7F >> width)
    for octet in octets[1:width]:
        if octet & 0xC0 != 0x80:
            return "invalid trailing UTF-8 octet"
        value = value << 6 | octet & 0x3F
    shortest = {2: 0x80, 3: 0x800, 4: 0x10000}[width]
    return "invalid length of a UTF-8 sequence" if value < shortest else "invalid Unicode character"


#: For sequences of two, three or four octets, the bits of the first one that are fixed, and their values.
_LEADS: Final = {2: (0xE0, 0xC0), 3: (0xF0, 0xE0), 4: (0xF8, 0xF0)}


def not_yaml(path: object, error: yaml.YAMLError | UnicodeDecodeError) -> str:
    """Return the message about a file of a user that is no YAML, with its line.

    Errors of requests have the words of the server instead; see :func:`parse_yaml`.
    """
    mark = error.problem_mark or error.context_mark if isinstance(error, yaml.MarkedYAMLError) else None
    if mark is None or not isinstance(error, yaml.MarkedYAMLError):
        return f"{path}: not YAML: {' '.join(str(error).split())}"
    is_tab = mark.buffer is not None and mark.buffer[mark.pointer : mark.pointer + 1] == "\t"
    hint = "; indent with spaces" if is_tab else ""
    return f"{path}:{mark.line + 1}: not YAML: {error.problem or error.context}{hint}"


def _place(error: yaml.MarkedYAMLError) -> str:
    scanner = isinstance(error, yaml.scanner.ScannerError)
    if error.problem_mark is not None and error.problem_mark.line:
        line = error.problem_mark.line + (1 if scanner else 0)
    else:
        line = error.context_mark.line if error.context_mark is not None else 0
    return f"line {line}: " if line else ""


class _Reader:
    def __init__(self) -> None:
        self.duplicates: list[str] = []
        self.open: set[int] = set()
        self.seen: set[int] = set()
        self.count = 0
        self.aliased = 0
        self.aliased_bytes = 0
        self.alias_depth = 0

    def value(self, node: Any, depth: int) -> Any:
        if node is None:
            return None
        again = id(node) in self.seen
        self.seen.add(id(node))
        self.alias_depth += again
        self.measure(node)
        value = self.plain_value(node, depth)
        self.alias_depth -= again
        return value

    def measure(self, node: Any) -> None:
        """Count a node, and refuse a document that aliases blow up."""
        self.count += 1
        if not self.alias_depth:
            return
        self.aliased += 1
        self.aliased_bytes += _NODE_SIZE + (len(node.value) if isinstance(node.value, str) else 0)
        excess = (self.count - _RATIO_LOW) / (_RATIO_HIGH - _RATIO_LOW)
        allowed = 0.99 - 0.89 * min(max(excess, 0.0), 1.0)
        many = self.aliased > 100 and self.count > 1000 and self.aliased / self.count > allowed
        if many or self.aliased_bytes > _MAX_ALIASED:
            raise MalformedYAML("yaml: document contains excessive aliasing")

    def plain_value(self, node: Any, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise MalformedYAML("yaml: exceeded max depth")
        if isinstance(node, yaml.ScalarNode):
            value = _scalar(node)
            if isinstance(value, float) and not math.isfinite(value):
                raise MalformedYAML(
                    f"json: unsupported value: {'NaN' if math.isnan(value) else f'{value:+}'[:4].title()}"
                )
            return value
        if id(node) in self.open:
            raise MalformedYAML("yaml: anchor value contains itself")
        self.open.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            result: Any = [self.value(pair, depth + 1) for pair in node.value]
        else:
            result = {}
            self.mapping(node, result, depth + 1)
        self.open.discard(id(node))
        return result

    def mapping(self, node: Any, into: dict[str, Any], depth: int) -> None:
        for key_node, value_node in node.value:
            if (
                isinstance(key_node, yaml.ScalarNode)
                and key_node.value == _MERGE
                and key_node.tag in (_PLAIN, _TAG + "merge")
            ):
                self.merge(value_node, into, depth)
                continue
            key = _key(key_node)
            self.measure(key_node)
            value = self.value(value_node, depth)
            if key in into:
                shown = go_quote(key) if isinstance(_scalar(key_node), str) else key
                self.duplicates.append(f"line {value_node.start_mark.line + 1}: key {shown} already set in map")
            into[key] = value

    def merge(self, node: Any, into: dict[str, Any], depth: int) -> None:
        parents = list(reversed(node.value)) if isinstance(node, yaml.SequenceNode) else [node]
        for parent in parents:
            if not isinstance(parent, yaml.MappingNode):
                raise MalformedYAML("yaml: map merge requires map or sequence of maps as the value")
            if id(parent) in self.open:
                raise MalformedYAML("yaml: anchor value contains itself")
            into.update(self.value(parent, depth))


def _key(node: Any) -> str:
    """Return a key as JSON has it."""
    if not isinstance(node, yaml.ScalarNode):
        raise MalformedYAML("yaml: invalid map key")
    value = _scalar(node)
    if isinstance(value, str):
        return value
    if value is None:
        raise MalformedYAML("unsupported map key of type: %!s(<nil>), key: <nil>, value: <nil>")
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and not math.isfinite(value):
        return ".nan" if math.isnan(value) else f"{value:+}".replace("+", "").replace("inf", ".inf")
    return go_float(value) if isinstance(value, float) else str(value)


def _scalar(node: Any) -> Any:
    text: str = node.value
    tag: str = node.tag
    if tag == _PLAIN:
        return _plain(text)
    if tag in (_TAG + "int", _TAG + "float", _TAG + "bool", _TAG + "null"):
        value = _plain(text)
        wanted = tag.removeprefix(_TAG)
        actual = _short_tag(value)
        if wanted == "float" and actual == "int":
            return float(value)
        if actual != wanted:
            raise MalformedYAML(f"yaml: cannot decode !!{actual} `{text}` as a !!{wanted}")
        return value
    if tag == _TAG + "binary":
        try:
            return base64.b64decode("".join(text.split()), validate=True).decode("utf-8", "replace")
        except ValueError:
            raise MalformedYAML("yaml: !!binary value contains invalid base64 data") from None
    return text


def _short_tag(value: Any) -> str:
    if value is None:
        return "null"
    return {bool: "bool", int: "int", float: "float"}.get(type(value), "str")


def _plain(text: str) -> Any:
    """Return the value of a word without quotes."""
    if text in _WORDS:
        return _WORDS[text]
    first = text[0]
    if first not in "0123456789+-.":
        return text
    digits = text.replace("_", "") if first != "." else text
    match = _INTEGER.match(digits)
    if match and len(digits) < _LONGEST_INTEGER:
        base = next(
            (size, match[name]) for name, size in (("hex", 16), ("bin", 2), ("oct", 8), ("dec", 10)) if match[name]
        )
        number = int(base[1], base[0]) * (-1 if match["sign"] == "-" else 1)
        if -(2**63) <= number < 2**64:
            return number if number < 2**63 else float(number)
    if _FLOAT.match(digits):
        number_ = float(digits)
        if math.isfinite(number_):
            return number_
    return text
