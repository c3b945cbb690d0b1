// Package doubleplan is the double-plan race in Go: two reconciles of one object, both see no plan, both write one.
//
// examples/double_plan.py is the same in Python, and the explorer finds the same in both.
package doubleplan

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the version of Node.
var GroupVersion = schema.GroupVersion{Group: "example.com", Version: "v1"}

// Node is an object with a plan.
type Node struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Status NodeStatus `json:"status,omitempty"`
}

// NodeStatus holds the plan.
type NodeStatus struct {
	Plan *Plan `json:"plan,omitempty"`
}

// Plan is made once, and then carried out.
type Plan struct {
	ID    string   `json:"id"`
	Tasks []string `json:"tasks"`
}

// NodeList is a list of nodes.
type NodeList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Node `json:"items"`
}

// AddToScheme registers the types.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &Node{}, &NodeList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}

// DeepCopy copies a node.
func (n *Node) DeepCopy() *Node {
	copied := &Node{TypeMeta: n.TypeMeta, ObjectMeta: *n.ObjectMeta.DeepCopy()}
	if n.Status.Plan != nil {
		copied.Status.Plan = &Plan{n.Status.Plan.ID, append([]string(nil), n.Status.Plan.Tasks...)}
	}
	return copied
}

// DeepCopyObject implements runtime.Object.
func (n *Node) DeepCopyObject() runtime.Object { return n.DeepCopy() }

// DeepCopyObject implements runtime.Object.
func (l *NodeList) DeepCopyObject() runtime.Object {
	copied := &NodeList{TypeMeta: l.TypeMeta, ListMeta: *l.ListMeta.DeepCopy()}
	for _, node := range l.Items {
		copied.Items = append(copied.Items, *node.DeepCopy())
	}
	return copied
}
