"""Build a current kubectl from the Go module proxy, for the tests against real clients.

Distributions ship an old one. kubectl is a module with a command to be embedded, so a main function of a few lines is
enough; it is built once into the user's cache, where the tests look for it:

    python tools/build_kubectl.py --release 1.35.0
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from pathlib import Path

CACHE = Path.home() / ".cache" / "kontend"

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
    """Build it, unless it is there."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--release", default="1.35.0", help="of Kubernetes, such as 1.35.0")
    release = parser.parse_args().release
    target = CACHE / f"kubectl-{release}"
    if not target.exists():
        build(release, target)
    print(target)


def build(release: str, target: Path) -> None:
    """Build kubectl of a release of Kubernetes; takes some minutes and about a gigabyte of Go's caches."""
    target.parent.mkdir(parents=True, exist_ok=True)
    major, minor, _ = release.split(".")
    package = "k8s.io/component-base/version"
    values = {"gitVersion": f"v{release}", "gitMajor": major, "gitMinor": minor}
    flags = " ".join(["-s", "-w", *(f"-X {package}.{name}={value}" for name, value in values.items())])
    with tempfile.TemporaryDirectory() as directory:
        Path(directory, "main.go").write_text(MAIN)
        Path(directory, "go.mod").write_text(MODULE.format(version="v0" + release[1:]))
        for command in (["go", "mod", "tidy"], ["go", "build", "-ldflags", flags, "-o", str(target), "."]):
            subprocess.run(command, cwd=directory, check=True)


if __name__ == "__main__":
    main()
