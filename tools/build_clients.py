"""Build the Go clients of the tests from the module proxy: kubectl, and controllers of tests/clients and tests/live.

Distributions ship an old kubectl. It is a module with a command to be embedded, so a main function of a few lines is
enough. All are built once into the user's cache, where the tests look for them:

    python tools/build_clients.py

It takes some minutes and about a gigabyte of Go's caches. With --operators it builds real operators with published bugs
instead, unmodified, by module and version, which takes some minutes more.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import subprocess
import tempfile
from pathlib import Path

CACHE = Path.home() / ".cache" / "kontend"
TESTS = Path(__file__).parent.parent / "tests"
#: The sources of controllers by the names of their binaries.
CONTROLLERS = {"gardener": TESTS / "clients" / "go", "fitter": TESTS / "live" / "go"}

#: Real operators: the module, its versions, the package of the command, and the directory with its definitions.
OPERATORS = {
    "kro": ("github.com/kubernetes-sigs/kro", ("v0.9.3", "v0.9.4"), "cmd/controller", "helm/crds"),
    "zookeeper": ("github.com/pravega/zookeeper-operator", ("v0.2.14", "v0.2.15"), "", "config/crd/bases"),
    "jobset": ("sigs.k8s.io/jobset", ("v0.11.1",), "", "config/components/crd/bases"),
    "rabbitmq1": ("github.com/rabbitmq/cluster-operator", ("v1.6.0", "v1.8.0"), "", "config/crd/bases"),
    "rabbitmq": ("github.com/rabbitmq/cluster-operator/v2", ("v2.20.0",), "cmd", "config/crd/bases"),
}
#: Operators with webhooks: the directory from which kubectl makes their configurations, Services and Secrets.
MANIFESTS = {"jobset": "config/default"}
#: The directory with samples of its objects, which a derived workload takes, if a module has one.
SAMPLES = "config/samples"

MAIN = """\
package main

import (
	"k8s.io/component-base/cli"
	"k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"
)

func main() {
	if err := cli.RunNoErrOutput(cmd.NewDefaultKubectlCommand()); err != nil {
		util.CheckErr(err)
	}
}
"""
MODULE = """\
module kontend.invalid/kubectl

go 1.25.0

require (
	k8s.io/component-base {version}
	k8s.io/kubectl {version}
)
"""


def main() -> None:
    """Build what is not there yet, and print where it is."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--release", default="1.35.0", help="of kubectl, such as 1.35.0")
    parser.add_argument("--operators", action="store_true", help="build real operators instead")
    options = parser.parse_args()
    release = options.release
    CACHE.mkdir(parents=True, exist_ok=True)
    kubectl = CACHE / f"kubectl-{release}"
    if not kubectl.exists():
        build_kubectl(release, kubectl)
    if options.operators:
        for name, (_, versions, _, _) in OPERATORS.items():
            for version in versions:
                print(build_operator(name, version, kubectl))
        return
    print(kubectl)
    for name, sources in CONTROLLERS.items():
        controller = CACHE / f"{name}-{controller_hash(sources)}"
        if not controller.exists():
            run("go", "build", "-o", str(controller), ".", directory=sources)
        print(controller)


def controller_hash(directory: Path) -> str:
    """Return the end of the name of a controller's binary: another one for other sources."""
    sources = sorted(path for path in directory.iterdir() if path.name.startswith("go.") or path.suffix == ".go")
    return hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:12]


def build_operator(name: str, version: str, kubectl: Path) -> Path:
    """Build an operator of a version, and return the directory with its command and its definitions."""
    module, _, package, definitions = OPERATORS[name]
    target = CACHE / f"{name}-{version}"
    if target.exists():
        return target
    with tempfile.TemporaryDirectory(dir=CACHE) as directory:
        made = Path(directory, "made")
        made.mkdir()
        # Not "go install module@version": that asks for the list of versions, which the proxy refuses for some modules.
        download = ["go", "mod", "download", "-json", f"{module}@{version}"]
        source = json.loads(subprocess.run(download, cwd=directory, capture_output=True, check=True).stdout)["Dir"]
        copied = Path(directory, "source")
        copy_writable(Path(source), copied)
        run("go", "build", "-mod=mod", "-o", str(made / name), f"./{package}", directory=copied)
        copy_writable(Path(source, definitions), made / "crds")
        if Path(source, SAMPLES).is_dir():
            copy_writable(Path(source, SAMPLES), made / "samples")
        if name in MANIFESTS:
            command = [str(kubectl), "kustomize", str(copied / MANIFESTS[name])]
            made.joinpath("manifests.yaml").write_bytes(subprocess.run(command, capture_output=True, check=True).stdout)
        made.rename(target)
    return target


def copy_writable(source: Path, target: Path) -> None:
    """Copy a directory of the module cache, where everything is read-only."""
    shutil.copytree(source, target, copy_function=shutil.copyfile)
    for directory in [target, *filter(Path.is_dir, target.rglob("*"))]:
        directory.chmod(0o755)


def build_kubectl(release: str, target: Path) -> None:
    """Build kubectl of a release of Kubernetes."""
    major, minor, _ = release.split(".")
    package = "k8s.io/component-base/version"
    values = {"gitVersion": f"v{release}", "gitMajor": major, "gitMinor": minor}
    flags = " ".join(["-s", "-w", *(f"-X {package}.{name}={value}" for name, value in values.items())])
    with tempfile.TemporaryDirectory() as directory:
        Path(directory, "main.go").write_text(MAIN)
        Path(directory, "go.mod").write_text(MODULE.format(version="v0" + release[1:]))
        run("go", "mod", "tidy", directory=directory)
        run("go", "build", "-ldflags", flags, "-o", str(target), ".", directory=directory)


def run(*command: str, directory: str | Path) -> None:
    """Run a command, or stop."""
    subprocess.run(command, cwd=directory, check=True)


if __name__ == "__main__":
    main()
