//go:build kontend && ignore

package faulty

import (
	"context"
	"os"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"kontend.dev/kontend"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

func explore(t *testing.T, do Reconcile) {
	kontend.Explore(t, scheme.Scheme, func(mgr ctrl.Manager) error {
		return (&Reconciler{Client: mgr.GetClient(), Do: do}).SetupWithManager(mgr)
	})
}

func TestExploreMapOrder(t *testing.T)        { explore(t, MapOrder) }
func TestExplorePanics(t *testing.T)          { explore(t, Panics) }
func TestExplorePanicsElsewhere(t *testing.T) { explore(t, PanicsElsewhere) }
func TestExploreExits(t *testing.T)           { explore(t, Exits) }
func TestExploreWatchesLater(t *testing.T) {
	kontend.Explore(t, scheme.Scheme, func(mgr ctrl.Manager) error { return (&WatchesLater{}).SetupWithManager(mgr) })
}
func TestExploreOtherRequests(t *testing.T) {
	kontend.Explore(t, scheme.Scheme, func(mgr ctrl.Manager) error {
		type other struct{ Name string }
		reconciler := reconcile.TypedFunc[other](func(context.Context, other) (ctrl.Result, error) { return ctrl.Result{}, nil })
		configs := handler.TypedEnqueueRequestsFromMapFunc[*corev1.ConfigMap, other](func(context.Context, *corev1.ConfigMap) []other { return nil })
		return builder.TypedControllerManagedBy[other](mgr).Named("other").
			WatchesRawSource(source.TypedKind(mgr.GetCache(), &corev1.ConfigMap{}, configs)).Complete(reconciler)
	})
}
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

func exploreWorker(t *testing.T, locked, careless bool) {
	kontend.Explore(t, scheme.Scheme, func(mgr ctrl.Manager) error {
		type queue = workqueue.TypedRateLimitingInterface[cache.ObjectName]
		return kontend.AddWorker(mgr, "worker", func(queue queue) (func(context.Context) bool, error) {
			client := kubernetes.NewForConfigOrDie(mgr.GetConfig())
			core := informers.NewSharedInformerFactory(client, 0).Core().V1()
			worker, err := NewWorker(client, core.ConfigMaps(), core.Secrets())
			if err != nil {
				return nil, err
			}
			worker.queue, worker.Locked, worker.Careless = queue, locked, careless
			return worker.processNextWorkItem, nil
		})
	})
}

func TestExploreWorker(t *testing.T)         { exploreWorker(t, false, false) }
func TestExploreLockedWorker(t *testing.T)   { exploreWorker(t, true, false) }
func TestExploreCarelessWorker(t *testing.T) { exploreWorker(t, true, true) }

func TestExploreSubmitsToPython(t *testing.T) {
	kontend.Explore(t, scheme.Scheme, func(mgr ctrl.Manager) error {
		sidecar := kontend.External[any, string, int]("sidecar", nil, nil)
		return (&Reconciler{Client: mgr.GetClient(), Do: Submits(fakeSidecar(sidecar))}).SetupWithManager(mgr)
	})
}

func exploreRecords(t *testing.T, options ...kontend.Option) {
	kontend.Explore(t, scheme.Scheme, func(mgr ctrl.Manager) error {
		return (&Reconciler{Client: mgr.GetClient(), Do: Records(mgr.GetEventRecorderFor("configs"))}).SetupWithManager(mgr)
	}, options...)
}

func TestExploreDropsEvents(t *testing.T)   { exploreRecords(t) }
func TestExploreRecordsEvents(t *testing.T) { exploreRecords(t, kontend.RecordEvents()) }

func TestExploreIndexed(t *testing.T) { kontend.Explore(t, scheme.Scheme, Indexed) }
func TestExploreOwner(t *testing.T)   { kontend.Explore(t, scheme.Scheme, Owner) }
func TestExploreGeneric(t *testing.T) { kontend.Explore(t, scheme.Scheme, Generic) }
func TestExploreHeaders(t *testing.T) {
	kontend.Explore(t, scheme.Scheme, func(mgr ctrl.Manager) error { return Headers(mgr, false) })
}

func TestExploreTypedHeaders(t *testing.T) {
	kontend.Explore(t, scheme.Scheme, func(mgr ctrl.Manager) error { return Headers(mgr, true) })
}

func TestExploreFiles(t *testing.T) { explore(t, Files) }
func TestExploreOffline(t *testing.T) {
	kontend.Explore(t, scheme.Scheme, func(mgr ctrl.Manager) error {
		return (&Reconciler{Client: mgr.GetClient(), Do: Dials}).SetupWithManager(mgr)
	}, kontend.Offline())
}
func TestExploreSecures(t *testing.T) { explore(t, Secures) }
func TestExploreRolls(t *testing.T)   { explore(t, Rolls) }

func TestExploreNotifies(t *testing.T) {
	kontend.Explore(t, scheme.Scheme, func(mgr ctrl.Manager) error {
		return (&Notifier{Client: mgr.GetClient(), Events: make(chan event.GenericEvent)}).SetupWithManager(mgr)
	})
}

func TestExplorePolled(t *testing.T) {
	kontend.Explore(t, scheme.Scheme, func(mgr ctrl.Manager) error {
		events := make(chan event.GenericEvent, 10)
		config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "c"}}
		kontend.Event("polled", events, event.GenericEvent{Object: config})
		return Polled(mgr, events)
	})
}
