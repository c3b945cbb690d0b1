// Package faulty holds small reconcilers of ConfigMaps, each with one thing that the explorer must cope with.
package faulty

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Reconcile is a reconciler as a function.
type Reconcile func(ctx context.Context, c client.Client, config *corev1.ConfigMap) (ctrl.Result, error)

// Reconciler reads the ConfigMap and hands it to a function.
type Reconciler struct {
	client.Client
	Do Reconcile
}

// Reconcile implements reconcile.Reconciler.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	config := &corev1.ConfigMap{}
	if err := r.Get(ctx, req.NamespacedName, config); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	return r.Do(ctx, r.Client, config)
}

// SetupWithManager adds the controller to a manager.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).For(&corev1.ConfigMap{}).Named("configs").Complete(r)
}

func set(ctx context.Context, c client.Client, config *corev1.ConfigMap, key, value string) error {
	if config.Data[key] == value {
		return nil
	}
	base := config.DeepCopy()
	if config.Data == nil {
		config.Data = map[string]string{}
	}
	config.Data[key] = value
	return c.Patch(ctx, config, client.MergeFrom(base))
}

// MapOrder writes the keys of a map in the order of its iteration.
func MapOrder(ctx context.Context, c client.Client, config *corev1.ConfigMap) (ctrl.Result, error) {
	text := ""
	for name := range map[string]bool{"a": true, "b": true, "c": true} {
		text += name
	}
	return ctrl.Result{}, set(ctx, c, config, "order", text)
}

// Panics dereferences nil.
func Panics(context.Context, client.Client, *corev1.ConfigMap) (ctrl.Result, error) {
	var config *corev1.ConfigMap
	return ctrl.Result{}, fmt.Errorf("%s", config.Data["x"])
}

// PanicsElsewhere panics in a goroutine, which ends the process.
func PanicsElsewhere(context.Context, client.Client, *corev1.ConfigMap) (ctrl.Result, error) {
	done := make(chan bool)
	go func() {
		defer close(done)
		panic("elsewhere")
	}()
	<-done
	return ctrl.Result{}, nil
}

// Exits ends the process.
func Exits(context.Context, client.Client, *corev1.ConfigMap) (ctrl.Result, error) {
	os.Exit(3)
	return ctrl.Result{}, nil
}

// WatchesLater watches Secrets from its first reconcile on.
type WatchesLater struct {
	client.Client
	cache   cache.Cache
	started controller.Controller
}

// SetupWithManager keeps the controller.
func (w *WatchesLater) SetupWithManager(mgr ctrl.Manager) (err error) {
	w.Client, w.cache = mgr.GetClient(), mgr.GetCache()
	w.started, err = ctrl.NewControllerManagedBy(mgr).For(&corev1.ConfigMap{}).Named("later").Build(w)
	return err
}

// Reconcile watches.
func (w *WatchesLater) Reconcile(context.Context, ctrl.Request) (ctrl.Result, error) {
	handler := handler.TypedEnqueueRequestForOwner[*corev1.Secret](w.Scheme(), w.RESTMapper(), &corev1.ConfigMap{})
	return ctrl.Result{}, w.started.Watch(source.Kind(w.cache, &corev1.Secret{}, handler))
}

// Spins never ends.
func Spins(_ context.Context, _ client.Client, config *corev1.ConfigMap) (ctrl.Result, error) {
	for config.Name != "" {
	}
	return ctrl.Result{}, nil
}

// Deadlocks waits for a channel that nobody sends to.
func Deadlocks(context.Context, client.Client, *corev1.ConfigMap) (ctrl.Result, error) {
	<-make(chan bool)
	return ctrl.Result{}, nil
}

// LeavesGoroutines starts a goroutine that goes on after it.
func LeavesGoroutines(context.Context, client.Client, *corev1.ConfigMap) (ctrl.Result, error) {
	never := make(chan bool)
	go func() { <-never }()
	return ctrl.Result{}, nil
}

// Floods writes much to the standard error.
func Floods(ctx context.Context, c client.Client, config *corev1.ConfigMap) (ctrl.Result, error) {
	for i := range 20_000 {
		fmt.Fprintln(os.Stderr, "reconciling for the time", i, config.Name)
	}
	return ctrl.Result{}, set(ctx, c, config, "logged", "much")
}

var seen int

// Remembers keeps a number in a variable of the package.
func Remembers(ctx context.Context, c client.Client, config *corev1.ConfigMap) (ctrl.Result, error) {
	seen++
	if seen > 3 {
		return ctrl.Result{}, nil
	}
	return ctrl.Result{}, set(ctx, c, config, "seen", "few")
}

// Records records an Event about the ConfigMap.
func Records(recorder record.EventRecorder) Reconcile {
	return func(_ context.Context, _ client.Client, config *corev1.ConfigMap) (ctrl.Result, error) {
		recorder.Eventf(config, corev1.EventTypeNormal, "Seen", "%s was seen", config.Name)
		return ctrl.Result{}, nil
	}
}

// Dials makes a request of its own.
func Dials(context.Context, client.Client, *corev1.ConfigMap) (ctrl.Result, error) {
	response, err := http.Get("http://127.0.0.1:9/health")
	if err == nil {
		_ = response.Body.Close()
	}
	return ctrl.Result{}, err
}

// Sleeps waits for time to pass, and for a timeout.
func Sleeps(ctx context.Context, c client.Client, config *corev1.ConfigMap) (ctrl.Result, error) {
	time.Sleep(time.Hour)
	limited, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	<-limited.Done()
	return ctrl.Result{}, set(ctx, c, config, "slept", "long")
}

// Parallel creates two Secrets at once.
func Parallel(ctx context.Context, c client.Client, config *corev1.ConfigMap) (ctrl.Result, error) {
	var group sync.WaitGroup
	failures := make([]error, 2)
	for at, name := range []string{"one", "two"} {
		group.Add(1)
		go func() {
			defer group.Done()
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: config.Namespace, Name: name}}
			failures[at] = client.IgnoreAlreadyExists(c.Create(ctx, secret))
		}()
	}
	group.Wait()
	for _, err := range failures {
		if err != nil {
			return ctrl.Result{}, err
		}
	}
	return ctrl.Result{}, nil
}

// Expectations are what a reconciler has kept in mind, in unexported fields.
type Expectations struct {
	mu     sync.Mutex
	counts map[client.ObjectKey]*int
	last   sync.Map
}

// Expects writes twice, and then remembers that it has.
func (e *Expectations) Expects(ctx context.Context, c client.Client, config *corev1.ConfigMap) (ctrl.Result, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	key := client.ObjectKeyFromObject(config)
	if e.counts == nil {
		e.counts = map[client.ObjectKey]*int{}
	}
	if e.counts[key] == nil {
		e.counts[key] = new(int)
	}
	if *e.counts[key] >= 2 {
		return ctrl.Result{}, nil
	}
	*e.counts[key]++
	e.last.Store(config.Name, *e.counts[key])
	return ctrl.Result{Requeue: true}, set(ctx, c, config, "expected", fmt.Sprint(*e.counts[key]))
}

// Sidecar is a client of something outside of the cluster, as operators have one.
type Sidecar interface {
	Submit(ctx context.Context, task string) (int, error)
}

// Submits submits a task to a sidecar, and then notes its number.
func Submits(sidecar Sidecar) Reconcile {
	return func(ctx context.Context, c client.Client, config *corev1.ConfigMap) (ctrl.Result, error) {
		if config.Data["task"] != "" {
			return ctrl.Result{}, nil
		}
		number, err := sidecar.Submit(ctx, config.Name)
		if err != nil {
			return ctrl.Result{}, err
		}
		return ctrl.Result{}, set(ctx, c, config, "task", fmt.Sprint(number))
	}
}

var lock sync.Mutex

// Locks holds a lock during its calls.
func Locks(ctx context.Context, c client.Client, config *corev1.ConfigMap) (ctrl.Result, error) {
	lock.Lock()
	defer lock.Unlock()
	return ctrl.Result{}, set(ctx, c, config, "locked", "yes")
}
