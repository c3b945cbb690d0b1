"""Options of ``kontend live`` that cannot be meant are refused with what is expected."""

from __future__ import annotations

import pytest

from kontend.cli import main


@pytest.mark.parametrize("text", ["x", "-1", "0", "nan", "1e9"])
@pytest.mark.parametrize("option", ["--heal", "--patience"])
def test_a_number_of_seconds_that_is_none(option: str, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["live", f"{option}={text}", "--", "./manager"]) == 2
    assert f"{option}: expected a number of seconds above 0, such as 2.5; found '{text}'" in capsys.readouterr().err
