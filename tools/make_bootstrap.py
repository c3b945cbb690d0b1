"""Make the table of objects that a new kube-apiserver creates, from the published Go modules.

Kubernetes keeps its default roles as YAML beside their tests, the priorities of its API groups in one Go map, and its
flow control objects in Go values. This script reads the first two as text, prints the third with a Go program of a few
lines, and writes ``src/kontend/cluster/data/bootstrap.json``. Run it again for a new release, with Go at hand:

    python tools/make_bootstrap.py --release 1.35.0

Rules of roles are written as short text, ``VERBS GROUPS RESOURCES [NAMES]`` or ``VERBS PATHS``, because most of the
table consists of them: ``"get,list,watch core,apps pods,deployments"``, ``"get /healthz,/livez"``.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

TARGET = Path(__file__).parent.parent / "src" / "kontend" / "cluster" / "data" / "bootstrap.json"
POLICIES = "plugin/pkg/auth/authorizer/rbac/bootstrappolicy/testdata"
PRIORITIES = ("pkg/controlplane/apiserver/aggregator.go", "cmd/kube-apiserver/app/aggregator.go")
PRIORITY = re.compile(r'\{Group: "([^"]*)", Version: "([^"]*)"\}:\s*\{Group: (\d+), Version: (\d+)\}')
FLOW_CONTROL = """\
package main

import (
	"encoding/json"
	"os"

	"k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap"
)

func main() {
	json.NewEncoder(os.Stdout).Encode(map[string]any{
		"PriorityLevelConfiguration": append(
			bootstrap.MandatoryPriorityLevelConfigurations, bootstrap.SuggestedPriorityLevelConfigurations...),
		"FlowSchema": append(bootstrap.MandatoryFlowSchemas, bootstrap.SuggestedFlowSchemas...),
	})
}
"""


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--release", default="1.35.0", help="of Kubernetes, such as 1.35.0")
    release = parser.parse_args().release
    source = downloaded(f"k8s.io/kubernetes@v{release}")
    table: dict[str, Any] = {
        "clusterRoles": roles(read(source, "cluster-roles", "controller-roles")),
        "clusterRoleBindings": bindings(read(source, "cluster-role-bindings", "controller-role-bindings")),
        "roles": roles(read(source, "namespace-roles")),
        "roleBindings": bindings(read(source, "namespace-role-bindings")),
        "apiServices": priorities(source),
        "flowControl": flow_control(release),
    }
    lines = []
    for section, entries in table.items():
        rows = [f"  {json.dumps(name)}: {json.dumps(value)}" for name, value in entries.items()]
        lines.append(f"{json.dumps(section)}: {{\n" + ",\n".join(rows) + "\n}")
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_text("{" + ",\n".join(lines) + "}\n")


def downloaded(module: str) -> Path:
    """The directory of a module."""
    command = ["go", "mod", "download", "-json", module]
    return Path(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["Dir"])


def read(source: Path, *names: str) -> list[dict[str, Any]]:
    """The objects of some files of default policies."""
    lists = [yaml.safe_load((source / POLICIES / f"{name}.yaml").read_text()) for name in names]
    return [item for listed in lists for item in listed["items"]]


def key(obj: Mapping[str, Any]) -> str:
    """The name of an object, with its namespace if it has one."""
    metadata = obj["metadata"]
    return f"{metadata['namespace']}/{metadata['name']}" if metadata.get("namespace") else metadata["name"]


def roles(objects: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Roles by name: a list of rules, or labels, selected labels and rules where there are labels."""
    table: dict[str, Any] = {}
    for obj in objects:
        labels = {k: v for k, v in obj["metadata"]["labels"].items() if k != "kubernetes.io/bootstrapping"}
        rules = [rule(entry) for entry in obj.get("rules") or ()]
        selectors = (obj.get("aggregationRule") or {}).get("clusterRoleSelectors") or ()
        selected = [label for selector in selectors for label in selector["matchLabels"]]
        extra = {"labels": sorted(labels), "aggregates": selected}
        table[key(obj)] = {**{k: v for k, v in extra.items() if v}, "rules": rules} if labels or selected else rules
    return table


def rule(policy: Mapping[str, Any]) -> str:
    """A rule as text."""
    words = [policy["verbs"]]
    if policy.get("nonResourceURLs"):
        words.append(policy["nonResourceURLs"])
    else:
        words += [[group or "core" for group in policy["apiGroups"]], policy["resources"]]
        if policy.get("resourceNames"):
            words.append(policy["resourceNames"])
    return " ".join(",".join(word) for word in words)


def bindings(objects: Iterable[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Bindings by name: the role, then the subjects."""
    table = {}
    for obj in objects:
        subjects = []
        for subject in obj.get("subjects") or ():
            name = f"{subject['namespace']}/{subject['name']}" if subject.get("namespace") else subject["name"]
            subjects.append(f"{subject['kind']} {name}")
        table[key(obj)] = [f"{obj['roleRef']['kind']} {obj['roleRef']['name']}", *subjects]
    return table


def priorities(source: Path) -> dict[str, list[int]]:
    """The priorities of each group and version: of the group, and of the version within it."""
    by_name: dict[str, list[int]] = {}
    for path in PRIORITIES:
        for group, version, of_group, of_version in PRIORITY.findall((source / path).read_text()):
            by_name[f"{version}.{group}"] = [int(of_group), int(of_version)]
    return by_name


def flow_control(release: str) -> dict[str, Any]:
    """The flow control objects: kind and name, then the spec."""
    with tempfile.TemporaryDirectory() as directory:
        Path(directory, "main.go").write_text(FLOW_CONTROL)
        Path(directory, "go.mod").write_text(f"module m\n\ngo 1.25.0\n\nrequire k8s.io/apiserver v0{release[1:]}\n")
        subprocess.run(["go", "mod", "tidy"], cwd=directory, check=True, capture_output=True)
        printed = subprocess.run(["go", "run", "."], cwd=directory, check=True, capture_output=True, text=True).stdout
    kinds = json.loads(printed)
    return {f"{kind} {obj['metadata']['name']}": obj["spec"] for kind, objects in kinds.items() for obj in objects}


if __name__ == "__main__":
    main()
