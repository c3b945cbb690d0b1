"""Build Kubernetes' own end-to-end tests from the module proxy, once, into the user's cache.

    python tools/build_e2e.py

The module k8s.io/kubernetes replaces its staging modules by directories that the proxy does not have, so the test
binary is built in a module of its own, which replaces them by their releases of the same version. It takes some ten
minutes and two gigabytes of Go's caches.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import tempfile
from pathlib import Path
from typing import Final

CACHE: Final = Path.home() / ".cache" / "kontend"
RELEASE: Final = "1.35.0"
_STAGED: Final = re.compile(r"^\s*(\S+) => \./staging/", re.MULTILINE)
_REQUIRED: Final = re.compile(r"^\s+(\S+) (v\S+)", re.MULTILINE)


def main() -> None:
    """Build the binary unless it is there, and print where it is."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--release", default=RELEASE, help="of Kubernetes, such as 1.35.0")
    print(built(parser.parse_args().release))


def built(release: str = RELEASE) -> Path:
    """Return the test binary of a release of Kubernetes, built if it is not there."""
    target = CACHE / f"e2e-{release}"
    if not target.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as directory:
            _build(release, Path(directory), target)
    return target


def _build(release: str, directory: Path, target: Path) -> None:
    (directory / "go.mod").write_text("module kontend.invalid/e2e\n")
    download = ["go", "mod", "download", "-json", f"k8s.io/kubernetes@v{release}"]
    module = json.loads(subprocess.run(download, cwd=directory, capture_output=True, check=True).stdout)
    (directory / "go.mod").write_text(go_mod(Path(module["GoMod"]).read_text(), release))
    package = "k8s.io/component-base/version"
    major, minor, _ = release.split(".")
    values = {"gitVersion": f"v{release}", "gitMajor": major, "gitMinor": minor}
    flags = " ".join(["-s", "-w", *(f"-X {package}.{name}={value}" for name, value in values.items())])
    made = directory / "e2e.test"
    command = ["go", "test", "-c", "-mod=mod", "-ldflags", flags, "-o", str(made), "k8s.io/kubernetes/test/e2e"]
    subprocess.run(command, cwd=directory, env={**os.environ, "GOWORK": "off"}, check=True)
    made.rename(target)


def go_mod(original: str, release: str) -> str:
    """Return the go.mod of a module that tests a release, from the one of k8s.io/kubernetes."""
    staged = _STAGED.findall(original)
    version = "v0" + release[1:]
    required = {name: version if name in staged else at for name, at in _REQUIRED.findall(original)}
    required["k8s.io/kubernetes"] = f"v{release}"
    lines = "".join(f"\t{name} {at}\n" for name, at in sorted(required.items()))
    replaced = "".join(f"replace {name} => {name} {version}\n" for name in staged)
    go_version = next(line for line in original.splitlines() if line.startswith("go "))
    return f"module kontend.invalid/e2e\n\n{go_version}\n\nrequire (\n{lines})\n\n{replaced}"


if __name__ == "__main__":
    main()
