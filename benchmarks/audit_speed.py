"""Measure how fast `kontend audit` reads code: a directory that is given, or a million generated lines of Go.

python benchmarks/audit_speed.py [DIRECTORY]
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from kontend.audit.auditor import audit
from kontend.audit.settings.config import Settings

LINES = 1_000_000
_CONTROLLER = Path(__file__).parent.parent / "tests" / "audit" / "labels" / "widget_status.go.txt"
_FILLER = """
// Sum{n} adds what is positive.
func Sum{n}(values map[string]int, limit int) (int, error) {{
	total := 0
	for name, value := range values {{
		if value < 0 {{
			return 0, fmt.Errorf("negative %s", name)
		}}
		total += value
	}}
	if total > limit {{
		total = limit
	}}
	return total, nil
}}
"""


def generate(root: Path, lines: int) -> None:
    """Write packages of ordinary code with one controller in every twenty files, as operators have them."""
    filler = 'package p\n\nimport "fmt"\n' + "".join(_FILLER.format(n=n) for n in range(25))
    controller = _CONTROLLER.read_text("utf-8")
    written = number = 0
    while written < lines:
        place = root / f"p{number // 20}"
        place.mkdir(exist_ok=True)
        text = controller if number % 20 == 0 else filler
        (place / f"f{number}.go").write_text(text, "utf-8")
        written, number = written + text.count("\n"), number + 1


def main(arguments: Sequence[str] = ()) -> int:
    """Print lines, seconds and lines a second."""
    with tempfile.TemporaryDirectory() as scratch:
        if arguments:
            place = arguments[0]
        else:
            place = scratch
            generate(Path(scratch), LINES)
        began, cpu = time.perf_counter(), time.process_time()
        report = audit([place], Settings())
        wall, spent = time.perf_counter() - began, time.process_time() - cpu
    million = 1_000_000 * spent / report.lines
    print(
        f"{report.files} files, {report.lines:,} lines, {len(report.sites)} writes: {spent:.1f} s ({wall:.1f} s wall)"
    )
    print(f"{report.lines / spent:,.0f} lines a second; a million lines in {million:.1f} s of one core")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
