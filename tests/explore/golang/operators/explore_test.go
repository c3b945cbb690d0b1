//go:build kontend

package faulty

import (
	"context"
	"os"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"kontend.dev/kontend"
	ctrl "sigs.k8s.io/controller-runtime"
)

func explore(t *testing.T, do Reconcile) {
	kontend.Explore(t, scheme.Scheme, func(mgr ctrl.Manager) error {
		return (&Reconciler{Client: mgr.GetClient(), Do: do}).SetupWithManager(mgr)
	})
}

func TestExploreMapOrder(t *testing.T)         { explore(t, MapOrder) }
func TestExplorePanics(t *testing.T)           { explore(t, Panics) }
func TestExplorePanicsElsewhere(t *testing.T)  { explore(t, PanicsElsewhere) }
func TestExploreExits(t *testing.T)            { explore(t, Exits) }
func TestExploreSpins(t *testing.T)            { explore(t, Spins) }
func TestExploreDeadlocks(t *testing.T)        { explore(t, Deadlocks) }
func TestExploreLeavesGoroutines(t *testing.T) { explore(t, LeavesGoroutines) }
func TestExploreFloods(t *testing.T)           { explore(t, Floods) }
func TestExploreRemembers(t *testing.T)        { explore(t, Remembers) }
func TestExploreDials(t *testing.T)            { explore(t, Dials) }
func TestExploreSleeps(t *testing.T)           { explore(t, Sleeps) }
func TestExploreLooksAgain(t *testing.T)       { explore(t, LooksAgain) }
func TestExploreExpires(t *testing.T)          { explore(t, Expires) }
func TestExploreLocks(t *testing.T)            { explore(t, Locks) }
func TestExploreParallel(t *testing.T)         { explore(t, Parallel) }

func TestExploreExpects(t *testing.T) {
	kontend.Explore(t, scheme.Scheme, func(mgr ctrl.Manager) error {
		expectations := &Expectations{}
		kontend.Memory(expectations)
		return (&Reconciler{Client: mgr.GetClient(), Do: expectations.Expects}).SetupWithManager(mgr)
	})
}

func TestExploreForgetsToDeclare(t *testing.T) {
	expectations := &Expectations{}
	explore(t, expectations.Expects)
}

func TestExploreProgram(t *testing.T) {
	program, err := ParseProgram(os.Getenv("PROGRAM"))
	if err != nil {
		t.Fatal(err)
	}
	kontend.Explore(t, scheme.Scheme, func(mgr ctrl.Manager) error {
		interpreter := &Interpreter{Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Program: program}
		return interpreter.SetupWithManager(mgr)
	})
}

func TestExploreTwoControllers(t *testing.T) {
	kontend.Explore(t, scheme.Scheme, func(mgr ctrl.Manager) error {
		for _, name := range []string{"one", "two"} {
			err := ctrl.NewControllerManagedBy(mgr).For(&corev1.ConfigMap{}).Named(name).Complete(&Reconciler{mgr.GetClient(), Sleeps})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

type fakeSidecar func(context.Context, string) (int, error)

func (f fakeSidecar) Submit(ctx context.Context, task string) (int, error) { return f(ctx, task) }

func TestExploreSubmits(t *testing.T) {
	kontend.Explore(t, scheme.Scheme, func(mgr ctrl.Manager) error {
		sidecar := kontend.External("sidecar", []string{}, func(tasks *[]string, task string) (int, error) {
			*tasks = append(*tasks, task)
			return len(*tasks), nil
		})
		return (&Reconciler{Client: mgr.GetClient(), Do: Submits(fakeSidecar(sidecar))}).SetupWithManager(mgr)
	})
}
