"""Make the table of built-in kinds from the published Go modules.

Kubernetes' own description of its types is Go source: struct tags say how a field is named, encoded and patched, and
comment markers say how server-side apply merges it. This script reads them with tree-sitter and writes
``src/kontend/kube/data/kinds.json``, which ``kontend.kube.kinds`` turns into schemas on demand. Run it again for a new
release, with a Go toolchain at hand:

    python tools/make_kinds.py --release 1.35.0

The table has one line for each type, so that a new release reads well as a diff:

    "apps/v1.DeploymentSpec":{"replicas":"*int32 1 o","selector":"*meta/v1.LabelSelector 2", ...}

A field is its Go type (types of the same package without a prefix), its protobuf number, and then words: ``o``
omitempty, ``z`` omitzero, ``list=map:name`` or ``list=set``, ``map=atomic``, ``patch=merge/name`` and
``default="TCP"``. ``"^VolumeSource"`` names an embedded struct, whose fields belong to the outer one in JSON and which
is a message of its own, with that number, in protobuf. ``"#"`` holds words
about the type itself. A named type that is not a struct is just a string: ``"core/v1.PullPolicy":"string"``.

The protobuf wire type is not in the table because it follows from the Go type: integers and booleans are varints,
``float64`` is fixed64, all else is length-delimited. (The tags name it too, and are wrong in a few places.)
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tree_sitter_go
from tree_sitter import Language, Node, Parser

TARGET = Path(__file__).parent.parent / "src" / "kontend" / "kube" / "data" / "kinds.json"

#: The directories that hold the types, as Go import paths: the name in the table comes from the last elements.
PACKAGES = {
    "k8s.io/api": [
        "admissionregistration/v1", "apps/v1", "authentication/v1", "authorization/v1", "autoscaling/v1",
        "autoscaling/v2", "batch/v1", "certificates/v1", "coordination/v1", "core/v1", "discovery/v1", "events/v1",
        "flowcontrol/v1", "networking/v1", "node/v1", "policy/v1", "rbac/v1", "resource/v1", "scheduling/v1",
        "storage/v1",
    ],
    "k8s.io/apimachinery": [
        "pkg/apis/meta/v1", "pkg/runtime", "pkg/util/intstr", "pkg/api/resource", "pkg/types",
    ],
    "k8s.io/apiextensions-apiserver": ["pkg/apis/apiextensions/v1"],
    "k8s.io/kube-aggregator": ["pkg/apis/apiregistration/v1"],
}  # fmt: skip

#: Types that requests carry although no resource serves them.
ALSO = ["CreateOptions", "DeleteOptions", "GetOptions", "ListOptions", "PatchOptions", "Status", "UpdateOptions"]

#: Types with their own JSON form: the decoder knows them by name and never looks inside.
OPAQUE = {
    "intstr.IntOrString", "meta/v1.Duration", "meta/v1.FieldsV1", "meta/v1.MicroTime", "meta/v1.Time",
    "resource.Quantity", "runtime.RawExtension", "apiextensions/v1.JSON",
}  # fmt: skip

GO = Language(tree_sitter_go.language())
TAG = re.compile(r'(\w+):"([^"]*)"')
MARKER = re.compile(r"^//\s*\+(\w+)=(.*)$")


def download(module: str, version: str) -> Path:
    """The directory of a module's source, fetched by the Go toolchain."""
    run = subprocess.run(
        ["go", "mod", "download", "-json", f"{module}@{version}"], check=True, capture_output=True, text=True
    )
    return Path(json.loads(run.stdout)["Dir"])


def short(import_path: str) -> str:
    """``core/v1`` for ``k8s.io/api/core/v1``, ``resource`` for ``k8s.io/apimachinery/pkg/api/resource``."""
    last_two = import_path.split("/")[-2:]
    return "/".join(last_two) if re.fullmatch(r"v\d+", last_two[-1]) else last_two[-1]


@dataclass
class Source:
    """The types by their name in the table, and the package of each API group."""

    types: dict[str, Any] = field(default_factory=dict)
    groups: dict[tuple[str, str], str] = field(default_factory=dict)


class Reader:
    """Reads the type declarations of one Go file."""

    def __init__(self, package: str, text: bytes) -> None:
        self.package = package
        self.text = text
        self.tree = Parser(GO).parse(text)
        self.imports: dict[str, str] = {}

    def source(self, node: Node) -> str:
        return self.text[node.start_byte : node.end_byte].decode()

    def read(self) -> Iterator[tuple[str, Any]]:
        """Each type of the file, under its name in the table."""
        comments: list[str] = []
        for node in self.tree.root_node.children:
            if node.type == "comment":
                comments.append(self.source(node))
            elif node.type == "import_declaration":
                self._read_imports(node)
            else:
                if node.type == "type_declaration":
                    for spec in node.named_children:
                        if spec.type == "type_spec":
                            yield from self._read_type(spec, comments)
                comments = []

    def _read_imports(self, node: Node) -> None:
        for match in re.finditer(r'(?:(\w+)\s+)?"([^"]+)"', self.source(node)):
            alias, path = match.groups()
            self.imports[alias or path.split("/")[-1]] = short(path)

    def _read_type(self, spec: Node, comments: list[str]) -> Iterator[tuple[str, Any]]:
        name_node, type_node = spec.child_by_field_name("name"), spec.child_by_field_name("type")
        assert name_node is not None
        assert type_node is not None
        name = f"{self.package}.{self.source(name_node)}"
        if name in OPAQUE or type_node.type in ("interface_type", "function_type"):
            return
        if type_node.type != "struct_type":
            yield name, self.type_name(type_node)
            return
        fields = dict(self._read_fields(type_node.named_children[0]))
        words = " ".join(_marker_words(comments))
        yield name, {"#": words, **fields} if words else fields

    def _read_fields(self, body: Node) -> Iterator[tuple[str, str]]:
        comments: list[str] = []
        last_row = -1
        for node in body.named_children:
            if node.type == "comment":
                if node.start_point[0] != last_row:
                    comments.append(self.source(node))
                continue
            last_row = node.end_point[0]
            tag_node, type_node = node.child_by_field_name("tag"), node.child_by_field_name("type")
            assert type_node is not None
            tags = dict(TAG.findall(self.source(tag_node))) if tag_node is not None else {}
            go_type = self.type_name(type_node)
            name, *options = tags.get("json", "").split(",")
            if node.child_by_field_name("name") is None and not name:
                yield f"^{go_type}", tags.get("protobuf", ",0").split(",")[1]
            elif name not in ("", "-"):
                yield name, " ".join(self._words(go_type, options, tags, comments))
            comments = []

    def _words(self, go_type: str, options: list[str], tags: dict[str, str], comments: list[str]) -> Iterator[str]:
        yield go_type
        yield tags.get("protobuf", ",0").split(",")[1]
        if "omitempty" in options:
            yield "o"
        if "omitzero" in options:
            yield "z"
        yield from _marker_words(comments)
        if strategy := tags.get("patchStrategy"):
            key = tags.get("patchMergeKey")
            yield f"patch={strategy}/{key}" if key else f"patch={strategy}"

    def type_name(self, node: Node) -> str:
        """The type as written in the table."""
        children = node.named_children
        match node.type:
            case "pointer_type":
                return "*" + self.type_name(children[0])
            case "slice_type":
                return "[]" + self.type_name(children[0])
            case "map_type":
                return f"map[{self.type_name(children[0])}]{self.type_name(children[1])}"
            case "qualified_type":
                alias, name = self.source(node).split(".")
                return f"{self.imports.get(alias, alias)}.{name}"
            case _:
                return self.source(node)


def _marker_words(comments: list[str]) -> Iterator[str]:
    """The merge rules that comment markers state."""
    markers: dict[str, list[str]] = {}
    for comment in comments:
        if match := MARKER.match(comment):
            markers.setdefault(match[1], []).append(match[2].strip())
    if list_type := markers.get("listType"):
        keys = ",".join(markers.get("listMapKey", []))
        yield f"list={list_type[0]}:{keys}" if keys else f"list={list_type[0]}"
    if map_type := markers.get("mapType") or markers.get("structType"):
        yield f"map={map_type[0]}"
    # References to constants are left out: they only occur on fields that never are a key of a list.
    if (default := markers.get("default")) and not default[0].startswith("ref("):
        yield f"default={default[0].replace(' ', '')}"


def read_sources(release: str) -> Source:
    """All types of all packages."""
    result = Source()
    version = "v0." + release.partition(".")[2]
    for module, packages in PACKAGES.items():
        directory = download(module, version)
        for package in packages:
            name = short(package)
            for path in sorted((directory / package).glob("*.go")):
                if path.name.startswith(("zz_", "generated")) or path.name.endswith("_test.go"):
                    continue
                text = path.read_bytes()
                result.types.update(Reader(name, text).read())
                if path.name == "register.go" and (group := re.search(rb'GroupName\s*=\s*"([^"]*)"', text)):
                    result.groups[group[1].decode(), name.rpartition("/")[2]] = name
    return result


def read_resources(release: str, groups: dict[tuple[str, str], str]) -> list[dict[str, Any]]:
    """The resources that the server serves, in the order of discovery, each with its subresources."""
    directory = download("k8s.io/kubernetes", "v" + release) / "api" / "discovery"
    versions = [("", "v1")]
    for group in json.loads((directory / "apis.json").read_text())["groups"]:
        versions += [(group["name"], version["version"]) for version in group["versions"]]
    resources: dict[tuple[str, str, str], dict[str, Any]] = {}
    for group, version in versions:
        if (group, version) not in groups:
            continue
        path = f"apis__{group}__{version}.json" if group else f"api__{version}.json"
        for entry in json.loads((directory / path).read_text())["resources"]:
            plural, _, subresource = entry["name"].partition("/")
            if not subresource:
                kept = {key: value for key, value in entry.items() if key not in ("name", "group", "version")}
                resources[group, version, plural] = {"group": group, "version": version, "plural": plural, **kept}
            else:
                gvk = [entry.get("group", group), entry.get("version", version), entry["kind"]]
                parent = resources[group, version, plural]
                parent.setdefault("subresources", {})[subresource] = [*gvk, entry["verbs"]]
    return list(resources.values())


def reachable(source: Source, resources: list[dict[str, Any]]) -> dict[str, Any]:
    """The types that the resources and their subresources need."""
    wanted = [f"meta/v1.{name}" for name in ALSO]
    for resource in resources:
        wanted.append(f"{source.groups[resource['group'], resource['version']]}.{resource['kind']}")
        for group, version, kind, _ in resource.get("subresources", {}).values():
            if package := source.groups.get((group, version)):
                wanted.append(f"{package}.{kind}")
    result: dict[str, Any] = {}
    while wanted:
        name = wanted.pop()
        if name in result or name not in source.types:
            continue
        result[name] = source.types[name]
        package = name.rpartition(".")[0]
        described = source.types[name]
        if isinstance(described, str):
            described = {"": described}
        for field_name, text in described.items():
            use = field_name[1:] if field_name.startswith("^") else text.split(" ")[0]
            for part in re.findall(r"[\w/.]+", use):
                wanted.append(part if "." in part else f"{package}.{part}")
    return dict(sorted(result.items()))


def render(release: str, resources: list[dict[str, Any]], types: dict[str, Any]) -> str:
    """JSON with a line for each resource and each type."""

    def line(value: Any) -> str:
        return json.dumps(value, separators=(",", ":"))

    rows = ",\n".join(line(resource) for resource in resources)
    lines = ",\n".join(f"{line(name)}:{line(described)}" for name, described in types.items())
    return f'{{"release":{line(release)},\n"resources":[\n{rows}\n],\n"types":{{\n{lines}\n}}}}\n'


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--release", default="1.35.0", help="the Kubernetes release to read")
    parser.add_argument("--output", type=Path, default=TARGET)
    arguments = parser.parse_args()
    source = read_sources(arguments.release)
    resources = read_resources(arguments.release, source.groups)
    types = reachable(source, resources)
    arguments.output.write_text(render(arguments.release, resources, types))
    print(f"{arguments.output}: {len(resources)} resources, {len(types)} types")


if __name__ == "__main__":
    main()
