// Package kontend lets the explorer of kontend run the reconcilers of a controller-runtime manager call by call.
//
// A test hands over what main does with its manager:
//
//	func TestExplore(t *testing.T) {
//		kontend.Explore(t, scheme, func(mgr ctrl.Manager) error {
//			return (&WidgetReconciler{Client: mgr.GetClient(), Scheme: mgr.GetScheme()}).SetupWithManager(mgr)
//		})
//	}
//
// The reconcilers stay as they are. Their client is the real one of controller-runtime on a transport that forwards
// each request to the explorer; their cache is a view that the explorer keeps behind the server; each reconcile runs in
// a bubble of testing/synctest, so that the explorer knows when all its goroutines wait.
//
// "kontend explore --go PACKAGE" builds the test and explores it. "go test" alone skips it, unless KONTEND=1 is set: it
// then runs the exploration and fails with its findings.
package kontend
