package store

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/beagle-go/beagle"
)

// Format is the version of the layout that this package reads and writes.
const Format = 1

// A Store is an open store.
type Store struct {
	home string

	mu      sync.Mutex
	alone   bool // this process has the lock
	shelves map[Key]*shelf
}

// Home returns the directory of the store: $BEAGLE_HOME, or beagle in the user's cache directory.
func Home() (string, error) {
	if dir := os.Getenv("BEAGLE_HOME"); dir != "" {
		if !filepath.IsAbs(dir) { // every command would look elsewhere, and make a store in the user's module
			return "", &beagle.UsageError{
				What:   fmt.Sprintf("BEAGLE_HOME=%s is another place in every directory", dir),
				Remedy: "set it to an absolute path: export BEAGLE_HOME=$PWD/" + dir,
			}
		}
		return dir, nil
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", &beagle.UsageError{
			What:   "no place for the store: " + err.Error(),
			Remedy: "set BEAGLE_HOME to a directory",
		}
	}
	return filepath.Join(dir, "beagle"), nil
}

// Open opens the store in home and makes it if it is not there.
func Open(home string) (*Store, error) {
	s := &Store{home: home}
	for _, dir := range []string{"blobs", "cache", "runs", "tmp"} {
		if err := os.MkdirAll(filepath.Join(home, dir), 0o755); err != nil {
			return nil, &beagle.UsageError{
				What:   "cannot make the store: " + err.Error(),
				Remedy: "set BEAGLE_HOME to a directory that you may write to",
			}
		}
	}
	return s, s.checkFormat()
}

// checkFormat refuses a store of a newer format, and marks a new store with its own.
func (s *Store) checkFormat() error {
	path := filepath.Join(s.home, "format")
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return s.WriteFile(path, []byte(strconv.Itoa(Format)+"\n"))
	}
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	v, err := strconv.Atoi(strings.TrimSpace(string(text)))
	switch {
	case err != nil:
		return &beagle.UsageError{
			What:   fmt.Sprintf("%s: %q is not a version number", path, text),
			Remedy: "move " + s.home + " away, or set BEAGLE_HOME to another directory",
		}
	case v > Format:
		return &beagle.UsageError{
			What: fmt.Sprintf("%s was written by a newer version of Beagle (format %d, this one knows %d)",
				s.home, v, Format),
			Remedy: "upgrade Beagle, or set BEAGLE_HOME to another directory",
		}
	}
	return nil
}

// Dir returns the directory of the store.
func (s *Store) Dir() string { return s.home }

// WriteFile writes a file whole or not at all.
func (s *Store) WriteFile(path string, data []byte) error {
	return s.write(path, data, true)
}

// WriteJSON writes a value as a file for people too, whole or not at all.
func (s *Store) WriteJSON(path string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("store: %s: %w", path, err)
	}
	return s.WriteFile(path, append(data, '\n'))
}

// ReadJSON reads a value from a file. If there is no such file, the error is fs.ErrNotExist.
func ReadJSON(path string, v any) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("store: %s: %w", path, err)
	}
	return nil
}

// write replaces a file as a whole. With sync, the file outlasts a loss of power.
func (s *Store) write(path string, data []byte, sync bool) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	f, err := os.CreateTemp(filepath.Join(s.home, "tmp"), "write-")
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	_, err = f.Write(data)
	if err == nil && sync {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	if err == nil && sync {
		err = syncDir(filepath.Dir(path))
	}
	if err != nil {
		return fmt.Errorf("store: write %s: %w", path, err)
	}
	return nil
}

// syncDir makes a rename durable. Not every system can; there the rename may
// be lost with the power, but not half done.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	_ = d.Sync()
	return nil
}

// sweep removes what processes that were killed left half written.
func (s *Store) sweep() {
	old := time.Now().Add(-time.Hour)
	files, _ := os.ReadDir(filepath.Join(s.home, "tmp"))
	for _, f := range files {
		if info, err := f.Info(); err == nil && info.ModTime().Before(old) {
			os.Remove(filepath.Join(s.home, "tmp", f.Name()))
		}
	}
}

func sum(data []byte) string {
	h := sha256.Sum256(data)
	return hex.EncodeToString(h[:])
}

// Put keeps a blob and returns its ID, the hash of its content.
func (s *Store) Put(data []byte) (string, error) {
	id := sum(data)
	if info, err := os.Stat(s.BlobPath(id)); err == nil && info.Size() == int64(len(data)) {
		return id, nil
	}
	return id, s.WriteFile(s.BlobPath(id), data)
}

// Get returns a blob. The error of one that is not there is fs.ErrNotExist,
// and so it is of one that does not match its ID any more.
func (s *Store) Get(id string) ([]byte, error) {
	data, err := os.ReadFile(s.BlobPath(id))
	if err != nil {
		return nil, fmt.Errorf("store: blob %s: %w", id, err)
	}
	if sum(data) != id {
		return nil, fmt.Errorf("store: blob %s is damaged: %w", id, fs.ErrNotExist)
	}
	return data, nil
}

// BlobPath returns the file of a blob, for those that must be given a file. It must not be changed.
func (s *Store) BlobPath(id string) string {
	return filepath.Join(s.home, "blobs", prefix(id), id)
}

func prefix(id string) string { return id[:min(2, len(id))] }

// PutJSON keeps a value as a blob.
func (s *Store) PutJSON(v any) (string, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("store: %w", err)
	}
	return s.Put(data)
}

// GetJSON reads a value that PutJSON kept.
func (s *Store) GetJSON(id string, v any) error {
	data, err := s.Get(id)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("store: blob %s: %w", id, err)
	}
	return nil
}
