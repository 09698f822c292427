package store

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/inorder"
)

// A Submission is a version that was handed in to a running search.
type Submission struct {
	ID     string    `json:"id"` // hash of the source: the same text twice is one
	Source string    `json:"source"`
	Note   string    `json:"note,omitempty"`
	At     time.Time `json:"at"`
}

// maxInbox bounds the submissions that wait.
const maxInbox = 64

// Submit puts a version into a run's inbox and returns how many wait there. It needs no lock: the
// process that works on the run takes the versions that it finds.
func (s *Store) Submit(run string, v Submission) (waiting int, err error) {
	entry, err := s.Run(run)
	if err != nil {
		return 0, err
	}
	if entry.State != Running {
		return 0, &beagle.UsageError{
			What:   fmt.Sprintf("run %s is %s", entry.ID, entry.State),
			Remedy: "submit to a run that is running, or judge the version by itself",
		}
	}
	if _, err := os.Stat(filepath.Join(s.inboxDir(entry.ID), closedFile)); err == nil {
		return 0, &beagle.UsageError{
			What:   fmt.Sprintf("run %s has ended its search and judges what it found", entry.ID),
			Remedy: "judge the version by itself when the run is done",
		}
	}
	// The inbox is bounded. A version that waits already is not added again.
	have, err := s.Inbox(entry.ID)
	if err != nil {
		return 0, err
	}
	known := slices.ContainsFunc(have, func(h Submission) bool { return h.ID == v.ID })
	if !known && len(have) >= maxInbox {
		return 0, &beagle.UsageError{
			What:   fmt.Sprintf("%d versions wait for run %s already", len(have), entry.ID),
			Remedy: "wait until the search has taken them",
		}
	}
	data, err := json.Marshal(v)
	if err != nil {
		return 0, err
	}
	dir := s.inboxDir(entry.ID)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return 0, err
	}
	if !known {
		have = append(have, v)
	}
	return len(have), s.WriteFile(filepath.Join(dir, v.ID+".json"), append(data, '\n'))
}

// Inbox lists the submissions that wait for a run, the oldest first.
func (s *Store) Inbox(run string) ([]Submission, error) {
	files, err := os.ReadDir(s.inboxDir(run))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("store: inbox of run %s: %w", run, err)
	}
	var out []Submission
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".json") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(s.inboxDir(run), f.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue // taken meanwhile
		}
		var v Submission
		if err == nil {
			err = json.Unmarshal(text, &v)
		}
		if err != nil {
			return nil, fmt.Errorf("store: inbox of run %s: %s: %w", run, f.Name(), err)
		}
		out = append(out, v)
	}
	inorder.By(out, func(a, b Submission) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.ID, b.ID)) })
	return out, nil
}

// RemoveSubmission removes a submission once its candidate is in the store.
func (s *Store) RemoveSubmission(run, id string) error {
	err := os.Remove(filepath.Join(s.inboxDir(run), filepath.Base(id)+".json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// closedFile is a file in an inbox that takes no more.
const closedFile = "closed"

// CloseInbox says that a run takes no more versions.
func (s *Store) CloseInbox(run string) error {
	if err := os.MkdirAll(s.inboxDir(run), 0o755); err != nil {
		return err
	}
	return s.WriteFile(filepath.Join(s.inboxDir(run), closedFile), nil)
}

func (s *Store) inboxDir(run string) string { return filepath.Join(s.RunDir(run), "inbox") }
