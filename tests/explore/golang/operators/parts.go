package faulty

import (
	"context"
	crand "crypto/rand"
	"encoding/hex"
	"fmt"
	"math/rand"
	randv2 "math/rand/v2"
	"os"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// Indexed counts the Secrets of a ConfigMap by an index, and is triggered by a mapping function that lists ConfigMaps.
func Indexed(mgr ctrl.Manager) error {
	index := func(obj client.Object) []string { return []string{obj.GetAnnotations()["of"]} }
	if err := mgr.GetFieldIndexer().IndexField(context.Background(), &corev1.Secret{}, "of", index); err != nil {
		return err
	}
	c := mgr.GetClient()
	all := func(ctx context.Context, obj client.Object) (requests []ctrl.Request) {
		configs := &corev1.ConfigMapList{}
		if err := c.List(ctx, configs, client.InNamespace(obj.GetNamespace())); err != nil {
			return nil
		}
		for _, config := range configs.Items {
			requests = append(requests, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(&config)})
		}
		return requests
	}
	count := func(ctx context.Context, c client.Client, config *corev1.ConfigMap) (ctrl.Result, error) {
		secrets := &corev1.SecretList{}
		if err := c.List(ctx, secrets, client.MatchingFields{"of": config.Name}); err != nil {
			return ctrl.Result{}, err
		}
		return ctrl.Result{}, set(ctx, c, config, "secrets", fmt.Sprint(len(secrets.Items)))
	}
	return ctrl.NewControllerManagedBy(mgr).For(&corev1.ConfigMap{}).Named("indexed").
		Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(all)).
		WithEventFilter(predicate.ResourceVersionChangedPredicate{}).
		Complete(&Reconciler{c, count})
}

// Owner makes a Secret for each ConfigMap, which it owns, and watches Services through a mapping function.
func Owner(mgr ctrl.Manager) error {
	none := func(context.Context, client.Object) []ctrl.Request { return nil }
	own := func(ctx context.Context, c client.Client, config *corev1.ConfigMap) (ctrl.Result, error) {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: config.Name, Namespace: config.Namespace}}
		if err := c.Get(ctx, client.ObjectKeyFromObject(secret), secret); !apierrors.IsNotFound(err) {
			return ctrl.Result{}, err
		}
		if err := controllerutil.SetControllerReference(config, secret, c.Scheme()); err != nil {
			return ctrl.Result{}, err
		}
		return ctrl.Result{}, c.Create(ctx, secret)
	}
	return ctrl.NewControllerManagedBy(mgr).For(&corev1.ConfigMap{}).Named("owner").
		Owns(&corev1.Secret{}).
		Watches(&corev1.Service{}, handler.EnqueueRequestsFromMapFunc(none)).
		Complete(&Reconciler{mgr.GetClient(), own})
}

// Generic reads a ConfigMap without its type and as metadata, and patches it with the dynamic and the metadata client.
func Generic(mgr ctrl.Manager) error {
	c := mgr.GetClient()
	config := mgr.GetConfig()
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	headers, err := metadata.NewForConfig(config)
	if err != nil {
		return err
	}
	own, err := client.New(config, client.Options{Scheme: mgr.GetScheme()})
	if err != nil {
		return err
	}
	if found, err := discovery.NewDiscoveryClientForConfigOrDie(config).ServerResourcesForGroupVersion("apps/v1"); err != nil || len(found.APIResources) == 0 {
		return fmt.Errorf("apps/v1: %w", err)
	}
	resource := corev1.SchemeGroupVersion.WithResource("configmaps")
	reconcile := func(ctx context.Context, _ client.Client, config *corev1.ConfigMap) (ctrl.Result, error) {
		// A client of its own, which finds its resources by discovery, and calls the server.
		if err := own.Get(ctx, client.ObjectKeyFromObject(config), &corev1.ConfigMap{}); err != nil {
			return ctrl.Result{}, err
		}
		obj := &unstructured.Unstructured{}
		obj.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
		if err := c.Get(ctx, client.ObjectKeyFromObject(config), obj); err != nil {
			return ctrl.Result{}, err
		}
		header := &metav1.PartialObjectMetadata{}
		header.SetGroupVersionKind(obj.GroupVersionKind())
		if err := c.Get(ctx, client.ObjectKeyFromObject(config), header); err != nil {
			return ctrl.Result{}, err
		}
		if header.Annotations["marked"] != "" && obj.GetLabels()["marked"] != "" {
			return ctrl.Result{}, nil
		}
		mark := []byte(`{"metadata": {"annotations": {"marked": "yes"}}}`)
		_, err := headers.Resource(resource).Namespace(config.Namespace).Patch(ctx, config.Name, types.MergePatchType, mark, metav1.PatchOptions{})
		if err != nil {
			return ctrl.Result{}, err
		}
		label := []byte(`{"metadata": {"labels": {"marked": "yes"}}}`)
		_, err = objects.Resource(resource).Namespace(config.Namespace).Patch(ctx, config.Name, types.MergePatchType, label, metav1.PatchOptions{})
		return ctrl.Result{}, err
	}
	return ctrl.NewControllerManagedBy(mgr).For(&corev1.ConfigMap{}).Named("generic").
		WithOptions(controller.Options{MaxConcurrentReconciles: 2}).
		Complete(&Reconciler{c, reconcile})
}

// Headers watches the metadata of ConfigMaps, and reads them with their types, or as metadata.
func Headers(mgr ctrl.Manager, typed bool) error {
	header := &metav1.PartialObjectMetadata{}
	header.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	return ctrl.NewControllerManagedBy(mgr).For(header).Named("headers").Complete(&Labeler{mgr.GetClient(), typed})
}

// Labeler copies the label of a ConfigMap into an annotation.
type Labeler struct {
	client.Client
	typed bool
}

// Reconcile sends a merge patch: no version guards it.
func (l *Labeler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var obj client.Object = &corev1.ConfigMap{}
	if !l.typed {
		header := &metav1.PartialObjectMetadata{}
		header.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
		obj = header
	}
	if err := l.Get(ctx, req.NamespacedName, obj); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if obj.GetAnnotations()["label"] == obj.GetLabels()["label"] {
		return ctrl.Result{}, nil
	}
	patch := client.RawPatch(types.MergePatchType, []byte(fmt.Sprintf(`{"metadata": {"annotations": {"label": %q}}}`, obj.GetLabels()["label"])))
	return ctrl.Result{}, l.Patch(ctx, obj, patch)
}

// Files makes temporary files and directories, more than one at once.
func Files(ctx context.Context, c client.Client, config *corev1.ConfigMap) (ctrl.Result, error) {
	for range 2 {
		dir, err := os.MkdirTemp("", "kontend-*")
		if err != nil {
			return ctrl.Result{}, err
		}
		defer os.RemoveAll(dir)
		for range 2 {
			file, err := os.CreateTemp(dir, "*.yaml")
			if err != nil {
				return ctrl.Result{}, err
			}
			_ = file.Close()
		}
	}
	return ctrl.Result{}, set(ctx, c, config, "files", "4")
}

// Secures writes bytes of crypto/rand.
func Secures(ctx context.Context, c client.Client, config *corev1.ConfigMap) (ctrl.Result, error) {
	if config.Data["password"] != "" {
		return ctrl.Result{}, nil
	}
	password := make([]byte, 8)
	if _, err := crand.Read(password); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, set(ctx, c, config, "password", hex.EncodeToString(password))
}

// Rolls writes numbers of both packages math/rand.
func Rolls(ctx context.Context, c client.Client, config *corev1.ConfigMap) (ctrl.Result, error) {
	if config.Data["rolled"] != "" {
		return ctrl.Result{}, nil
	}
	return ctrl.Result{}, set(ctx, c, config, "rolled", fmt.Sprint(rand.Intn(1<<30), randv2.IntN(1<<30)))
}
