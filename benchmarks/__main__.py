"""Run the benchmarks: ``python -m benchmarks [NAME ...]``, all of them when none is named."""

from __future__ import annotations

import importlib
import sys

BENCHMARKS = (
    "cluster",
    "memory",
    "serve",
    "large",
    "fuzz_serve",
    "runtime",
    "explore",
    "scale",
    "live",
    "page",
    "audit_labels",
    "audit_speed",
    "race",
)


def main(names: list[str]) -> int:
    """Run the named benchmarks one after the other."""
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        print(f"no benchmark is called {', '.join(unknown)}; there are: {', '.join(BENCHMARKS)}", file=sys.stderr)
        return 2
    for name in names or BENCHMARKS:
        importlib.import_module(f"benchmarks.{name}").main()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
