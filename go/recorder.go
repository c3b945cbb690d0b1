//go:build go1.25

package kontend

import (
	"context"
	"fmt"
	"hash/fnv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/reference"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// RecordEvents lets recorders of the manager create their Events, which are dropped otherwise: they are written for
// people, and each is one more call. An Event that was recorded before is not counted again, and none has a time.
func RecordEvents() Option {
	return func(e *exploration) { e.recordsEvents = true }
}

// recorder creates Events with the calls of the reconcile that records them; it drops them without a client.
type recorder struct {
	client client.Client
	scheme *runtime.Scheme
	source string
}

func (r recorder) Event(about runtime.Object, kind, reason, message string) {
	if r.client == nil {
		return
	}
	object, err := reference.GetReference(r.scheme, about)
	if err != nil {
		return
	}
	namespace := object.Namespace
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	hash := fnv.New32a()
	_, _ = fmt.Fprint(hash, kind, reason, message)
	// The real name ends with the time, which would make each a new one.
	name := fmt.Sprintf("%s.%08x", object.Name, hash.Sum32())
	// Recorders do not report errors.
	_ = r.client.Create(context.Background(), &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: namespace, Name: name},
		InvolvedObject: *object, Type: kind, Reason: reason, Message: message, Count: 1,
		Source: corev1.EventSource{Component: r.source},
	})
}

func (r recorder) Eventf(about runtime.Object, kind, reason, format string, arguments ...any) {
	r.Event(about, kind, reason, fmt.Sprintf(format, arguments...))
}

func (r recorder) AnnotatedEventf(about runtime.Object, _ map[string]string, kind, reason, format string, arguments ...any) {
	r.Eventf(about, kind, reason, format, arguments...)
}

// recorder is the recorder of a component.
func (m *manager) recorder(source string) recorder {
	if !m.recordsEvents {
		return recorder{}
	}
	writer, err := client.New(m.GetConfig(), client.Options{Scheme: scheme.Scheme, Mapper: m.GetRESTMapper()})
	if err != nil {
		return recorder{}
	}
	return recorder{writer, m.GetScheme(), source}
}
