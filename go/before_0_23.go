//go:build go1.25 && !kontend_cr23

package kontend

import ctrl "sigs.k8s.io/controller-runtime"

// withoutEvents is a manager whose recorders drop all events.
func withoutEvents(m *manager) ctrl.Manager { return m }
