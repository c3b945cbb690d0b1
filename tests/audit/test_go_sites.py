"""Classification of Go writes."""

from __future__ import annotations

from audit.conftest import GO_HEAD, Auditor
from kontend.audit.site import BaseOrigin, ErrorUse, Lock, Provenance, Target, Verb


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
    assert (site.verb, site.content.targets, site.lock) == (Verb.PATCH, (Target.STATUS,), Lock.UNLOCKED)
    assert (site.resource.kind, site.object, site.place.function) == ("Widget", "w", "Reconciler.Reconcile")
    assert (site.base.origin, site.provenance, site.error) == (
        BaseOrigin.LOCAL,
        Provenance.CACHED_GET,
        ErrorUse.RETURNED,
    )
    assert site.content.fields == ("status.phase",)


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
    assert (indirect.route.via, indirect.resource.kind, indirect.content.fields) == (
        "Mutate",
        "Widget",
        ("status.phase",),
    )


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
    assert [site.content.targets for site in report.sites] == [(Target.FINALIZERS,), (Target.LABELS, Target.SPEC)]


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


def test_the_change_may_be_a_named_function_type_and_the_object_the_helpers_own(audited: Auditor) -> None:
    report = audited(
        {
            "a.go": """
type Change func(w *v1.Widget) (bool, error)

func (r *Reconciler) onFresh(ctx context.Context, name string, change Change) error {
	fresh := &v1.Widget{}
	if err := r.Get(ctx, client.ObjectKey{Name: name}, fresh); err != nil {
		return err
	}
	base := client.MergeFrom(fresh.DeepCopy())
	if wanted, err := change(fresh); err != nil || !wanted {
		return err
	}
	return r.Status().Patch(ctx, fresh, base)
}

func (r *Reconciler) ready(ctx context.Context) error {
	return r.onFresh(ctx, "a", func(w *v1.Widget) (bool, error) {
		w.Status.Phase = "Ready"
		return true, nil
	})
}
"""
        }
    )
    assert [(site.route.via, site.content.fields, site.resource.kind) for site in report.sites if site.route.via] == [
        ("onFresh", ("status.phase",), "Widget")
    ]


def test_a_helper_that_passes_the_change_on_is_a_helper_too(audited: Auditor) -> None:
    report = audited(
        {
            "a.go": """
func patchStatus(ctx context.Context, c client.Client, w *v1.Widget, change func(*v1.Widget)) error {
	base := client.MergeFrom(w.DeepCopy())
	change(w)
	return c.Status().Patch(ctx, w, base)
}

func (r *Reconciler) advise(ctx context.Context, w *v1.Widget, change func(*v1.Widget)) {
	if err := patchStatus(ctx, r.Client, w, change); err != nil {
		ctrl.Log.Error(err, "not patched")
	}
}

func (r *Reconciler) wrapped(ctx context.Context, w *v1.Widget, change func(*v1.Widget)) error {
	return patchStatus(ctx, r.Client, w, func(w *v1.Widget) { change(w) })
}

func (r *Reconciler) Reconcile(ctx context.Context, w *v1.Widget) error {
	r.advise(ctx, w, func(w *v1.Widget) { w.Status.Advice = "none" })
	return r.wrapped(ctx, w, func(w *v1.Widget) { w.Status.Phase = "Ready" })
}
"""
        }
    )
    written = {
        site.route.via: (site.content.fields, len(site.route.chain))
        for site in report.sites
        if site.route.via != "patchStatus"
    }
    assert written["advise"] == (("status.advice",), 1)
    assert written["wrapped"] == (("status.phase",), 1)
    assert [finding.rule for finding in report.findings if finding.rule == "status-write-error-ignored"] == []
    [unlocked] = [finding for finding in report.findings if finding.rule == "status-patch-without-lock"]
    assert len(unlocked.places) == 2  # the callers of patchStatus itself


def test_a_callback_that_only_answers_a_question_makes_no_helper(audited: Auditor) -> None:
    report = audited(
        {
            "a.go": """
func apply(ctx context.Context, c client.Client, w, old *v1.Widget, semanticEqual func(a, b *v1.Widget) bool) error {
	if semanticEqual(w, old) {
		return nil
	}
	return c.Update(ctx, w)
}

func (r *Reconciler) Reconcile(ctx context.Context, w, old *v1.Widget) error {
	return apply(ctx, r.Client, w, old, func(a, b *v1.Widget) bool { return a.Spec == b.Spec })
}
"""
        }
    )
    assert [site.route.via for site in report.sites] == [""]


def test_a_projects_own_copy_of_the_patch_library_is_a_patch_library(audited: Auditor) -> None:
    library = """
package patch

import (
	"context"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

type Helper struct {
	client client.Client
	before client.Object
}

func NewHelper(obj client.Object, c client.Client) (*Helper, error) {
	return &Helper{client: c, before: obj}, nil
}

func (h *Helper) Patch(ctx context.Context, obj client.Object) error {
	base := client.MergeFromWithOptions(h.before, client.MergeFromWithOptimisticLock{})
	return h.client.Status().Patch(ctx, obj, base)
}
"""
    report = audited(
        {
            "go.mod": "module example.com/widget\n",
            "util/patch/patch.go": library,
            "a.go": GO_HEAD.replace(
                '\tv1 "example.com/widget/api/v1"',
                '\tv1 "example.com/widget/api/v1"\n\t"example.com/widget/util/patch"',
            )
            + """
func (r *Reconciler) Reconcile(ctx context.Context, w *v1.Widget) error {
	helper, err := patch.NewHelper(w, r.Client)
	if err != nil {
		return err
	}
	w.Status.Phase = "Ready"
	return helper.Patch(ctx, w)
}
""",
        },
        head=False,
    )
    assert [site.lock for site in report.sites if site.place.path == "a.go"] == [Lock.MERGED]


def test_the_change_may_be_made_to_each_element_of_a_list(audited: Auditor) -> None:
    report = audited(
        {
            "a.go": """
func (r *Reconciler) each(ctx context.Context, widgets []v1.Widget, change func(w *v1.Widget) error) error {
	for i := range widgets {
		if err := change(&widgets[i]); err != nil {
			return err
		}
		if err := r.Update(ctx, &widgets[i]); err != nil {
			return err
		}
	}
	return nil
}

func (r *Reconciler) own(ctx context.Context, owner *v1.Widget, widgets []v1.Widget) error {
	return r.each(ctx, widgets, func(w *v1.Widget) error {
		return controllerutil.SetOwnerReference(owner, w, r.Scheme())
	})
}
"""
        }
    )
    assert [(site.route.via, site.content.fields) for site in report.sites if site.route.via] == [
        ("each", ("metadata.ownerReferences",))
    ]
