package faulty

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Notifier marks ConfigMaps as noticed, and tells a second controller of them on a channel.
type Notifier struct {
	client.Client
	Events chan event.GenericEvent
}

// SetupWithManager adds both controllers to a manager. Only the channel triggers the second one.
func (n *Notifier) SetupWithManager(mgr ctrl.Manager) error {
	if err := ctrl.NewControllerManagedBy(mgr).For(&corev1.ConfigMap{}).Named("notifier").Complete(&Reconciler{n.Client, n.notice}); err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).Named("listener").
		WatchesRawSource(source.Channel(n.Events, &handler.EnqueueRequestForObject{})).
		Complete(&Reconciler{n.Client, n.listen})
}

func (n *Notifier) notice(ctx context.Context, c client.Client, config *corev1.ConfigMap) (ctrl.Result, error) {
	if config.Data["noticed"] == "" {
		if err := set(ctx, c, config, "noticed", "yes"); err != nil {
			return ctrl.Result{}, err
		}
		n.Events <- event.GenericEvent{Object: config}
	}
	return ctrl.Result{}, nil
}

func (n *Notifier) listen(ctx context.Context, c client.Client, config *corev1.ConfigMap) (ctrl.Result, error) {
	return ctrl.Result{}, set(ctx, c, config, "heard", "yes")
}

// Polled marks ConfigMaps when a goroutine that polls something says so.
func Polled(mgr ctrl.Manager, events chan event.GenericEvent) error {
	listen := (&Notifier{}).listen
	return ctrl.NewControllerManagedBy(mgr).Named("polled").
		WatchesRawSource(source.Channel(events, &handler.EnqueueRequestForObject{})).
		Complete(&Reconciler{mgr.GetClient(), listen})
}
