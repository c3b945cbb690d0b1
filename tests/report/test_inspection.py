"""Questions about a trace document, its text, and its form as a bug report."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kontend.report.document import CallRecord, Difference, Document, Explanation, FieldChange, Step
from kontend.report.grouping import grouped
from kontend.report.inspection import (
    BadQuestion,
    fields_of,
    find_object,
    first_difference,
    object_after,
    object_in_cache,
    overlaps,
    step_at,
    writes_of,
)
from kontend.report.markdown import markdown, plain
from kontend.report.text import difference_lines, render, trace_lines
from report.documents import lost_update
from report.test_document import NEW, OLD, C, document


def test_an_object_is_found_by_any_of_its_names() -> None:
    for text in (C, "ConfigMap default/c", "ConfigMap/default/c", "ConfigMap/c", "default/c", "c"):
        assert find_object(document(), text) == C
    with pytest.raises(BadQuestion, match="no object is called d; there are: ConfigMap/v1 default/c"):
        find_object(document(), "d")


def test_an_object_is_known_after_each_step_on_the_server_and_in_caches() -> None:
    assert [object_after(document(), C, number) for number in (0, 1, 2)] == [OLD, OLD, NEW]
    assert [object_in_cache(document(), C, 2, cache) for cache in ("ports#1", "ports#2")] == [OLD, NEW]


def test_the_writers_of_a_field_are_known_with_what_they_had_read() -> None:
    (write,) = writes_of(document(), C, "data")
    assert (write.step.number, write.write.base, write.write.base_step) == (2, 3, 1)
    assert write.change == FieldChange("data.next", "8000", "8001")
    assert fields_of(document(), C) == ["data.next"]
    assert list(writes_of(document(), C, "data.nex")) == []


def test_a_step_that_does_not_exist_is_refused() -> None:
    with pytest.raises(BadQuestion, match="there is no step 3; the trace has steps 1 to 2"):
        step_at(document(), 3)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [("a.b", "a.b", True), ("a", "a.b", True), ("a[x=1].c", "a", True), ("a.b", "a.bc", False), ("", "a", True)],
)
def test_paths_overlap(one: str, other: str, expected: bool) -> None:
    assert overlaps(one, other) is overlaps(other, one) is expected


def test_the_first_step_that_differs_from_the_good_run_is_known() -> None:
    good = (document().steps[0], replace(document().steps[1], text="ports#1: get again"))
    difference = first_difference(replace(document(), baseline=good))
    assert difference is not None
    assert (difference.common, difference.good) == (1, good[1])
    assert first_difference(document()) is None


def test_the_text_has_the_values_the_versions_the_line_and_the_culprits() -> None:
    text = render(document())
    assert "cached get ConfigMap default/c: version 3, stale: the server has version 4" in text
    assert "  ► 2  ports#1  patch ConfigMap default/c: version 4, from version 3  [ports.py:31]" in text
    assert 'data.next: "8000" → "8001"' in text
    assert "Fix at ports.py:31: lock=True\n      await api.patch(c)" in text


def test_steps_that_change_nothing_are_folded_unless_asked_for() -> None:
    steps = [
        Step(1, "a", "start", "a starts w", changes_nothing=True),
        Step(2, "a", "call", "a: get", changes_nothing=True),
        Step(3, "a", "start", "a starts w", changes_nothing=True),
        Step(4, "user", "act", "the user deletes w"),
        Step(5, "a", "start", "a starts w", changes_nothing=True),
    ]
    assert list(trace_lines(steps)) == [
        "    ·  2 no-op reconciles (steps 1 to 3)",
        "    4  user  deletes w",
        "    ·  1 no-op reconcile (step 5)",
    ]
    assert len(list(trace_lines(steps, verbose=True))) == 5
    assert len(list(trace_lines(steps, fold=False))) == 5
    at_fault = Explanation("p", "s", culprits=(2,))
    assert "  ► 2  a     get" in list(trace_lines(steps, at_fault))


def test_an_object_with_nothing_but_a_name_is_only_named() -> None:
    lines = list(difference_lines([Difference(C, "", expected={}), Difference("X/v1 default/x", "", got={"data": 1})]))
    assert lines[1:] == [
        f"    {C}",
        "    -   the whole object",
        "    X/v1 default/x",
        '    +   the whole object: {"data":1}',
    ]


def test_a_fold_without_a_start_says_what_it_holds() -> None:
    read = Step(
        1, "a", "call", "a: get", CallRecord("get", "ConfigMap/v1", "default", "c"), "200", changes_nothing=True
    )
    event = Step(2, "a", "deliver", "a sees w", changes_nothing=True)
    assert list(trace_lines([replace(read, request="default/c")])) == ["    ·  the rest of a no-op reconcile (step 1)"]
    assert list(trace_lines([read, event])) == ["    ·  reads and events that change nothing (steps 1 to 2)"]
    assert list(trace_lines([event])) == ["    ·  an event that changes nothing (step 2)"]


def _of(name: str, culprits: tuple[int, ...], more: int = 0) -> Document:
    one = document()
    steps = (*one.steps, *(Step(3 + number, "x", "act", "x") for number in range(more)))
    return replace(one, steps=steps, violation=Explanation(name, f"{name} is violated", culprits))


def test_violations_with_the_same_lines_at_fault_are_one() -> None:
    first, second = grouped([_of("a", (2,), more=1), _of("b", (2,)), _of("c", (1, 2))])
    assert (first.violation.property, first.violation.also) == ("b", ("a",))
    assert (second.violation.property, second.violation.also) == ("c", ())


def test_violations_without_a_step_at_fault_stay_apart() -> None:
    assert [group.violation.property for group in grouped([_of("a", ()), _of("b", ())])] == ["a", "b"]


def test_a_bug_report_has_all_that_a_maintainer_needs() -> None:
    different = replace(
        document().violation, difference=(Difference(C, "data.next", "8001", "8002"),), perturbations=("a stale read",)
    )
    report = markdown(replace(document(), violation=different, token="abc", versions={"kontend": "1"}), archive="x.zip")
    for part in (
        "## lost update: 2 steps\n",
        "\nports#<!-- -->2 wrote\n",
        "\nPerturbed by a stale read.\n",
        '\n-   data.next: "8002"\n+   data.next: "8001"\n',
        "\n### Suggested fix\n\nLock=True at `ports.py:31`.\n",
        "\nkontend replay x.zip\n",
        '\n@reproduce("abc")\n',
        "- `blind` in `ports.py` (sha256 abc)\n",
        "\nkontend 1\n",
    ):
        assert part in report


def test_backticks_do_not_break_a_bug_report() -> None:
    strange = replace(document(), violation=replace(document().violation, traceback="``` raise"))
    assert "````python\n``` raise\n````\n" in markdown(strange)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("nodes#2 wrote it", "nodes#<!-- -->2 wrote it"),
        ("asks @team", "asks @<!-- -->team"),
        ("the <uid of w> & more", r"the \<uid of w\> &amp; more"),
        ("*bold* `code` ~~gone~~ a|b", r"\*bold\* \`code\` \~\~gone\~\~ a\|b"),
        ("_id_ of one_plan", r"\_id\_ of one_plan"),
        ("status.conditions[type=Ready].status", "status.conditions[type=Ready].status"),
        ("a [link](https://example.com)", r"a [link\](https://example.com)"),
        ("# no\nheading", r"\# no heading"),
        ("1. no list", r"1\. no list"),
    ],
)
def test_a_bug_report_shows_text_as_it_is(text: str, expected: str) -> None:
    """Nobody is mentioned, no other issue is linked, and nothing disappears as markup."""
    assert plain(text) == expected
    report = markdown(_with_sentence(text))
    assert expected in report.splitlines()


def _with_sentence(text: str) -> Document:
    sample = lost_update()
    return replace(sample, violation=replace(sample.violation, sentence=text))


def test_long_values_are_cut_around_their_first_difference() -> None:
    sample = lost_update()
    (number, *_) = sample.violation.culprits
    step = sample.steps[number - 1]
    long = "漢字🙂" * 200
    (write,) = step.writes
    changed = replace(step, writes=(replace(write, fields=(FieldChange("data.text", f"{long}1", f"{long}2"),)),))
    steps = tuple(changed if step.number == number else step for step in sample.steps)
    text = render(replace(sample, steps=steps))
    assert '漢字🙂1" → …' in text
    assert '漢字🙂2"' in text
    assert max(map(len, text.splitlines())) < 250


def test_the_field_at_fault_is_shown_among_a_thousand_others() -> None:
    sample = lost_update()
    many = tuple(FieldChange(f"data.a{number}", None, "x") for number in range(1000))
    steps = tuple(
        replace(
            step,
            writes=tuple(
                replace(write, fields=(*(many if step.number == sample.violation.culprits[0] else ()), *write.fields))
                for write in step.writes
            ),
        )
        if step.number in sample.violation.culprits
        else step
        for step in sample.steps
    )
    lines = render(replace(sample, steps=steps)).splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("  ►"))
    assert "data.next: " in lines[at + 1]
    assert "more fields" in "\n".join(lines)
