"""Measures the HTML page of a long trace: its size, the time to render it, the time until a browser has drawn it."""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.table import row
from kontend.report.page.contents import results_of
from kontend.report.page.page import page

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

STEPS, OBJECTS = 2_000, 500
_ROUNDS = 5


def main() -> None:
    """Print size and times."""
    from report.documents import large

    document = large(STEPS, OBJECTS)
    start = time.perf_counter()
    html = page(results_of([document]))
    seconds = time.perf_counter() - start
    what = f"page of {STEPS:,} steps over {OBJECTS} objects"
    size = len(html.encode()) / 1e6
    row(f"{what}: size", f"{size:.2f} MB", "under 5 MB", good=size < 5)
    row(f"{what}: rendered", f"{seconds:.2f} s", "under 2 s", good=seconds < 2)
    try:
        import playwright  # noqa: F401
    except ImportError:
        print("not opened: Playwright is not installed: make browser")
        return
    if shutil.which("chromium") is None:
        print("not opened: Chromium is not installed")
        return
    opened = _opened(html)
    row(
        f"{what}: opened, best and worst of {_ROUNDS}",
        f"{min(opened):.2f} {max(opened):.2f} s",
        "under 2 s",
        good=max(opened) < 2,
    )


def _opened(html: str) -> list[float]:
    """Seconds from navigation until two frames after the page is drawn."""
    from report.browser import View, chromium

    times = []
    with tempfile.TemporaryDirectory() as directory, chromium() as browser:
        file = Path(directory) / "page.html"
        file.write_text(html, encoding="utf-8")
        for _ in range(_ROUNDS):
            view = View(browser)
            start = time.perf_counter()
            view.open(file)
            view.page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
            times.append(time.perf_counter() - start)
            view.context.close()
    return times
