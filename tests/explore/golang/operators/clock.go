package faulty

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// LooksAgain measures how long it takes, and looks again after a minute: the time does not matter.
func LooksAgain(ctx context.Context, c client.Client, config *corev1.ConfigMap) (ctrl.Result, error) {
	began := time.Now()
	err := set(ctx, c, config, "seen", "yes")
	_ = time.Since(began)
	return ctrl.Result{RequeueAfter: time.Minute}, err
}

// Expires looks again after a minute, too, and gives up when an hour has passed.
func Expires(ctx context.Context, c client.Client, config *corev1.ConfigMap) (ctrl.Result, error) {
	if config.Data["began"] == "" {
		return ctrl.Result{RequeueAfter: time.Minute}, set(ctx, c, config, "began", time.Now().UTC().Format(time.RFC3339))
	}
	began, err := time.Parse(time.RFC3339, config.Data["began"])
	if err != nil {
		return ctrl.Result{}, err
	}
	if time.Since(began) > time.Hour {
		return ctrl.Result{}, set(ctx, c, config, "expired", "yes")
	}
	return ctrl.Result{RequeueAfter: time.Minute}, nil
}
