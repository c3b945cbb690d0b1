package main

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	appsapply "k8s.io/client-go/applyconfigurations/apps/v1"
	coreapply "k8s.io/client-go/applyconfigurations/core/v1"
	metaapply "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// exercise goes through the clients of client-go, as they come: the typed ones send protobuf.
func exercise(config *rest.Config, namespace string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	clients := kubernetes.NewForConfigOrDie(config)
	for name, step := range map[string]func() error{
		"typed objects":   func() error { return typedObjects(ctx, clients, namespace) },
		"pods":            func() error { return pods(ctx, clients, namespace) },
		"dynamic client":  func() error { return dynamicClient(ctx, dynamic.NewForConfigOrDie(config), namespace) },
		"metadata client": func() error { return metadataClient(ctx, clients, metadata.NewForConfigOrDie(config), namespace) },
		"informers":       func() error { return sharedInformers(ctx, clients, namespace) },
	} {
		if err := step(); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		fmt.Println(name)
	}
	return nil
}

func typedObjects(ctx context.Context, clients kubernetes.Interface, namespace string) error {
	labels := map[string]string{"app": "web"}
	replicas := int32(2)
	deployments := clients.AppsV1().Deployments(namespace)
	made, err := deployments.Create(ctx, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: podSpec()},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	if cpu := made.Spec.Template.Spec.Containers[0].Resources.Limits.Cpu().String(); cpu != "500m" {
		return fmt.Errorf("limits %s", cpu)
	}
	stale := made.DeepCopy()
	made.Spec.Template.Spec.Containers[0].Image = "nginx:2"
	if made, err = deployments.Update(ctx, made, metav1.UpdateOptions{}); err != nil || made.Generation != 2 {
		return fmt.Errorf("update: generation %d, %v", made.Generation, err)
	}
	if _, err = deployments.Update(ctx, stale, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
		return fmt.Errorf("stale update: %v", err)
	}
	made.Status = appsv1.DeploymentStatus{Replicas: 2, ReadyReplicas: 2, ObservedGeneration: 2}
	if _, err = deployments.UpdateStatus(ctx, made, metav1.UpdateOptions{}); err != nil {
		return err
	}
	scale := &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: namespace}, Spec: autoscalingv1.ScaleSpec{Replicas: 5}}
	if scale, err = deployments.UpdateScale(ctx, "web", scale, metav1.UpdateOptions{}); err != nil || scale.Status.Replicas != 2 {
		return fmt.Errorf("scale: %v, %v", scale, err)
	}
	patch := []byte(`{"spec":{"template":{"spec":{"containers":[{"name":"side","image":"busybox"}]}}}}`)
	patched, err := deployments.Patch(ctx, "web", types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	if err != nil || len(patched.Spec.Template.Spec.Containers) != 2 || *patched.Spec.Replicas != 5 {
		return fmt.Errorf("patch: %v, %v", patched, err)
	}
	applied := appsapply.Deployment("web", namespace).WithLabels(map[string]string{"by": "apply"})
	result, err := deployments.Apply(ctx, applied, metav1.ApplyOptions{FieldManager: "exercise"})
	if err != nil || result.Labels["by"] != "apply" || result.Labels["app"] != "web" {
		return fmt.Errorf("apply: %v, %v", result.Labels, err)
	}
	wrong := metav1.NewUIDPreconditions("another")
	if err = deployments.Delete(ctx, "web", metav1.DeleteOptions{Preconditions: wrong}); !apierrors.IsConflict(err) {
		return fmt.Errorf("delete of another: %v", err)
	}
	background := metav1.DeletePropagationBackground
	if err = deployments.Delete(ctx, "web", metav1.DeleteOptions{PropagationPolicy: &background}); err != nil {
		return err
	}
	_, err = deployments.Get(ctx, "web", metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		return fmt.Errorf("after delete: %v", err)
	}
	return nil
}

func podSpec() corev1.PodSpec {
	limits := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("0.5")}
	return corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "nginx:1", Resources: corev1.ResourceRequirements{Limits: limits}}}}
}

func pods(ctx context.Context, clients kubernetes.Interface, namespace string) error {
	api := clients.CoreV1().Pods(namespace)
	for _, name := range []string{"one", "two", "three"} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"n": name}}, Spec: podSpec()}
		if _, err := api.Create(ctx, pod, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	binding := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: "one"}, Target: corev1.ObjectReference{Kind: "Node", Name: "node"}}
	if err := api.Bind(ctx, binding, metav1.CreateOptions{}); err != nil {
		return err
	}
	bound, err := api.Get(ctx, "one", metav1.GetOptions{})
	if err != nil || bound.Spec.NodeName != "node" {
		return fmt.Errorf("bound to %q, %v", bound.Spec.NodeName, err)
	}
	eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "two", Namespace: namespace}}
	if err := api.EvictV1(ctx, eviction); err != nil {
		return err
	}
	listed, err := api.List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil || len(listed.Items) != 1 || listed.Continue == "" {
		return fmt.Errorf("list: %v, %v", listed, err)
	}
	zero := int64(0)
	if err := api.DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: &zero}, metav1.ListOptions{}); err != nil {
		return err
	}
	listed, err = api.List(ctx, metav1.ListOptions{})
	if err != nil || len(listed.Items) != 0 {
		return fmt.Errorf("after all: %d, %v", len(listed.Items), err)
	}
	return nil
}

func dynamicClient(ctx context.Context, api dynamic.Interface, namespace string) error {
	gardens := api.Resource(groupVersion.WithResource("gardens")).Namespace(namespace)
	garden := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": groupVersion.String(), "kind": "Garden",
		"metadata": map[string]any{"name": "oak"}, "spec": map[string]any{"plant": "oak"},
	}}
	made, err := gardens.Create(ctx, garden, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	if err = unstructured.SetNestedField(made.Object, "Old", "status", "phase"); err != nil {
		return err
	}
	if made, err = gardens.UpdateStatus(ctx, made, metav1.UpdateOptions{}); err != nil {
		return err
	}
	if phase, _, _ := unstructured.NestedString(made.Object, "status", "phase"); phase != "Old" {
		return fmt.Errorf("phase %q", phase)
	}
	garden.Object["spec"] = map[string]any{"plant": "elm"}
	_, err = gardens.Apply(ctx, "oak", garden, metav1.ApplyOptions{FieldManager: "exercise"})
	if !apierrors.IsConflict(err) {
		return fmt.Errorf("apply: %v", err)
	}
	garden.Object["spec"] = map[string]any{}
	garden.SetName("bad")
	if _, err = gardens.Create(ctx, garden, metav1.CreateOptions{}); !apierrors.IsInvalid(err) {
		return fmt.Errorf("invalid: %v", err)
	}
	return gardens.Delete(ctx, "oak", metav1.DeleteOptions{})
}

func metadataClient(ctx context.Context, clients kubernetes.Interface, api metadata.Interface, namespace string) error {
	config := coreapply.ConfigMap("plain", namespace).WithData(map[string]string{"a": "b"}).WithLabels(map[string]string{"x": "y"})
	options := metav1.ApplyOptions{FieldManager: "exercise"}
	if _, err := clients.CoreV1().ConfigMaps(namespace).Apply(ctx, config, options); err != nil {
		return err
	}
	owner := metaapply.OwnerReference().WithAPIVersion("v1").WithKind("ConfigMap").WithName("plain").WithUID("1")
	if _, err := clients.CoreV1().ConfigMaps(namespace).Apply(ctx, config.WithOwnerReferences(owner), options); err != nil {
		return err
	}
	listed, err := api.Resource(corev1.SchemeGroupVersion.WithResource("configmaps")).Namespace(namespace).List(ctx, metav1.ListOptions{})
	if err != nil || len(listed.Items) != 1 || listed.Items[0].Labels["x"] != "y" || len(listed.Items[0].OwnerReferences) != 1 {
		return fmt.Errorf("list: %v, %v", listed, err)
	}
	return nil
}

// sharedInformers see what was there and what comes, from one watch that begins with the initial objects.
func sharedInformers(ctx context.Context, clients kubernetes.Interface, namespace string) error {
	secrets := clients.CoreV1().Secrets(namespace)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "before"}, Data: map[string][]byte{"k": {0, 255}}}
	if _, err := secrets.Create(ctx, secret, metav1.CreateOptions{}); err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactoryWithOptions(clients, 0, informers.WithNamespace(namespace))
	informer := factory.Core().V1().Secrets()
	seen := make(chan string, 10)
	if _, err := informer.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { seen <- "added " + obj.(*corev1.Secret).Name },
		UpdateFunc: func(_, obj any) { seen <- "updated " + obj.(*corev1.Secret).Name },
		DeleteFunc: func(obj any) { seen <- "deleted " + obj.(*corev1.Secret).Name },
	}); err != nil {
		return err
	}
	factory.Start(ctx.Done())
	expect := func(wanted string) error {
		select {
		case found := <-seen:
			if found != wanted {
				return fmt.Errorf("saw %s, not %s", found, wanted)
			}
			return nil
		case <-ctx.Done():
			return fmt.Errorf("never saw %s", wanted)
		}
	}
	if err := expect("added before"); err != nil {
		return err
	}
	secret.Data["k"] = []byte{1}
	if _, err := secrets.Update(ctx, secret, metav1.UpdateOptions{}); err != nil {
		return err
	}
	if err := expect("updated before"); err != nil {
		return err
	}
	if err := secrets.Delete(ctx, "before", metav1.DeleteOptions{}); err != nil {
		return err
	}
	return expect("deleted before")
}
