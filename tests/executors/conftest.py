"""A process in which Ray and Dask run, for all tests of this package."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor

import pytest

from executors import driver


@pytest.fixture(scope="package")
def process() -> Iterator[ProcessPoolExecutor]:
    """A process of its own for the searches on Ray and Dask.

    Both start threads, and leave settings behind, that no other test should find in its process: one that forks could
    hang or crash.
    """
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield pool
        pool.submit(driver.close).result()
