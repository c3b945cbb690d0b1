package doubleplan

import (
	"context"

	"github.com/google/uuid"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// NodeReconciler makes a plan where it sees none, and patches the status, with or without a lock.
type NodeReconciler struct {
	client.Client
	Lock bool
}

// SetupWithManager adds the controller to a manager.
func (r *NodeReconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).For(&Node{}).Named("nodes").Complete(r)
}

// Reconcile stores a plan before anything else.
func (r *NodeReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	node := &Node{}
	if err := r.Get(ctx, req.NamespacedName, node); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if node.Status.Plan != nil {
		return ctrl.Result{}, nil
	}
	base := node.DeepCopy()
	node.Status.Plan = &Plan{ID: uuid.NewString(), Tasks: []string{"create-statefulset"}}
	patch := client.MergeFrom(base) // unlocked: that is the bug this example is about
	if r.Lock {
		patch = client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})
	}
	return ctrl.Result{}, r.Status().Patch(ctx, node, patch)
}
