"""Collect the published pairs of JSON and protobuf that the tests of ``kontend.serve.protobuf.requests`` compare.

Kubernetes keeps, in its own modules, one object of each kind with every field set, in both encodings. This script packs
those of the kinds that we read into ``tests/serve/data/protobuf_pairs.tar.xz``. Run it again for a new release, with a
Go toolchain at hand:

    python tools/make_protobuf_pairs.py --release 1.35.0
"""

from __future__ import annotations

import argparse
import io
import json
import re
import subprocess
import tarfile
from pathlib import Path

TARGET = Path(__file__).parent.parent / "tests" / "serve" / "data" / "protobuf_pairs.tar.xz"
TESTDATA = {"k8s.io/api": "testdata/HEAD", "k8s.io/apiextensions-apiserver": "pkg/apis/testdata/HEAD"}
#: Kinds that no request carries.
LEFT_OUT = re.compile(
    r"v\d+(alpha|beta)\d|admission\.k8s|apidiscovery|APIGroup|APIVersions|WatchEvent|RangeAllocation|PodStatusResult"
    r"|SerializedReference|(Proxy|Attach|Exec|Log|PortForward)Options|ConversionReview"
)


def download(module: str, version: str) -> Path:
    """The directory of a module's source, fetched by the Go toolchain."""
    run = subprocess.run(
        ["go", "mod", "download", "-json", f"{module}@{version}"], check=True, capture_output=True, text=True
    )
    return Path(json.loads(run.stdout)["Dir"])


def main() -> None:
    """Write the archive: the same bytes for the same release."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--release", default="1.35.0", help="of Kubernetes, such as 1.35.0")
    version = "v0" + parser.parse_args().release[1:]
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(TARGET, "w:xz", preset=9, format=tarfile.USTAR_FORMAT) as archive:
        for module, folder in TESTDATA.items():
            for path in sorted((download(module, version) / folder).glob("*.json")):
                if not LEFT_OUT.search(path.name):
                    compact = json.dumps(json.loads(path.read_bytes()), separators=(",", ":"), ensure_ascii=False)
                    add(archive, path.name, compact.encode())
                    add(archive, path.with_suffix(".pb").name, path.with_suffix(".pb").read_bytes())
        print(f"{len(archive.getnames()) // 2} pairs in {TARGET}")


def add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    """Put a file into the archive, with nothing about it but its name and size."""
    entry = tarfile.TarInfo(name)
    entry.size = len(content)
    archive.addfile(entry, io.BytesIO(content))


if __name__ == "__main__":
    main()
