"""Ray and Dask on this machine, started once for all tests of a process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from executors.engines import needs
from kontend.executors import dask_cluster, ray_cluster


@pytest.fixture(scope="session")
def dask() -> Iterator[None]:
    """Dask on this machine."""
    needs("dask")
    yield
    dask_cluster.close_dask()


@pytest.fixture(scope="session")
def ray() -> Iterator[None]:
    """Ray on this machine."""
    needs("ray")
    yield
    ray_cluster.close_ray()
