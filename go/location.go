//go:build go1.25

package kontend

import (
	"fmt"
	"runtime"
	"strings"
)

// location is a line of source code.
type location struct {
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`
	Function string `json:"function,omitempty"`
}

// lineIn is the innermost frame of the calling goroutine that is code of a module. Libraries call on behalf of the
// module, so their frames say less.
func lineIn(module string) location {
	pcs := make([]uintptr, 128)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	for {
		frame, more := frames.Next()
		if isOf(frame.Function, module) {
			return location{frame.File, frame.Line, frame.Function}
		}
		if !more {
			return location{}
		}
	}
}

// framesFrom is the stack from the innermost frame of a module outwards, without our own frames.
func framesFrom(module string) string {
	pcs := make([]uintptr, 128)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	var text strings.Builder
	for found := false; ; {
		frame, more := frames.Next()
		found = found || isOf(frame.Function, module)
		if found && isOf(frame.Function, ourModule) {
			return text.String()
		}
		if found {
			fmt.Fprintf(&text, "%s\n\t%s:%d\n", frame.Function, frame.File, frame.Line)
		}
		if !more {
			return text.String()
		}
	}
}

const ourModule = "kontend.dev/kontend"

// isOf reports whether a function belongs to a module, as its qualified name says.
func isOf(function, module string) bool {
	rest, ok := strings.CutPrefix(function, module)
	return ok && module != "" && rest != "" && strings.ContainsRune("./_", rune(rest[0]))
}
