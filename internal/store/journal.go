package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// A Journal is a file of JSON lines that is only appended to.
type Journal struct {
	mu sync.Mutex
	f  *os.File
}

// Journal opens a run's journal for appending, and makes it if it is not
// there. A line that was cut short when its writer ended is removed.
func (s *Store) Journal(run, name string) (*Journal, error) {
	return OpenJournal(s.journalPath(run, name))
}

// OpenJournal does the same with a file of any name.
func OpenJournal(path string) (*Journal, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	data, err := os.ReadFile(path)
	if err == nil {
		if whole := len(wholeLines(data)); whole < len(data) {
			err = f.Truncate(int64(whole))
		}
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("store: %w", err)
	}
	return &Journal{f: f}, nil
}

func (s *Store) journalPath(run, name string) string {
	return filepath.Join(s.RunDir(run), name+".jsonl")
}

// Append adds a line in one write, or nothing. It survives the end of this
// process at once, and a power loss after Sync.
func (j *Journal) Append(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("store: journal: %w", err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	n, err := j.f.Write(append(line, '\n'))
	if err == nil {
		return nil
	}
	return fmt.Errorf("store: %w", errors.Join(err, j.cut(n)))
}

// cut takes back the begin of a line that a full disk left behind: the next
// line would continue it.
func (j *Journal) cut(n int) error {
	if n == 0 {
		return nil
	}
	info, err := j.f.Stat()
	if err != nil {
		return err
	}
	return j.f.Truncate(info.Size() - int64(n))
}

// Sync makes the appended entries durable.
func (j *Journal) Sync() error { return j.f.Sync() }

// Close closes the journal.
func (j *Journal) Close() error { return j.f.Close() }

// AppendLine adds a line to a file of any name, and returns when it is on the disk.
func AppendLine(path string, v any) error {
	j, err := OpenJournal(path)
	if err != nil {
		return err
	}
	return errors.Join(j.Append(v), j.Sync(), j.Close())
}

// ReadJournal returns the entries of a run's journal, none if there is none. A
// torn last line is left out; damage before that is an error that names it.
func ReadJournal[T any](s *Store, run, name string) ([]T, error) {
	return ReadLines[T](s.journalPath(run, name))
}

// ReadLines does the same with a file of any name that a Journal wrote.
func ReadLines[T any](path string) ([]T, error) {
	var out []T
	err := readLines(path, func(line []byte) error {
		var v T
		if err := json.Unmarshal(line, &v); err != nil {
			return err
		}
		out = append(out, v)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// readLines gives the lines of a file to enter, and names the line that it refuses.
func readLines(path string, enter func(line []byte) error) error {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	n := 0
	for line := range bytes.Lines(wholeLines(data)) {
		n++
		if err := enter(line); err != nil {
			return fmt.Errorf("store: %s:%d: %w; remove the line", path, n, err)
		}
	}
	return nil
}

// wholeLines returns data without a damaged end: a line without its newline, or, after power loss,
// lines that are not JSON.
func wholeLines(data []byte) []byte {
	data = data[:bytes.LastIndexByte(data, '\n')+1]
	for len(data) > 0 {
		start := bytes.LastIndexByte(data[:len(data)-1], '\n') + 1
		if json.Valid(data[start:]) {
			break
		}
		data = data[:start]
	}
	return data
}
