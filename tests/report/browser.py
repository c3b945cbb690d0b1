"""Headless Chromium for tests: Debian's package, driven by Playwright. Tests skip with a reason where it is missing."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

#: Chromium runs as root in containers, and must not look for updates.
_ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@contextmanager
def chromium() -> Iterator[Any]:
    """A browser. Without one the test is skipped, unless ``KONTEND_BROWSER=required`` is set, as in CI."""
    executable = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        _missing("Playwright is not installed: make browser")
    if executable is None:
        _missing("Chromium is not installed: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=list(_ARGUMENTS))
        try:
            yield browser
        finally:
            browser.close()


def _missing(reason: str) -> None:
    if os.environ.get("KONTEND_BROWSER") == "required":
        pytest.fail(reason)
    pytest.skip(reason)


class View:
    """A page in a browser, with everything that it complained about and asked the network for."""

    def __init__(self, browser: Any, *, width: int = 1440, height: int = 900, scheme: str = "light") -> None:
        self.context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
        self.context.set_default_timeout(60_000)  # a loaded machine is slow
        self.page = self.context.new_page()
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))

    def open(self, file: Path, route: str = "") -> View:
        """Open a file from disk and wait until it is drawn."""
        self.page.goto(f"{file.as_uri()}{route}")
        self.page.wait_for_selector("html[data-ready]")
        return self

    def press(self, *keys: str) -> View:
        """Press keys, one after the other."""
        for key in keys:
            self.page.keyboard.press(key)
        return self

    def text(self, selector: str) -> str:
        """The visible text of an element."""
        return str(self.page.inner_text(selector))

    @property
    def route(self) -> str:
        """The selection in the URL."""
        return str(self.page.evaluate("location.hash"))

    def wait(self, condition: str) -> None:
        """Wait until a JavaScript expression is true. Playwright's own way needs eval, which the page forbids."""
        for _ in range(3000):
            if self.page.evaluate(condition):
                return
            self.page.wait_for_timeout(20)
        raise AssertionError(f"still not true: {condition}; the page is at {self.route}")
