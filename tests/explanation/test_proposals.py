"""Lines of fixes, before and after."""

from __future__ import annotations

from pathlib import Path

import pytest

from kontend.explanation.fix import Fix
from kontend.explanation.proposals import with_lines
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


GO = """\
package controllers

import "sigs.k8s.io/controller-runtime/pkg/client"

func (r *Nodes) Reconcile(ctx context.Context, node *Node) error {
	base := client.MergeFrom(node.DeepCopy())
	patch := client.MergeFrom(node.DeepCopy()) // a plan
	if err := r.Patch(ctx, node, base); err != nil {
		return err
	}
	if err := r.Status().Patch(ctx, node, patch); err != nil {
		return err
	}
	_ = r.Delete(ctx, node)
	return r.Patch(ctx, node, client.MergeFrom(
		node.DeepCopy()))
}

func send(ctx context.Context, c client.Client, node *Node) error {
	data, err := client.MergeFrom(node.DeepCopy()).Data(node)
	if err != nil {
		return err
	}
	return c.Status().Patch(ctx, node, client.RawPatch(types.MergePatchType, data))
}
"""


@pytest.mark.parametrize(
    ("remedy", "line", "before", "after"),
    [
        # A patch that was made before, and the one in the call itself.
        (
            Remedy.LOCK_PATCH,
            11,
            ("\tpatch := client.MergeFrom(node.DeepCopy()) // a plan",),
            (
                "\tpatch := client.MergeFromWithOptions(node.DeepCopy(), client.MergeFromWithOptimisticLock{})"
                " // a plan",
            ),
        ),
        (
            Remedy.LOCK_PATCH,
            15,
            ("\treturn r.Patch(ctx, node, client.MergeFrom(", "\t\tnode.DeepCopy()))"),
            (
                "\treturn r.Patch(ctx, node, client.MergeFromWithOptions(",
                "\t\tnode.DeepCopy(), client.MergeFromWithOptimisticLock{}))",
            ),
        ),
        (
            Remedy.DELETE_WITH_UID,
            14,
            ("\t_ = r.Delete(ctx, node)",),
            ("\t_ = r.Delete(ctx, node, client.Preconditions{UID: &node.UID})",),
        ),
        # A patch of which only the content is sent.
        (
            Remedy.LOCK_PATCH,
            24,
            ("\tdata, err := client.MergeFrom(node.DeepCopy()).Data(node)",),
            (
                "\tdata, err := client.MergeFromWithOptions(node.DeepCopy(), client.MergeFromWithOptimisticLock{})"
                ".Data(node)",
            ),
        ),
        # No patch is sent there.
        (Remedy.LOCK_PATCH, 14, (), ()),
    ],
)
def test_a_fix_of_go_code_shows_its_lines(
    remedy: Remedy, line: int, before: tuple[str, ...], after: tuple[str, ...], tmp_path: Path
) -> None:
    file = tmp_path / "nodes.go"
    file.write_text(GO)
    fix = with_lines(Fix(remedy, SourceLocation(str(file), line)))
    assert (fix.before, fix.after) == (before, after)


def test_lost_files_have_no_lines(tmp_path: Path) -> None:
    for name in ("node.go", "gone.py"):
        fix = Fix(Remedy.LOCK_PATCH, SourceLocation(str(tmp_path / name), 3))
        assert with_lines(fix) is fix


def test_a_diff_stands_to_the_left() -> None:
    fix = DocumentFix("compare", before=("    delete(x)",), after=("    if mine(x):", "        delete(x)"))
    assert fix.diff == ("- delete(x)", "+ if mine(x):", "+     delete(x)")
