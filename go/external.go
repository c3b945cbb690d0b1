//go:build go1.25

package kontend

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// External declares something outside of the cluster that reconcilers call, such as a sidecar or the API of a cloud. It
// returns the function that calls it, for a fake client of the operator's own type.
//
// respond is the fake: it changes the state and answers. The state, which must be plain JSON, is a part of the explored
// state; it outlives crashes. Each call is a step of the trace, can fail, and can lose its response after it was carried
// out. Call External in the function given to [Explore].
//
// Without respond, the fake is one in Python: go_controllers(…, externals={name: External(state, respond)}).
func External[State, Call, Answer any](name string, initial State, respond func(*State, Call) (Answer, error)) func(context.Context, Call) (Answer, error) {
	if active != nil {
		state, err := json.Marshal(initial)
		if err != nil {
			panic(fmt.Sprintf("kontend.External(%q): the state is not plain JSON: %v", name, err))
		}
		declared := &external{Name: name, State: state}
		if respond != nil {
			declared.respond = responding(respond)
		}
		declared.Elsewhere = respond == nil
		active.externals = append(active.externals, declared)
	}
	return func(ctx context.Context, c Call) (answer Answer, err error) {
		var r *run
		if active != nil {
			r = active.running()
		}
		if r == nil {
			return answer, fmt.Errorf("kontend: a call of %s outside of a reconcile", name)
		}
		body, err := json.Marshal(c)
		if err != nil {
			return answer, err
		}
		m, err := r.ask(ctx, &call{Type: "external", Name: name, Body: body})
		if err != nil {
			return answer, err
		}
		if m.Code == 0 {
			return answer, lostResponse{}
		}
		if m.Code >= 400 {
			var status metav1.Status
			if err := json.Unmarshal(m.Body, &status); err != nil {
				return answer, err
			}
			return answer, &apierrors.StatusError{ErrStatus: status}
		}
		var given externalAnswer
		if err := json.Unmarshal(m.Body, &given); err != nil {
			return answer, err
		}
		if given.Error != "" {
			return answer, errors.New(given.Error)
		}
		return answer, json.Unmarshal(given.Answer, &answer)
	}
}

// external is something outside, as it is told to the explorer.
type external struct {
	Name  string          `json:"name"`
	State json.RawMessage `json:"state"`
	// Its fake is in Python.
	Elsewhere bool `json:"elsewhere,omitempty"`

	respond func(state, call json.RawMessage) (*externalAnswer, error)
}

// externalAnswer is the result of a call, with the state after it.
type externalAnswer struct {
	State  json.RawMessage `json:"state,omitempty"`
	Answer json.RawMessage `json:"answer,omitempty"`
	Error  string          `json:"error,omitempty"`
}

func responding[State, Call, Answer any](respond func(*State, Call) (Answer, error)) func(state, call json.RawMessage) (*externalAnswer, error) {
	return func(stateData, callData json.RawMessage) (*externalAnswer, error) {
		var state State
		var c Call
		if err := json.Unmarshal(stateData, &state); err != nil {
			return nil, err
		}
		decoder := json.NewDecoder(bytes.NewReader(callData))
		if err := decoder.Decode(&c); err != nil {
			return nil, err
		}
		answer, failure := respond(&state, c)
		given := &externalAnswer{}
		var err error
		if given.State, err = json.Marshal(state); err != nil {
			return nil, err
		}
		if failure != nil {
			given.Error = failure.Error()
			return given, nil
		}
		given.Answer, err = json.Marshal(answer)
		return given, err
	}
}

// respond carries out a call of something outside.
func (e *exploration) respond(m *message) *reply {
	for _, one := range e.externals {
		if one.Name == m.Name {
			answer, err := one.respond(m.State, m.Body)
			if err != nil {
				return failed(problemUnsupported, fmt.Errorf("kontend.External(%q): %w", m.Name, err))
			}
			return &reply{External: answer}
		}
	}
	return failed(problemUnsupported, fmt.Errorf("there is no kontend.External(%q)", m.Name))
}
