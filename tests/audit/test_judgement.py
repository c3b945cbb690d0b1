"""Verdicts that need more than one file or more than one site: writers, programs, predicates, CRDs, helpers."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from audit.conftest import GO_HEAD, Auditor
from kontend.audit.finding import Finding, Severity
from kontend.audit.report import Report
from kontend.audit.settings.config import Settings
from kontend.audit.settings.policy import POLICIES

_IMPORTS = GO_HEAD.split("type Reconciler")[0].removeprefix("package widget\n")
_MODULE = "module example.com/widget\n"
_TYPES = """
package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Widget is a custom resource.
{marker}
type Widget struct {{
	metav1.TypeMeta
	metav1.ObjectMeta
	Status WidgetStatus
}}

type WidgetStatus struct {{
	Phase      string
	Conditions []metav1.Condition
	ByName     map[string]metav1.Condition
}}
"""


def _package(name: str, body: str) -> str:
    return f"package {name}\n{_IMPORTS}\ntype R struct{{ client.Client }}\n{body}"


def _rule(report: Report, rule: str, severity: Severity = Severity.WARNING) -> list[Finding]:
    return [finding for finding in report.findings if finding.rule == rule and finding.severity is severity]


_CONDITIONS = """
func (r *R) Setup(mgr ctrl.Manager) error {{ return ctrl.NewControllerManagedBy(mgr).For({registered}).Complete(r) }}
func (r *R) {name}(ctx context.Context, w *v1.Widget) error {{
	base := client.MergeFrom(w.DeepCopy())
	meta.SetStatusCondition(&w.Status.Conditions, metav1.Condition{{Type: "{kind}"}})
	return r.Status().Patch(ctx, w, base)
}}
"""


def _two_packages(registered: str = "&v1.Widget{}", mains: dict[str, str] | None = None) -> dict[str, str]:
    return {
        "go.mod": _MODULE,
        "a/a.go": _package("a", _CONDITIONS.format(name="first", kind="Ready", registered=registered)),
        "b/b.go": _package("b", _CONDITIONS.format(name="second", kind="Synced", registered="&v1.Widget{}")),
        **(mains or {}),
    }


def test_conditions_written_by_two_packages_name_each_other(audited: Auditor) -> None:
    """A merge patch replaces the list whole, so different types do not help."""
    report = audited(_two_packages(), head=False)
    first, second = _rule(report, "status-patch-without-lock", Severity.ERROR)
    assert "writes status.conditions[Ready]; also written by R.second at b/b.go:" in first.message
    assert "also written by R.first at a/a.go:" in second.message
    assert "multi-writer-status-field" in first.also


def test_kinds_of_one_name_in_two_groups_are_two_resources(audited: Auditor) -> None:
    """A Widget of the core group and one of the extensions have their own writers."""
    body = """
func (r *R) NAME(ctx context.Context, w *v1.Widget) error {
	base := client.MergeFrom(w.DeepCopy())
	w.Status.Phase = "x"
	return r.Status().Patch(ctx, w, base)
}
"""
    kind = _TYPES.format(marker="")
    one, other = "example.com/widget/apis/core/v1", "example.com/widget/apis/extensions/v1"
    files = {"go.mod": _MODULE, "apis/core/v1/t.go": kind, "apis/extensions/v1/t.go": kind}
    for name, path in (("first", one), ("second", other)):
        source = _package(name, body.replace("NAME", name))
        files[f"{name}/a.go"] = re.sub(r'v1 "example.com/[^"]+"', f'v1 "{path}"', source)
    report = audited(files, head=False)
    messages = [finding.message for finding in report.findings if finding.rule == "status-patch-without-lock"]
    assert len(messages) == 2
    assert all("no other writer in the tree" in message for message in messages)


def test_a_predicate_of_its_own_separates_a_controller_from_the_others(audited: Auditor) -> None:
    report = audited(_two_packages("&v1.Widget{}, builder.WithPredicates(onlyMine())"), head=False)
    assert all("though predicates may keep their objects apart" in finding.message for finding in report.findings)
    assert all("multi-writer-status-field" not in finding.also for finding in report.findings)


def test_a_stock_predicate_separates_nothing(audited: Auditor) -> None:
    stock = "&v1.Widget{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})"
    report = audited(_two_packages(stock), head=False)
    assert any("also written by R.second" in finding.message for finding in report.findings)


def test_a_writer_in_another_program_is_named(audited: Auditor) -> None:
    mains = {
        "cmd/one/main.go": 'package main\n\nimport _ "example.com/widget/a"\n\nfunc main() {}\n',
        "cmd/two/main.go": 'package main\n\nimport _ "example.com/widget/b"\n\nfunc main() {}\n',
    }
    first, second = _rule(audited(_two_packages(mains=mains), head=False), "status-patch-without-lock", Severity.ERROR)
    assert "also written by R.second at b/b.go:" in first.message
    assert "in another program of the tree, cmd/two" in first.message
    assert "also written by R.first at a/a.go:" in second.message
    assert "multi-writer-status-field" not in first.also
    both = {"cmd/all/main.go": 'package main\n\nimport (\n\t_ "example.com/widget/a"\n\t_ "example.com/widget/b"\n)\n'}
    report = audited(_two_packages(mains={**mains, **both}), head=False)
    assert any("also written by" in finding.message for finding in report.findings)


@pytest.mark.parametrize(
    ("marker", "crd", "expected"),
    [
        ("// +kubebuilder:subresource:status", "", 1),
        ("", "subresources:\n        status: {}", 1),
        ("", "schema: {}", 0),
        ("", "", 0),
    ],
)
def test_status_on_the_main_resource_is_wrong_where_the_kind_has_the_subresource(
    audited: Auditor, marker: str, crd: str, expected: int
) -> None:
    manifest = f"""
kind: CustomResourceDefinition
spec:
  names:
    kind: Widget
    plural: widgets
  versions:
    - name: v1
      {crd}
"""
    report = audited(
        {
            "go.mod": _MODULE,
            "api/v1/types.go": _TYPES.format(marker=marker),
            "crds/widget.yaml": manifest if crd else "",
            "a/a.go": _package(
                "a",
                """
                func (r *R) f(ctx context.Context, w *v1.Widget) error {
                    w.Status.Phase = "Ready"
                    return r.Update(ctx, w)
                }
                """,
            ),
        },
        head=False,
    )
    assert len(_rule(report, "status-on-main-resource")) == expected


def test_conditions_that_are_a_map_are_sent_one_by_one(audited: Auditor) -> None:
    report = audited(
        {
            "go.mod": _MODULE,
            "api/v1/types.go": _TYPES.format(marker=""),
            "a/a.go": _package(
                "a",
                """
                func (r *R) f(ctx context.Context, w *v1.Widget, c metav1.Condition) error {
                    base := client.MergeFrom(w.DeepCopy())
                    w.Status.ByName["Ready"] = c
                    return r.Status().Patch(ctx, w, base)
                }
                """,
            ),
        },
        head=False,
    )
    (finding,) = _rule(report, "status-patch-without-lock", Severity.WARNING)
    assert "replaced whole" not in finding.message


def test_a_helper_without_a_lock_is_one_finding_with_its_callers(audited: Auditor) -> None:
    callers = "".join(
        f"""
        func (r *Reconciler) f{number}(ctx context.Context, w *v1.Widget) error {{
            return r.save(ctx, w, func(w *v1.Widget) {{ w.Status.Phase = "{number}" }})
        }}
        """
        for number in range(5)
    )
    report = audited(
        {
            "a.go": """
            func (r *Reconciler) save(ctx context.Context, w *v1.Widget, change func(*v1.Widget)) error {
                old := w.DeepCopy()
                change(w)
                return r.Status().Patch(ctx, w, client.MergeFrom(old))
            }
            """
            + callers
        }
    )
    (finding,) = _rule(report, "status-patch-without-lock", Severity.WARNING)
    assert finding.function == "Reconciler.save"
    assert len(finding.places) == 5
    assert "and 2 more" in finding.message


def test_source_kind_and_watches_register_like_for(audited: Auditor) -> None:
    """A controller that watches a kind with `source.Kind` handles it, so its status is not another's."""
    reconciles = """
    func (r *R) Setup(mgr ctrl.Manager) error { return ctrl.NewControllerManagedBy(mgr).For(&v1.Gadget{}).Complete(r) }
    func Add(c controller.Controller, mgr ctrl.Manager) error {
        return c.Watch(source.Kind(mgr.GetCache(), &v1.Widget{}, &handler.EnqueueRequestForObject{}))
    }
    func (r *R) f(ctx context.Context, name string) error {
        w := &v1.Widget{}
        return r.Status().Patch(ctx, w, client.RawPatch(types.MergePatchType, []byte(`{"status":{"phase":"Ready"}}`)))
    }
    """
    setup = "return ctrl.NewControllerManagedBy(mgr).For(&v1.Widget{}).Complete(r)"
    files = {
        "a/a.go": _package("a", reconciles),
        "b/b.go": _package("b", f"func (r *R) S(mgr ctrl.Manager) error {{ {setup} }}"),
    }
    (finding,) = audited(files, head=False).findings
    assert "status-of-another-controller" not in finding.also
    files["a/a.go"] = files["a/a.go"].replace("GetCache(), &v1.Widget{}", "GetCache(), &v1.Gadget{}")
    (finding,) = audited(files, head=False).findings
    assert "status-of-another-controller" in finding.also


_ADD = '{"op":"add","path":"/status/phase","value":"a"}'
_UNLOCKED = """
func (r *Reconciler) f(ctx context.Context, w *v1.Widget{parameter}) error {{
    {before}
    return r.Status().Patch(ctx, w, {patch})
}}
"""


@pytest.mark.parametrize(
    ("patch", "policy", "severity"),
    [
        ("client.MergeFrom(w.DeepCopy())", "default", Severity.WARNING),
        ("client.MergeFrom(w.DeepCopy())", "strict", Severity.ERROR),
        ("client.StrategicMergeFrom(w.DeepCopy())", "default", Severity.WARNING),
        ("client.StrategicMergeFrom(w.DeepCopy())", "strict", Severity.ERROR),
        ('client.RawPatch(types.MergePatchType, []byte(`{"status":{"phase":"a"}}`))', "default", Severity.INFO),
        ('client.RawPatch(types.MergePatchType, []byte(`{"status":{"phase":"a"}}`))', "strict", Severity.ERROR),
        (f"client.RawPatch(types.JSONPatchType, []byte(`[{_ADD}]`))", "strict", None),
        ("client.MergeFrom(w.DeepCopy())", "disjoint", None),
        ("client.MergeFromWithOptions(w.DeepCopy(), client.MergeFromWithOptimisticLock{})", "strict", None),
    ],
)
def test_the_severity_of_a_status_patch_depends_on_what_it_is_and_on_the_policy(
    audited: Auditor, patch: str, policy: str, severity: Severity | None
) -> None:
    source = _UNLOCKED.format(parameter="", before='w.Status.Phase = "a"', patch=patch)
    # A base that is made inline is taken after the change, which is another rule's business.
    report = audited({"a.go": source}, Settings(policy=POLICIES[policy]))
    severities = [finding.severity for finding in report.findings if finding.rule == "status-patch-without-lock"]
    assert severities == ([severity] if severity is not None else [])


_SCALAR = """
func (r *Reconciler) f(ctx context.Context, w *v1.Widget, now []metav1.Condition) error {{
    base := client.MergeFrom(w.DeepCopy())
    {change}
    {write}
}}
"""
_WRITE = "return r.Status().Patch(ctx, w, base)"
_ASKS = """err := r.Status().Patch(ctx, w, base)
    if apierrors.IsConflict(err) {
        return nil
    }
    return err"""


@pytest.mark.parametrize(
    ("change", "write", "severity", "said"),
    [
        ('w.Status.Phase = "a"', _WRITE, Severity.WARNING, "One writer, no list: Status().Patch from"),
        ("fill(w)", _WRITE, Severity.WARNING, "Fields or kind not in sight: "),
        ("w.Status.Conditions = now", _WRITE, Severity.ERROR, "status.conditions is replaced whole"),
        ("w.Status.Restarts++", _WRITE, Severity.ERROR, "The new value is computed from the one that was read"),
        ("n := w.Status.Restarts + 1\n    w.Status.Restarts = n", _WRITE, Severity.ERROR, "computed from the one that"),
        ("w.Status.Observed = w.Generation", _WRITE, Severity.WARNING, "One writer, no list"),
        ('w.Status.Phase = "a"', _ASKS, Severity.ERROR, "Dead conflict handling: "),
    ],
)
def test_an_unlocked_scalar_of_one_writer_is_a_warning_and_evidence_of_harm_an_error(
    audited: Auditor, change: str, write: str, severity: Severity, said: str
) -> None:
    report = audited({"a.go": _SCALAR.format(change=change, write=write)})
    (finding,) = _rule(report, "status-patch-without-lock", severity)
    assert said in finding.message
    assert "Two reconciles" not in finding.message


_RECONCILER = """
type {name} struct {{ client.Client }}
func (r *{name}) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {{
    w := &v1.Widget{{}}
    if err := r.Get(ctx, req.NamespacedName, w); err != nil {{
        return ctrl.Result{{}}, err
    }}
    base := client.MergeFrom(w.DeepCopy())
    w.Status.Phase = "{name}"
    return ctrl.Result{{}}, r.Status().Patch(ctx, w, base)
}}
"""


def test_two_reconcilers_of_one_package_have_a_queue_each(audited: Auditor) -> None:
    both = _RECONCILER.format(name="First") + _RECONCILER.format(name="Second")
    first, _ = _rule(audited({"a.go": both}), "status-patch-without-lock", Severity.ERROR)
    assert "also written by Second.Reconcile at a.go:" in first.message
    alone = _RECONCILER.format(name="First") + "func (r *First) again(ctx context.Context, w *v1.Widget) error {\n"
    alone += '    base := client.MergeFrom(w.DeepCopy())\n    w.Status.Phase = "b"\n'
    alone += "    return r.Status().Patch(ctx, w, base)\n}\n"
    report = audited({"a.go": alone})
    assert all("no other writer in the tree" in finding.message for finding in report.findings)


def test_a_helper_that_locks_on_request_is_a_warning(audited: Auditor) -> None:
    report = audited(
        {
            "a.go": """
            func save(ctx context.Context, c client.Client, w *v1.Widget, f func(), o ...client.MergeFromOption) error {
                old := w.DeepCopy()
                f()
                return c.Status().Patch(ctx, w, client.MergeFromWithOptions(old, o...))
            }
            func (r *Reconciler) locked(ctx context.Context, w *v1.Widget) error {
                return save(ctx, r.Client, w, func() { w.Status.Phase = "a" }, client.MergeFromWithOptimisticLock{})
            }
            func (r *Reconciler) unlocked(ctx context.Context, w *v1.Widget) error {
                return save(ctx, r.Client, w, func() { w.Status.Phase = "a" })
            }
            """
        }
    )
    assert {finding.severity for finding in report.findings if finding.rule == "status-patch-without-lock"} <= {
        Severity.WARNING,
        Severity.ERROR,
    }
    assert any("though other callers lock" in finding.message for finding in report.findings)


def test_a_severity_that_the_user_sets_is_not_weakened(audited: Auditor) -> None:
    source = _UNLOCKED.format(parameter="", before="", patch="client.StrategicMergeFrom(w.DeepCopy())")
    settings = replace(Settings(), severities={"status-patch-without-lock": Severity.ERROR})
    (finding,) = audited({"a.go": source}, settings).findings
    assert finding.severity is Severity.ERROR


def test_a_conflict_answered_with_success_is_lost_where_events_are_filtered(audited: Auditor) -> None:
    body = """
    func (r *Reconciler) f(ctx context.Context, w *v1.Widget) (ctrl.Result, error) {
        if err := r.Status().Update(ctx, w); err != nil {
            if apierrors.IsConflict(err) {
                return ctrl.Result{}, nil
            }
            return ctrl.Result{}, err
        }
        return ctrl.Result{}, nil
    }
    func (r *Reconciler) Setup(mgr ctrl.Manager) error {
        return ctrl.NewControllerManagedBy(mgr).For(&v1.Widget{}, builder.WithPredicates(FILTER)).Complete(r)
    }
    """
    filtered = audited({"a.go": body.replace("FILTER", "predicate.GenerationChangedPredicate{}")})
    assert len(_rule(filtered, "requeue-lost-after-conflict")) == 1
    unfiltered = audited({"a.go": body.replace("FILTER", "predicate.ResourceVersionChangedPredicate{}")})
    assert not _rule(unfiltered, "requeue-lost-after-conflict")


def test_a_create_without_the_owner_reference_of_its_siblings_is_noted(audited: Auditor) -> None:
    report = audited(
        {
            "a.go": """
            func (r *Reconciler) owned(ctx context.Context, w *v1.Widget) error {
                cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "ns"}}
                if err := controllerutil.SetControllerReference(w, cm, r.Scheme()); err != nil {
                    return err
                }
                return r.Create(ctx, cm)
            }
            func (r *Reconciler) stray(ctx context.Context) error {
                return r.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "b", Namespace: "ns"}})
            }
            """
        }
    )
    (finding,) = _rule(report, "create-without-owner-reference", Severity.INFO)
    assert finding.function == "Reconciler.stray"


def test_the_kind_of_a_python_write_is_not_the_name_of_a_variable(audited: Auditor) -> None:
    """`plural` means another resource in each file; constants say which."""
    source = """
    from kubernetes import client
    api = client.CustomObjectsApi()
    def {name}(plural, name):
        api.patch_namespaced_custom_object_status("g", "v1", "ns", plural, name, {{"status": {{"phase": "{name}"}}}})
    """
    report = audited({"a.py": source.format(name="a"), "b.py": source.format(name="b")})
    assert not _rule(report, "multi-writer-status-field")
    source = source.replace('"ns", plural', '"ns", "widgets"')
    report = audited({"a.py": source.format(name="a"), "b.py": source.format(name="b")})
    assert len(_rule(report, "multi-writer-status-field")) == 1


def test_copies_of_a_program_are_alternatives_and_not_two_writers(audited: Auditor) -> None:
    source = """
    from kubernetes import client
    api = client.CustomObjectsApi()
    def ready(name):
        api.patch_namespaced_custom_object_status("g", "v1", "ns", "apis", name, {"status": {"ready": True}})
    """
    assert not _rule(audited({"kong/a.py": source, "istio/a.py": source}), "multi-writer-status-field")


_WIDGET_TYPE = """
package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
type Widget struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Status WidgetStatus
}
"""


@pytest.mark.parametrize(
    ("between", "after", "rules"),
    [
        ("", "", ["status-on-main-resource"]),
        ('annotations := w.GetAnnotations()\n\tdelete(annotations, "a")', "", []),
        ("status := w.Status.DeepCopy()", "w.Status = *status", []),
    ],
)
def test_status_on_the_main_resource_counts_where_nothing_else_changes_or_follows(
    audited: Auditor, between: str, after: str, rules: list[str]
) -> None:
    report = audited(
        {
            "go.mod": "module example.com/widget\n",
            "api/v1/types.go": _WIDGET_TYPE,
            "a.go": GO_HEAD
            + f"""
func (r *Reconciler) f(ctx context.Context, w *v1.Widget) error {{
	w.Status.Phase = "Seen"
	{between}
	if err := r.Update(ctx, w); err != nil {{
		return err
	}}
	{after}
	return nil
}}
""",
        },
        head=False,
    )
    assert [finding.rule for finding in report.findings if finding.severity is not Severity.INFO] == rules


def test_a_call_of_a_helper_that_names_the_fields_is_no_second_writer(audited: Auditor) -> None:
    report = audited(
        {
            "run.py": """
            import kubernetes
            class Run:
                def finish(self, result):
                    self.api.patch_namespaced_custom_object_status(
                        "g", "v", "n", "runs", self.name, {"status": {"result": str(result)}}
                    )
            """,
            "app.py": """
            from run import Run
            def post(run: Run, result):
                run.finish(result)
            """,
        }
    )
    assert {site.place.path for site in report.sites} == {"run.py", "app.py"}
    assert [finding.rule for finding in report.findings if finding.severity is Severity.WARNING] == []


_API = """
package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

type Widget struct {
    metav1.TypeMeta
    metav1.ObjectMeta
    Spec WidgetSpec
}
"""
_UPDATES = """
package widget

import (
    "context"

    corev1 "k8s.io/api/core/v1"
    metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
    "sigs.k8s.io/controller-runtime/pkg/client"

    v1 "example.com/widget/api/v1"
)

func custom(ctx context.Context, c client.Client) error {
    return c.Update(ctx, &v1.Widget{ObjectMeta: metav1.ObjectMeta{Name: "a"}})
}
func owned(ctx context.Context, c client.Client, owners []metav1.OwnerReference) error {
    child := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "a", OwnerReferences: owners}}
    return c.Update(ctx, child)
}
func foreign(ctx context.Context, c client.Client) error {
    return c.Update(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "a"}})
}
func dry(ctx context.Context, c client.Client) error {
    return c.Update(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, client.DryRunAll)
}
"""


def test_an_update_without_version_is_an_error_for_custom_resources_and_a_note_for_owned_children(
    audited: Auditor,
) -> None:
    report = audited({"go.mod": _MODULE, "api/v1/types.go": _API, "w/w.go": _UPDATES}, head=False)
    found = {f.function: f.severity for f in report.findings if f.rule == "update-without-version"}
    assert found == {"custom": Severity.ERROR, "owned": Severity.INFO, "foreign": Severity.WARNING}
    assert "dry" not in {site.place.function for site in report.sites}
