//go:build go1.25 && kontend_cr23

package kontend

import (
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
)

// withoutEvents is a manager whose recorders drop all events. Managers have GetEventRecorder since controller-runtime
// 0.23; the type of its result has changed since, so it is taken from the method itself.
func withoutEvents(m *manager) ctrl.Manager { return recording(m, ctrl.Manager.GetEventRecorder) }

type recordingManager[R any] struct{ *manager }

func (recordingManager[R]) GetEventRecorder(string) R { return any(droppedNew{}).(R) }

func recording[R any](m *manager, _ func(ctrl.Manager, string) R) ctrl.Manager {
	return any(recordingManager[R]{m}).(ctrl.Manager)
}

// droppedNew drops the events of the newer API.
type droppedNew struct{}

func (droppedNew) Eventf(runtime.Object, runtime.Object, string, string, string, string, ...any) {}

func (droppedNew) AnnotatedEventf(runtime.Object, runtime.Object, map[string]string, string, string, string, string, ...any) {
}
