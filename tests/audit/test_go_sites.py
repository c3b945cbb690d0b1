"""Classification of Go writes."""

from __future__ import annotations

from kontend.audit.site import BaseOrigin, ErrorUse, Lock, Provenance, Target, Verb

from .conftest import Auditor


def test_every_part_of_a_status_patch_is_classified(audited: Auditor) -> None:
    (site,) = audited(
        {
            "a.go": """
            func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
                w := &v1.Widget{}
                if err := r.Get(ctx, req.NamespacedName, w); err != nil {
                    return ctrl.Result{}, err
                }
                base := client.MergeFrom(w.DeepCopy())
                w.Status.Phase = "Ready"
                return ctrl.Result{}, r.Status().Patch(ctx, w, base)
            }
            """
        }
    ).sites
    assert (site.verb, site.targets, site.lock) == (Verb.PATCH, (Target.STATUS,), Lock.UNLOCKED)
    assert (site.kind, site.object, site.function) == ("Widget", "w", "Reconciler.Reconcile")
    assert (site.base.origin, site.provenance, site.error) == (
        BaseOrigin.LOCAL,
        Provenance.CACHED_GET,
        ErrorUse.RETURNED,
    )
    assert site.fields == ("status.phase",)


def test_a_base_is_followed_three_calls_up(audited: Auditor) -> None:
    (site,) = audited(
        {
            "a.go": """
            func (r *Reconciler) a(ctx context.Context, w *v1.Widget) error {
                return r.b(ctx, w, client.MergeFromWithOptions(w.DeepCopy(), client.MergeFromWithOptimisticLock{}))
            }
            func (r *Reconciler) b(ctx context.Context, w *v1.Widget, p client.Patch) error { return r.c(ctx, w, p) }
            func (r *Reconciler) c(ctx context.Context, w *v1.Widget, p client.Patch) error { return r.d(ctx, w, p) }
            func (r *Reconciler) d(ctx context.Context, w *v1.Widget, p client.Patch) error {
                return r.Status().Patch(ctx, w, p)
            }
            """
        }
    ).sites
    assert (site.lock, site.base.origin, site.base.hops) == (Lock.LOCKED, BaseOrigin.PARAMETER, 3)


def test_names_that_only_look_like_writes_are_silent(audited: Auditor) -> None:
    report = audited(
        {
            "a.go": """
            type tracker struct{ seen map[string]bool }
            func (t *tracker) Delete(namespace, name string) {}
            type storage interface { Update(ctx context.Context, record string) error }
            func (r *Reconciler) f(ctx context.Context, t *tracker, s storage, statusManager *manager) {
                t.Delete("a", "b")
                s.Update(ctx, "a")
                statusManager.UpdateStatus(ctx, nil)
                // r.Status().Patch(ctx, w, client.MergeFrom(w))
                _ = "r.Status().Update(ctx, w)"
            }
            """
        }
    )
    assert report.sites == []


def test_calls_of_a_helper_that_takes_the_change_are_sites_of_their_own(audited: Auditor) -> None:
    report = audited(
        {
            "a.go": """
            func Mutate[T client.Object](ctx context.Context, c client.Client, o T, change func(T)) error {
                before := o.DeepCopyObject().(T)
                change(o)
                return c.Status().Patch(ctx, o, client.MergeFrom(before))
            }
            func (r *Reconciler) f(ctx context.Context, w *v1.Widget) error {
                return Mutate(ctx, r.Client, w, func(o *v1.Widget) { o.Status.Phase = "Ready" })
            }
            """
        }
    )
    direct, indirect = report.sites
    assert direct.direct
    assert (indirect.via, indirect.kind, indirect.fields) == ("Mutate", "Widget", ("status.phase",))


def test_the_parts_changed_before_a_write_are_its_targets(audited: Auditor) -> None:
    report = audited(
        {
            "a.go": """
            func (r *Reconciler) f(ctx context.Context, w *v1.Widget) error {
                controllerutil.AddFinalizer(w, "x")
                if err := r.Update(ctx, w); err != nil {
                    return err
                }
                w.Labels["a"] = "b"
                w.Spec.Image = "c"
                return r.Update(ctx, w)
            }
            """
        }
    )
    assert [site.targets for site in report.sites] == [(Target.FINALIZERS,), (Target.LABELS, Target.SPEC)]


def test_a_retry_that_reads_again_is_told_from_one_that_does_not(audited: Auditor) -> None:
    report = audited(
        {
            "a.go": """
            func (r *Reconciler) f(ctx context.Context, w *v1.Widget, key client.ObjectKey) error {
                _ = retry.RetryOnConflict(retry.DefaultRetry, func() error { return r.Status().Update(ctx, w) })
                return retry.RetryOnConflict(retry.DefaultRetry, func() error {
                    if err := r.Get(ctx, key, w); err != nil {
                        return err
                    }
                    return r.Status().Update(ctx, w)
                })
            }
            """
        }
    )
    assert [site.retry.rereads for site in report.sites if site.retry] == [False, True]
