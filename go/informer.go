//go:build go1.25

package kontend

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
)

// informer shows the view of a kind, and keeps the handlers of its events. The explorer says when an event reaches
// them. It takes the place of the informers of a manager's cache and of client-go: of each factory, and made by hand.
type informer struct {
	// What later versions of client-go add to the interface.
	toolscache.SharedIndexInformer

	views  *views
	gvk    schema.GroupVersionKind
	form   form
	decode func([]byte) (runtime.Object, error)
	// What it shows of its kind.
	namespace, name string
	selector        labels.Selector

	mu        sync.Mutex
	handlers  []handler
	indexers  toolscache.Indexers
	transform toolscache.TransformFunc
}

var _ toolscache.SharedIndexInformer = &informer{}

// handler is a handler of events, with the controller that has registered it.
type handler struct {
	toolscache.ResourceEventHandler
	owner *controller
}

type registration struct {
	toolscache.ResourceEventHandlerRegistration
}

func (registration) HasSynced() bool { return true }

// newInformer takes the place of NewSharedIndexInformerWithOptions of client-go, once kontend has changed the linked
// binary.
//
//go:noinline
func newInformer(lw toolscache.ListerWatcher, example runtime.Object, options toolscache.SharedIndexInformerOptions) toolscache.SharedIndexInformer {
	made, err := active.views.informerFor(lw, example)
	if err != nil {
		panic(informerFailed{fmt.Errorf("an informer of %T: %w", example, err)})
	}
	_ = made.AddIndexers(options.Indexers)
	return made
}

// informerFailed is the panic of newInformer.
type informerFailed struct{ error }

// informers is set so that the linker keeps newInformer.
//
//lint:ignore U1000 nothing reads it
var informers func(toolscache.ListerWatcher, runtime.Object, toolscache.SharedIndexInformerOptions) toolscache.SharedIndexInformer

// informerFor is an informer of client-go. Its list says what it shows.
func (v *views) informerFor(lw toolscache.ListerWatcher, example runtime.Object) (*informer, error) {
	listed := &listing{}
	v.e.listing.Store(listed)
	_, err := lw.List(metav1.ListOptions{})
	v.e.listing.Store(nil)
	if listed.url == nil {
		return nil, fmt.Errorf("it lists something else than the API server of mgr.GetConfig(): %w", err)
	}
	// /api/v1 or /apis/group/version, a namespace perhaps, and the resource
	parts := strings.Split(strings.Trim(listed.url.Path, "/"), "/")
	group := ""
	if parts[0] == "apis" {
		group, parts = parts[1], parts[1:]
	}
	made := &informer{views: v, form: formOf(example)}
	if len(parts) > 4 && parts[2] == "namespaces" {
		made.namespace = parts[3]
	}
	resource := schema.GroupVersionResource{Group: group, Version: parts[1], Resource: parts[len(parts)-1]}
	if made.gvk, err = v.e.mapper.KindFor(resource); err != nil {
		if _, unknown := example.(runtime.Unstructured); unknown {
			return nil, err
		}
		made.gvk = resource.GroupVersion().WithKind(reflect.TypeOf(example).Elem().Name())
		return nil, &meta.NoKindMatchError{GroupKind: made.gvk.GroupKind(), SearchedVersions: []string{made.gvk.Version}}
	}
	query := listed.url.Query()
	if made.selector, err = labels.Parse(query.Get("labelSelector")); err != nil {
		return nil, err
	}
	selector, err := fields.ParseSelector(query.Get("fieldSelector"))
	if err != nil {
		return nil, err
	}
	for _, requirement := range selector.Requirements() {
		if requirement.Field != "metadata.name" {
			return nil, fmt.Errorf("its field selector %s cannot be explored", selector)
		}
		made.name = requirement.Value
	}
	kind := reflect.TypeOf(example).Elem()
	made.decode = func(data []byte) (runtime.Object, error) {
		obj := reflect.New(kind).Interface().(runtime.Object)
		if err := json.Unmarshal(data, obj); err != nil {
			return nil, err
		}
		if _, generic := obj.(runtime.Unstructured); !generic {
			// Typed clients leave the kind out.
			obj.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
		}
		return obj, nil
	}
	return made, nil
}

// listing is the request of a list that is made to learn what it lists.
type listing struct{ url *url.URL }

func (l *listing) note(r *http.Request) *http.Response {
	l.url = r.URL
	return responseTo(r, http.StatusNotFound, []byte(`{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 404}`))
}

func (i *informer) AddEventHandler(added toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	if r := i.views.e.running(); r != nil {
		// A goroutine of controller-runtime registers the handler: no line of the module is on its stack.
		r.refuse(problemWatch, fmt.Sprintf("%s (controller %s)", kindName(i.gvk), r.worker.info.Name))
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.handlers = append(i.handlers, handler{added, i.views.owner})
	i.views.handled(i)
	return registration{}, nil
}

// handled notes that the controller that is being set up handles the events of an informer.
func (v *views) handled(i *informer) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.owner != nil && !slices.Contains(v.owner.informers, i) {
		v.owner.informers = append(v.owner.informers, i)
	}
}

func (i *informer) AddEventHandlerWithResyncPeriod(added toolscache.ResourceEventHandler, _ time.Duration) (toolscache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandler(added)
}

func (i *informer) RemoveEventHandler(toolscache.ResourceEventHandlerRegistration) error { return nil }

func (i *informer) AddIndexers(indexers toolscache.Indexers) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.indexers == nil {
		i.indexers = toolscache.Indexers{}
	}
	for name, index := range indexers {
		i.indexers[name] = index
	}
	return nil
}

func (i *informer) SetTransform(transform toolscache.TransformFunc) error {
	i.transform = transform
	return nil
}

func (i *informer) GetStore() toolscache.Store                              { return index{i} }
func (i *informer) GetIndexer() toolscache.Indexer                          { return index{i} }
func (i *informer) GetController() toolscache.Controller                    { return nil }
func (i *informer) Run(stop <-chan struct{})                                { <-stop }
func (i *informer) RunWithContext(ctx context.Context)                      { <-ctx.Done() }
func (i *informer) HasSynced() bool                                         { return true }
func (i *informer) IsStopped() bool                                         { return false }
func (i *informer) LastSyncResourceVersion() string                         { return "" }
func (i *informer) SetWatchErrorHandler(toolscache.WatchErrorHandler) error { return nil }

// object is an object that the informer shows; nil, without a type, for none.
func (i *informer) object(data json.RawMessage) (any, error) {
	if len(data) == 0 || string(data) == "null" {
		return nil, nil
	}
	decoded, err := i.decode(data)
	if err != nil {
		return nil, err
	}
	accessor, err := meta.Accessor(decoded)
	if err != nil {
		return nil, err
	}
	if i.namespace != "" && i.namespace != accessor.GetNamespace() || i.name != "" && i.name != accessor.GetName() ||
		!i.selector.Matches(labels.Set(accessor.GetLabels())) {
		return nil, nil
	}
	if i.transform != nil {
		return i.transform(decoded)
	}
	return decoded, nil
}

// index reads the view of an informer. Its objects are copies, but those of a real one are shared: a reconcile that
// changes one is refused, as by the detector of mutations that client-go has.
type index struct{ of *informer }

// lent is an object of an informer that a run has read, and its content then.
type lent struct {
	obj     any
	content []byte
	location
}

// lend notes that the current run reads an object.
func (x index) lend(obj any) any {
	if r := x.of.views.e.running(); r != nil && obj != nil {
		content, _ := json.Marshal(obj)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.lent = append(r.lent, lent{obj, content, lineIn(r.module)})
	}
	return obj
}

// spoilt is the end of a run that has changed an object of an informer; nil if it has changed none.
func (r *run) spoilt() *done {
	for _, one := range r.lent {
		if content, _ := json.Marshal(one.obj); !bytes.Equal(content, one.content) {
			accessor, _ := meta.Accessor(one.obj)
			text := fmt.Sprintf("it changes %T %s/%s, which it has read from an informer: make a DeepCopy first", one.obj, accessor.GetNamespace(), accessor.GetName())
			return &done{Again: true, Panic: &crash{text, one.location, ""}}
		}
	}
	return nil
}

// call is a read of the view of the informer.
func (x index) call(verb string) *call {
	of := x.of
	return &call{Type: "cached", Verb: verb, Kind: kindName(of.gvk), Form: of.views.formName(of.gvk, of.form)}
}

var errReadOnly = errors.New("kontend: the store of an informer is read-only")

func (x index) list(namespace string) ([]any, error) {
	c := x.call("list")
	c.Namespace, c.Labels = namespace, x.of.selector.String()
	if namespace == "" {
		c.Namespace = x.of.namespace
	}
	body, err := x.of.views.read(context.Background(), c)
	if err != nil {
		return nil, err
	}
	var list struct {
		Items []json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, err
	}
	shown := []any{}
	for _, data := range list.Items {
		obj, err := x.of.object(data)
		if err != nil {
			return nil, err
		}
		if obj != nil {
			shown = append(shown, x.lend(obj))
		}
	}
	return shown, nil
}

func (x index) List() []any {
	items, err := x.list("")
	if err != nil {
		panic(err)
	}
	return items
}

func (x index) ListKeys() []string { return keysOf(x.List()) }

func (x index) GetByKey(key string) (any, bool, error) {
	namespace, name, err := toolscache.SplitMetaNamespaceKey(key)
	if err != nil {
		return nil, false, nil //nolint:nilerr // no object has such a key
	}
	c := x.call("get")
	c.Namespace, c.Name = namespace, name
	body, err := x.of.views.read(context.Background(), c)
	if apierrors.IsNotFound(err) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	obj, err := x.of.object(body)
	return x.lend(obj), obj != nil, err
}

func (x index) Get(obj any) (any, bool, error) {
	key, err := toolscache.MetaNamespaceKeyFunc(obj)
	if err != nil {
		return nil, false, err
	}
	return x.GetByKey(key)
}

func (x index) Index(name string, obj any) ([]any, error) {
	function := x.of.indexers[name]
	if function == nil {
		return nil, fmt.Errorf("Index with name %s does not exist", name) //nolint:staticcheck // as client-go words it
	}
	values, err := function(obj)
	if err != nil {
		return nil, err
	}
	return x.with(name, values)
}

func (x index) ByIndex(name, value string) ([]any, error) {
	if x.of.indexers[name] == nil {
		return nil, fmt.Errorf("Index with name %s does not exist", name) //nolint:staticcheck // as client-go words it
	}
	return x.with(name, []string{value})
}

// with is the objects that have one of some values in an index. The usual index is that of namespaces, whose values
// the explorer selects itself.
func (x index) with(name string, values []string) ([]any, error) {
	if name == toolscache.NamespaceIndex && len(values) == 1 && values[0] != "" {
		if x.of.namespace != "" && x.of.namespace != values[0] {
			return nil, nil
		}
		return x.list(values[0])
	}
	items, err := x.list("")
	if err != nil {
		return nil, err
	}
	chosen := []any{}
	for _, item := range items {
		own, err := x.of.indexers[name](item)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(own, func(value string) bool { return slices.Contains(values, value) }) {
			chosen = append(chosen, item)
		}
	}
	return chosen, nil
}

func (x index) IndexKeys(name, value string) ([]string, error) {
	items, err := x.ByIndex(name, value)
	return keysOf(items), err
}

func (x index) ListIndexFuncValues(name string) []string {
	found := []string{}
	if function := x.of.indexers[name]; function != nil {
		for _, item := range x.List() {
			values, _ := function(item)
			found = append(found, values...)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

func keysOf(items []any) []string {
	keys := []string{}
	for _, item := range items {
		if key, err := toolscache.MetaNamespaceKeyFunc(item); err == nil {
			keys = append(keys, key)
		}
	}
	return keys
}

func (x index) GetIndexers() toolscache.Indexers               { return x.of.indexers }
func (x index) AddIndexers(indexers toolscache.Indexers) error { return x.of.AddIndexers(indexers) }
func (index) Add(any) error                                    { return errReadOnly }
func (index) Update(any) error                                 { return errReadOnly }
func (index) Delete(any) error                                 { return errReadOnly }
func (index) Replace([]any, string) error                      { return errReadOnly }
func (index) Resync() error                                    { return nil }
func (index) Bookmark(string)                                  {}
func (index) LastStoreSyncResourceVersion() string             { return "" }
