package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func spec(widget *unstructured.Unstructured, field string) string {
	value, _, _ := unstructured.NestedFieldNoCopy(widget.Object, "spec", field)
	return fmt.Sprint(value)
}

func (f *Fitter) owned(widget *unstructured.Unstructured, child client.Object) client.Object {
	if err := controllerutil.SetControllerReference(widget, child, f.Scheme()); err != nil {
		panic(err)
	}
	return child
}

func (f *Fitter) configMap(widget *unstructured.Unstructured, name string, data map[string]string) client.Object {
	meta := metav1.ObjectMeta{Namespace: widget.GetNamespace(), Name: name}
	return f.owned(widget, &corev1.ConfigMap{ObjectMeta: meta, Data: data})
}

func (f *Fitter) secret(widget *unstructured.Unstructured, name string, data map[string]string) *corev1.Secret {
	meta := metav1.ObjectMeta{Namespace: widget.GetNamespace(), Name: name}
	made := &corev1.Secret{ObjectMeta: meta, StringData: data}
	f.owned(widget, made)
	return made
}

// createIfMissing creates a child; one that is there already is as good.
func (f *Fitter) createIfMissing(ctx context.Context, child client.Object) error {
	if err := f.Create(ctx, child); !apierrors.IsAlreadyExists(err) {
		return err
	}
	return nil
}

// tls makes a certificate authority and a key store. Bug: the key store is made only together with the authority.
func (f *Fitter) tls(ctx context.Context, widget *unstructured.Unstructured) error {
	ca := f.secret(widget, widget.GetName()+"-ca", map[string]string{"ca": "authority of " + widget.GetName()})
	store := f.secret(widget, widget.GetName()+"-keystore", map[string]string{"store": "made from the authority"})
	if f.Bug == "tls" {
		if err := f.Create(ctx, ca); apierrors.IsAlreadyExists(err) {
			return nil
		} else if err != nil {
			return err
		}
		return f.Create(ctx, store)
	}
	if err := f.createIfMissing(ctx, ca); err != nil {
		return err
	}
	return f.createIfMissing(ctx, store)
}

// worker makes a Secret and writes its name to the status. Bug: the name is generated, so each attempt makes one.
func (f *Fitter) worker(ctx context.Context, widget *unstructured.Unstructured) error {
	name, _, _ := unstructured.NestedString(widget.Object, "status", "worker")
	if name != "" {
		return nil
	}
	child := f.secret(widget, widget.GetName()+"-worker", map[string]string{"role": "worker"})
	if f.Bug == "worker" {
		child.SetName("")
		child.SetGenerateName(widget.GetName() + "-worker-")
		if err := f.Create(ctx, child); err != nil {
			return err
		}
	} else if err := f.createIfMissing(ctx, child); err != nil {
		return err
	}
	if err := unstructured.SetNestedField(widget.Object, child.GetName(), "status", "worker"); err != nil {
		return err
	}
	return f.Status().Update(ctx, widget)
}

// size keeps numbered ConfigMaps. Bug: it relies on seeing every size, and removes one at a time.
func (f *Fitter) size(ctx context.Context, widget *unstructured.Unstructured) error {
	size, err := strconv.Atoi(spec(widget, "size"))
	if err != nil {
		return nil
	}
	prefix := widget.GetName() + "-"
	for number := range size {
		child := f.configMap(widget, prefix+strconv.Itoa(number), map[string]string{"number": strconv.Itoa(number)})
		there := &corev1.ConfigMap{}
		if err := f.Get(ctx, client.ObjectKeyFromObject(child), there); err == nil {
			continue
		}
		if err := f.createIfMissing(ctx, child); err != nil {
			return err
		}
	}
	if f.Bug == "size" {
		meta := metav1.ObjectMeta{Namespace: widget.GetNamespace(), Name: prefix + strconv.Itoa(size)}
		return client.IgnoreNotFound(f.Delete(ctx, &corev1.ConfigMap{ObjectMeta: meta}))
	}
	children := &corev1.ConfigMapList{}
	if err := f.List(ctx, children, client.InNamespace(widget.GetNamespace())); err != nil {
		return err
	}
	for _, child := range children.Items {
		number, err := strconv.Atoi(strings.TrimPrefix(child.Name, prefix))
		if err != nil || number < size || !metav1.IsControlledBy(&child, widget) {
			continue
		}
		uid := client.Preconditions{UID: &child.UID}
		if err := f.Delete(ctx, &child, uid); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}

// settings copies a field to a Secret. Bug: the write is not locked, so it may arrive at any time.
func (f *Fitter) settings(ctx context.Context, widget *unstructured.Unstructured) error {
	wanted := []byte(spec(widget, "settings"))
	there := &corev1.Secret{}
	key := types.NamespacedName{Namespace: widget.GetNamespace(), Name: widget.GetName() + "-settings"}
	if err := f.Live.Get(ctx, key, there); apierrors.IsNotFound(err) {
		made := f.secret(widget, key.Name, nil)
		made.Data = map[string][]byte{"settings": wanted}
		return f.Create(ctx, made)
	} else if err != nil {
		return err
	}
	if slices.Equal(there.Data["settings"], wanted) {
		return nil
	}
	before := there.DeepCopy()
	there.Data = map[string][]byte{"settings": wanted}
	if f.Bug == "settings" {
		return f.Patch(ctx, there, client.MergeFrom(before))
	}
	return f.Update(ctx, there)
}

// ready reports a condition after its marker exists. Bug: the list is written whole, without a lock.
func (f *Fitter) ready(ctx context.Context, widget *unstructured.Unstructured) error {
	marker := f.configMap(widget, widget.GetName()+"-marker", map[string]string{"ready": spec(widget, "ready")})
	if err := f.createIfMissing(ctx, marker); err != nil {
		return err
	}
	before := widget.DeepCopy()
	conditions, _, _ := unstructured.NestedSlice(widget.Object, "status", "conditions")
	for _, each := range conditions {
		if each.(map[string]any)["type"] == "Ready" {
			return nil
		}
	}
	conditions = append(conditions, map[string]any{"type": "Ready", "status": "True", "reason": "Fitted"})
	if err := unstructured.SetNestedSlice(widget.Object, conditions, "status", "conditions"); err != nil {
		return err
	}
	if f.Bug == "ready" {
		return f.Status().Patch(ctx, widget, client.MergeFrom(before))
	}
	return f.Status().Patch(ctx, widget, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}

// part removes a ConfigMap of parts that no Widget refers to. Bug: it asks the cache.
func (f *Fitter) part(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	part := &corev1.ConfigMap{}
	if err := f.Get(ctx, request.NamespacedName, part); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if _, labelled := part.Labels[partLabel]; !labelled {
		return reconcile.Result{}, nil
	}
	var reader client.Reader = f.Live
	if f.Bug == "part" {
		reader = f.Client
	}
	widgets := &unstructured.UnstructuredList{}
	widgets.SetGroupVersionKind(widgetKind)
	if err := reader.List(ctx, widgets, client.InNamespace(request.Namespace)); err != nil {
		return reconcile.Result{}, err
	}
	for _, widget := range widgets.Items {
		if spec(&widget, "part") == part.Name {
			return reconcile.Result{}, nil
		}
	}
	options := client.Preconditions{UID: &part.UID, ResourceVersion: &part.ResourceVersion}
	return reconcile.Result{}, client.IgnoreNotFound(f.Delete(ctx, part, options))
}

// partsOf names the part that a Widget refers to.
func partsOf(_ context.Context, widget client.Object) []reconcile.Request {
	name := spec(widget.(*unstructured.Unstructured), "part")
	key := types.NamespacedName{Namespace: widget.GetNamespace(), Name: name}
	return []reconcile.Request{{NamespacedName: key}}
}
