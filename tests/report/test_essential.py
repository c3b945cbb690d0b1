"""The steps of a long trace that explain its violation."""

from __future__ import annotations

from dataclasses import replace

from kontend.report.document import Cycle, Document
from kontend.report.essential import SHORT, essential_steps
from kontend.report.text import render
from report.documents import large


def numbers(document: Document) -> frozenset[int]:
    return essential_steps(document.steps, document.violation)


def test_a_short_trace_is_shown_whole() -> None:
    document = large(SHORT, 3)
    assert numbers(document) == frozenset(range(1, SHORT + 1))


def test_a_long_trace_is_cut_to_the_reconciles_at_fault_and_what_meets_them() -> None:
    document = large(200, 20)
    shown = numbers(document)
    assert set(document.violation.culprits) <= shown
    assert len(shown) < 60
    text = render(document)
    assert " other steps (steps " in text
    assert len(render(document, verbose=True).splitlines()) > len(text.splitlines())


def test_steps_that_repeat_forever_are_shown() -> None:
    document = large(200, 20)
    violation = replace(document.violation, cycle=Cycle(80, 99))
    assert set(range(80, 100)) <= essential_steps(document.steps, violation)


def test_without_steps_at_fault_everything_is_shown() -> None:
    document = large(200, 20)
    violation = replace(document.violation, culprits=())
    assert essential_steps(document.steps, violation) == frozenset(range(1, 201))
