"""Run controller-runtime's envtest suites on kontend, and print a summary.

    python tools/envtest_suites.py [PACKAGE ...]

The module comes from the Go module proxy and is copied, because its suites write next to their sources. The output of
each suite is kept in ``build/envtest``.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from kontend.live.envtest.assets import write_assets

MODULE = "sigs.k8s.io/controller-runtime"
PACKAGES = (
    "./pkg/client",
    "./pkg/cache",
    "./pkg/controller/controllerutil",
    "./pkg/source",
    "./pkg/internal/controller",
)
#: The last lines of a suite on Ginkgo, with its colours removed.
RAN = re.compile(r"^Ran (\d+) of (\d+) Specs in ([\d.]+) seconds", re.MULTILINE)
COUNTS = re.compile(r"-- (\d+) Passed \| (\d+) Failed \| (\d+) Pending \| (\d+) Skipped")
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True)
class Result:
    """The outcome of one suite: the exit code of ``go test``, and the figures that the suite prints."""

    package: str
    code: int
    passed: int = 0
    failed: int = 0
    pending: int = 0
    skipped: int = 0
    seconds: float = 0.0
    #: The lines that name failed specs.
    failures: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Return whether all specs have passed; a suite that ran none has not."""
        return self.code == 0 and self.failed == 0 and self.passed > 0

    def __str__(self) -> str:
        return (
            f"{self.package:34} {'ok' if self.ok else 'FAILED':6} {self.passed:>4} passed, {self.failed} failed, "
            f"{self.pending} pending, {self.skipped} skipped in {self.seconds:.1f} s; exit code {self.code}"
        )


def result_of(package: str, code: int, output: str) -> Result:
    """Read the output of a suite.

    >>> text = "Ran 3 of 4 Specs in 1.5 seconds\\nSUCCESS! -- 3 Passed | 0 Failed | 1 Pending | 0 Skipped\\n"
    >>> print(result_of("./pkg/cache", 0, text))
    ./pkg/cache                        ok        3 passed, 0 failed, 1 pending, 0 skipped in 1.5 s; exit code 0
    """
    text = COLOUR.sub("", output)
    ran, counts = RAN.search(text), COUNTS.search(text)
    if ran is None or counts is None:
        return Result(package, code)
    passed, failed, pending, skipped = (int(group) for group in counts.groups())
    failures = tuple(dict.fromkeys(line.strip() for line in text.splitlines() if line.strip().startswith("[FAIL]")))
    return Result(package, code, passed, failed, pending, skipped, float(ran[3]), failures)


def main() -> int:
    """Run the suites; return 0 if every one has passed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", nargs="*", default=PACKAGES, metavar="PACKAGE")
    parser.add_argument("--release", default="v0.23.0", help="of controller-runtime")
    parser.add_argument("--output", type=Path, default=Path("build/envtest"), help="where the outputs are kept")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="kontend-envtest-") as directory:
        assets = write_assets(Path(directory, "assets"))
        sources = copy_of_module(options.release, Path(directory))
        environment = {**os.environ, "KUBEBUILDER_ASSETS": str(assets)}
        results = [run(package, sources, environment, options.output) for package in options.packages]
    print(f"\ncontroller-runtime {options.release} on kontend envtest")
    for result in results:
        print(result)
        for line in result.failures:
            print(f"  {line}")
    passed, failed = sum(result.passed for result in results), sum(result.failed for result in results)
    print(f"{passed} passed, {failed} failed")
    return 0 if all(result.ok for result in results) else 1


def copy_of_module(release: str, directory: Path) -> Path:
    """Download the module and return a copy that can be written to."""
    command = ["go", "mod", "download", "-json", f"{MODULE}@{release}"]
    module = json.loads(subprocess.run(command, cwd=directory, check=True, capture_output=True).stdout)
    sources = directory / "sources"
    shutil.copytree(module["Dir"], sources)
    for path in [sources, *sources.rglob("*")]:
        path.chmod(path.stat().st_mode | 0o200)
    return sources


def run(package: str, sources: Path, environment: dict[str, str], output: Path) -> Result:
    """Run one suite."""
    print(f"go test {package}", flush=True)
    path = output / f"{Path(package).name}.log"
    with path.open("wb") as file:
        command = ["go", "test", "-count=1", "-v", "-timeout", "30m", package]
        done = subprocess.run(command, cwd=sources, env=environment, stdout=file, stderr=subprocess.STDOUT)
    result = result_of(package, done.returncode, path.read_text(encoding="utf-8", errors="replace"))
    print(f"{result}; output: {path}", flush=True)
    return result


if __name__ == "__main__":
    sys.exit(main())
