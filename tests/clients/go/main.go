// A small controller in the usual style: a Garden owns a Deployment, has a finalizer, and reports what it sees.
// It knows nothing about the server that it talks to.
package main

import (
	"context"
	"flag"
	"os"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

const finalizer = "clients.kontend.dev/garden"

type reconciler struct {
	client.Client
	scheme *runtime.Scheme
}

func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	garden := &Garden{}
	if err := r.Get(ctx, request.NamespacedName, garden); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: garden.Name, Namespace: garden.Namespace}}
	if !garden.DeletionTimestamp.IsZero() {
		if err := r.Delete(ctx, deployment, client.PropagationPolicy(metav1.DeletePropagationBackground)); client.IgnoreNotFound(err) != nil {
			return ctrl.Result{}, err
		}
		if controllerutil.RemoveFinalizer(garden, finalizer) {
			return ctrl.Result{}, client.IgnoreNotFound(r.Update(ctx, garden))
		}
		return ctrl.Result{}, nil
	}
	if controllerutil.AddFinalizer(garden, finalizer) {
		return ctrl.Result{}, r.Update(ctx, garden)
	}
	if _, err := controllerutil.CreateOrUpdate(ctx, r.Client, deployment, func() error {
		labels := map[string]string{"garden": garden.Name}
		deployment.Labels = labels
		deployment.Spec.Replicas = &garden.Spec.Replicas
		deployment.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
		deployment.Spec.Template.Labels = labels
		if len(deployment.Spec.Template.Spec.Containers) == 0 {
			deployment.Spec.Template.Spec.Containers = []corev1.Container{{Name: "plant"}}
		}
		deployment.Spec.Template.Spec.Containers[0].Image = garden.Spec.Plant
		return controllerutil.SetControllerReference(garden, deployment, r.scheme)
	}); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, r.report(ctx, garden, deployment)
}

// report writes the status twice: what was observed with an optimistic lock, what was seen of the child without.
func (r *reconciler) report(ctx context.Context, garden *Garden, deployment *appsv1.Deployment) error {
	if garden.Status.ObservedGeneration != garden.Generation {
		base := client.MergeFromWithOptions(garden.DeepCopy(), client.MergeFromWithOptimisticLock{})
		garden.Status.ObservedGeneration = garden.Generation
		if err := r.Status().Patch(ctx, garden, base); err != nil {
			return err
		}
	}
	base := client.MergeFrom(garden.DeepCopy())
	garden.Status.Replicas = deployment.Status.ReadyReplicas
	garden.Status.Phase = "Growing"
	if deployment.Status.ReadyReplicas == garden.Spec.Replicas {
		garden.Status.Phase = "Blooming"
	}
	return r.Status().Patch(ctx, garden, base)
}

func main() {
	namespace := flag.String("namespace", "default", "the namespace to look after")
	exercises := flag.Bool("exercise", false, "do not look after anything, but try the clients of client-go")
	certificates := flag.String("webhook-certificates", "", "serve the webhooks of kilns with tls.crt and tls.key of this directory")
	port := flag.Int("webhook-port", 0, "the port of the webhooks")
	flag.Parse()
	ctrl.SetLogger(zap.New(zap.WriteTo(os.Stderr)))
	do := run
	if *exercises {
		do = exercise
	} else if *certificates != "" {
		do = func(config *rest.Config, namespace string) error {
			return runWebhooks(config, namespace, *certificates, *port)
		}
	}
	if err := do(ctrl.GetConfigOrDie(), *namespace); err != nil {
		ctrl.Log.Error(err, "failed")
		os.Exit(1)
	}
}

func run(config *rest.Config, namespace string) error {
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return err
	}
	addToScheme(scheme)
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                        scheme,
		Metrics:                       server.Options{BindAddress: "0"},
		Cache:                         cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}},
		LeaderElection:                true,
		LeaderElectionID:              "gardener",
		LeaderElectionNamespace:       namespace,
		LeaderElectionReleaseOnCancel: true,
	})
	if err != nil {
		return err
	}
	garden := &reconciler{manager.GetClient(), scheme}
	if err := ctrl.NewControllerManagedBy(manager).For(&Garden{}).Owns(&appsv1.Deployment{}).Complete(garden); err != nil {
		return err
	}
	return manager.Start(ctrl.SetupSignalHandler())
}
