"""A lock is offered as a safe fix only where it would refuse the writes of others, and not the controller's own."""

from __future__ import annotations

import pytest

from audit.conftest import Auditor
from kontend.audit.output.fix import fixed

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
_A_COPY_IS_WRITTEN_FIRST = """
func (r *Reconciler) f(ctx context.Context, w *v1.Widget) error {
    stored := w.DeepCopy()
    w.Status.Phase = "Ready"
    kept := w.DeepCopy()
    if err := r.Patch(ctx, w, client.MergeFrom(stored)); err != nil {
        return err
    }
    return r.Status().Patch(ctx, kept, client.MergeFrom(stored))
}
"""
_A_COPY_OF_THE_OBJECT_IS_WRITTEN_FIRST = """
func (r *Reconciler) f(ctx context.Context, w *v1.Widget) error {
    old := w.DeepCopyObject().(client.Object)
    finalized := w.DeepCopyObject().(client.Object)
    if controllerutil.AddFinalizer(finalized, "x") {
        if err := r.Update(ctx, finalized); err != nil {
            return err
        }
    }
    w.Status.Phase = "Ready"
    return r.Status().Patch(ctx, w, client.MergeFrom(old))
}
"""
_BASE_NEWER_THAN_THE_OBJECT = """
func (r *Reconciler) f(ctx context.Context, updated *v1.Widget) error {
    current := &v1.Widget{}
    if err := r.Get(ctx, client.ObjectKeyFromObject(updated), current); err != nil {
        return err
    }
    return r.Status().Patch(ctx, updated, client.MergeFrom(current))
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
_ALIASED = """
func (r *Reconciler) f(ctx context.Context, w *v1.Widget) error {
    patch := client.MergeFrom(w.DeepCopy())
    w.Status.Phase = "Ready"
    same := patch
    if data, _ := same.Data(w); len(data) <= 2 {
        return nil
    }
    return r.Status().Patch(ctx, w, patch)
}
"""
_KEPT_IN_A_STRUCT = """
type pending struct{ patch client.Patch }
func (r *Reconciler) f(ctx context.Context, w *v1.Widget) error {
    patch := client.MergeFrom(w.DeepCopy())
    w.Status.Phase = "Ready"
    p := pending{patch: patch}
    if p.empty(w) {
        return nil
    }
    return r.Status().Patch(ctx, w, patch)
}
func (p pending) empty(w *v1.Widget) bool {
    data, _ := p.patch.Data(w)
    return string(data) == "{}"
}
"""
_MADE_BY_A_HELPER = """
func base(w *v1.Widget) client.Patch {
    return client.MergeFrom(w.DeepCopy())
}
func (r *Reconciler) f(ctx context.Context, w *v1.Widget) error {
    patch := base(w)
    w.Status.Phase = "Ready"
    if data, _ := patch.Data(w); string(data) != "{}" {
        return r.Status().Patch(ctx, w, patch)
    }
    return nil
}
"""
_LOGGED = """
func (r *Reconciler) f(ctx context.Context, w *v1.Widget) error {
    patch := client.MergeFrom(w.DeepCopy())
    w.Status.Phase = "Ready"
    logPatch(ctx, "patching", patch, w)
    return r.Status().Patch(ctx, w, patch)
}
func logPatch(ctx context.Context, said string, p client.Patch, obj client.Object) {
    if raw, err := p.Data(obj); err == nil {
        ctrl.LoggerFrom(ctx).Info(said, "patch", string(raw))
    }
}
"""
_SENT_IN_A_LOOP = """
func (r *Reconciler) f(ctx context.Context, w *v1.Widget) error {
    base := client.MergeFrom(w.DeepCopy())
    for i := 0; i < 3; i++ {
        w.Status.Size = i
        if err := r.Status().Patch(ctx, w, base); err != nil {
            return err
        }
    }
    return nil
}
"""
_FLUSHED_TWICE = """
func (r *Reconciler) f(ctx context.Context, w *v1.Widget) error {
    base := client.MergeFrom(w.DeepCopy())
    w.Status.Phase = "Ready"
    if err := r.flush(ctx, w, base); err != nil {
        return err
    }
    w.Status.Size = 2
    return r.flush(ctx, w, base)
}
func (r *Reconciler) flush(ctx context.Context, w *v1.Widget, base client.Patch) error {
    return r.Status().Patch(ctx, w, base)
}
"""
_WRITTEN_IN_A_CALLEE = """
func (r *Reconciler) f(ctx context.Context, w *v1.Widget) error {
    base := client.MergeFrom(w.DeepCopy())
    if err := r.adopt(ctx, w); err != nil {
        return err
    }
    w.Status.Phase = "Ready"
    return r.Status().Patch(ctx, w, base)
}
func (r *Reconciler) adopt(ctx context.Context, w *v1.Widget) error {
    controllerutil.AddFinalizer(w, "x")
    return r.save(ctx, w)
}
func (r *Reconciler) save(ctx context.Context, obj client.Object) error {
    return r.Update(ctx, obj)
}
"""
_GIVEN_TO_AN_INTERFACE_WITH_THE_CONTEXT = """
func (r *Reconciler) f(ctx context.Context, w *v1.Widget) error {
    base := client.MergeFrom(w.DeepCopy())
    if err := other.Provision(ctx, w); err != nil {
        return err
    }
    w.Status.Phase = "Ready"
    return r.Status().Patch(ctx, w, base)
}
"""
_BUILT = """
func (r *Reconciler) f(ctx context.Context, name string) error {
    w := &v1.Widget{ObjectMeta: metav1.ObjectMeta{Name: name}}
    base := client.MergeFrom(w.DeepCopy())
    w.Status.Phase = "Ready"
    return r.Status().Patch(ctx, w, base)
}
"""
_LOGGED_BY_THE_CALLER = """
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
    w := &v1.Widget{}
    if err := r.Get(ctx, req.NamespacedName, w); err != nil {
        return ctrl.Result{}, err
    }
    if err := r.report(ctx, w); err != nil {
        ctrl.LoggerFrom(ctx).Error(err, "no status")
    }
    return ctrl.Result{}, nil
}
func (r *Reconciler) report(ctx context.Context, w *v1.Widget) error {
    base := client.MergeFrom(w.DeepCopy())
    w.Status.Phase = "Ready"
    return r.Status().Patch(ctx, w, base)
}
"""
_SENT_ON_TWO_PATHS = """
func (r *Reconciler) f(ctx context.Context, w *v1.Widget, ready bool) error {
    patch := client.MergeFrom(
        w.DeepCopy(), // as read
    )
    if ready {
        w.Status.Phase = "Ready"
        return r.Status().Patch(ctx, w, patch)
    }
    w.Status.Phase = "Waiting"
    return r.flush(ctx, w, patch)
}
func (r *Reconciler) flush(ctx context.Context, w *v1.Widget, base client.Patch) error {
    return r.Status().Patch(ctx, w, base)
}
"""


def test_a_fix_keeps_the_lines_and_comments_around_it(audited: Auditor) -> None:
    report = audited({"a.go": _SENT_ON_TWO_PATHS})
    (changed,) = fixed(report).values()
    assert (
        b"""client.MergeFromWithOptions(
        w.DeepCopy(), client.MergeFromWithOptimisticLock{}, // as read
    )"""
        in changed
    )
    assert audited({"a.go": changed.decode()}, head=False).findings == []


def test_a_version_of_controller_runtime_without_locks_is_not_fixed(audited: Auditor) -> None:
    module = "module example.com/widget\n\nrequire (\n\tsigs.k8s.io/controller-runtime v0.5.14\n)\n"
    assert fixed(audited({"a.go": _ALONE, "go.mod": module}, head=True)) == {}
    assert fixed(audited({"a.go": _ALONE, "go.mod": module.replace("0.5.14", "0.15.0")}))


def test_a_merge_from_of_another_package_is_not_fixed(audited: Auditor) -> None:
    assert fixed(audited({"a.go": _ALONE.replace("client.MergeFrom", "v1.MergeFrom")})) == {}


@pytest.mark.parametrize(
    ("body", "said"),
    [(_BUILT, "Read the object before"), (_LOGGED_BY_THE_CALLER, "Return the error of this write first")],
)
def test_a_lock_that_would_only_add_an_error_is_not_applied(audited: Auditor, body: str, said: str) -> None:
    report = audited({"a.go": body})
    assert fixed(report) == {}
    assert any(said in finding.fix for finding in report.findings)


@pytest.mark.parametrize("body", [_ALONE, _BASE_REFRESHED_BY_A_WRITE_OF_ITSELF])
def test_a_base_as_new_as_its_object_can_be_locked(audited: Auditor, body: str) -> None:
    (finding,) = [
        finding for finding in audited({"a.go": body}).findings if finding.rule == "status-patch-without-lock"
    ]
    assert [edit.text for edit in finding.edits]


@pytest.mark.parametrize(
    "body",
    [
        _AFTER_A_PATCH_FROM_THE_SAME_BASE,
        _INLINE_BASE_OLDER_THAN_A_WRITE,
        _A_COPY_IS_WRITTEN_FIRST,
        _A_COPY_OF_THE_OBJECT_IS_WRITTEN_FIRST,
        _BASE_NEWER_THAN_THE_OBJECT,
        _BASE_FROM_BEFORE_THE_RETRY,
        _BASE_OF_A_CALLER_THAT_WRITES_FIRST,
        _SENT_IN_A_LOOP,
        _FLUSHED_TWICE,
        _WRITTEN_IN_A_CALLEE,
        _GIVEN_TO_AN_INTERFACE_WITH_THE_CONTEXT,
    ],
)
def test_a_base_that_a_lock_would_make_stale_is_not_fixed(audited: Auditor, body: str) -> None:
    (finding,) = [
        finding for finding in audited({"a.go": body}).findings if finding.rule == "status-patch-without-lock"
    ]
    assert finding.edits == ()
    assert "a lock on this base would refuse every attempt" in finding.fix


@pytest.mark.parametrize(
    "body",
    [
        _GUARDED_BY_DATA,
        _GUARDED_IN_A_HELPER,
        _GUARDED_WHERE_THE_BASE_IS_A_PARAMETER,
        _GIVEN_TO_CODE_OUT_OF_SIGHT,
        _ALIASED,
        _KEPT_IN_A_STRUCT,
        _MADE_BY_A_HELPER,
        _LOGGED,
    ],
)
def test_a_base_whose_data_is_read_is_not_fixed(audited: Auditor, body: str) -> None:
    findings = [f for f in audited({"a.go": body}).findings if f.rule == "status-patch-without-lock"]
    assert findings
    assert [edit for finding in findings for edit in finding.edits] == []
    assert any("Keep this base for the code that reads patch.Data" in finding.fix for finding in findings)
