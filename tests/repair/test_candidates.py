"""Candidates, and what they may touch."""

from __future__ import annotations

from pathlib import Path

import pytest

from kontend.explanation.change import Change
from kontend.explanation.edits import Edit
from kontend.explanation.python.changes import changes_of
from kontend.explanation.python.source import Source
from kontend.explanation.remedies import Remedy
from kontend.repair.candidates import Candidate, candidates_of, pairs_of
from kontend.repair.trial import Violated
from kontend.runtime.user_sources import UserSource
from repair.samples import COUNTERS

FILE = "/project/counters.py"
SOURCE = UserSource("counters", FILE, COUNTERS)
LINES = tuple((FILE, line) for line in (14, 18))
LOST = Violated("lost update", "it is lost", "lock-patch", "lock it", (FILE, 18), LINES[1:], LINES, 1)


def test_what_the_cause_calls_for_comes_first() -> None:
    candidates = candidates_of(LOST, [SOURCE], Path("/project"))
    assert candidates[0].remedies == (Remedy.LOCK_PATCH,)
    assert Remedy.READ_LIVE in [candidate.remedies[0] for candidate in candidates[1:]]


def test_every_candidate_is_python() -> None:
    candidates = candidates_of(LOST, [SOURCE], Path("/project"))
    assert len(candidates) > 3
    for candidate in candidates:
        compile(candidate.text, FILE, "exec")


def test_a_file_outside_of_the_project_is_left_alone() -> None:
    assert candidates_of(LOST, [SOURCE], Path("/elsewhere")) == []


def test_an_edit_that_breaks_the_syntax_is_no_candidate() -> None:
    assert not Candidate(SOURCE, (Change(Remedy.LOCK_PATCH, 1, (Edit(0, 3, "("),)),)).is_valid()


def test_an_edit_that_changes_nothing_is_no_candidate() -> None:
    assert not Candidate(SOURCE, (Change(Remedy.LOCK_PATCH, 1, (Edit(0, 0, ""),)),)).is_valid()


def test_changes_of_the_same_bytes_make_no_pair() -> None:
    one, other = (Candidate(SOURCE, (Change(Remedy.LOCK_PATCH, 1, (Edit(0, 3, text),)),)) for text in ("'''", '""" '))
    assert list(pairs_of([one, other], [])) == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("await api.patch(o, merge_from(b))", "await api.patch(o, merge_from(b, lock=True))"),
        ("await api.patch(o, merge_from(b, lock=self.x))", "await api.patch(o, merge_from(b, lock=True))"),
        (
            'await api.patch(o, merge_patch({"spec": {}}))',
            'await api.patch(o, merge_patch({"metadata": {"resourceVersion": o["metadata"]["resourceVersion"]}, '
            '"spec": {}}))',
        ),
        ("await api.delete(o)", 'await api.delete(o, uid=o["metadata"]["uid"])'),
        ("await api.delete(o,)", 'await api.delete(o, uid=o["metadata"]["uid"],)'),
        ("o = await api.get(K, request)", "o = await api.live.get(K, request)"),
        ("await api.apply(o, force=True)", "await api.apply(o, force=False)"),
        ("await api.create(o)", "await api.apply(o)"),
        ('o = new_object(K, generate_name="o-")', 'o = new_object(K, name=f"o-{request.name}")'),
        ('o = new_object(K, f"o-{api.uuid()}")', 'o = new_object(K, f"o-{request.name}")'),
        ("with suppress(Conflict): await api.update(o)", "with suppress(): await api.update(o)"),
        ("with suppress(NotFound, Conflict): await api.update(o)", "with suppress(NotFound): await api.update(o)"),
        ("x = o['status']['n']", "x = (o.get('status') or {})['n']"),
    ],
)
def test_a_change_is_written_into_the_code(before: str, after: str) -> None:
    head = "from kontend import Api\nasync def reconcile(self, request, api):\n    "
    source = Source(f"{head}{before}  # why\n")
    texts = [
        Candidate(UserSource("m", FILE, f"{head}{before}  # why\n"), (change,)).text
        for change in changes_of(source, frozenset({3}))
    ]
    assert f"{head}{after}  # why\n" in texts


def test_a_record_moves_before_the_act_with_the_lines_that_prepare_it() -> None:
    head = "async def reconcile(self, request, api):\n"
    act, record = "    await api.create(o)\n", "    n['status'] = {}\n    await api.status.update(n)  # record\n"
    source = Source(f"{head}{act}{record}")
    texts = [
        Candidate(UserSource("m", FILE, f"{head}{act}{record}"), (change,)).text
        for change in changes_of(source, frozenset({2}))
    ]
    assert f"{head}{record}{act}" in texts


def test_a_delete_by_selector_becomes_one_of_the_children_that_the_owner_controls() -> None:
    text = (
        "from kontend import Api\nasync def reconcile(self, request, api):\n    owner = await api.get(K, request)\n"
        "    await api.delete_all_of(C, namespace=request.namespace)\n"
    )
    texts = [
        Candidate(UserSource("m", FILE, text), (change,)).text for change in changes_of(Source(text), frozenset({4}))
    ]
    assert any(
        "from kontend import Api, is_controlled_by\n" in changed
        and "    for child in await api.live.list(C, namespace=request.namespace):\n"
        "        if is_controlled_by(child, owner):\n"
        '            await api.delete(child, uid=child["metadata"]["uid"])\n'
        in changed
        for changed in texts
    )


def test_a_derived_name_and_an_apply_are_tried_together_where_something_is_made_twice() -> None:
    text = (
        "from kontend import Api\nasync def reconcile(self, request, api):\n"
        '    child = new_object(K, generate_name=f"{request.name}-")\n    await api.create(child)\n'
    )
    lines = ((FILE, 3), (FILE, 4))
    twice = Violated("diverged", "two", "make-repeatable", "", (FILE, 4), lines, lines, 1)
    first = candidates_of(twice, [UserSource("m", FILE, text)], Path("/project"))[0]
    assert first.lines[1] == (
        '    child = new_object(K, name=f"{request.name}-{request.name}")',
        "    await api.apply(child)",
    )
