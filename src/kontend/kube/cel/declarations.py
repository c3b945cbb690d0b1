"""The functions that a rule may call: those of CEL and of Kubernetes, with their parameter and result types.

The table is text, one signature a line, because that is how the documentation of CEL writes it. A name before the dot
is the type of the target of a method; ``A``, ``B``, ``K``, ``V`` and ``T`` are type parameters.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

from kontend.kube.cel import types
from kontend.kube.cel.types import Type

IP: Final = types.opaque("net.IP")
CIDR: Final = types.opaque("net.CIDR")
URL: Final = types.struct("kubernetes.URL")
QUANTITY: Final = types.struct("kubernetes.Quantity")
SEMVER: Final = types.struct("kubernetes.Semver")
FORMAT: Final = types.struct("kubernetes.NamedFormat")
AUTHORIZER: Final = types.struct("kubernetes.authorization.Authorizer")
PATH_CHECK: Final = types.struct("kubernetes.authorization.PathCheck")
GROUP_CHECK: Final = types.struct("kubernetes.authorization.GroupCheck")
RESOURCE_CHECK: Final = types.struct("kubernetes.authorization.ResourceCheck")
DECISION: Final = types.struct("kubernetes.authorization.Decision")


class Overload(NamedTuple):
    """One signature of a function; for a method the target is the first parameter."""

    member: bool
    params: tuple[Type, ...]
    result: Type


_COMPARABLE: Final = ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")
_SIGNATURES: Final = """
_?_:_(bool, A, A) A
_&&_(bool, bool) bool
_||_(bool, bool) bool
!_(bool) bool
@not_strictly_false(bool) bool
_==_(A, A) bool
_!=_(A, A) bool
_+_(bytes, bytes) bytes
_+_(double, double) double
_+_(duration, duration) duration
_+_(duration, timestamp) timestamp
_+_(timestamp, duration) timestamp
_+_(int, int) int
_+_(list(A), list(A)) list(A)
_+_(string, string) string
_+_(uint, uint) uint
_/_(double, double) double
_/_(int, int) int
_/_(uint, uint) uint
_%_(int, int) int
_%_(uint, uint) uint
_*_(double, double) double
_*_(int, int) int
_*_(uint, uint) uint
-_(double) double
-_(int) int
_-_(double, double) double
_-_(duration, duration) duration
_-_(int, int) int
_-_(timestamp, duration) timestamp
_-_(timestamp, timestamp) duration
_-_(uint, uint) uint
_[_](list(A), int) A
_[_](map(A, B), A) B
_[_](optional_type(list(V)), int) optional_type(V)
_[_](optional_type(map(K, V)), K) optional_type(V)
_[?_](list(V), int) optional_type(V)
_[?_](optional_type(list(V)), int) optional_type(V)
_[?_](map(K, V), K) optional_type(V)
_[?_](optional_type(map(K, V)), K) optional_type(V)
@in(A, list(A)) bool
@in(A, map(A, B)) bool
size(bytes) int
bytes.size() int
size(list(A)) int
list(A).size() int
size(map(A, B)) int
map(A, B).size() int
size(string) int
string.size() int
type(A) type(A)
dyn(A) dyn
bool(bool) bool
bool(string) bool
bytes(bytes) bytes
bytes(string) bytes
double(double) double
double(int) double
double(string) double
double(uint) double
duration(duration) duration
duration(int) duration
duration(string) duration
int(int) int
int(double) int
int(duration) int
int(string) int
int(timestamp) int
int(uint) int
string(string) string
string(bool) string
string(bytes) string
string(double) string
string(duration) string
string(int) string
string(timestamp) string
string(uint) string
string(IP) string
string(CIDR) string
timestamp(timestamp) timestamp
timestamp(int) timestamp
timestamp(string) timestamp
uint(uint) uint
uint(double) uint
uint(int) uint
uint(string) uint
string.contains(string) bool
string.endsWith(string) bool
string.startsWith(string) bool
matches(string, string) bool
string.matches(string) bool
string.charAt(int) string
string.indexOf(string) int
string.indexOf(string, int) int
string.lastIndexOf(string) int
string.lastIndexOf(string, int) int
string.lowerAscii() string
string.replace(string, string) string
string.replace(string, string, int) string
string.split(string) list(string)
string.split(string, int) list(string)
string.substring(int) string
string.substring(int, int) string
string.trim() string
string.upperAscii() string
string.format(list(dyn)) string
strings.quote(string) string
list(string).join() string
list(string).join(string) string
list(A).indexOf(A) int
list(A).lastIndexOf(A) int
list(T).slice(int, int) list(T)
list(list(T)).flatten() list(T)
list(dyn).flatten(int) list(dyn)
lists.range(int) list(int)
list(T).reverse() list(T)
list(T).distinct() list(T)
sets.contains(list(T), list(T)) bool
sets.equivalent(list(T), list(T)) bool
sets.intersects(list(T), list(T)) bool
cel.@mapInsert(map(K, V), K, V) map(K, V)
cel.@mapInsert(map(K, V), map(K, V)) map(K, V)
optional.of(V) optional_type(V)
optional.ofNonZeroValue(V) optional_type(V)
optional.none() optional_type(V)
optional_type(V).value() V
optional_type(V).hasValue() bool
optional_type(V).or(optional_type(V)) optional_type(V)
optional_type(V).orValue(V) V
list(V).first() optional_type(V)
list(V).last() optional_type(V)
optional.unwrap(list(optional_type(V))) list(V)
list(optional_type(V)).unwrapOpt() list(V)
string.find(string) string
string.findAll(string) list(string)
string.findAll(string, int) list(string)
url(string) URL
URL.getScheme() string
URL.getHost() string
URL.getHostname() string
URL.getPort() string
URL.getEscapedPath() string
URL.getQuery() map(string, list(string))
isURL(string) bool
quantity(string) QUANTITY
isQuantity(string) bool
sign(QUANTITY) int
QUANTITY.isGreaterThan(QUANTITY) bool
QUANTITY.isLessThan(QUANTITY) bool
QUANTITY.compareTo(QUANTITY) int
QUANTITY.asApproximateFloat() double
QUANTITY.asInteger() int
QUANTITY.isInteger() bool
QUANTITY.add(QUANTITY) QUANTITY
QUANTITY.add(int) QUANTITY
QUANTITY.sub(QUANTITY) QUANTITY
QUANTITY.sub(int) QUANTITY
ip(string) IP
IP.family() int
ip.isCanonical(string) bool
IP.isUnspecified() bool
IP.isLoopback() bool
IP.isLinkLocalMulticast() bool
IP.isLinkLocalUnicast() bool
IP.isGlobalUnicast() bool
isIP(string) bool
cidr(string) CIDR
CIDR.containsIP(string) bool
CIDR.containsIP(IP) bool
CIDR.containsCIDR(string) bool
CIDR.containsCIDR(CIDR) bool
CIDR.ip() IP
CIDR.prefixLength() int
CIDR.masked() CIDR
isCIDR(string) bool
FORMAT.validate(string) optional_type(list(string))
format.named(string) optional_type(FORMAT)
semver(string) SEMVER
semver(string, bool) SEMVER
isSemver(string) bool
isSemver(string, bool) bool
SEMVER.isGreaterThan(SEMVER) bool
SEMVER.isLessThan(SEMVER) bool
SEMVER.compareTo(SEMVER) int
SEMVER.major() int
SEMVER.minor() int
SEMVER.patch() int
AUTHORIZER.path(string) PATH_CHECK
AUTHORIZER.group(string) GROUP_CHECK
AUTHORIZER.serviceAccount(string, string) AUTHORIZER
GROUP_CHECK.resource(string) RESOURCE_CHECK
RESOURCE_CHECK.subresource(string) RESOURCE_CHECK
RESOURCE_CHECK.namespace(string) RESOURCE_CHECK
RESOURCE_CHECK.name(string) RESOURCE_CHECK
RESOURCE_CHECK.fieldSelector(string) RESOURCE_CHECK
RESOURCE_CHECK.labelSelector(string) RESOURCE_CHECK
PATH_CHECK.check(string) DECISION
RESOURCE_CHECK.check(string) DECISION
DECISION.errored() bool
DECISION.error() string
DECISION.allowed() bool
DECISION.reason() string
"""
_TIME_PARTS: Final = (
    "getFullYear", "getMonth", "getDayOfYear", "getDayOfMonth", "getDate", "getDayOfWeek", "getHours", "getMinutes",
    "getSeconds", "getMilliseconds",
)  # fmt: skip
_DURATION_PARTS: Final = ("getHours", "getMinutes", "getSeconds", "getMilliseconds")
#: Functions that make a named format, such as ``format.dns1123Label()``.
FORMAT_NAMES: Final = (
    "dns1123Label", "dns1123Subdomain", "dns1035Label", "qualifiedName", "dns1123LabelPrefix",
    "dns1123SubdomainPrefix", "dns1035LabelPrefix", "labelValue", "uri", "uuid", "byte", "date", "datetime",
)  # fmt: skip
_NAMED: Final = {
    "IP": IP, "CIDR": CIDR, "URL": URL, "QUANTITY": QUANTITY, "SEMVER": SEMVER, "FORMAT": FORMAT,
    "AUTHORIZER": AUTHORIZER, "PATH_CHECK": PATH_CHECK, "GROUP_CHECK": GROUP_CHECK, "RESOURCE_CHECK": RESOURCE_CHECK,
    "DECISION": DECISION, "bool": types.BOOL,
    "int": types.INT, "uint": types.UINT, "double": types.DOUBLE, "string": types.STRING, "bytes": types.BYTES,
    "dyn": types.DYN, "duration": types.DURATION, "timestamp": types.TIMESTAMP,
}  # fmt: skip

#: Names that stand for types.
TYPE_NAMES: Final[dict[str, Type]] = {
    **{name: _NAMED[name] for name in ("bool", "int", "uint", "double", "string", "bytes")},
    "null_type": types.NULL,
    "list": types.list_of(types.DYN),
    "map": types.map_of(types.DYN, types.DYN),
    "type": Type("type", "type"),
    "google.protobuf.Timestamp": types.TIMESTAMP,
    "google.protobuf.Duration": types.DURATION,
    "optional_type": types.optional_of(types.DYN),
    "net.IP": IP,
    "net.CIDR": CIDR,
    "kubernetes.URL": URL,
    "kubernetes.Quantity": QUANTITY,
    "kubernetes.Semver": SEMVER,
    "kubernetes.NamedFormat": FORMAT,
}


def _lines() -> list[str]:
    lines = [line for line in _SIGNATURES.splitlines() if line]
    for operator in ("<", "<=", ">", ">="):
        lines += [f"_{operator}_({type_name}, {type_name}) bool" for type_name in _COMPARABLE]
        numbers = ("int", "uint", "double")
        lines += [f"_{operator}_({a}, {b}) bool" for a in numbers for b in numbers if a != b]
    for type_name in _COMPARABLE:
        lines += [f"list({type_name}).{name}() {type_name}" for name in ("min", "max")]
        lines += [f"list({type_name}).isSorted() bool", f"list({type_name}).sort() list({type_name})"]
        lines.append(f"list(T).@sortByAssociatedKeys(list({type_name})) list(T)")
    lines += [f"list({type_name}).sum() {type_name}" for type_name in ("int", "uint", "double", "duration")]
    for part in _TIME_PARTS:
        lines += [f"timestamp.{part}() int", f"timestamp.{part}(string) int"]
    lines += [f"duration.{part}() int" for part in _DURATION_PARTS]
    lines += [f"format.{name}() FORMAT" for name in FORMAT_NAMES]
    return lines


_NAMESPACES: Final = frozenset({"strings", "lists", "sets", "cel", "optional", "format", "ip"})


@lru_cache(maxsize=1)
def functions() -> dict[str, list[Overload]]:
    """All functions by name."""
    table: dict[str, list[Overload]] = {}
    for line in _lines():
        name, overload = _parse_signature(line)
        table.setdefault(name, []).append(overload)
    return table


def _parse_signature(line: str) -> tuple[str, Overload]:
    # The parameters are the first group of parentheses that a space follows: the result comes after it.
    depth = start = 0
    for at, char in enumerate(line):
        if char == "(":
            start = at if depth == 0 else start
            depth += 1
        elif char == ")":
            depth -= 1
            if depth == 0 and line[at + 1] == " ":
                break
    head, params, result = line[:start], tuple(_parse_types(line[start + 1 : at])), _parse_types(line[at + 2 :])[0]
    target, dot, method = head.rpartition(".")
    if dot and target not in _NAMESPACES:
        return method, Overload(True, (*_parse_types(target), *params), result)
    return head, Overload(False, params, result)


def _parse_types(text: str) -> list[Type]:
    tokens = re.findall(r"[A-Za-z_]+|[(),]", text)
    types, _ = _parse_list(tokens, 0)
    return types


def _parse_list(tokens: list[str], at: int) -> tuple[list[Type], int]:
    parsed: list[Type] = []
    while at < len(tokens) and tokens[at] != ")":
        name = tokens[at]
        at += 1
        if name == ",":
            continue
        inner: list[Type] = []
        if at < len(tokens) and tokens[at] == "(":
            inner, at = _parse_list(tokens, at + 1)
            at += 1
        parsed.append(_make_type(name, inner))
    return parsed, at


def _make_type(name: str, inner: list[Type]) -> Type:
    if name == "list":
        return types.list_of(inner[0])
    if name == "map":
        return types.map_of(inner[0], inner[1])
    if name == "type":
        return types.type_of(inner[0])
    if name == "optional_type":
        return types.optional_of(inner[0])
    return _NAMED.get(name) or types.param(name)
