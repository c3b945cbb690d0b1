package main

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Garden is the custom resource of tests/clients/crds.yaml.
type Garden struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              GardenSpec   `json:"spec"`
	Status            GardenStatus `json:"status,omitempty"`
}

// GardenSpec is what the owner wants.
type GardenSpec struct {
	Plant    string `json:"plant"`
	Replicas int32  `json:"replicas,omitempty"`
}

// GardenStatus is what there is.
type GardenStatus struct {
	Phase              string `json:"phase,omitempty"`
	Replicas           int32  `json:"replicas,omitempty"`
	ObservedGeneration int64  `json:"observedGeneration,omitempty"`
}

// GardenList is a list of gardens.
type GardenList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Garden `json:"items"`
}

// DeepCopyObject copies a garden.
func (garden *Garden) DeepCopyObject() runtime.Object { return garden.DeepCopy() }

// DeepCopy copies a garden.
func (garden *Garden) DeepCopy() *Garden {
	copied := *garden
	garden.ObjectMeta.DeepCopyInto(&copied.ObjectMeta)
	return &copied
}

// DeepCopyObject copies a list of gardens.
func (list *GardenList) DeepCopyObject() runtime.Object {
	copied := *list
	copied.Items = make([]Garden, len(list.Items))
	for i := range list.Items {
		copied.Items[i] = *list.Items[i].DeepCopy()
	}
	return &copied
}

var groupVersion = schema.GroupVersion{Group: "clients.kontend.dev", Version: "v1"}

func addToScheme(scheme *runtime.Scheme) {
	scheme.AddKnownTypes(groupVersion, &Garden{}, &GardenList{})
	metav1.AddToGroupVersion(scheme, groupVersion)
}
