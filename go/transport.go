//go:build go1.25

package kontend

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
)

// transport forwards the requests of all clients to the explorer. Patch types, options, subresources and errors are
// then those of the real client. Responses carry no Retry-After header, so client-go hands errors on at once: trying
// again is a decision of the reconciler, and one step for the explorer.
type transport struct{ e *exploration }

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if listing := t.e.listing.Load(); listing != nil {
		return listing.note(r), nil
	}
	if found := t.e.discovery(r); found != nil {
		return found, nil
	}
	run := t.e.running()
	if run == nil {
		return nil, fmt.Errorf("kontend: %s %s outside of a reconcile", r.Method, r.URL)
	}
	var body []byte
	if r.Body != nil {
		var err error
		body, err = io.ReadAll(r.Body)
		_ = r.Body.Close()
		if err != nil {
			return nil, err
		}
	}
	m, err := run.ask(r.Context(), &call{
		Type: "http", Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery,
		ContentType: r.Header.Get("Content-Type"), Body: body,
	})
	if err != nil {
		return nil, err
	}
	if m.Code == 0 {
		return nil, lostResponse{}
	}
	return responseTo(r, m.Code, m.Body), nil
}

func responseTo(r *http.Request, code int, body []byte) *http.Response {
	return &http.Response{
		StatusCode: code, Status: http.StatusText(code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Request: r,
		Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
	}
}

// lostResponse is the error of a call that the server may have carried out.
type lostResponse struct{}

func (lostResponse) Error() string   { return "the response was lost" }
func (lostResponse) Timeout() bool   { return true }
func (lostResponse) Temporary() bool { return true }
