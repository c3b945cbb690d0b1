"""The fate of a write's error, read from the syntax tree."""

from __future__ import annotations

import pytest

from audit.conftest import GO_HEAD, Auditor
from kontend.audit.site import ErrorUse

_RECONCILE = """
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {{
	var w v1.Widget
	if err := r.Get(ctx, req.NamespacedName, &w); err != nil {{
		return ctrl.Result{{}}, err
	}}
	w.Status.Phase = "Ready"
	if err := r.Status().Update(ctx, &w); err != nil {{
		{body}
	}}
	return ctrl.Result{{}}, nil
}}
"""


@pytest.mark.parametrize(
    ("body", "use"),
    [
        ("return ctrl.Result{}, err", ErrorUse.RETURNED),
        ('return ctrl.Result{}, fmt.Errorf("status: %w", err)', ErrorUse.RETURNED),
        ("return ctrl.Result{RequeueAfter: time.Second}, nil", ErrorUse.RETURNED),
        ("r.lastErr = err", ErrorUse.RETURNED),
        ("failures <- err", ErrorUse.RETURNED),
        ("failures = append(failures, err)", ErrorUse.RETURNED),
        ("result = multierror.Append(result, err)", ErrorUse.RETURNED),
        ("panic(err)", ErrorUse.RETURNED),
        ('log.Error(err, "status")', ErrorUse.LOGGED),
        ('log.Info("the error returned by panic(err) is dropped")', ErrorUse.LOGGED),
        ('names = append(names, "err")', ErrorUse.HANDLED),
        ("return ctrl.Result{}, nil // err is Requeue'd", ErrorUse.HANDLED),
    ],
)
def test_a_branch_for_an_error_returns_keeps_logs_or_handles_it(audited: Auditor, body: str, use: ErrorUse) -> None:
    (site,) = audited({"a.go": GO_HEAD + _RECONCILE.format(body=body)}, head=False).sites
    assert site.error is use
