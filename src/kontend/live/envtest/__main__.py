"""Runs the stand-in for kube-apiserver, until it is stopped: ``python -m kontend.live.envtest FLAG ...``."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kontend.live.envtest.apiserver import serve
from kontend.live.envtest.flags import BadFlags, Flags

if TYPE_CHECKING:
    from kontend.live.envtest.noise import NoiseGate


def main(arguments: Sequence[str]) -> int:
    """Return 0 when it was stopped, 2 when it cannot run."""
    # Expressions may be deep.
    sys.setrecursionlimit(max(sys.getrecursionlimit(), 10_000))
    try:
        asyncio.run(serve(Flags(arguments), _gate()))
    except (BadFlags, OSError) as error:
        sys.stderr.write(f"kontend kube-apiserver: {error}\n")
        return 2
    return 0


def _gate() -> NoiseGate | None:
    """Return the gate of KONTEND_GATE. Without it, its modules are not imported, so that the server starts faster."""
    text = os.environ.get("KONTEND_GATE", "")
    if not text:
        return None
    from kontend.live.envtest.noise import BadGate, parse_gate

    try:
        return parse_gate(text)
    except BadGate as error:
        raise BadFlags(str(error)) from None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
