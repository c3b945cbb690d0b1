//go:build go1.25

package kontend

import (
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

// isOf reports whether a function belongs to a module, as its qualified name says.
func isOf(function, module string) bool {
	rest, ok := strings.CutPrefix(function, module)
	return ok && module != "" && rest != "" && strings.ContainsRune("./_", rune(rest[0]))
}
