"""A lock is offered as a safe fix only where it would refuse the writes of others, and not the controller's own."""

from __future__ import annotations

import pytest

from .conftest import Auditor

_ALONE = """
func (r *Reconciler) f(ctx context.Context, w *v1.Widget) error {
    base := client.MergeFrom(w.DeepCopy())
    w.Status.Phase = "Ready"
    return r.Status().Patch(ctx, w, base)
}
"""
_AFTER_A_PATCH_FROM_THE_SAME_BASE = """
func (r *Reconciler) f(ctx context.Context, w v1.Widget) error {
    changed := w.DeepCopy()
    base := client.MergeFrom(&w)
    changed.Spec.Size = 3
    if err := r.Patch(ctx, changed, base); err != nil {
        return err
    }
    changed.Status.Phase = "Ready"
    return r.Status().Patch(ctx, changed, base)
}
"""
_INLINE_BASE_OLDER_THAN_A_WRITE = """
func (r *Reconciler) f(ctx context.Context, key client.ObjectKey) error {
    read := &v1.Widget{}
    if err := r.Get(ctx, key, read); err != nil {
        return err
    }
    changed := read.DeepCopy()
    changed.Labels = map[string]string{"a": "b"}
    if err := r.Patch(ctx, changed, client.MergeFrom(read)); err != nil {
        return err
    }
    changed.Status.Phase = "Ready"
    return r.Status().Patch(ctx, changed, client.MergeFrom(read))
}
"""
_BASE_FROM_BEFORE_THE_RETRY = """
func (r *Reconciler) f(ctx context.Context, key client.ObjectKey, old *v1.Widget) error {
    return retry.RetryOnConflict(retry.DefaultRetry, func() error {
        w := &v1.Widget{}
        if err := r.Get(ctx, key, w); err != nil {
            return err
        }
        w.Status.Phase = "Ready"
        return r.Status().Patch(ctx, w, client.MergeFrom(old))
    })
}
"""
_BASE_OF_A_CALLER_THAT_WRITES_FIRST = """
func (r *Reconciler) flush(ctx context.Context, old, w *v1.Widget) error {
    return r.Status().Patch(ctx, w, client.MergeFrom(old))
}
func (r *Reconciler) f(ctx context.Context, w *v1.Widget) error {
    old := w.DeepCopy()
    controllerutil.AddFinalizer(w, "x")
    if err := r.Update(ctx, w); err != nil {
        return err
    }
    w.Status.Phase = "Ready"
    return r.flush(ctx, old, w)
}
"""
_BASE_REFRESHED_BY_A_WRITE_OF_ITSELF = """
func (r *Reconciler) f(ctx context.Context, w *v1.Widget) error {
    if err := r.Update(ctx, w); err != nil {
        return err
    }
    changed := w.DeepCopy()
    changed.Status.Phase = "Ready"
    return r.Status().Patch(ctx, changed, client.MergeFrom(w))
}
"""
_GUARDED_BY_DATA = """
func (r *Reconciler) f(ctx context.Context, w *v1.Widget) error {
    patch := client.MergeFrom(w.DeepCopy())
    w.Status.Phase = "Ready"
    data, err := patch.Data(w)
    if err != nil || string(data) == "{}" {
        return err
    }
    return r.Status().Patch(ctx, w, patch)
}
"""
_GUARDED_IN_A_HELPER = """
func empty(patch client.Patch, obj client.Object) bool {
    data, _ := patch.Data(obj)
    return len(data) == 2
}
func (r *Reconciler) f(ctx context.Context, w *v1.Widget) error {
    patch := client.MergeFrom(w.DeepCopy())
    w.Status.Phase = "Ready"
    if empty(patch, w) {
        return nil
    }
    return r.Status().Patch(ctx, w, patch)
}
"""
_GUARDED_WHERE_THE_BASE_IS_A_PARAMETER = """
func (r *Reconciler) flush(ctx context.Context, w *v1.Widget, patch client.Patch) error {
    if data, _ := patch.Data(w); bytes.Equal(data, []byte("{}")) {
        return nil
    }
    return r.Status().Patch(ctx, w, patch)
}
func (r *Reconciler) f(ctx context.Context, w *v1.Widget) error {
    base := client.MergeFrom(w.DeepCopy())
    w.Status.Phase = "Ready"
    return r.flush(ctx, w, base)
}
"""
_GIVEN_TO_CODE_OUT_OF_SIGHT = """
func (r *Reconciler) f(ctx context.Context, w *v1.Widget) error {
    patch := client.MergeFrom(w.DeepCopy())
    w.Status.Phase = "Ready"
    other.Record(patch)
    return r.Status().Patch(ctx, w, patch)
}
"""


@pytest.mark.parametrize("body", [_ALONE, _BASE_REFRESHED_BY_A_WRITE_OF_ITSELF])
def test_a_base_as_new_as_its_object_can_be_locked(audited: Auditor, body: str) -> None:
    (finding,) = [finding for finding in audited({"a.go": body}).findings if finding.severity.value == "error"]
    assert [edit.text for edit in finding.edits]


@pytest.mark.parametrize(
    "body",
    [
        _AFTER_A_PATCH_FROM_THE_SAME_BASE,
        _INLINE_BASE_OLDER_THAN_A_WRITE,
        _BASE_FROM_BEFORE_THE_RETRY,
        _BASE_OF_A_CALLER_THAT_WRITES_FIRST,
    ],
)
def test_a_base_that_a_lock_would_make_stale_is_not_fixed(audited: Auditor, body: str) -> None:
    (finding,) = [finding for finding in audited({"a.go": body}).findings if finding.severity.value == "error"]
    assert finding.edits == ()
    assert "a lock on this base would refuse every attempt" in finding.fix


@pytest.mark.parametrize(
    "body",
    [
        _GUARDED_BY_DATA,
        _GUARDED_IN_A_HELPER,
        _GUARDED_WHERE_THE_BASE_IS_A_PARAMETER,
        _GIVEN_TO_CODE_OUT_OF_SIGHT,
    ],
)
def test_a_base_whose_data_is_read_is_not_fixed(audited: Auditor, body: str) -> None:
    findings = [f for f in audited({"a.go": body}).findings if f.rule == "status-patch-without-lock"]
    assert findings
    assert [edit for finding in findings for edit in finding.edits] == []
    assert any("Keep this base for the code that reads patch.Data" in finding.fix for finding in findings)
