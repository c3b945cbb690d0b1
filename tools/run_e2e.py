"""Run Kubernetes' own Conformance specs against ``kontend serve`` and print what passed.

    python tools/run_e2e.py [--focus PATTERN] [--seconds N] [--output FILE]

The test binary is built first, once, into the user's cache: some ten minutes and two gigabytes of Go's caches.
The module k8s.io/kubernetes replaces its staging modules by directories that the module proxy does not have, so the
binary is built in a module of its own, which replaces them by their releases of the same version.

Specs run one after the other, a few in a
process; one that takes longer than the limit counts as failed, and those after it run in the next process. The whole
suite takes hours, because specs that need real containers wait for them: docs/conformance.md says which ones those are.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

CACHE: Final = Path.home() / ".cache" / "kontend"
RELEASE: Final = "1.35.0"
_STAGED: Final = re.compile(r"^\s*(\S+) => \./staging/", re.MULTILINE)
_REQUIRED: Final = re.compile(r"^\s+(\S+) (v\S+)", re.MULTILINE)
#: Specs in one process: to start one takes a second of processor time.
_TOGETHER: Final = 8
_OPTIONS: Final = ("--provider=skeleton", "--minStartupPods=0", "--disable-log-dump", "--ginkgo.no-color")


def main() -> int:
    """Run the specs and print a line for each that has not passed, and the counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--focus", default=r"\[sig-api-machinery\]", help="pattern of the names (default: %(default)s)")
    parser.add_argument("--seconds", type=int, default=150, help="limit for specs of one process (default: 150)")
    parser.add_argument("--output", type=Path, help="write the states of all specs there, as JSON")
    options = parser.parse_args()
    binary = built()
    with tempfile.TemporaryDirectory() as directory, serving(Path(directory)) as kubeconfig:
        names = [name for name in specs(binary, Path(directory)) if re.search(options.focus, name)]
        states: dict[str, str] = {}
        while left := [name for name in names if name not in states]:
            ran = run(binary, kubeconfig, left[:_TOGETHER], options.seconds, Path(directory))
            states |= ran or dict.fromkeys(left[:_TOGETHER], "not run")
            for name, state in ran.items():
                if state != "passed":
                    print(f"{state}: {name}", flush=True)
    counts = Counter(states.values())
    print(", ".join(f"{count} {state}" for state, count in counts.most_common()))
    if options.output:
        options.output.write_text(json.dumps(states, indent=1))
    return 0 if counts["passed"] == len(names) else 1


@contextmanager
def serving(directory: Path) -> Iterator[Path]:
    """Serve a cluster with controllers and pods, for as long as it is needed; its kubeconfig."""
    kubeconfig = directory / "kubeconfig"
    reading, writing = os.pipe()
    command = [sys.executable, "-m", "kontend.cli", "serve", "--tls", "--controllers", "--pods", "--port", "0"]
    command += ["--kubeconfig", str(kubeconfig), "--ready-fd", str(writing)]
    process = subprocess.Popen(command, pass_fds=[writing], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.close(writing)
    try:
        with os.fdopen(reading) as ready:
            ready.readline()
        yield kubeconfig
    finally:
        process.terminate()
        process.wait()


def specs(binary: Path, directory: Path) -> list[str]:
    """Return the names of all Conformance specs."""
    report = directory / "specs.json"
    dry = ["--ginkgo.dry-run", r"--ginkgo.focus=\[Conformance\]", "--kubeconfig=/dev/null"]
    command = [str(binary), *dry, f"--ginkgo.json-report={report}", *_OPTIONS]
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return list(_states(report))


def run(binary: Path, kubeconfig: Path, names: Sequence[str], seconds: int, directory: Path) -> dict[str, str]:
    """Run some specs; return the states of those that were begun."""
    report = directory / "report.json"
    report.unlink(missing_ok=True)
    focus = f"--ginkgo.focus=({'|'.join(map(re.escape, names))})$"
    limits = [f"--ginkgo.timeout={seconds}s", "--ginkgo.grace-period=5s"]
    command = [str(binary), focus, *limits, f"--ginkgo.json-report={report}", f"--kubeconfig={kubeconfig}", *_OPTIONS]
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    known = _states(report) if report.exists() else {}
    return {name: state for name, state in known.items() if name in names}


def _states(report: Path) -> dict[str, str]:
    """The states of the specs that were not skipped."""
    states: dict[str, str] = {}
    suites: list[dict[str, Any]] = json.loads(report.read_text())
    for spec in (spec for suite in suites for spec in suite["SpecReports"]):
        if spec["LeafNodeType"] == "It" and (spec["State"] != "skipped" or spec.get("Failure", {}).get("Message")):
            states[" ".join([*spec["ContainerHierarchyTexts"], spec["LeafNodeText"]])] = spec["State"]
    return states


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
    sys.exit(main())
