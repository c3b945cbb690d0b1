"""Warnings in the headers of an answer."""

from __future__ import annotations

from kontend.serve.http.warning_headers import warning_headers
from serve.wire import CONFIG_MAPS, Client, config_map


def test_short_warnings_are_sent_as_they_are() -> None:
    """Each once."""
    assert warning_headers(["a", "b", "a", ""]) == ['Warning: 299 - "a"\r\n', 'Warning: 299 - "b"\r\n']


def test_a_text_with_control_characters_is_left_out() -> None:
    """It could end the header."""
    texts = ["a\r\nSet-Cookie: x", "\x7f", "caf\u00e9\u00a0"]
    assert warning_headers(texts) == [f'Warning: 299 - "{texts[-1]}"\r\n']


def test_long_warnings_are_cut_when_all_together_are_too_long() -> None:
    """To 256 characters; without need they are not cut."""
    assert warning_headers(["x" * 4096]) == [f'Warning: 299 - "{"x" * 4096}"\r\n']
    assert warning_headers(["x" * 4096, "y"]) == [f'Warning: 299 - "{"x" * 256}"\r\n', 'Warning: 299 - "y"\r\n']


def test_warnings_beyond_the_limit_are_left_out() -> None:
    """As kube-apiserver does."""
    (*_, last) = warning_headers([f"{number:03}" + "x" * 300 for number in range(100)])
    assert len(warning_headers([f"{number:03}" + "x" * 300 for number in range(100)])) == 16
    assert last.startswith('Warning: 299 - "015')


def test_unknown_fields_by_the_hundred_break_no_client(client: Client) -> None:
    """Python's does not take more than 100 headers."""
    body = {**config_map("c"), **{f"field{number}": 1 for number in range(500)}}
    answer = client.send("POST", CONFIG_MAPS, body)
    assert answer.code == 201
    warnings = answer.headers.get_all("Warning")
    assert warnings is not None
    assert len(warnings) == 50
    assert ", ".join(warnings).count("unknown field") == 100
