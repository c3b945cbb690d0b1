//go:build kontend && ignore

package doubleplan

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"kontend.dev/kontend"
	ctrl "sigs.k8s.io/controller-runtime"
)

func explore(t *testing.T, lock bool) {
	scheme := runtime.NewScheme()
	if err := AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	kontend.Explore(t, scheme, func(mgr ctrl.Manager) error {
		return (&NodeReconciler{Client: mgr.GetClient(), Lock: lock}).SetupWithManager(mgr)
	})
}

func TestExploreBlind(t *testing.T)  { explore(t, false) }
func TestExploreLocked(t *testing.T) { explore(t, true) }
