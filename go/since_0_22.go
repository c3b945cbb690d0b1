//go:build go1.25 && kontend_cr22

package kontend

import toolscache "k8s.io/client-go/tools/cache"

// AddEventHandlerWithOptions is a part of informers since controller-runtime 0.22.
func (i *informer) AddEventHandlerWithOptions(handler toolscache.ResourceEventHandler, _ toolscache.HandlerOptions) (toolscache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandler(handler)
}
