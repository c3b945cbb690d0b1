"""Settings of Ray on this machine, whatever was imported before."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from executors.engines import needs
from kontend.executors import ray_cluster


def test_ray_is_started_again_where_it_fails() -> None:
    attempts: list[str] = []

    def start() -> str:
        attempts.append("start")
        if len(attempts) < 5:
            raise RuntimeError("The current node timed out during startup.")
        return "started"

    assert ray_cluster.patiently(start, lambda: attempts.append("clean up")) == "started"
    assert attempts == ["start", "clean up"] * 2 + ["start"]


def test_the_last_failure_to_start_ray_is_reported() -> None:
    def start() -> None:
        raise RuntimeError("no port is free")

    with pytest.raises(RuntimeError, match="no port is free"):
        ray_cluster.patiently(start, lambda: None)


@pytest.mark.parametrize(("chosen", "mode"), [(None, "token"), ("disabled", "disabled")])
@pytest.mark.parametrize("before", ["token", "disabled"])
def test_a_cluster_on_this_machine_has_tokens_whatever_ray_has_read_before(
    chosen: str | None, mode: str, before: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    needs("ray")
    core: Any = import_module("ray._raylet")
    ray_cluster.close_ray()
    monkeypatch.setenv("RAY_AUTH_TOKEN_PATH", str(tmp_path / "token"))
    (tmp_path / "token").write_text("1" * 64)
    monkeypatch.setenv("RAY_AUTH_MODE", before)
    core.Config.initialize("")
    monkeypatch.delenv("RAY_AUTH_MODE")
    if chosen:
        monkeypatch.setenv("RAY_AUTH_MODE", chosen)
    with ray_cluster.private_settings():
        assert core.get_authentication_mode() == getattr(core.AuthenticationMode, mode.upper())


def test_processes_that_start_at_once_have_one_token_that_only_the_user_can_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("RAY_AUTH_TOKEN", raising=False)
    monkeypatch.delenv("RAY_AUTH_TOKEN_PATH", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    file = tmp_path / ".ray" / "auth_token"

    def token(_: int) -> str:
        ray_cluster._write_token()
        return file.read_text()

    with ThreadPoolExecutor(8) as pool:
        tokens = set(pool.map(token, range(64)))
    assert {len(text) for text in tokens} == {64}
    assert len(tokens) == 1
    assert file.stat().st_mode & 0o077 == 0
    assert list(file.parent.iterdir()) == [file]
