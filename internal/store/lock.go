package store

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/beagle-go/beagle"
)

// A Lock is the right to write to the store and to measure on this machine.
type Lock struct {
	f      *os.File
	holder holder
	store  *Store // nil for the lock of a machine
}

// A holder describes, in the lock file, the process that holds the lock.
type holder struct {
	PID   int       `json:"pid"`
	Since time.Time `json:"since"`
	What  string    `json:"what"`
	Run   string    `json:"run,omitempty"` // the run that can be canceled
}

// canceling stands in a remedy for the command that stops the lock's holder.
const canceling = "<its cancel command>"

// Lock takes the store for this process; what names its work, as in "beagle evolve
// ./tags.Normalize". If another process has it, the error is a *beagle.UsageError that names that
// process. The lock ends with this process, however that ends.
func (s *Store) Lock(what string) (*Lock, error) {
	l, err := lockFile(filepath.Join(s.home, "lock"), what, "the store "+s.home,
		"wait for it, stop it with "+canceling+
			", or set BEAGLE_HOME to another directory; two runs at once would disturb each other's measurements")
	if err == nil {
		l.store = s
		s.ownShelves(true)
		s.sweep()
	}
	return l, err
}

// Works reports whether a process works on a run: it has the store and names this run, or had the
// store when the run's entry was last written. Works takes no lock and disturbs no process.
func (s *Store) Works(r Run) bool {
	path := filepath.Join(s.home, "lock")
	if !held(path) {
		return false
	}
	var h holder
	text, err := os.ReadFile(path)
	if err != nil || json.Unmarshal(text, &h) != nil {
		return true // it is just being taken
	}
	if h.Run != "" { // a run that is resumed has an entry from before
		return h.Run == r.ID
	}
	return !r.Updated.Before(h.Since)
}

// LockMachine takes the right to measure on this machine, for a process that shares its store with
// others. A process that has the store alone calls Lock.
func LockMachine(what string) (*Lock, error) {
	path := filepath.Join(os.TempDir(), fmt.Sprintf("beagle-%d.lock", os.Getuid()))
	return lockFile(path, what, "this machine (lock file "+path+")",
		"one process measures at a time; wait for it, or stop it")
}

// LockPart takes one part of the store for this process, as Lock does for the whole. The part is
// the directory dir, called thing in messages; remedy tells others what they can do in the
// meantime.
func (s *Store) LockPart(dir, what, thing, remedy string) (*Lock, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	return lockFile(filepath.Join(dir, "lock"), what, thing, remedy)
}

// lockFile locks a file exclusively, or returns a *beagle.UsageError that names the holder.
func lockFile(path, what, thing, remedy string) (*Lock, error) {
	f, ok, err := tryLock(path)
	// A prober holds the lock shared, for microseconds or a little longer on a busy machine.
	// Only an exclusive lock means that it is in use.
	for n := 0; glance && !ok && err == nil && (n < 50 || n < 10_000 && !held(path)); n++ {
		time.Sleep(2 * time.Millisecond)
		f, ok, err = tryLock(path)
	}
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	if !ok {
		who, stop := holderOf(path)
		return nil, &beagle.UsageError{
			What:   thing + " is in use by " + who,
			Remedy: strings.Replace(remedy, canceling, stop, 1),
		}
	}
	l := &Lock{f: f, holder: holder{PID: os.Getpid(), Since: time.Now(), What: what}}
	if err := l.write(); err != nil {
		unlock(f)
		return nil, err
	}
	return l, nil
}

// Runs names the run of the lock, once there is one: others then learn how to cancel it.
func (l *Lock) Runs(run string) error {
	l.holder.Run = run
	return l.write()
}

func (l *Lock) write() error {
	text, err := json.Marshal(l.holder)
	if err == nil {
		err = l.f.Truncate(0)
	}
	if err == nil {
		_, err = l.f.WriteAt(append(text, '\n'), 0)
	}
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	return nil
}

// holderOf names the holder of a lock, and the way to stop it. The file may be half written.
func holderOf(path string) (who, stop string) {
	var h holder
	text, err := os.ReadFile(path)
	switch {
	case err != nil || json.Unmarshal(text, &h) != nil:
		return "another process", "Ctrl-C where it was started"
	case h.Run != "":
		stop = "`beagle cancel " + h.Run + "`"
	default: // no run is in the store yet
		stop = fmt.Sprintf("Ctrl-C where it was started (process %d)", h.PID)
	}
	return fmt.Sprintf("process %d (%s, since %s)", h.PID, h.What, h.Since.Format("15:04:05")), stop
}

// Unlock gives the lock back.
func (l *Lock) Unlock() error {
	if l.store != nil {
		l.store.ownShelves(false)
	}
	return unlock(l.f)
}
