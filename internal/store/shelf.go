package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// A shelf holds the results of many candidates whose keys differ in the candidate only, in one
// file of lines: making a file takes many times as long as adding a line. The holder of the
// store's lock adds to it; others read it.
type shelf struct {
	mu    sync.Mutex
	path  string
	read  int64             // bytes of the file that are in the index
	index map[string]extent // by candidate; the last line counts
	mine  bool              // this process has the lock, and is the only writer
	out   *os.File          // open for appending; nil until something is added
}

// An extent is the place of a line in its file.
type extent struct{ at, length int64 }

// A book is a line of a shelf.
type book struct {
	Candidate string          `json:"candidate"`
	Sum       string          `json:"sum"` // of Value
	Value     json.RawMessage `json:"value"`
}

// Shelve keeps a result as Cache does, where many share all of their key but
// the candidate. A process that works alone adds it to their shelf, others make
// a file of it.
func (s *Store) Shelve(k Key, v any) error {
	value, err := json.Marshal(v)
	if err == nil {
		err = s.shelf(k).add(book{k.Candidate, sum(value), value})
	}
	if err == errNotMine {
		return s.Cache(k, v)
	}
	if err != nil {
		return fmt.Errorf("store: shelve %s: %w", k.Kind, err)
	}
	return nil
}

// Shelved reads a result that Shelve has kept. It takes a damaged entry for none.
func (s *Store) Shelved(k Key, v any) bool {
	value, ok := s.shelf(k).find(k.Candidate)
	if ok && json.Unmarshal(value, v) == nil {
		return true
	}
	return s.Cached(k, v)
}

// shelf returns the shelf for a key.
func (s *Store) shelf(k Key) *shelf {
	k.Candidate = ""
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.shelves[k]; h != nil {
		return h
	}
	if s.shelves == nil {
		s.shelves = map[Key]*shelf{}
	}
	h := &shelf{
		path:  filepath.Join(s.home, "cache", k.Kind, "shelf-"+k.ID()+".jsonl"),
		index: map[string]extent{},
		mine:  s.alone,
	}
	s.shelves[k] = h
	return h
}

// ownShelves begins or ends the adding to shelves: another process may have had
// the lock before, and may have it next.
func (s *Store) ownShelves(alone bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.alone = alone
	for _, h := range s.shelves {
		h.close()
	}
	s.shelves = nil
}

// close gives up a shelf, also for callers that still hold it.
func (h *shelf) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.mine = false
	if h.out != nil {
		h.out.Close()
		h.out = nil
	}
}

// errNotMine says that another process may be adding to a shelf.
var errNotMine = errors.New("the store is not locked")

// add appends a line in one write, so that it survives the end of the process
// at once.
func (h *shelf) add(b book) error {
	line, err := json.Marshal(b)
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.mine {
		return errNotMine
	}
	if err := h.prepare(); err != nil {
		return err
	}
	line = append(line, '\n')
	if _, err := h.out.Write(line); err != nil {
		return errors.Join(err, h.out.Truncate(h.read))
	}
	h.index[b.Candidate] = extent{h.read, int64(len(line))}
	h.read += int64(len(line))
	return nil
}

// prepare makes the shelf ready for adding, and cuts off a line that its last
// writer did not finish.
func (h *shelf) prepare() error {
	if h.out != nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(h.path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(h.path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	if err = h.refresh(); err == nil {
		err = f.Truncate(h.read)
	}
	if err != nil {
		f.Close()
		return err
	}
	h.out = f
	return nil
}

// find reads the entry of a candidate. Without the lock it first reads the lines that were added
// since.
func (h *shelf) find(candidate string) (json.RawMessage, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	e, ok := h.index[candidate]
	if !ok && (h.read == 0 || !h.mine) && h.out == nil && h.refresh() == nil {
		e, ok = h.index[candidate]
	}
	if !ok {
		return nil, false
	}
	line, err := h.line(e)
	var b book
	if err != nil || json.Unmarshal(line, &b) != nil || b.Candidate != candidate || sum(b.Value) != b.Sum {
		return nil, false
	}
	return b.Value, true
}

func (h *shelf) line(e extent) ([]byte, error) {
	f, err := os.Open(h.path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	line := make([]byte, e.length)
	_, err = f.ReadAt(line, e.at)
	return line, err
}

// refresh takes what was added since into the index. A line that cannot be read
// is left out, and so is one at the end that is being written.
func (h *shelf) refresh() error {
	// Read what is new in the file.
	f, err := os.Open(h.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Size() == h.read {
		return err
	}
	data, err := io.ReadAll(io.NewSectionReader(f, h.read, 1<<62))
	if err != nil {
		return err
	}
	// Enter each whole line with its place.
	for line := range bytes.Lines(data) {
		if line[len(line)-1] != '\n' {
			break
		}
		var b struct {
			Candidate string `json:"candidate"`
		}
		if json.Unmarshal(line, &b) == nil && b.Candidate != "" {
			h.index[b.Candidate] = extent{h.read, int64(len(line))}
		}
		h.read += int64(len(line))
	}
	return nil
}
