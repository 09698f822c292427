package store

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/beagle-go/beagle"
)

// A Lock is the right to write to the store and to measure on this machine.
type Lock struct {
	f *os.File
}

// holder is what the lock file says of the process that holds it.
type holder struct {
	PID   int       `json:"pid"`
	Since time.Time `json:"since"`
	What  string    `json:"what"`
}

// Lock takes the store for this process; what says what for, as in
// "beagle evolve ./tags.Normalize". When another process has it, the error is
// a *beagle.UsageError that names it. The lock ends with the process, however
// that ends.
func (s *Store) Lock(what string) (*Lock, error) {
	path := filepath.Join(s.home, "lock")
	f, ok, err := tryLock(path)
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	if !ok {
		return nil, s.taken(path)
	}
	text, _ := json.Marshal(holder{PID: os.Getpid(), Since: time.Now(), What: what})
	if err = f.Truncate(0); err == nil {
		_, err = f.WriteAt(append(text, '\n'), 0)
	}
	if err != nil {
		unlock(f)
		return nil, fmt.Errorf("store: %w", err)
	}
	s.sweep()
	return &Lock{f: f}, nil
}

// taken says who has the lock. Its file may be just being written.
func (s *Store) taken(path string) error {
	var h holder
	who := "another process"
	if text, err := os.ReadFile(path); err == nil && json.Unmarshal(text, &h) == nil {
		who = fmt.Sprintf("process %d (%s, since %s)", h.PID, h.What, h.Since.Format("15:04:05"))
	}
	return &beagle.UsageError{
		What:   fmt.Sprintf("the store %s is in use by %s", s.home, who),
		Remedy: "wait for it, stop it with `beagle cancel`, or set BEAGLE_HOME to another directory; two runs at once would disturb each other's measurements",
	}
}

// Unlock gives the store back.
func (l *Lock) Unlock() error { return unlock(l.f) }
