"""Order of writers: the queue that runs a write is found through its callers."""

from __future__ import annotations

import pytest

from audit.conftest import GO_HEAD, Auditor
from kontend.audit.finding import Severity

_HELPER = """package marks

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "example.com/widget/api/v1"
)

func Fail(ctx context.Context, c client.Client, w *v1.Widget) error {
	base := client.MergeFrom(w.DeepCopy())
	w.Status.Phase = "Failed"
	return c.Status().Patch(ctx, w, base)
}
"""
_CONTROLLER = """package {package}

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "example.com/widget/api/v1"
	"example.com/widget/marks"
)

type Reconciler struct {{ client.Client }}

func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {{
	w := &v1.Widget{{}}
	if err := r.Get(ctx, req.NamespacedName, w); err != nil {{
		return ctrl.Result{{}}, err
	}}
	{body}
}}
"""
_SETS = """base := client.MergeFrom(w.DeepCopy())
	w.Status.Phase = "Running"
	if err := r.Status().Patch(ctx, w, base); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, marks.Fail(ctx, r.Client, w)"""
_FAILS = "return ctrl.Result{}, marks.Fail(ctx, r.Client, w)"
_SETS_ONLY = _SETS.replace("return ctrl.Result{}, marks.Fail(ctx, r.Client, w)", "return ctrl.Result{}, nil")


def _audit(audited: Auditor, **bodies: str) -> dict[str, Severity]:
    sources = {
        "go.mod": "module example.com/widget\n",
        "marks/marks.go": _HELPER,
        **{f"{name}/a.go": _CONTROLLER.format(package=name, body=body) for name, body in bodies.items()},
    }
    findings = audited(sources, head=False).findings
    return {finding.path: finding.severity for finding in findings if finding.rule == "status-patch-without-lock"}


def test_a_helper_of_another_package_runs_in_the_queue_of_its_only_caller(audited: Auditor) -> None:
    assert _audit(audited, one=_SETS) == {"one/a.go": Severity.WARNING, "marks/marks.go": Severity.WARNING}


@pytest.mark.parametrize("first", [_SETS, _SETS_ONLY])
def test_a_helper_that_another_controller_calls_is_another_writer(audited: Auditor, first: str) -> None:
    found = _audit(audited, one=first, two=_FAILS)
    assert found == {"one/a.go": Severity.ERROR, "marks/marks.go": Severity.ERROR}


def test_a_sub_reconciler_belongs_to_the_controller_that_calls_it(audited: Auditor) -> None:
    sub = GO_HEAD.replace("package widget", "package sub") + (
        "func (r *Reconciler) Reconcile(ctx context.Context, w *v1.Widget) error {\n"
        "\tbase := client.MergeFrom(w.DeepCopy())\n"
        '\tw.Status.Phase = "Sub"\n'
        "\treturn r.Status().Patch(ctx, w, base)\n}\n"
    )
    body = _SETS_ONLY.replace("return ctrl.Result{}, nil", "return ctrl.Result{}, r.part.Reconcile(ctx, w)")
    top = _CONTROLLER.format(package="one", body=body)
    top = top.replace("struct { client.Client }", "struct {\n\tclient.Client\n\tpart *sub.Reconciler\n}")
    top = top.replace('"example.com/widget/marks"', '"example.com/widget/sub"')
    report = audited({"go.mod": "module example.com/widget\n", "sub/a.go": sub, "one/a.go": top}, head=False)
    assert {finding.severity for finding in report.findings} == {Severity.WARNING}
