//go:build go1.25

package kontend

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"sort"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// patience is the real time within which a run must wait for something. Runs take no time of their own.
const patience = 20 * time.Second

// patienceBeside is the same while other runs wait, which may hold a lock that this one needs. The explorer then runs
// them one after the other.
const patienceBeside = 4 * time.Second

// run is a reconcile, or the handling of an event, that is under way in a bubble of its own.
type run struct {
	id     int
	module string
	// Made outside of the bubble, so that no virtual time passes while the run waits for the explorer.
	messages chan *message
	replies  chan *reply
	// The state of the generator of random bytes, and the order of maps.
	random, order uint64
	// The declared memory while others run.
	memory json.RawMessage

	// The request that is handled, and by which controller; for a worker of client-go, it has taken the request.
	worker *controller
	asked  request
	taken  bool

	mu     sync.Mutex
	made   int
	fresh  []*call
	calls  []*call
	result *reply
	// What it has added to queues since the last reply.
	added []addition
	// The objects of informers that it has read.
	lent []lent
	// For a worker: it wants to handle its request again, and the error that it has reported.
	again bool
	after time.Duration
	err   error
	// Something that the run did and that cannot be explored.
	refused *problem
	closed  bool
	// Made in the bubble: virtual time passes while only timers are left to wait for.
	wake chan struct{}
}

func newRun(id int, module string) *run {
	return &run{id: id, module: module, messages: make(chan *message), replies: make(chan *reply, 1)}
}

// start lets work run until it waits, each time, and ends it when it returns or is closed.
func (r *run) start(t *testing.T, now string, work func(context.Context) *reply) {
	var last *reply
	defer func() {
		if p := recover(); p != nil {
			kind := problemDeadlock
			if r.result != nil {
				kind = problemLeft
			}
			stack, where := goroutinesOf(r.module)
			last = &reply{Problem: &problem{Kind: kind, Text: fmt.Sprint(p), location: where, Stack: stack}}
			if r.closed {
				last = &reply{}
			}
		}
		r.replies <- last
	}()
	synctest.Test(t, func(*testing.T) {
		if at, err := time.Parse(time.RFC3339, now); err == nil {
			time.Sleep(time.Until(at))
		}
		r.wake = make(chan struct{}, 1)
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		go func() {
			result := work(ctx)
			r.mu.Lock()
			r.result = result
			r.mu.Unlock()
			r.poke()
		}()
		last = r.serve(cancel)
	})
}

// serve exchanges messages until the run has ended; the last reply is returned, not sent.
func (r *run) serve(cancel func()) *reply {
	for {
		synctest.Wait()
		answer := r.state()
		switch {
		case answer == nil:
			<-r.wake
			continue
		case answer.Calls == nil:
			cancel()
			synctest.Wait()
			if r.closed {
				return &reply{}
			}
			return answer
		}
		r.replies <- answer
		m := <-r.messages
		if m.Op == "close" {
			r.close(cancel)
			continue
		}
		r.answer(m)
	}
}

// state is the reply that the run is ready for; nil as long as it only waits for time to pass.
func (r *run) state() *reply {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.result != nil {
		return r.result
	}
	// Goroutines that call at the same time have no order of their own: their calls are ordered by content.
	content := map[*call]string{}
	for _, c := range r.fresh {
		data, _ := json.Marshal(c)
		content[c] = string(data)
	}
	sort.SliceStable(r.fresh, func(i, j int) bool { return content[r.fresh[i]] < content[r.fresh[j]] })
	for _, c := range r.fresh {
		r.made++
		c.N = r.made
	}
	r.calls = append(r.calls, r.fresh...)
	r.fresh = nil
	if len(r.calls) == 0 {
		return nil
	}
	return &reply{Calls: slices.Clone(r.calls)}
}

func (r *run) answer(m *message) {
	r.mu.Lock()
	at := slices.IndexFunc(r.calls, func(c *call) bool { return c.N == m.N })
	c := r.calls[at]
	r.calls = slices.Delete(r.calls, at, at+1)
	r.mu.Unlock()
	c.answers <- m
}

// close ends a run that nobody needs any more: all its calls fail from now on.
func (r *run) close(cancel func()) {
	r.mu.Lock()
	r.closed = true
	abandoned := r.calls
	r.calls = nil
	r.mu.Unlock()
	cancel()
	for _, c := range abandoned {
		c.answers <- nil
	}
}

func (r *run) poke() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// ask makes a call and waits for its answer.
func (r *run) ask(ctx context.Context, c *call) (*message, error) {
	c.answers = make(chan *message, 1)
	c.location = lineIn(r.module)
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return nil, context.Canceled
	}
	r.fresh = append(r.fresh, c)
	r.mu.Unlock()
	r.poke()
	select {
	case m := <-c.answers:
		if m == nil {
			return nil, context.Canceled
		}
		return m, nil
	case <-ctx.Done():
		r.mu.Lock()
		defer r.mu.Unlock()
		without := func(calls []*call) []*call {
			return slices.DeleteFunc(calls, func(other *call) bool { return other == c })
		}
		r.calls, r.fresh = without(r.calls), without(r.fresh)
		return nil, ctx.Err()
	}
}

// refuse ends the run: it does something that cannot be explored.
func (r *run) refuse(kind, what string) {
	where := lineIn(r.module)
	if where.Line == 0 { // a goroutine of a library, which works for one of the module
		_, where = goroutinesOf(r.module)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.refused == nil {
		r.refused = &problem{Kind: kind, Text: what, location: where}
	}
}

// next is the next reply of a run; a problem if it does not come to wait in real time.
func (r *run) next(patience time.Duration) *reply {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case answer := <-r.replies:
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.refused != nil && !r.closed {
			return &reply{Problem: r.refused}
		}
		return answer
	case <-timer.C:
		stack, where := goroutinesOf(r.module)
		r.mu.Lock()
		defer r.mu.Unlock()
		kind := problemStuck
		if r.result != nil {
			kind = problemLeft
		}
		text := fmt.Sprintf("still busy after %v", patience)
		return &reply{Problem: &problem{Kind: kind, Text: text, location: where, Stack: stack}}
	}
}

// with is a reply with what the run has added to queues since the last one.
func (r *run) with(answer *reply) *reply {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.refused != nil && !r.closed {
		return &reply{Problem: r.refused}
	}
	// Goroutines that add at the same time have no order of their own.
	slices.SortFunc(r.added, func(one, other addition) int {
		return cmp.Or(cmp.Compare(one.Controller, other.Controller), cmp.Compare(one.Namespace, other.Namespace), cmp.Compare(one.Name, other.Name))
	})
	answer.Added = slices.Compact(r.added)
	r.added = nil
	return answer
}

// inBubble reports whether the calling goroutine belongs to a run.
func inBubble() bool {
	var header [96]byte
	first, _, _ := bytes.Cut(header[:runtime.Stack(header[:], false)], []byte("\n"))
	return bytes.Contains(first, []byte("synctest bubble"))
}

// goroutinesOf is the stacks of the goroutines that run code of a module, and the innermost line of the first of them.
func goroutinesOf(module string) (string, location) {
	buffer := make([]byte, 1<<22)
	var chosen []string
	var where location
	for _, stack := range strings.Split(string(buffer[:runtime.Stack(buffer, true)]), "\n\n") {
		lines := strings.Split(stack, "\n")
		if !strings.Contains(lines[0], "synctest bubble") {
			continue
		}
		for at, line := range lines {
			if !isOf(line, module) || at+1 >= len(lines) {
				continue
			}
			chosen = append(chosen, stack)
			if where.Line == 0 {
				where.Function = line
				place, _, _ := strings.Cut(strings.TrimSpace(lines[at+1]), " ")
				if colon := strings.LastIndex(place, ":"); colon >= 0 {
					where.File = place[:colon]
					_, _ = fmt.Sscan(place[colon+1:], &where.Line)
				}
			}
			break
		}
	}
	if len(chosen) > 5 {
		chosen = chosen[:5]
	}
	return strings.Join(chosen, "\n\n"), where
}
