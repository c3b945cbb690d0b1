//go:build go1.25

package kontend

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
)

// queue takes the place of the work queue of a controller. It keeps nothing: what is added goes to the explorer, which
// decides when it is worked on.
type queue[T comparable] struct {
	// What later versions of client-go add to the interface.
	workqueue.TypedRateLimitingInterface[T]

	e  *exploration
	of *controller
}

// addition is a request that was added to the queue of a controller.
type addition struct {
	Controller string `json:"controller"`
	request
}

func (q *queue[T]) Add(item T) { q.added(item, "", 0) }

func (q *queue[T]) AddAfter(item T, after time.Duration) { q.added(item, "after", after) }

func (q *queue[T]) AddRateLimited(item T) { q.added(item, "retry", 0) }

func (q *queue[T]) added(item T, how string, after time.Duration) {
	r := q.e.sender
	if r == nil {
		r = q.e.running()
	}
	if r == nil {
		return
	}
	asked, err := requestOf(item)
	if err != nil {
		r.refuse(problemUnsupported, err.Error())
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.worker != q.of || r.asked != asked || how == "":
		r.added = append(r.added, addition{q.of.info.Name, asked})
	case how == "retry":
		r.again = true
	default:
		r.again, r.after = true, after
	}
}

// Get gives a worker the request of its run, once.
func (q *queue[T]) Get() (item T, shutdown bool) {
	r := q.e.running()
	if r == nil || r.worker != q.of || r.taken {
		return item, true
	}
	r.taken = true
	return itemOf[T](r.asked), false
}

func (q *queue[T]) Forget(T)           {}
func (q *queue[T]) Done(T)             {}
func (q *queue[T]) NumRequeues(T) int  { return 0 }
func (q *queue[T]) Len() int           { return 0 }
func (q *queue[T]) ShutDown()          {}
func (q *queue[T]) ShutDownWithDrain() {}
func (q *queue[T]) ShuttingDown() bool { return false }

// requestOf is an item of a queue as the explorer knows it. Items are keys as text, or have a namespace and a name;
// others are written as JSON.
func requestOf(item any) (request, error) {
	value := reflect.ValueOf(item)
	if value.Kind() == reflect.String {
		if namespace, name, found := strings.Cut(value.String(), "/"); found && !strings.Contains(name, "/") {
			return request{namespace, name}, nil
		}
		return request{"", value.String()}, nil
	}
	if isKey(value.Type()) {
		return request{value.FieldByName("Namespace").String(), value.FieldByName("Name").String()}, nil
	}
	text, err := json.Marshal(item)
	if err != nil {
		return request{}, fmt.Errorf("an item of a queue, %T, cannot be written as JSON: %w", item, err)
	}
	return request{"", string(text)}, nil
}

func itemOf[T comparable](r request) (item T) {
	value := reflect.ValueOf(&item).Elem()
	text := r.Name
	if r.Namespace != "" {
		text = r.Namespace + "/" + r.Name
	}
	switch {
	case value.Kind() == reflect.String:
		value.SetString(text)
	case value.Kind() == reflect.Interface: // of the queues of older operators, which hold texts
		value.Set(reflect.ValueOf(text))
	case isKey(value.Type()):
		value.FieldByName("Namespace").SetString(r.Namespace)
		value.FieldByName("Name").SetString(r.Name)
	default:
		_ = json.Unmarshal([]byte(r.Name), &item)
	}
	return item
}

// isKey reports whether a type is a namespace and a name, such as types.NamespacedName, cache.ObjectName or
// reconcile.Request.
func isKey(t reflect.Type) bool {
	if t.Kind() != reflect.Struct || len(reflect.VisibleFields(t)) < 2 {
		return false
	}
	for _, name := range []string{"Namespace", "Name"} {
		field, found := t.FieldByName(name)
		if !found || field.Type.Kind() != reflect.String {
			return false
		}
	}
	for _, field := range reflect.VisibleFields(t) {
		if !field.Anonymous && field.Name != "Namespace" && field.Name != "Name" {
			return false
		}
	}
	return true
}

// AddWorker adds a controller that is written with client-go alone: informers, a work queue and workers.
//
// setup makes the controller with clients of mgr.GetConfig() and informers of these, gives it the queue in place of its
// own, and returns what its workers run: the method that takes one item from the queue and handles it. The handlers of
// events that setup registers are those of this controller, and the first kind that it watches is the one it reconciles.
//
//	kontend.AddWorker(mgr, "foos", func(queue workqueue.TypedRateLimitingInterface[cache.ObjectName]) (func(context.Context) bool, error) {
//		kube := kubernetes.NewForConfigOrDie(mgr.GetConfig())
//		c := NewController(kube, informers.NewSharedInformerFactory(kube, 0))
//		c.workqueue = queue
//		return c.processNextWorkItem, nil
//	})
func AddWorker[T comparable](mgr ctrl.Manager, name string, setup func(workqueue.TypedRateLimitingInterface[T]) (func(context.Context) bool, error)) error {
	if active == nil {
		return fmt.Errorf("kontend.AddWorker(%q): call it in the function given to kontend.Explore", name)
	}
	c := &controller{views: active.views, info: controllerInfo{Name: name, Concurrent: 1}}
	active.views.owner = c
	defer func() { active.views.owner = nil }()
	work, err := setup(&queue[T]{e: active, of: c})
	if err != nil {
		return err
	}
	c.work = work
	if len(c.informers) == 0 {
		return fmt.Errorf("kontend.AddWorker(%q): no informer of client-go has a handler of it", name)
	}
	c.reconciled = c.informers[0].gvk.GroupKind()
	// Workers do not return errors, they report them.
	utilruntime.ErrorHandlers = []utilruntime.ErrorHandler{active.reported}
	active.controllers[name] = c
	active.order = append(active.order, c)
	return nil
}

// reported keeps the error that a worker has reported last.
func (e *exploration) reported(_ context.Context, err error, _ string, _ ...any) {
	if r := e.current; r != nil && err != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.err = err
	}
}

// worked lets a worker handle one item.
func (c *controller) worked(ctx context.Context, r *run) *done {
	c.work(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	d := &done{Again: r.again, After: r.after.Seconds()}
	if r.again && r.after == 0 && r.err != nil {
		d.fail(r.err)
	}
	return d
}
