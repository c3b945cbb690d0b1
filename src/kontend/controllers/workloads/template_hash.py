"""The hash of a pod template, as it stands in the names and labels of a Deployment's ReplicaSets.

kube-controller-manager hashes a printout of the Go struct: every field with its name and type, set or not, in the order
of the source. So does this, from the table of Go types, with the template as it looks after it was sent as protobuf
(where an empty list is no list).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

import orjson

from kontend.controllers.workloads.revisions import safe_encode
from kontend.kube import kinds, quantity

#: Go names that are not the JSON name with a capital letter.
_GO_NAMES: Final = {
    "apiGroup": "APIGroup", "apiVersion": "APIVersion", "awsElasticBlockStore": "AWSElasticBlockStore",
    "cephfs": "CephFS", "chapAuthDiscovery": "DiscoveryCHAPAuth", "chapAuthSession": "SessionCHAPAuth", "csi": "CSI",
    "diskURI": "DataDiskURI", "dnsConfig": "DNSConfig", "dnsPolicy": "DNSPolicy", "fc": "FC", "fsGroup": "FSGroup",
    "fsGroupChangePolicy": "FSGroupChangePolicy", "fsType": "FSType", "gcePersistentDisk": "GCEPersistentDisk",
    "gmsaCredentialSpec": "GMSACredentialSpec", "gmsaCredentialSpecName": "GMSACredentialSpecName", "grpc": "GRPC",
    "httpGet": "HTTPGet", "httpHeaders": "HTTPHeaders", "ip": "IP", "iqn": "IQN", "iscsi": "ISCSI",
    "iscsiInterface": "ISCSIInterface", "metadata": "ObjectMeta", "nfs": "NFS", "os": "OS", "pdName": "PDName",
    "rbd": "RBD", "seLinuxChangePolicy": "SELinuxChangePolicy", "seLinuxOptions": "SELinuxOptions",
    "serviceAccount": "DeprecatedServiceAccount", "sslEnabled": "SSLEnabled", "storageos": "StorageOS",
    "tcpSocket": "TCPSocket", "tty": "TTY", "uid": "UID", "wwids": "WWIDs",
    "GlusterfsVolumeSource.endpoints": "EndpointsName", "RBDVolumeSource.image": "RBDImage",
    "RBDVolumeSource.monitors": "CephMonitors", "RBDVolumeSource.pool": "RBDPool", "RBDVolumeSource.user": "RadosUser",
}  # fmt: skip
_NO_TIME: Final = "{Time:(time.Time){wall:(uint64)0 ext:(int64)0 loc:(*time.Location)<nil>}}"
_ZEROS: Final = {"string": "", "bool": "false", "int32": "0", "int64": "0"}
#: Numbers with more digits do not surely fit into 64 bits.
_MOST_DIGITS: Final = 18
_SCALES: Final = {
    "n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18,
}  # fmt: skip


def template_hash(template: Mapping[str, Any], collisions: int | None) -> str:
    """Return the hash of a pod template; ``collisions`` is the Deployment's count of names that were taken.

    >>> template_hash({"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "main"}]}}, None)
    '864dd56c44'
    """
    return _hash_of(orjson.dumps(template, option=orjson.OPT_SORT_KEYS), collisions)


@lru_cache(maxsize=1024)
def _hash_of(template: bytes, collisions: int | None) -> str:
    text = printed(orjson.loads(template)).encode()
    if collisions is not None:
        text += collisions.to_bytes(4, "little") + bytes(4)
    return safe_encode(str(_fnv32a(text)))


def printed(template: Mapping[str, Any]) -> str:
    """Return the printout of a pod template."""
    return f"(v1.PodTemplateSpec){_printed('core/v1.PodTemplateSpec', template)}"


def _fnv32a(data: bytes) -> int:
    value = 0x811C9DC5
    for byte in data:
        value = (value ^ byte) * 0x01000193 & 0xFFFFFFFF
    return value


def _printed(name: str, value: Any) -> str:
    """Return a value of a named type, without its type."""
    if name == "resource.Quantity":
        return _quantity(value)
    if name == "intstr.IntOrString":
        return _int_or_string(value)
    if name == "meta/v1.Time":
        return _NO_TIME
    row = kinds.type_row(name)
    if row is None:  # string, bool or a number
        if value is None:
            return _ZEROS.get(name, "")
        return {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)
    package = name.rpartition(".")[0]
    if isinstance(row, str):
        return _of_type(row, package, value)
    given = value if isinstance(value, Mapping) else {}
    parts = [f"{go_name}:{_field(go_type, package, given, key)}" for key, go_name, go_type in _fields(name)]
    return "{" + " ".join(parts) + "}"


@lru_cache(maxsize=512)
def _fields(name: str) -> tuple[tuple[str, str, str], ...]:
    """Return the fields of a struct: JSON name (empty for an embedded struct), Go name and Go type."""
    row = kinds.type_row(name)
    assert isinstance(row, dict)  # only structs have fields
    short = name.rpartition(".")[2]
    fields = []
    for key, text in row.items():
        if key == "#":
            continue
        if key[0] == "^":
            fields.append(("", key[1:].rpartition(".")[2], key[1:]))
            continue
        go_name = _GO_NAMES.get(f"{short}.{key}") or _GO_NAMES.get(key) or key[0].upper() + key[1:]
        fields.append((key, go_name, text.split(" ")[0]))
    return tuple(fields)


def _field(go_type: str, package: str, given: Mapping[str, Any], key: str) -> str:
    shown = f"({_shown(go_type, package)})"
    if not key:
        return shown + _printed(_full(go_type, package), given)
    value = given.get(key)
    if go_type[0] == "*":
        return shown + ("<nil>" if value is None else _of_type(go_type[1:], package, value))
    return shown + _of_type(go_type, package, value)


def _of_type(go_type: str, package: str, value: Any) -> str:
    if go_type.startswith("[]"):
        if not value:
            return "<nil>"
        return "[" + " ".join(_of_type(go_type[2:], package, item) for item in value) + "]"
    if go_type.startswith("map["):
        if not value:
            return "<nil>"
        element = go_type.partition("]")[2]
        return "map[" + " ".join(f"{key}:{_of_type(element, package, value[key])}" for key in sorted(value)) + "]"
    return _printed(_full(go_type, package), value)


def _full(go_type: str, package: str) -> str:
    """Return the name of a type in the table."""
    if "." in go_type or go_type in ("string", "bool", "int32", "int64"):
        return go_type
    return f"{package}.{go_type}"


def _shown(go_type: str, package: str) -> str:
    """Return a type as Go prints it: with the last part of its package."""
    for prefix in ("*", "[]"):
        if go_type.startswith(prefix):
            return prefix + _shown(go_type[len(prefix) :], package)
    if go_type.startswith("map["):
        key, _, element = go_type[4:].partition("]")
        return f"map[{_shown(key, package)}]{_shown(element, package)}"
    return _full(go_type, package).rpartition("/")[2]


def _quantity(value: Any) -> str:
    """Return a quantity as it is in memory: a number and a power of ten, or a big number where that is too small.

    The text is remembered when it needs no work to be canonical; whether it does is decided by a few digits.
    """
    text = quantity.canonical(str(value))
    digits = text.rstrip("numkMGTPEi") if not text[-1:].isdigit() else text
    suffix = text[len(digits) :]
    form, scale, kept = "DecimalSI", 0, text
    if suffix.endswith("i"):
        power = "KMGTPE".index(suffix[0]) + 1
        form, number = "BinarySI", int(digits) * 1024**power
        if 14 - len(digits.lstrip("-")) - power * 3 < 0:
            return _big_quantity(number, form)
        if int(digits) & 7 == 0:
            kept = ""
    else:
        digits, exponential, exponent = digits.partition("e")
        number, scale = int(digits), int(exponent) if exponential else _SCALES[suffix]
        form = "DecimalExponent" if exponential else form
        plain = digits.lstrip("-")
        if len(plain) > _MOST_DIGITS:
            return _big_quantity(number * 10**scale, form)
        if text != "0" and (scale % 3 or plain.endswith("000") or plain.startswith("0")):
            kept = ""
    return _in_memory(f"{{value:(int64){number} scale:(resource.Scale){scale}}}", "<nil>", kept, form)


def _big_quantity(number: int, form: str) -> str:
    """Return a number in billionths, as words of 64 bits."""
    rest, words = abs(number) * 10**9, []
    while rest:
        rest, word = divmod(rest, 2**64)
        words.append(str(word))
    sign = "true" if number < 0 else "false"
    big = f"{{unscaled:(big.Int){{neg:(bool){sign} abs:(big.nat)[{' '.join(words)}]}} scale:(inf.Scale)9}}"
    return _in_memory("{value:(int64)0 scale:(resource.Scale)0}", big, "", form)


def _in_memory(small: str, big: str, text: str, form: str) -> str:
    amounts = f"i:(resource.int64Amount){small} d:(resource.infDecAmount){{Dec:(*inf.Dec){big}}}"
    return f"{{{amounts} s:(string){text} Format:(resource.Format){form}}}"


def _int_or_string(value: Any) -> str:
    if isinstance(value, str):
        return f"{{Type:(intstr.Type)1 IntVal:(int32)0 StrVal:(string){value}}}"
    return f"{{Type:(intstr.Type)0 IntVal:(int32){value or 0} StrVal:(string)}}"
