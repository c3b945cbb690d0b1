"""Answers to calls."""

from __future__ import annotations

import pytest

from kontend.explore.model.answer import OK, Answer, Refusal


@pytest.mark.parametrize(
    ("answer", "suffix"),
    [
        (OK, ""),
        (Answer(is_cached=True, is_stale=True), " (stale)"),
        (Answer(Refusal(404, "NotFound"), is_cached=True), ": not found"),
        (Answer(Refusal(404, "NotFound"), is_cached=True, is_stale=True), ": not found (stale)"),
        (Answer(Refusal(409, "Conflict")), ": 409 Conflict"),
        (Answer(fault="timeout"), " times out, and the server has not carried it out"),
    ],
)
def test_an_answer_ends_the_description_of_a_call(answer: Answer, suffix: str) -> None:
    assert answer.suffix == suffix


def test_a_conflict_of_versions_is_told_from_an_object_that_exists() -> None:
    conflict, exists = Answer(Refusal(409, "Conflict")), Answer(Refusal(409, "AlreadyExists"))
    assert (conflict.is_conflict, conflict.already_exists) == (True, False)
    assert (exists.is_conflict, exists.already_exists) == (False, True)


def test_a_conflict_that_is_a_fault_says_nothing_about_other_writes() -> None:
    assert not Answer(fault="conflict").is_conflict
