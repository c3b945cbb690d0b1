package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/conversion"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// Kiln is the storage version, v2: degrees and a unit apart.
type Kiln struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              KilnSpec   `json:"spec"`
	Status            KilnStatus `json:"status,omitempty"`
}

// KilnSpec is how hot it should be.
type KilnSpec struct {
	Degrees int    `json:"degrees"`
	Unit    string `json:"unit,omitempty"`
}

// KilnStatus is what the controller saw.
type KilnStatus struct {
	Phase string `json:"phase,omitempty"`
}

// OldKiln is version v1: the temperature is one text.
type OldKiln struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              OldKilnSpec `json:"spec"`
	Status            KilnStatus  `json:"status,omitempty"`
}

// OldKilnSpec is how hot it should be, such as 900C.
type OldKilnSpec struct {
	Temperature string `json:"temperature"`
}

// KilnList is a list of kilns.
type KilnList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Kiln `json:"items"`
}

// Hub marks the version through which all conversions go.
func (kiln *Kiln) Hub() {}

// ConvertTo makes a v2 of a v1.
func (old *OldKiln) ConvertTo(hub conversion.Hub) error {
	kiln := hub.(*Kiln)
	kiln.ObjectMeta, kiln.Status = old.ObjectMeta, old.Status
	text := old.Spec.Temperature
	digits := strings.TrimRight(text, "CFK")
	degrees, err := strconv.Atoi(digits)
	if err != nil {
		return fmt.Errorf("%q is no temperature", text)
	}
	kiln.Spec = KilnSpec{Degrees: degrees, Unit: strings.TrimPrefix(text, digits)}
	return nil
}

// ConvertFrom makes a v1 of a v2.
func (old *OldKiln) ConvertFrom(hub conversion.Hub) error {
	kiln := hub.(*Kiln)
	old.ObjectMeta, old.Status = kiln.ObjectMeta, kiln.Status
	old.Spec.Temperature = fmt.Sprintf("%d%s", kiln.Spec.Degrees, kiln.Spec.Unit)
	return nil
}

type kilnWebhook struct{}

// Default gives a kiln its unit.
func (kilnWebhook) Default(_ context.Context, kiln *Kiln) error {
	if kiln.Spec.Unit == "" {
		kiln.Spec.Unit = "C"
	}
	return nil
}

func (kilnWebhook) check(kiln *Kiln) (admission.Warnings, error) {
	if kiln.Spec.Degrees > 1400 {
		return nil, fmt.Errorf("%d degrees would melt it", kiln.Spec.Degrees)
	}
	if kiln.Spec.Degrees < 600 {
		return admission.Warnings{"clay does not harden below 600 degrees"}, nil
	}
	return nil, nil
}

func (hook kilnWebhook) ValidateCreate(_ context.Context, kiln *Kiln) (admission.Warnings, error) {
	return hook.check(kiln)
}

func (hook kilnWebhook) ValidateUpdate(_ context.Context, _, kiln *Kiln) (admission.Warnings, error) {
	return hook.check(kiln)
}

func (kilnWebhook) ValidateDelete(_ context.Context, kiln *Kiln) (admission.Warnings, error) {
	if kiln.Labels["lit"] == "true" {
		return nil, fmt.Errorf("it burns")
	}
	return nil, nil
}

type kilnReconciler struct{ client.Client }

func (r *kilnReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	kiln := &Kiln{}
	if err := r.Get(ctx, request.NamespacedName, kiln); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	base := client.MergeFrom(kiln.DeepCopy())
	kiln.Status.Phase = fmt.Sprintf("Heating to %d%s", kiln.Spec.Degrees, kiln.Spec.Unit)
	return ctrl.Result{}, r.Status().Patch(ctx, kiln, base)
}

// runWebhooks runs an operator as kubebuilder makes it: a controller, defaulting, validation and conversion.
func runWebhooks(config *rest.Config, namespace, certificates string, port int) error {
	scheme := runtime.NewScheme()
	v1 := schema.GroupVersion{Group: "clients.kontend.dev", Version: "v1"}
	v2 := schema.GroupVersion{Group: "clients.kontend.dev", Version: "v2"}
	scheme.AddKnownTypeWithName(v1.WithKind("Kiln"), &OldKiln{})
	scheme.AddKnownTypes(v2, &Kiln{}, &KilnList{})
	metav1.AddToGroupVersion(scheme, v1)
	metav1.AddToGroupVersion(scheme, v2)
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:  scheme,
		Metrics: server.Options{BindAddress: "0"},
		Cache:   cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}},
		WebhookServer: webhook.NewServer(webhook.Options{
			Host: "127.0.0.1", Port: port, CertDir: certificates,
		}),
	})
	if err != nil {
		return err
	}
	hook := kilnWebhook{}
	if err := ctrl.NewWebhookManagedBy(manager, &Kiln{}).WithDefaulter(hook).WithValidator(hook).Complete(); err != nil {
		return err
	}
	kiln := &kilnReconciler{manager.GetClient()}
	if err := ctrl.NewControllerManagedBy(manager).For(&Kiln{}).Complete(kiln); err != nil {
		return err
	}
	return manager.Start(ctrl.SetupSignalHandler())
}

// DeepCopyObject copies a kiln.
func (kiln *Kiln) DeepCopyObject() runtime.Object { return kiln.DeepCopy() }

// DeepCopy copies a kiln.
func (kiln *Kiln) DeepCopy() *Kiln {
	copied := *kiln
	kiln.ObjectMeta.DeepCopyInto(&copied.ObjectMeta)
	return &copied
}

// DeepCopyObject copies a kiln of version v1.
func (old *OldKiln) DeepCopyObject() runtime.Object {
	copied := *old
	old.ObjectMeta.DeepCopyInto(&copied.ObjectMeta)
	return &copied
}

// DeepCopyObject copies a list of kilns.
func (list *KilnList) DeepCopyObject() runtime.Object {
	copied := *list
	copied.Items = make([]Kiln, len(list.Items))
	for i := range list.Items {
		copied.Items[i] = *list.Items[i].DeepCopy()
	}
	return &copied
}
