"""``kontend envtest``: a directory for KUBEBUILDER_ASSETS, so that controller-runtime's envtest starts kontend.

$ KUBEBUILDER_ASSETS=$(kontend envtest) go test ./...
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from kontend.cli.command import ExitCode, Parser, UsageError, write
from kontend.live.envtest import assets


def parser() -> Parser:
    """Return the parser of the options."""
    made = Parser(
        prog="kontend envtest",
        description="Print a directory for KUBEBUILDER_ASSETS whose kube-apiserver and etcd are kontend's.",
        examples={
            "the directory of the stand-ins": "kontend envtest",
            "in a directory of the project": "kontend envtest --directory build/envtest",
        },
        topic="envtest",
        epilog="KUBEBUILDER_ASSETS=$(kontend envtest) go test ./...; KONTEND_GATE=lag=0.2,conflicts=0.1 perturbs it.",
    )
    made.add_argument("--directory", type=Path, metavar="DIR", help="write them there (default: the user's cache)")
    return made


def run(argv: Sequence[str]) -> int:
    """Write the stand-ins and print their directory."""
    options = parser().parse_args(list(argv))
    _check_gate()
    try:
        import cryptography  # noqa: F401 - TLS works without it, service accounts do not
    except ImportError:
        sys.stderr.write("kontend envtest: without the package cryptography, tokens are signed with a secret\n")
    try:
        path = assets.write_assets((options.directory or assets.directory()).absolute())
    except OSError as error:
        raise UsageError(f"{error.filename}: {error.strerror}") from None
    write(f"{path}\n")
    return ExitCode.OK


def _check_gate() -> None:
    """Report a wrong KONTEND_GATE here, where it is seen: envtest hides the output of the server."""
    from kontend.live.envtest.noise import BadGate, parse_gate

    try:
        if os.environ.get("KONTEND_GATE"):
            parse_gate(os.environ["KONTEND_GATE"])
    except BadGate as error:
        raise UsageError(str(error)) from None
