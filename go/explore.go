//go:build go1.25

package kontend

import (
	"bufio"
	"context"
	crand "crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/uuid"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
)

// pipes is the variable by which the explorer says that it has started this process: the descriptors of its pipes, for
// messages and for replies.
const pipes = "KONTEND_PIPES"

// Option is an option of [Explore].
type Option func(*exploration)

// ManagerOptions sets the options with which main makes its manager: which kinds its client reads live, for example.
func ManagerOptions(options ctrl.Options) Option {
	return func(e *exploration) { e.options = options }
}

// Explore explores the controllers that setup adds to a manager. It skips the test unless the explorer runs it, or
// KONTEND=1 asks it to start the explorer.
func Explore(t *testing.T, scheme *runtime.Scheme, setup func(ctrl.Manager) error, options ...Option) {
	t.Helper()
	given := os.Getenv(pipes)
	if given == "" {
		if os.Getenv("KONTEND") == "" {
			t.Skip(`needs the explorer: run "kontend explore --go .", or set KONTEND=1`)
		}
		runExplorer(t)
		return
	}
	e := &exploration{t: t, scheme: scheme, setup: setup, runs: map[int]*run{}, types: types{}, controllers: map[string]*controller{}}
	active = e
	for _, option := range options {
		option(e)
	}
	var messages, replies uintptr
	if _, err := fmt.Sscanf(given, "%d,%d", &messages, &replies); err != nil {
		t.Fatalf("%s=%q: %v", pipes, given, err)
	}
	// A process that a reconciler starts is not explored.
	_ = os.Unsetenv(pipes)
	e.serve(os.NewFile(messages, "messages"), os.NewFile(replies, "replies"))
}

// runExplorer runs the command on the package of the test, which is the current directory.
func runExplorer(t *testing.T) {
	t.Helper()
	arguments := append([]string{"explore", "--go", ".", "--scenario", t.Name()}, strings.Fields(os.Getenv("KONTEND_OPTIONS"))...)
	command := exec.Command("kontend", arguments...)
	// Without the variable: the command runs this test again, under the explorer.
	command.Env = append(os.Environ(), "KONTEND=")
	output, err := command.CombinedOutput()
	t.Logf("kontend %s\n%s", strings.Join(arguments, " "), output)
	if errors.Is(err, exec.ErrNotFound) {
		t.Fatal("KONTEND is set, but there is no command kontend: pip install kontend")
	}
	if err != nil {
		t.Fatal(err)
	}
}

// exploration serves the explorer, for one test.
type exploration struct {
	t       *testing.T
	scheme  *runtime.Scheme
	setup   func(ctrl.Manager) error
	options ctrl.Options
	// Recorders of the manager create their Events.
	recordsEvents bool
	// Connections fail, in place of ending the exploration.
	isOffline   bool
	module      string
	mapper      meta.RESTMapper
	resources   []resource
	views       *views
	controllers map[string]*controller
	// The same, in the order in which they were added.
	order     []*controller
	events    []declared
	runs      map[int]*run
	memory    []reflect.Value
	types     types
	externals []*external
	// The run that is not waiting. There is never more than one.
	current *run
	// The run whose events on channels are handled, outside of its bubble.
	sender *run
	// A list that is made to learn what an informer shows.
	listing atomic.Pointer[listing]
}

// running is the run on whose behalf the caller acts. It is nil for goroutines that were started before any run, such
// as those of a recorder of events: at which call of a run they act is chance.
func (e *exploration) running() *run {
	if e.current == nil || !inBubble() {
		return nil
	}
	return e.current
}

func (e *exploration) serve(messages, replies *os.File) {
	source := entropy{e, crand.Reader}
	crand.Reader = source
	uuid.SetRand(source)
	refuseConnections(e)
	informers = newInformer
	countTemporaries()
	if os.Getenv("KONTEND_LOG") == "" {
		ctrl.SetLogger(logr.Discard())
	}
	in, out := bufio.NewReaderSize(messages, 1<<20), bufio.NewWriterSize(replies, 1<<20)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			// The explorer has gone. Runs that still wait are of no use, and cannot be ended cleanly.
			os.Exit(0)
		}
		var m message
		if err := json.Unmarshal(line, &m); err != nil {
			e.t.Fatalf("kontend: a message that is not JSON: %v", err)
		}
		if err := encoder.Encode(e.handle(&m)); err != nil {
			e.t.Fatal(err)
		}
		if err := out.Flush(); err != nil {
			e.t.Fatal(err)
		}
	}
}

func (e *exploration) handle(m *message) *reply {
	switch m.Op {
	case "hello":
		return e.hello(m)
	case "external":
		return e.respond(m)
	case "start", "event":
		c := e.controllers[m.Controller]
		r := newRun(m.ID, e.module)
		r.order, r.memory = m.Order, m.Memory
		if problem := e.enter(r); problem != nil {
			return problem
		}
		e.runs[m.ID] = r
		go func() {
			if m.Op == "event" {
				r.start(e.t, m.Now, func(ctx context.Context) *reply { return c.event(ctx, r, m) })
			} else {
				asked := request{m.Namespace, m.Name}
				r.start(e.t, m.Now, func(ctx context.Context) *reply { return c.handled(ctx, r, asked) })
			}
		}()
		return e.next(r)
	default:
		r := e.runs[m.ID]
		if r == nil {
			return &reply{}
		}
		if problem := e.enter(r); problem != nil {
			return problem
		}
		r.messages <- m
		return e.next(r)
	}
}

// enter lets a run go on: the process is as it has left it.
func (e *exploration) enter(r *run) *reply {
	if err := e.restore(r.memory); err != nil {
		return failed(problemMemory, err)
	}
	e.current = r
	chooseOrder(r.order)
	return nil
}

func (e *exploration) next(r *run) *reply {
	limit := patience
	if len(e.runs) > 1 {
		limit = patienceBeside
	}
	answer := r.next(limit)
	if answer.Problem == nil {
		e.handOver(r)
		answer = r.with(answer)
	}
	e.current = nil
	chooseOrder(0)
	if len(e.memory) > 0 {
		memory, err := e.saved()
		if err != nil {
			return failed(problemMemory, err)
		}
		r.memory = memory
		if answer.Done != nil {
			answer.Done.Memory = memory
		}
	}
	if answer.Calls == nil {
		delete(e.runs, r.id)
	}
	return answer
}

// hello makes the manager and its controllers.
func (e *exploration) hello(m *message) *reply {
	e.module = m.Module
	e.mapper, e.resources = mapperOf(m.Resources), m.Resources
	e.views = newViews(e)
	mgr, err := newManager(e, e.options)
	if err != nil {
		return failed(problemSetup, err)
	}
	if err := e.addControllers(withRecorders(mgr)); err != nil {
		return setupFailed(err)
	}
	answer := &reply{}
	for _, runnable := range mgr.runnables {
		added, ok := runnable.(runnableController)
		if !ok {
			if err := otherController(runnable); err != nil {
				return failed(problemSetup, err)
			}
			continue
		}
		c, err := startController(added, e.views)
		if err != nil {
			return setupFailed(err)
		}
		e.controllers[c.info.Name] = c
		e.order = append(e.order, c)
	}
	e.views.nameViews(e.order)
	for _, c := range e.order {
		c.describe()
	}
	if err := e.checkEvents(); err != nil {
		return failed(problemSetup, err)
	}
	if err := e.nameKinds(); err != nil {
		return failed(problemSetup, err)
	}
	for _, c := range e.order {
		c.info.Events = c.eventNames(e.events)
		answer.Controllers = append(answer.Controllers, c.info)
	}
	answer.Externals = e.externals
	if len(e.memory) > 0 {
		if answer.Memory, err = e.saved(); err != nil {
			return failed(problemSetup, err)
		}
	}
	return answer
}

// addControllers calls the function of the test. Functions that make an informer return no error.
func (e *exploration) addControllers(mgr ctrl.Manager) (err error) {
	defer func() {
		if failure, ok := recover().(informerFailed); ok {
			err = failure.error
		}
	}()
	return e.setup(mgr)
}

// setupFailed names the kind where one has no definition.
func setupFailed(err error) *reply {
	var missing *meta.NoKindMatchError
	if errors.As(err, &missing) && len(missing.SearchedVersions) > 0 {
		gvk := missing.GroupKind.WithVersion(missing.SearchedVersions[0])
		return &reply{Problem: &problem{Kind: problemKind, Text: kindName(gvk)}}
	}
	return failed(problemSetup, err)
}

func mapperOf(resources []resource) meta.RESTMapper {
	mapper := meta.NewDefaultRESTMapper(nil)
	for _, r := range resources {
		scope := meta.RESTScopeRoot
		if r.Namespaced {
			scope = meta.RESTScopeNamespace
		}
		version := schema.GroupVersion{Group: r.Group, Version: r.Version}
		singular := version.WithResource(strings.ToLower(r.Kind))
		mapper.AddSpecific(version.WithKind(r.Kind), version.WithResource(r.Plural), singular, scope)
	}
	return mapper
}
