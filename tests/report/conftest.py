"""One browser for the tests of a module."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from report.browser import View, chromium


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A headless browser. It ends with the module: Playwright's event loop would be in the way of other tests."""
    with chromium() as running:
        yield running


@pytest.fixture
def view(browser: Any) -> Iterator[Callable[..., View]]:
    """Opens views; each must end without a complaint and without a request to the network."""
    views: list[View] = []

    def opened(**options: Any) -> View:
        views.append(View(browser, **options))
        return views[-1]

    yield opened
    for view in views:
        view.context.close()
        assert view.complaints == []
        assert [url for url in view.requests if not url.startswith(("file:", "data:", "http://127.0.0.1:"))] == []
