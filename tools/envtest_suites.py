"""Run controller-runtime's envtest suites on kontend.

    python tools/envtest_suites.py [PACKAGE ...]

The module comes from the Go module proxy and is copied, because its suites write next to their sources.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from kontend.live.envtest.assets import write_assets

MODULE = "sigs.k8s.io/controller-runtime"
PACKAGES = ("./pkg/client", "./pkg/cache", "./pkg/controller/controllerutil")


def main() -> int:
    """Run the suites and return the exit code of ``go test``."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", nargs="*", default=PACKAGES, metavar="PACKAGE")
    parser.add_argument("--release", default="v0.23.0", help="of controller-runtime")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kontend-envtest-") as directory:
        assets = write_assets(Path(directory, "assets"))
        command = ["go", "mod", "download", "-json", f"{MODULE}@{options.release}"]
        found = json.loads(subprocess.run(command, cwd=directory, check=True, capture_output=True).stdout)
        sources = Path(directory, "sources")
        shutil.copytree(found["Dir"], sources)
        for path in [sources, *sources.rglob("*")]:
            path.chmod(path.stat().st_mode | 0o200)
        environment = {**os.environ, "KUBEBUILDER_ASSETS": str(assets)}
        done = subprocess.run(["go", "test", "-timeout", "30m", *options.packages], cwd=sources, env=environment)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
