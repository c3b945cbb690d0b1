//go:build go1.25

package kontend

import (
	"context"
	"fmt"
	"net"
	"os"
	"syscall"
)

// dial takes the place of (*net.Dialer).DialContext, once kontend has changed the linked binary: a call that the
// explorer cannot see would not be the same each time.
//
//go:noinline
func dial(_ *net.Dialer, _ context.Context, network, address string) (net.Conn, error) {
	if dialling == nil {
		return nil, fmt.Errorf("kontend: no connection to %s %s while a manager is set up", network, address)
	}
	return nil, dialling(network, address)
}

// Offline lets connections to anything but the API server fail, as where nothing listens. Without it a reconcile that
// connects to something cannot be explored: see [External] for a fake.
func Offline() Option {
	return func(e *exploration) { e.isOffline = true }
}

// dialling is told of connections; it is set so that the linker keeps dial.
var dialling func(network, address string) error

func refuseConnections(e *exploration) {
	dialling = func(network, address string) error {
		if e.isOffline {
			return &net.OpError{Op: "dial", Net: network, Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
		}
		if r := e.running(); r != nil {
			r.refuse(problemOutside, fmt.Sprintf("connects to %s %s", network, address))
		}
		return fmt.Errorf("kontend: connection to %s %s refused", network, address)
	}
	if os.Getenv(pipes) != "" {
		_, _ = dial(nil, context.Background(), "", "")
	}
}
