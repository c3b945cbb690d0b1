//go:build go1.25

package kontend

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"sort"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// controller is one of the controllers of a manager.
type controller struct {
	reconcile.Reconciler
	info      controllerInfo
	queue     *queue
	informers map[informerKey]*informer
	scheme    *views
}

// runnableController is a controller as the builder adds it to a manager.
type runnableController interface {
	reconcile.Reconciler
	Start(context.Context) error
}

// startController registers the sources of a controller: its real predicates, handlers and mapping functions. Its queue
// only records, and it has no workers.
func startController(c runnableController, v *views) (*controller, error) {
	value := reflect.ValueOf(c)
	if value.Kind() != reflect.Pointer || !value.Elem().FieldByName("NewQueue").IsValid() {
		return nil, fmt.Errorf("%T is not a controller of controller-runtime", c)
	}
	fields := value.Elem()
	started := &controller{Reconciler: c, queue: &queue{asked: make(chan struct{})}, scheme: v}
	newQueue := func(string, workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
		return started.queue
	}
	fields.FieldByName("NewQueue").Set(reflect.ValueOf(newQueue))
	// A panic is a finding, with its stack: it is recovered here.
	recovers := false
	fields.FieldByName("RecoverPanic").Set(reflect.ValueOf(&recovers))
	started.info.Name = fields.FieldByName("Name").String()
	started.info.Concurrent = max(1, int(fields.FieldByName("MaxConcurrentReconciles").Int()))
	v.takeInformers()
	failed := make(chan error, 1)
	go func() { failed <- c.Start(context.Background()) }()
	select {
	case <-started.queue.asked:
	case err := <-failed:
		return nil, fmt.Errorf("controller %s does not start: %w", started.info.Name, err)
	case <-time.After(10 * time.Second):
		return nil, fmt.Errorf("controller %s does not start: a source of it waits for something", started.info.Name)
	}
	started.informers = v.takeInformers()
	started.describe(reconciledKind(fields.FieldByName("LogConstructor").Interface()))
	return started, nil
}

// reconciledKind is the kind that the builder was told with For: it gives it to the logger of a controller.
func reconciledKind(constructor any) (kind schema.GroupKind) {
	make, ok := constructor.(func(*reconcile.Request) logr.Logger)
	if !ok || make == nil {
		return kind
	}
	sink, ok := make(nil).GetSink().(noted)
	for at := 0; ok && at+1 < len(sink.values); at += 2 {
		text, _ := sink.values[at+1].(string)
		switch sink.values[at] {
		case "controllerGroup":
			kind.Group = text
		case "controllerKind":
			kind.Kind = text
		}
	}
	return kind
}

// describe derives the kinds from the handlers. Without For, the first kind that enqueues its own objects is reconciled.
func (c *controller) describe(reconciled schema.GroupKind) {
	kinds := map[string]bool{} // those with mapping functions
	own, itself := "", ""
	for key, informer := range c.informers {
		name := kindName(key.gvk)
		if key.gvk.GroupKind() == reconciled {
			own = name
		}
		for _, handler := range informer.handlers {
			switch typeName := handlerType(handler); {
			case strings.HasPrefix(typeName, "handler.TypedEnqueueRequestForObject["):
				if itself == "" || name < itself {
					itself = name
				}
				kinds[name] = kinds[name]
			case strings.HasPrefix(typeName, "handler.enqueueRequestForOwner["):
				kinds[name] = kinds[name]
			default:
				kinds[name] = true
			}
		}
	}
	names := []string{}
	for name, mapped := range kinds {
		names = append(names, name)
		if mapped {
			c.info.Mapped = append(c.info.Mapped, name)
		}
	}
	sort.Strings(names)
	sort.Strings(c.info.Mapped)
	if own == "" {
		own = itself
	}
	if own == "" && len(names) > 0 {
		own = names[0]
	}
	c.info.Kind = own
	for _, name := range names {
		if name != own {
			c.info.Kinds = append(c.info.Kinds, name)
		}
	}
}

// handlerType is the type of the handler of controller-runtime that an event handler of client-go calls.
func handlerType(handler any) string {
	value := reflect.ValueOf(handler)
	if value.Kind() == reflect.Pointer {
		if inner := value.Elem().FieldByName("handler"); inner.IsValid() && inner.Kind() == reflect.Interface {
			return strings.TrimPrefix(inner.Elem().Type().String(), "*")
		}
	}
	return ""
}

// reconcile runs the reconciler, and reads its result as controller-runtime does.
func (c *controller) reconcile(ctx context.Context, module string, m *message) (answer *reply) {
	defer func() {
		if p := recover(); p != nil {
			// The frames that have panicked are still there, below this function.
			answer = &reply{Done: &done{Again: true, Panic: &crash{fmt.Sprint(p), lineIn(module), framesFrom(module)}}}
		}
	}()
	key := client.ObjectKey{Namespace: m.Namespace, Name: m.Name}
	result, err := c.Reconcile(ctx, reconcile.Request{NamespacedName: key})
	d := &done{}
	switch {
	case err != nil:
		d.Error, d.Again = err.Error(), !errors.Is(err, reconcile.TerminalError(nil))
		var status apierrors.APIStatus
		if errors.As(err, &status) {
			d.Status, _ = json.Marshal(status.Status())
		}
	case result.RequeueAfter > 0:
		d.Again, d.After = true, result.RequeueAfter.Seconds()
	case result.Requeue: //nolint:staticcheck // deprecated, and still obeyed
		d.Again = true
	}
	return &reply{Done: d}
}

// event hands an event to the handlers of a kind, which add requests to the queue.
func (c *controller) event(m *message) *reply {
	c.queue.added = nil
	for key, informer := range c.informers {
		if kindName(key.gvk) != m.Kind {
			continue
		}
		before, err := c.object(key, m.Old)
		if err != nil {
			return failed(problemUnsupported, err)
		}
		after, err := c.object(key, m.New)
		if err != nil {
			return failed(problemUnsupported, err)
		}
		for _, handler := range informer.handlers {
			switch {
			case before == nil:
				handler.OnAdd(after, false)
			case after == nil:
				handler.OnDelete(before)
			default:
				handler.OnUpdate(before, after)
			}
		}
	}
	requests := []request{}
	for _, added := range c.queue.added {
		requests = append(requests, request{added.Namespace, added.Name})
	}
	return &reply{Requests: requests, Done: &done{}}
}

// object is an object of an event; nil, without a type, for none.
func (c *controller) object(key informerKey, data json.RawMessage) (any, error) {
	if len(data) == 0 || string(data) == "null" {
		return nil, nil
	}
	return c.scheme.decode(key.gvk, key.as, data)
}

func failed(kind string, err error) *reply {
	return &reply{Problem: &problem{Kind: kind, Text: err.Error()}}
}

// queue records what event handlers add. Nothing is ever taken from it.
type queue struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]
	asked    chan struct{}
	hasAsked atomic.Bool
	added    []reconcile.Request
}

func (q *queue) Add(request reconcile.Request)                       { q.added = append(q.added, request) }
func (q *queue) AddAfter(request reconcile.Request, _ time.Duration) { q.Add(request) }
func (q *queue) AddRateLimited(request reconcile.Request)            { q.Add(request) }
func (q *queue) Forget(reconcile.Request)                            {}
func (q *queue) NumRequeues(reconcile.Request) int                   { return 0 }
func (q *queue) Len() int                                            { return 0 }
func (q *queue) Done(reconcile.Request)                              {}
func (q *queue) ShutDown()                                           {}

// Get is called by the first worker, when all sources have registered. It never returns.
func (q *queue) Get() (reconcile.Request, bool) {
	if q.hasAsked.CompareAndSwap(false, true) {
		close(q.asked)
	}
	select {}
}
