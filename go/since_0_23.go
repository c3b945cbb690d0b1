//go:build go1.25 && kontend_cr23

package kontend

import (
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
)

// withRecorders is a manager whose recorders are ours. Managers have GetEventRecorder since controller-runtime
// 0.23; the type of its result has changed since, so it is taken from the method itself.
func withRecorders(m *manager) ctrl.Manager { return recording(m, ctrl.Manager.GetEventRecorder) }

type recordingManager[R any] struct{ *manager }

func (m recordingManager[R]) GetEventRecorder(source string) R {
	return any(newRecorder{m.recorder(source)}).(R)
}

func recording[R any](m *manager, _ func(ctrl.Manager, string) R) ctrl.Manager {
	return any(recordingManager[R]{m}).(ctrl.Manager)
}

// newRecorder has the newer interface.
type newRecorder struct{ recorder }

func (r newRecorder) Eventf(about, _ runtime.Object, kind, reason, _, format string, arguments ...any) {
	r.recorder.Eventf(about, kind, reason, format, arguments...)
}

func (r newRecorder) AnnotatedEventf(about, related runtime.Object, _ map[string]string, kind, reason, action, format string, arguments ...any) {
	r.Eventf(about, related, kind, reason, action, format, arguments...)
}
