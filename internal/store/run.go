package store

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/inorder"
)

// A State is the stage of a run's life.
type State string

const (
	Running  State = "running"  // or its process was killed: see Store.Lock
	Stopped  State = "stopped"  // by the user; can be resumed
	Done     State = "done"     // it has a result
	Canceled State = "canceled" // by 'beagle cancel'
	Failed   State = "failed"   // the machinery did; can be resumed
)

// NewID returns an ID for a new run.
func NewID() string {
	var b [6]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// A Run is one entry of the index of runs.
type Run struct {
	ID      string    `json:"id"`
	Target  string    `json:"target"` // Target.ID
	Spec    string    `json:"spec"`   // Target.Spec, for people
	State   State     `json:"state"`
	Note    string    `json:"note,omitempty"` // outcome or failure, in a line
	Created time.Time `json:"created"`
	Updated time.Time `json:"updated"`
}

// SaveRun writes a run's entry; the times are the caller's.
func (s *Store) SaveRun(r Run) error {
	if r.ID == "" || r.ID != filepath.Base(r.ID) || strings.HasPrefix(r.ID, ".") {
		return fmt.Errorf("store: %q is not a run's ID", r.ID)
	}
	return s.Save(r.ID, "run", r)
}

// Run finds a run by its ID or the beginning of it.
func (s *Store) Run(id string) (Run, error) {
	runs, err := s.Runs()
	if err != nil {
		return Run{}, err
	}
	var found []Run
	for _, r := range runs {
		if r.ID == id {
			return r, nil
		}
		if id != "" && strings.HasPrefix(r.ID, id) {
			found = append(found, r)
		}
	}
	switch len(found) {
	case 0:
		return Run{}, &beagle.UsageError{
			What:   fmt.Sprintf("no run %q in %s", id, s.home),
			Remedy: "'beagle runs' lists them",
		}
	case 1:
		return found[0], nil
	}
	return Run{}, &beagle.UsageError{
		What:   fmt.Sprintf("%q is the beginning of %d runs: %s and %s", id, len(found), found[0].ID, found[1].ID),
		Remedy: "give more of the ID",
	}
}

// Runs lists the runs, the newest first. A directory without a readable entry
// is no run yet.
func (s *Store) Runs() ([]Run, error) {
	dirs, err := os.ReadDir(filepath.Join(s.home, "runs"))
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	var out []Run
	for _, d := range dirs {
		var r Run
		if ok, err := s.Load(d.Name(), "run", &r); ok && err == nil {
			out = append(out, r)
		}
	}
	inorder.By(out, func(a, b Run) int {
		return cmp.Or(b.Created.Compare(a.Created), cmp.Compare(a.ID, b.ID))
	})
	return out, nil
}

// RunDir returns the directory of a run.
func (s *Store) RunDir(id string) string { return filepath.Join(s.home, "runs", id) }

// Save writes a value under a name in a run's directory, durably: a checkpoint.
func (s *Store) Save(run, name string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("store: save %s of run %s: %w", name, run, err)
	}
	return s.WriteFile(filepath.Join(s.RunDir(run), name+".json"), append(data, '\n'))
}

// Load reads what Save wrote, and reports whether there is something.
func (s *Store) Load(run, name string, v any) (bool, error) {
	err := ReadJSON(filepath.Join(s.RunDir(run), name+".json"), v)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// RequestCancel asks the process that works on a run to end it. It needs no
// lock; that process looks with CancelRequested.
func (s *Store) RequestCancel(run string) error {
	return s.Save(run, "cancel", time.Now())
}

// CancelRequested reports whether someone asked to end the run.
func (s *Store) CancelRequested(run string) bool {
	_, err := os.Stat(filepath.Join(s.RunDir(run), "cancel.json"))
	return err == nil
}

// ClearCancel takes back what RequestCancel asked for, so that the run can go
// on.
func (s *Store) ClearCancel(run string) error {
	err := os.Remove(filepath.Join(s.RunDir(run), "cancel.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
