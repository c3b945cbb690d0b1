"""Codes of failures: 429 and 503 are tried where code tells them from 500, and only there."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from explore.widgets import CRD, KIND, UNGUARDED, WIDGET
from kontend.explore import Bounds, Reductions, Scenario, Verdict, check
from kontend.kube.errors import ApiError, ServiceUnavailable, TooManyRequests
from kontend.runtime.client.api import Api
from kontend.runtime.controller import Controller, Request, Result

DATA = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "out", "namespace": "default"}}


class Plain(Controller):
    """Creates a config map, and lets every error pass."""

    kind = KIND
    name = "makes"

    async def reconcile(self, request: Request, api: Api) -> Result | None:
        """Create it."""
        del request
        if not await api.live.list("ConfigMap/v1", namespace="default"):
            return await self.make(api)
        return None

    async def make(self, api: Api) -> Result | None:
        """Create it, and handle errors."""
        await api.create(dict(DATA))
        return None


class Throttled(Plain):
    """Gives up when it makes too many requests."""

    async def make(self, api: Api) -> Result | None:
        """Create it, and take a 429 for a final answer."""
        try:
            await api.create(dict(DATA))
        except TooManyRequests:
            return None
        return None


class Unavailable(Plain):
    """Gives up when the server is not there, and finds that out late."""

    async def make(self, api: Api) -> Result | None:
        """Create it, and look at the error after another call."""
        failed: ApiError | None = None
        try:
            await api.create(dict(DATA))
        except ApiError as error:
            failed = error
        await api.live.list("Secret/v1", namespace="default")
        if failed is not None and failed.code != ServiceUnavailable.code:
            raise failed
        return None


class Patient(Plain):
    """Waits for as long as the server asks it to."""

    async def make(self, api: Api) -> Result | None:
        """Create it, and come back after a 429."""
        try:
            await api.create(dict(DATA))
        except TooManyRequests as error:
            return Result(requeue_after=(error.details or {})["retryAfterSeconds"])
        return None


class Alike(Plain):
    """Handles all errors in the same way."""

    async def make(self, api: Api) -> Result | None:
        """Create it, and come back after any error."""
        try:
            await api.create(dict(DATA))
        except ApiError:
            return Result(requeue_after=5)
        return None


def explored(controller: Controller, *, codes: bool = True, **bounds: Any) -> Verdict:
    """The verdict on a controller whose calls may fail once."""
    only = Bounds(**{"lag": 0, "crashes": 0, "lost": 0, **bounds})
    return check(
        Scenario(
            [controller],
            crds=[CRD],
            objects=[WIDGET],
            bounds=only,
            guards=UNGUARDED,
            reductions=replace(Reductions(), codes=codes),
        )
    )


@pytest.mark.parametrize("codes", [True, False])
@pytest.mark.parametrize(("controller", "code"), [(Throttled, "429"), (Unavailable, "503")])
def test_a_code_that_the_controller_handles_on_its_own_is_tried(
    controller: type[Controller], code: str, codes: bool
) -> None:
    verdict = explored(controller(), codes=codes)
    assert [violation.property for violation in verdict.violations] == ["diverged"]
    assert any(f"fails with {code}" in line for line in verdict.violations[0].trace)
    assert verdict.exhausted


@pytest.mark.parametrize("controller", [Plain, Alike])
def test_codes_that_make_no_difference_are_not_tried(controller: type[Controller]) -> None:
    few, many = explored(controller()), explored(controller(), codes=False)
    assert few.ok
    assert many.ok
    assert few.steps < many.steps


def test_the_seconds_that_the_server_asks_for_are_a_timer() -> None:
    verdict = explored(Patient())
    assert verdict.ok
    assert verdict.steps > explored(Alike()).steps


def test_a_code_in_a_second_failure_is_tried_too() -> None:
    class Again(Plain):
        """Tries twice, and gives up when the second try makes too many requests."""

        async def make(self, api: Api) -> Result | None:
            try:
                await api.create(dict(DATA))
            except ApiError:
                return await self.again(api)
            return None

        async def again(self, api: Api) -> Result | None:
            try:
                await api.create(dict(DATA))
            except TooManyRequests:
                return None
            return None

    assert explored(Again()).ok
    verdict = explored(Again(), faults=2, failed=2)
    assert [violation.property for violation in verdict.violations] == ["diverged"]
