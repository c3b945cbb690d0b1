"""Fields of the API types of Kubernetes, whose Go packages are not part of the audited tree.

The table of kinds is made from those packages, so it has each type under the name of its package: `core/v1.PodSpec`.
Its fields have their JSON names, which differ from the Go names in the case of letters only; embedded structs are
marked, and `ObjectMeta` is embedded under the name `metadata`.
"""

from __future__ import annotations

from functools import cache

from kontend.audit.go.source.package import GoType
from kontend.kube.kinds import type_names, type_row

_ROOT = "k8s.io/"
_LISTERS = "k8s.io/client-go/listers/"
BUILTIN = "go"
"""The package that stands for types of the language, such as `string`."""


def api_field(owner: GoType, name: str) -> GoType | None:
    """Return the type of a field of an API type, or None where the table has no such type or field.

    >>> api_field(GoType("k8s.io/api/core/v1", "Pod"), "Annotations").mapping
    True
    >>> api_field(GoType("k8s.io/api/apps/v1", "Deployment"), "Spec")
    GoType(package='k8s.io/api/apps/v1', name='DeploymentSpec', slice=False, function=False, mapping=False)
    """
    table_name = _table_name(owner)
    return _field(table_name, name, 0) if table_name else None


def merges_by_key(owner: GoType, path: str) -> bool | None:
    """Report if a strategic merge patch merges the list at a path by a key; None where the table has no such list.

    >>> pod, node = (GoType("k8s.io/api/core/v1", kind) for kind in ("Pod", "Node"))
    >>> merges_by_key(pod, "spec.containers"), merges_by_key(node, "spec.taints"), merges_by_key(pod, "spec.x")
    (True, False, None)
    """
    *above, last = path.split(".")
    for name in above:
        inner = api_field(owner, name)
        if inner is None:
            return None
        owner = inner
    row = type_row(_table_name(owner))
    described = row.get(last) if isinstance(row, dict) else None
    return any(part.startswith("patch=merge") for part in described.split(" ")) if described is not None else None


def is_api_type(kind: GoType) -> bool:
    """Report if the table has a type."""
    return kind.package == BUILTIN or bool(_table_name(kind))


def lister_answer(lister: GoType, method: str) -> GoType | None:
    """Return the type of the first result of a method of a lister of client-go.

    >>> lister_answer(GoType("k8s.io/client-go/listers/core/v1", "PodNamespaceLister"), "Get")
    GoType(package='k8s.io/api/core/v1', name='Pod', slice=False, function=False, mapping=False)
    """
    if not lister.package.startswith(_LISTERS) or not lister.name.endswith("Lister"):
        return None
    element = lister.name.removesuffix("Lister").removesuffix("Namespace")
    if method in ("Get", "List"):
        return GoType(f"{_ROOT}api/{lister.package.removeprefix(_LISTERS)}", element, slice=method == "List")
    return GoType(lister.package, f"{element}NamespaceLister")  # `lister.Pods(namespace)`


def _field(table_name: str, name: str, depth: int) -> GoType | None:
    row = type_row(table_name)
    if not isinstance(row, dict) or depth > 3:
        return None
    package = table_name.rpartition(".")[0]
    promoted = []
    for key, described in row.items():
        kind = described.split(" ")[0]
        if key.startswith("^"):
            promoted.append(_qualified(key[1:], package))
            continue
        if key == "metadata" and kind.endswith("Meta"):
            promoted.append(_qualified(kind, package))
            if name == kind.rpartition(".")[2]:
                return _go_type(kind, package)
        elif key.lower() == name.lower():
            return _go_type(kind, package)
    return next(filter(None, (_field(embedded, name, depth + 1) for embedded in promoted)), None)


def _go_type(described: str, package: str) -> GoType:
    """Turn a type of the table, such as `map[string]string` or `*PodSecurityContext`, into a `GoType`."""
    bare = described.lstrip("*")
    mapping, listed = bare.startswith("map["), bare.startswith("[]")
    if mapping or listed:
        bare = bare.partition("]")[2].lstrip("*").removeprefix("[]")
    name = _qualified(bare, package)
    row = type_row(name)
    if isinstance(row, str) and not (mapping or listed):
        inner = _go_type(row.split(" ")[0], name.rpartition(".")[0])  # `ResourceList` is a map
        mapping, listed = inner.mapping, inner.slice
    if row is None:
        return GoType(BUILTIN, bare, slice=listed, mapping=mapping)
    home, _, short = name.rpartition(".")
    return GoType(_packages().get(home, f"{_ROOT}api/{home}"), short, slice=listed, mapping=mapping)


def _qualified(name: str, package: str) -> str:
    return name if "." in name else f"{package}.{name}"


def _table_name(kind: GoType) -> str:
    """Return the name of a type in the table: that of its version, or of another version of its group."""
    if not kind.package.startswith(_ROOT):
        return ""
    group, _, version = kind.package.rpartition("/")
    group = group.rpartition("/")[2]
    exact = f"{group}/{version}.{kind.name}"
    if type_row(exact) is not None:
        return exact
    return _in_any_version().get((group, kind.name), "")


@cache
def _in_any_version() -> dict[tuple[str, str], str]:
    found = {}
    for name in type_names():
        package, _, short = name.rpartition(".")
        if "/" in package:
            found[package.partition("/")[0], short] = name
    return found


@cache
def _packages() -> dict[str, str]:
    """Return the import paths of the packages that are not below `k8s.io/api`."""
    return {
        "meta/v1": "k8s.io/apimachinery/pkg/apis/meta/v1",
        "apiextensions/v1": "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1",
        "apiregistration/v1": "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1",
    }
