//go:build go1.25

package kontend

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// channel is a source of a controller that gets its events from a channel of the operator. It takes the place of the
// real one, whose goroutines would hand events on at some time or other.
type channel struct {
	of *controller
	// The source of controller-runtime, which has the channel, the predicates and the handler.
	source reflect.Value
	asked  chan chan []reflect.Value
}

const sourcePackage = "sigs.k8s.io/controller-runtime/pkg/source"

// takeChannels takes the sources of channels from a controller that is not started yet.
func (c *controller) takeChannels(fields reflect.Value) []*channel {
	sources := fields.FieldByName("startWatches")
	if !sources.IsValid() {
		return nil
	}
	sources = accessible(sources)
	kept := reflect.MakeSlice(sources.Type(), 0, sources.Len())
	taken := []*channel{}
	for i := range sources.Len() {
		source := reflect.Indirect(sources.Index(i).Elem())
		if source.Type().PkgPath() == sourcePackage && strings.HasPrefix(source.Type().Name(), "channel[") {
			taken = append(taken, &channel{of: c, source: source, asked: make(chan chan []reflect.Value)})
		} else {
			kept = reflect.Append(kept, sources.Index(i))
		}
	}
	sources.Set(kept)
	for _, one := range taken {
		go one.receive()
	}
	return taken
}

func (c *channel) field(name string) reflect.Value { return accessible(c.source.FieldByName(name)) }

// receive receives events, so that those who send them go on, and hands them out when asked.
func (c *channel) receive() {
	var events []reflect.Value
	cases := []reflect.SelectCase{
		{Dir: reflect.SelectRecv, Chan: c.field("source")},
		{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(c.asked)},
	}
	for {
		chosen, value, ok := reflect.Select(cases)
		switch {
		case chosen == 1:
			for ok := cases[0].Chan.IsValid(); ok; {
				if value, got := cases[0].Chan.TryRecv(); got {
					events = append(events, value)
				} else {
					ok = false
				}
			}
			value.Interface().(chan []reflect.Value) <- events
			events = nil
		case ok:
			events = append(events, value)
		default: // closed
			cases[0].Chan = reflect.Value{}
		}
	}
}

// sent are the events that were sent so far and not handed out yet.
func (c *channel) sent() []reflect.Value {
	answer := make(chan []reflect.Value)
	c.asked <- answer
	return <-answer
}

// handle lets the predicates and the handler of the source decide what an event enqueues.
func (c *channel) handle(ctx context.Context, event reflect.Value) {
	predicates := c.field("predicates")
	for i := range predicates.Len() {
		if !predicates.Index(i).MethodByName("Generic").Call([]reflect.Value{event})[0].Bool() {
			return
		}
	}
	arguments := []reflect.Value{reflect.ValueOf(ctx), event, reflect.ValueOf(c.of.queue)}
	c.field("handler").MethodByName("Generic").Call(arguments)
}

// handOver handles what a run has sent on channels.
func (e *exploration) handOver(r *run) {
	for _, c := range e.order {
		for _, one := range c.channels {
			for _, event := range one.sent() {
				e.sender = r
				one.handle(context.Background(), event)
				e.sender = nil
			}
		}
	}
}

// Event declares that something outside of the cluster, such as a webhook or a goroutine that polls, may send an event
// on a channel that a source of a controller receives from. It is sent once, at any time; declare it again, by another
// name, for another one. Call Event in the function given to [Explore].
//
// What reconciles send on such channels themselves need not be declared.
func Event[T any](name string, channel chan T, event T) {
	if active != nil {
		active.events = append(active.events, declared{name, reflect.ValueOf(channel).Pointer(), reflect.ValueOf(&event).Elem()})
	}
}

// declared is an event that may be sent from outside.
type declared struct {
	name    string
	channel uintptr
	event   reflect.Value
}

// eventKind is the kind of the objects that stand for declared events: that one changes says that it was sent.
const eventKind = "External.explore.kontend.dev/v1"

// eventNames are the declared events that a controller gets.
func (c *controller) eventNames(events []declared) (names []string) {
	for _, event := range events {
		for _, one := range c.channels {
			if one.field("source").Pointer() == event.channel {
				names = append(names, event.name)
			}
		}
	}
	return names
}

// handleDeclared handles a declared event that was sent.
func (c *controller) handleDeclared(ctx context.Context, events []declared, before, after json.RawMessage) error {
	if len(before) == 0 || string(before) == "null" || len(after) == 0 || string(after) == "null" {
		return nil
	}
	var object struct {
		Metadata struct{ Name string }
	}
	if err := json.Unmarshal(after, &object); err != nil {
		return err
	}
	for _, event := range events {
		for _, one := range c.channels {
			if event.name == object.Metadata.Name && one.field("source").Pointer() == event.channel {
				one.handle(ctx, event.event)
			}
		}
	}
	return nil
}

// nameKinds gives a kind to controllers that watch none, because they only get events of channels: that of a declared
// event, or of another controller of the manager.
func (e *exploration) nameKinds() error {
	for _, c := range e.order {
		for _, event := range e.events {
			object := reflect.Indirect(event.event).FieldByName("Object")
			if c.info.Kind != "" || !object.IsValid() || !slices.Contains(c.eventNames([]declared{event}), event.name) {
				continue
			}
			if obj, ok := object.Interface().(runtime.Object); ok {
				gvk, err := apiutil.GVKForObject(obj, e.scheme)
				if err != nil {
					return fmt.Errorf("kontend.Event(%q): %w", event.name, err)
				}
				c.info.Kind = kindName(gvk)
			}
		}
		for _, other := range e.order {
			if c.info.Kind == "" {
				c.info.Kind = other.info.Kind
			}
		}
		if c.info.Kind == "" {
			return fmt.Errorf("controller %s watches no kind; declare the events of its channels with kontend.Event", c.info.Name)
		}
	}
	return nil
}

// checkEvents reports an event that no controller gets.
func (e *exploration) checkEvents() error {
	got := map[string]bool{}
	for _, c := range e.order {
		for _, name := range c.eventNames(e.events) {
			got[name] = true
		}
	}
	for _, event := range e.events {
		if !got[event.name] {
			return fmt.Errorf("kontend.Event(%q): no controller has a source with its channel (WatchesRawSource(source.Channel(…)))", event.name)
		}
	}
	return nil
}
