// Package scratch makes directories for the time of a process that do not
// outlive it: those of processes that were killed are removed when the next one
// makes its first. It also replaces files whole, so that a killed process leaves
// no half of one.
//
// Beside each directory lies a file of the same name with ".lock" at the end,
// which its owner keeps locked. The kernel lets go of the lock however the
// owner ends, so a directory whose lock can be taken has no owner any more, and
// that of a living process is never removed.
package scratch

import (
	"os"
	"path/filepath"
	"strconv"
	"sync"
)

// A Dir is a directory of this process.
type Dir struct {
	Path string
	lock *os.File // nil where files cannot be locked
}

var swept sync.Once

// New makes a directory in the system's place for temporary files. Its name
// holds the kind and the number of the process, for people.
func New(kind string) (*Dir, error) {
	swept.Do(func() { Sweep(os.TempDir()) })
	for {
		d, err := create(filepath.Join(os.TempDir(), prefix+kind+"-"+strconv.Itoa(os.Getpid())+"-"))
		if d != nil || err != nil {
			return d, err
		}
	}
}

// Remove removes the directory with all that it holds.
func (d *Dir) Remove() error {
	err := os.RemoveAll(d.Path)
	if d.lock != nil {
		os.Remove(d.lock.Name())
		d.lock.Close()
	}
	return err
}

const (
	prefix = "beagle-"
	suffix = ".lock"
)
