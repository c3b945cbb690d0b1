//go:build go1.25

package kontend

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
)

// createTemp and makeTemp take the place of os.CreateTemp and os.MkdirTemp, once kontend has changed the linked binary:
// their names come from the random numbers that also order maps, which are always the same. The names of these count.

//go:noinline
func createTemp(dir, pattern string) (file *os.File, err error) {
	for {
		name, err := temporary("createtemp", dir, pattern)
		if err != nil {
			return nil, err
		}
		if file, err = os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); !os.IsExist(err) {
			return file, err
		}
	}
}

//go:noinline
func makeTemp(dir, pattern string) (string, error) {
	for {
		name, err := temporary("mkdirtemp", dir, pattern)
		if err != nil {
			return "", err
		}
		if err = os.Mkdir(name, 0o700); err == nil {
			return name, nil
		} else if !os.IsExist(err) {
			return "", err
		}
	}
}

// temporaries are set so that the linker keeps the functions.
var temporaries = struct {
	create  func(string, string) (*os.File, error)
	makeDir func(string, string) (string, error)
	count   atomic.Int64
}{}

func countTemporaries() { temporaries.create, temporaries.makeDir = createTemp, makeTemp }

// temporary is a name that was not given before.
func temporary(operation, dir, pattern string) (string, error) {
	if strings.ContainsRune(pattern, os.PathSeparator) {
		return "", &os.PathError{Op: operation, Path: pattern, Err: fmt.Errorf("pattern contains path separator")}
	}
	if dir == "" {
		dir = os.TempDir()
	}
	before, after := pattern, ""
	if star := strings.LastIndex(pattern, "*"); star >= 0 {
		before, after = pattern[:star], pattern[star+1:]
	}
	return filepath.Join(dir, fmt.Sprintf("%s%d%d%s", before, os.Getpid(), temporaries.count.Add(1), after)), nil
}
