// Fitter is an operator with six planted bugs, one switch for each: --bug=NAME. Without a switch it is correct.
//
// A Widget has features, each of them a field of its spec and a reconciler of its own:
//
//	tls       two Secrets, the second one made from the first           (crash between two creates)
//	worker    a Secret that the status refers to                        (lost response, duplicate create)
//	size      numbered ConfigMaps                                       (skipped intermediate version)
//	settings  a Secret that follows the spec and is not watched         (hand-over, late write)
//	ready     a condition in a list that others write to, too           (lost status update)
//	part      a ConfigMap of the user's, removed when nobody needs it   (stale read, then delete)
package main

import (
	"context"
	"flag"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const partLabel = "live.kontend.dev/part"

var widgetKind = schema.GroupVersionKind{Group: "live.kontend.dev", Version: "v1", Kind: "Widget"}

// Fitter reconciles Widgets.
type Fitter struct {
	client.Client
	// Live reads from the API server, not from the cache.
	Live client.Reader
	// Bug is the planted bug that is switched on.
	Bug string
}

func newWidget() *unstructured.Unstructured {
	widget := &unstructured.Unstructured{}
	widget.SetGroupVersionKind(widgetKind)
	return widget
}

// Reconcile fits the features of one Widget.
func (f *Fitter) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	widget := newWidget()
	if err := f.Get(ctx, request.NamespacedName, widget); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if widget.GetDeletionTimestamp() != nil {
		return reconcile.Result{}, nil
	}
	spec, _, _ := unstructured.NestedMap(widget.Object, "spec")
	for _, feature := range []struct {
		field string
		fit   func(context.Context, *unstructured.Unstructured) error
	}{{"tls", f.tls}, {"worker", f.worker}, {"size", f.size}, {"settings", f.settings}, {"ready", f.ready}} {
		if _, there := spec[feature.field]; there {
			if err := feature.fit(ctx, widget); err != nil {
				return reconcile.Result{}, err
			}
		}
	}
	return reconcile.Result{}, nil
}

func main() {
	bug := flag.String("bug", "", "the planted bug to switch on")
	elect := flag.Bool("leader-elect", false, "elect a leader")
	flag.Parse()
	ctrl.SetLogger(zap.New())
	scheme := runtime.NewScheme()
	must(clientgoscheme.AddToScheme(scheme))
	config := ctrl.GetConfigOrDie()
	config.QPS = -1
	release := time.Second
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                  scheme,
		Metrics:                 server.Options{BindAddress: "0"},
		HealthProbeBindAddress:  "0",
		LeaderElection:          *elect,
		LeaderElectionID:        "fitter",
		LeaderElectionNamespace: "default",
		GracefulShutdownTimeout: &release,
		// Secrets are read from the server: they are not watched.
		Client: client.Options{Cache: &client.CacheOptions{
			Unstructured: true, DisableFor: []client.Object{&corev1.Secret{}},
		}},
	})
	must(err)
	fitter := &Fitter{Client: manager.GetClient(), Live: manager.GetAPIReader(), Bug: *bug}
	must(ctrl.NewControllerManagedBy(manager).For(newWidget()).Owns(&corev1.ConfigMap{}).Complete(fitter))
	must(ctrl.NewControllerManagedBy(manager).Named("parts").
		For(&corev1.ConfigMap{}).
		Watches(newWidget(), handler.EnqueueRequestsFromMapFunc(partsOf)).
		Complete(reconcile.Func(fitter.part)))
	must(manager.Start(ctrl.SetupSignalHandler()))
}

func must(err error) {
	if err != nil {
		ctrl.Log.Error(err, "cannot run")
		os.Exit(1)
	}
}
