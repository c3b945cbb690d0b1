//go:build go1.25

package kontend

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"sort"
	"strings"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlhandler "sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// controller is one of the controllers of a manager, or one that is written with client-go alone.
type controller struct {
	views *views
	info  controllerInfo
	// The kind that it was told to reconcile, if any.
	reconciled schema.GroupKind
	// The informers whose events it handles.
	informers []*informer

	// Of controller-runtime.
	reconcile.Reconciler
	queue    *sources
	channels []*channel
	// Of client-go: handles one item of the queue.
	work func(context.Context) bool
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
	started := &controller{Reconciler: c, views: v}
	started.queue = &sources{queue: queue[reconcile.Request]{e: v.e, of: started}, asked: make(chan struct{})}
	newQueue := func(string, workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
		return started.queue
	}
	fields.FieldByName("NewQueue").Set(reflect.ValueOf(newQueue))
	// A panic is a finding, with its stack: it is recovered here.
	recovers := false
	fields.FieldByName("RecoverPanic").Set(reflect.ValueOf(&recovers))
	started.info.Name = fields.FieldByName("Name").String()
	started.info.Concurrent = max(1, int(fields.FieldByName("MaxConcurrentReconciles").Int()))
	started.channels = started.takeChannels(fields)
	v.owner = started
	defer func() { v.owner = nil }()
	failed := make(chan error, 1)
	go func() { failed <- c.Start(context.Background()) }()
	select {
	case <-started.queue.asked:
	case err := <-failed:
		return nil, fmt.Errorf("controller %s does not start: %w", started.info.Name, err)
	case <-time.After(10 * time.Second):
		return nil, fmt.Errorf("controller %s does not start: a source of it waits for something", started.info.Name)
	}
	started.reconciled = reconciledKind(fields.FieldByName("LogConstructor").Interface())
	return started, nil
}

// otherController names a controller whose requests have another type than those of controller-runtime. Its handlers
// would enqueue what the explorer cannot write down.
func otherController(runnable any) error {
	value := reflect.Indirect(reflect.ValueOf(runnable))
	if value.Kind() != reflect.Struct || !value.FieldByName("NewQueue").IsValid() || !value.FieldByName("Name").IsValid() {
		return nil
	}
	return fmt.Errorf("controller %s is a %s: only requests of type reconcile.Request can be explored", value.FieldByName("Name"), value.Type())
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
func (c *controller) describe() {
	kinds := map[string]bool{} // those with mapping functions
	own, itself := "", ""
	for _, informer := range c.informers {
		name := c.views.viewName(informer.gvk, informer.form)
		isReconciled := informer.gvk.GroupKind() == c.reconciled
		if isReconciled && own == "" {
			own = name
		}
		for _, registered := range informer.handlers {
			if registered.owner != c {
				continue
			}
			mapped := kinds[name]
			switch typeName := handlerType(registered.ResourceEventHandler); {
			case strings.HasPrefix(typeName, "handler.TypedEnqueueRequestForObject["):
				if itself == "" || name < itself {
					itself = name
				}
				if isReconciled {
					own = name
				}
				kinds[name] = mapped
			case strings.HasPrefix(typeName, "handler.enqueueRequestForOwner["):
				kinds[name] = mapped
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
func handlerType(registered any) string {
	value := reflect.ValueOf(registered)
	if value.Kind() != reflect.Pointer {
		return ""
	}
	inner := value.Elem().FieldByName("handler")
	if !inner.IsValid() || inner.Kind() != reflect.Interface {
		return ""
	}
	called := reflect.NewAt(inner.Type(), unsafe.Pointer(inner.UnsafeAddr())).Elem().Elem()
	if wrapped := wrappedHandler(called); wrapped != nil {
		called = reflect.ValueOf(wrapped)
	}
	return strings.TrimPrefix(called.Type().String(), "*")
}

// wrappedHandler is the handler whose methods are the functions of another one, if there is one. Since 0.20 Owns and
// mapping functions are wrapped so (handler.WithLowPriorityWhenUnchanged), and the functions hide which of them it is.
func wrappedHandler(funcs reflect.Value) any {
	if funcs.Kind() != reflect.Struct || !funcs.FieldByName("CreateFunc").IsValid() {
		return nil
	}
	create := funcs.FieldByName("CreateFunc")
	if create.Kind() != reflect.Func || create.IsNil() {
		return nil
	}
	name := runtime.FuncForPC(create.Pointer()).Name()
	if !strings.Contains(name, "handler.TypedEventHandler[") || !strings.HasSuffix(name, ".Create-fm") {
		return nil
	}
	// The method of an interface as a value: a closure of its code and of the interface, which says what it holds,
	// whatever its type parameters are.
	value := reflect.New(create.Type())
	value.Elem().Set(create)
	closure := *(*unsafe.Pointer)(value.UnsafePointer())
	return *(*eventHandler)(unsafe.Add(closure, unsafe.Sizeof(closure)))
}

type eventHandler = ctrlhandler.TypedEventHandler[client.Object, reconcile.Request]

// handled runs the reconciler or the worker, and reads its result as controller-runtime does.
func (c *controller) handled(ctx context.Context, r *run, request request) (answer *reply) {
	defer func() {
		if p := recover(); p != nil {
			// The frames that have panicked are still there, below this function.
			answer = &reply{Done: &done{Again: true, Panic: &crash{fmt.Sprint(p), lineIn(r.module), framesFrom(r.module)}}}
		}
	}()
	r.worker, r.asked = c, request
	defer func() {
		if d := r.spoilt(); d != nil && answer != nil && answer.Done != nil {
			answer.Done = d
		}
	}()
	if c.work != nil {
		return &reply{Done: c.worked(ctx, r)}
	}
	key := client.ObjectKey{Namespace: request.Namespace, Name: request.Name}
	result, err := c.Reconcile(ctx, reconcile.Request{NamespacedName: key})
	d := &done{}
	switch {
	case err != nil:
		d.Again = !errors.Is(err, reconcile.TerminalError(nil))
		d.fail(err)
	case result.RequeueAfter > 0:
		d.Again, d.After = true, result.RequeueAfter.Seconds()
	case result.Requeue: //nolint:staticcheck // deprecated, and still obeyed
		d.Again = true
	}
	return &reply{Done: d}
}

// fail says with which error a reconcile has ended.
func (d *done) fail(err error) {
	d.Error = err.Error()
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		d.Status, _ = json.Marshal(status.Status())
	}
}

// event hands an event to the handlers of a kind, which add requests to the queue.
func (c *controller) event(ctx context.Context, r *run, m *message) *reply {
	if m.Kind == eventKind {
		if err := c.handleDeclared(ctx, c.views.e.events, m.Old, m.New); err != nil {
			return failed(problemUnsupported, err)
		}
	}
	for _, informer := range c.informers {
		if c.views.viewName(informer.gvk, informer.form) != m.Kind {
			continue
		}
		before, err := informer.object(m.Old)
		if err != nil {
			return failed(problemUnsupported, err)
		}
		after, err := informer.object(m.New)
		if err != nil {
			return failed(problemUnsupported, err)
		}
		for _, handler := range informer.handlers {
			switch {
			case handler.owner != c || before == nil && after == nil:
			case before == nil:
				handler.OnAdd(after, false)
			case after == nil:
				handler.OnDelete(before)
			default:
				handler.OnUpdate(before, after)
			}
		}
	}
	return &reply{Done: &done{}}
}

func failed(kind string, err error) *reply {
	return &reply{Problem: &problem{Kind: kind, Text: err.Error()}}
}

// sources is the queue to which the sources of a controller of controller-runtime add.
type sources struct {
	queue[reconcile.Request]
	asked    chan struct{}
	hasAsked atomic.Bool
}

// Get is called by the first worker, when all sources have registered. It never returns.
func (q *sources) Get() (reconcile.Request, bool) {
	if q.hasAsked.CompareAndSwap(false, true) {
		close(q.asked)
	}
	select {}
}
