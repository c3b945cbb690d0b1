//go:build go1.25

package kontend

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// views is the cache of a manager. The explorer knows how far each view is behind the server, and answers the reads.
type views struct {
	// What later versions of controller-runtime add to the interface.
	cache.Cache

	e *exploration

	mu        sync.Mutex
	informers map[informerKey]*informer
	indexes   map[informerKey]map[string]client.IndexerFunc
	// The representation whose view has the name of its kind alone: the first one that is watched, or typed.
	usual map[schema.GroupVersionKind]form
	// The controller that is being set up, to which handlers of events belong.
	owner *controller
}

var _ cache.Cache = &views{}

func newViews(e *exploration) *views {
	return &views{
		e: e, informers: map[informerKey]*informer{}, indexes: map[informerKey]map[string]client.IndexerFunc{},
		usual: map[schema.GroupVersionKind]form{},
	}
}

// form is the representation of objects in Go. Each has an informer of its own, and so a view of its own.
type form int

const (
	typed form = iota
	unstructuredForm
	metadataForm
)

func (f form) String() string { return [...]string{"typed", "unstructured", "metadata"}[f] }

func formOf(obj runtime.Object) form {
	switch obj.(type) {
	case runtime.Unstructured:
		return unstructuredForm
	case *metav1.PartialObjectMetadata, *metav1.PartialObjectMetadataList:
		return metadataForm
	}
	return typed
}

// kindName is a kind as the explorer writes it: Kind.group/version.
func kindName(gvk schema.GroupVersionKind) string {
	return strings.TrimSuffix(gvk.Kind+"."+gvk.Group, ".") + "/" + gvk.Version
}

// formName is the representation as the explorer writes it: nothing for the usual one.
func (v *views) formName(gvk schema.GroupVersionKind, as form) string {
	if as == v.usual[gvk] {
		return ""
	}
	return as.String()
}

// viewName is a view as the explorer writes it.
func (v *views) viewName(gvk schema.GroupVersionKind, as form) string {
	if name := v.formName(gvk, as); name != "" {
		return kindName(gvk) + " as " + name
	}
	return kindName(gvk)
}

// nameViews chooses the usual representations, once all handlers are registered.
func (v *views) nameViews(controllers []*controller) {
	for _, c := range controllers {
		for _, informer := range c.informers {
			if usual, known := v.usual[informer.gvk]; !known || informer.form < usual {
				v.usual[informer.gvk] = informer.form
			}
		}
	}
}

func (v *views) read(ctx context.Context, c *call) (json.RawMessage, error) {
	run := v.e.running()
	if run == nil {
		return nil, fmt.Errorf("kontend: cached %s of %s outside of a reconcile", c.Verb, c.Kind)
	}
	m, err := run.ask(ctx, c)
	if err != nil {
		return nil, err
	}
	if m.Code < 400 {
		return m.Body, nil
	}
	var status metav1.Status
	if err := json.Unmarshal(m.Body, &status); err != nil {
		return nil, err
	}
	return nil, &apierrors.StatusError{ErrStatus: status}
}

// Get reads one object from the view of its kind.
func (v *views) Get(ctx context.Context, key client.ObjectKey, out client.Object, _ ...client.GetOption) error {
	gvk, err := apiutil.GVKForObject(out, v.e.scheme)
	if err != nil {
		return err
	}
	c := &call{
		Type: "cached", Verb: "get", Kind: kindName(gvk), Form: v.formName(gvk, formOf(out)), Namespace: key.Namespace, Name: key.Name,
	}
	body, err := v.read(ctx, c)
	if err != nil {
		return err
	}
	value := reflect.ValueOf(out).Elem()
	value.Set(reflect.Zero(value.Type()))
	if err := json.Unmarshal(body, out); err != nil {
		return err
	}
	out.GetObjectKind().SetGroupVersionKind(gvk)
	return nil
}

// List reads the view of a kind, and selects by labels and by the indexes of fields.
func (v *views) List(ctx context.Context, out client.ObjectList, opts ...client.ListOption) error {
	options := client.ListOptions{}
	options.ApplyOptions(opts)
	gvk, err := apiutil.GVKForObject(out, v.e.scheme)
	if err != nil {
		return err
	}
	gvk.Kind = strings.TrimSuffix(gvk.Kind, "List")
	c := &call{
		Type: "cached", Verb: "list", Kind: kindName(gvk), Form: v.formName(gvk, formOf(out)), Namespace: options.Namespace,
	}
	if options.LabelSelector != nil {
		c.Labels = options.LabelSelector.String()
	}
	body, err := v.read(ctx, c)
	if err != nil {
		return err
	}
	var list struct {
		Items []json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return err
	}
	items := make([]runtime.Object, 0, len(list.Items))
	for _, data := range list.Items {
		obj, err := v.decode(gvk, formOf(out), data)
		if err != nil {
			return err
		}
		selected, err := v.selects(informerKey{gvk, formOf(out)}, obj, options.FieldSelector)
		if err != nil {
			return err
		}
		if selected && (options.Limit == 0 || int64(len(items)) < options.Limit) {
			items = append(items, obj)
		}
	}
	return meta.SetList(out, items)
}

func (v *views) selects(key informerKey, obj client.Object, selector fields.Selector) (bool, error) {
	if selector == nil {
		return true, nil
	}
	for _, requirement := range selector.Requirements() {
		index := v.indexes[key][requirement.Field]
		if index == nil {
			return false, fmt.Errorf("Index with name field:%s does not exist", requirement.Field) //nolint:staticcheck // as client-go words it
		}
		found := false
		for _, value := range index(obj) {
			found = found || value == requirement.Value
		}
		if !found {
			return false, nil
		}
	}
	return true, nil
}

func (v *views) decode(gvk schema.GroupVersionKind, as form, data []byte) (client.Object, error) {
	var obj client.Object
	switch as {
	case unstructuredForm:
		obj = &unstructured.Unstructured{}
	case metadataForm:
		obj = &metav1.PartialObjectMetadata{}
	default:
		made, err := v.e.scheme.New(gvk)
		if err != nil {
			return nil, err
		}
		obj = made.(client.Object)
	}
	if err := json.Unmarshal(data, obj); err != nil {
		return nil, err
	}
	obj.GetObjectKind().SetGroupVersionKind(gvk)
	return obj, nil
}

// IndexField adds an index by which lists may select.
func (v *views) IndexField(_ context.Context, obj client.Object, field string, index client.IndexerFunc) error {
	gvk, err := apiutil.GVKForObject(obj, v.e.scheme)
	if err != nil {
		return err
	}
	key := informerKey{gvk, formOf(obj)}
	if v.indexes[key] == nil {
		v.indexes[key] = map[string]client.IndexerFunc{}
	}
	v.indexes[key][field] = index
	return nil
}

func (v *views) GetInformer(_ context.Context, obj client.Object, _ ...cache.InformerGetOption) (cache.Informer, error) {
	gvk, err := apiutil.GVKForObject(obj, v.e.scheme)
	if err != nil {
		return nil, err
	}
	return v.informer(gvk, formOf(obj)), nil
}

func (v *views) GetInformerForKind(_ context.Context, gvk schema.GroupVersionKind, _ ...cache.InformerGetOption) (cache.Informer, error) {
	return v.informer(gvk, typed), nil
}

func (v *views) informer(gvk schema.GroupVersionKind, as form) *informer {
	v.mu.Lock()
	defer v.mu.Unlock()
	key := informerKey{gvk, as}
	if v.informers[key] == nil {
		decode := func(data []byte) (runtime.Object, error) { return v.decode(gvk, as, data) }
		v.informers[key] = &informer{views: v, gvk: gvk, form: as, decode: decode, selector: labels.Everything()}
	}
	return v.informers[key]
}

func (v *views) RemoveInformer(context.Context, client.Object) error { return nil }
func (v *views) Start(ctx context.Context) error                     { <-ctx.Done(); return nil }
func (v *views) WaitForCacheSync(context.Context) bool               { return true }

type informerKey struct {
	gvk schema.GroupVersionKind
	as  form
}
