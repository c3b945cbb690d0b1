"""The example of a controller that calls a service outside of the cluster."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kontend.explore import check
from kontend.explore.properties.built_in import BuiltIn
from kontend.runtime.client.api import Api
from kontend.runtime.user_file import load_file

EXAMPLE = load_file(Path(__file__).parents[2] / "examples" / "buckets_operator.py")


class Strict:
    """A service that refuses to delete what it does not have."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._storage: Any = EXAMPLE.FakeStorage(api)

    async def create(self, name: str) -> None:
        await self._storage.create(name)

    async def delete(self, name: str) -> None:
        stored = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "storage"}}
        await self._api.delete(stored)


def test_the_example_holds_and_leaves_no_bucket_in_the_service() -> None:
    verdict = check(EXAMPLE.buckets)
    assert verdict.ok, str(verdict)


def test_a_service_that_refuses_a_repeated_request_shows_what_a_lost_response_does() -> None:
    verdict = check(replace(EXAMPLE.buckets, controllers=[EXAMPLE.Buckets(Strict)]))
    with pytest.raises(AssertionError, match='configmaps "b" not found'):
        verdict.raise_for_violations()
    assert BuiltIn.FAILS_FOREVER in {violation.property for violation in verdict.violations}
