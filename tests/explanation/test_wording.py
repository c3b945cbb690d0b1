"""Sentences of fixes."""

from __future__ import annotations

import pytest

from kontend.explanation.fix import Fix, Language
from kontend.explanation.remedies import Remedy
from kontend.explanation.wording import sentence
from kontend.runtime.source_location import SourceLocation

PYTHON, GO = SourceLocation("node.py", 3), SourceLocation("node.go", 3)
#: More names than any remedy has.
NAMES = {
    name: name.upper()
    for name in ("about", "at", "did", "field", "key", "kind", "memory", "object", "owner", "predicate", "property",
                 "read", "request", "sign", "subject", "target", "writers")
}  # fmt: skip


@pytest.mark.parametrize("place", [PYTHON, GO], ids=["python", "go"])
@pytest.mark.parametrize("remedy", Remedy)
def test_every_remedy_has_a_sentence_in_every_language(remedy: Remedy, place: SourceLocation) -> None:
    text = sentence(Fix(remedy, place, NAMES))
    assert text[0].islower() or text.startswith("api.")
    assert (
        "{" not in text
        or "client.Preconditions{" in text
        or "Optimistic" in text
        or "Result{" in text
        or '"op"' in text
    )


@pytest.mark.parametrize("remedy", Remedy)
def test_no_sentence_for_go_names_a_call_of_python(remedy: Remedy) -> None:
    text = sentence(Fix(remedy, GO, NAMES))
    if remedy in (Remedy.LOCK_SCALE, Remedy.KEEP_LOCK, Remedy.SEND_VERSION):
        return  # of the runtime in Python alone, or for both
    assert not [word for word in ("api.live", "merge_from(", "mutate_", "is_controlled_by", "=True)") if word in text]


def test_a_fix_is_worded_for_the_language_of_its_place() -> None:
    assert "merge_from(base, lock=True)" in sentence(Fix(Remedy.LOCK_PATCH, PYTHON))
    assert "client.MergeFromWithOptimisticLock{}" in sentence(Fix(Remedy.LOCK_PATCH, GO))


def test_a_fix_without_a_place_may_say_its_language() -> None:
    fix = Fix(Remedy.DELETE_WITH_UID, spoken=Language.ANY)
    assert fix.language is Language.ANY
    assert "client-go" in sentence(fix)
