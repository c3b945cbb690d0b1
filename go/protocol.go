//go:build go1.25

package kontend

import "encoding/json"

// The explorer and this process exchange JSON lines on two pipes. The exchange is strictly sequential: one message, then
// one reply, which comes when every goroutine of the run in question waits.

// message is one line from the explorer.
type message struct {
	// hello, start, answer, event, close or external.
	Op string `json:"op"`
	// The run.
	ID int `json:"id"`

	// hello: the module of the user, and the resources that the server has.
	Module    string     `json:"module"`
	Resources []resource `json:"resources"`

	// start and event: the controller, and the time in RFC 3339.
	Controller string `json:"controller"`
	Now        string `json:"now"`
	// start: the order in which maps are iterated.
	Order uint64 `json:"order"`
	// start: the declared memory.
	Memory json.RawMessage `json:"memory"`
	// start: the request.
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// event: the view that gets it, and the object before and after.
	Kind string          `json:"kind"`
	Old  json.RawMessage `json:"old"`
	New  json.RawMessage `json:"new"`

	// external: its state before the call; the name and the body are those of the call.
	State json.RawMessage `json:"state"`

	// answer: the number of the call, the code (0 for a lost response) and the body of the response.
	N    int             `json:"n"`
	Code int             `json:"code"`
	Body json.RawMessage `json:"body"`
}

type resource struct {
	Group      string `json:"group"`
	Version    string `json:"version"`
	Kind       string `json:"kind"`
	Plural     string `json:"plural"`
	Namespaced bool   `json:"namespaced"`
}

// reply is one line to the explorer.
type reply struct {
	// All calls that the run waits for.
	Calls []*call `json:"calls,omitempty"`
	// The end of a reconcile.
	Done *done `json:"done,omitempty"`
	// What the run has added to queues since its last reply: by the handlers of an event, by a worker of client-go, or
	// by what a reconcile sends on a channel.
	Added []addition `json:"added,omitempty"`
	// hello: the controllers of the manager.
	Controllers []controllerInfo `json:"controllers,omitempty"`
	// hello: what is outside of the cluster.
	Externals []*external `json:"externals,omitempty"`
	// external: the result of a call.
	External *externalAnswer `json:"external,omitempty"`
	// hello: the declared memory of a process that has just started.
	Memory json.RawMessage `json:"memory,omitempty"`
	// A reason why the exploration cannot go on.
	Problem *problem `json:"problem,omitempty"`
}

type request struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// call is a request that a run waits for.
type call struct {
	N int `json:"n"`
	// cached (a read of the cache), http (a request to the server), external (a call of something outside) or uuid.
	Type string `json:"type"`
	location

	// cached
	Verb string `json:"verb,omitempty"`
	Kind string `json:"kind,omitempty"`
	// The representation, where it is not the usual one of the kind.
	Form      string `json:"form,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	Labels    string `json:"labels,omitempty"`

	// http
	Method      string          `json:"method,omitempty"`
	Path        string          `json:"path,omitempty"`
	Query       string          `json:"query,omitempty"`
	ContentType string          `json:"contentType,omitempty"`
	Body        json.RawMessage `json:"body,omitempty"`

	answers chan *message
}

// done is the end of a reconcile.
type done struct {
	// Run again, after this many seconds.
	Again bool    `json:"again,omitempty"`
	After float64 `json:"after,omitempty"`
	// The error that was returned, with the status of one that came from the server.
	Error  string          `json:"error,omitempty"`
	Status json.RawMessage `json:"status,omitempty"`
	Panic  *crash          `json:"panic,omitempty"`
	Memory json.RawMessage `json:"memory,omitempty"`
}

// crash is a panic of user code.
type crash struct {
	Text string `json:"text"`
	location
	Stack string `json:"stack"`
}

type problem struct {
	// One of the kinds below; the text says more.
	Kind string `json:"kind"`
	Text string `json:"text"`
	location
	Stack string `json:"stack,omitempty"`
}

const (
	problemSetup       = "setup"       // the setup function failed
	problemKind        = "kind"        // a kind has no definition
	problemUnsupported = "unsupported" // something that cannot be explored
	problemDeadlock    = "deadlock"    // all goroutines of a run wait for each other
	problemLeft        = "goroutines"  // a reconcile has returned, and goroutines of it go on
	problemOutside     = "outside"     // a run reaches out of the process
	problemWatch       = "watch"       // a run starts to watch a kind
	problemMemory      = "memory"      // the declared memory cannot be saved or restored
	problemStuck       = "stuck"       // a run goes on without waiting for anything that the explorer knows
)

type controllerInfo struct {
	Name string `json:"name"`
	// The view of the kind that the controller reconciles: the first with a handler that enqueues the object itself.
	Kind string `json:"kind"`
	// The other views whose events it handles; those in Mapped have mapping functions.
	Kinds  []string `json:"kinds"`
	Mapped []string `json:"mapped"`
	// The declared events that it gets.
	Events     []string `json:"events"`
	Concurrent int      `json:"concurrent"`
}
