"""Lines of fixes, before and after."""

from __future__ import annotations

from pathlib import Path

import pytest

from kontend.explanation.fix import Fix
from kontend.explanation.python.proposals import with_lines
from kontend.explanation.remedies import Remedy
from kontend.report.document import Fix as DocumentFix
from kontend.runtime.source_location import SourceLocation

CODE = """\
async def reconcile(self, request, api):
    node = await api.get(KIND, request)
    await api.status.patch(
        node, merge_from(base)  # a plan
    )
    await api.patch(node, merge_from(base))
    await api.delete(node)
"""


@pytest.mark.parametrize(
    ("remedy", "line", "before", "after"),
    [
        (
            Remedy.LOCK_PATCH,
            3,
            ("        node, merge_from(base)  # a plan",),
            ("        node, merge_from(base, lock=True)  # a plan",),
        ),
        (
            Remedy.DELETE_WITH_UID,
            7,
            ("    await api.delete(node)",),
            ('    await api.delete(node, uid=node["metadata"]["uid"])',),
        ),
        (
            Remedy.READ_LIVE,
            2,
            ("    node = await api.get(KIND, request)",),
            ("    node = await api.live.get(KIND, request)",),
        ),
        # Two patches could be meant, and none is on the line.
        (Remedy.LOCK_PATCH, 2, (), ()),
        # Nothing that syntax alone could write down.
        (Remedy.DECIDE_BY_STATE, 3, (), ()),
    ],
)
def test_a_fix_shows_its_lines_where_one_change_carries_it_out(
    remedy: Remedy, line: int, before: tuple[str, ...], after: tuple[str, ...], tmp_path: Path
) -> None:
    file = tmp_path / "nodes.py"
    file.write_text(CODE)
    fix = with_lines(Fix(remedy, SourceLocation(str(file), line)))
    assert (fix.before, fix.after) == (before, after)


def test_go_files_and_lost_files_have_no_lines(tmp_path: Path) -> None:
    for name in ("node.go", "gone.py"):
        fix = Fix(Remedy.LOCK_PATCH, SourceLocation(str(tmp_path / name), 3))
        assert with_lines(fix) is fix


def test_a_diff_stands_to_the_left() -> None:
    fix = DocumentFix("compare", before=("    delete(x)",), after=("    if mine(x):", "        delete(x)"))
    assert fix.diff == ("- delete(x)", "+ if mine(x):", "+     delete(x)")
