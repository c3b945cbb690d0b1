//go:build go1.25 && !kontend_cr23

package kontend

import ctrl "sigs.k8s.io/controller-runtime"

// withRecorders is a manager whose recorders are ours.
func withRecorders(m *manager) ctrl.Manager { return m }
