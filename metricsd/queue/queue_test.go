package queue

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func open(t *testing.T, dir string, max int64) *Queue {
	t.Helper()
	q, err := Open(dir, max)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func put(t *testing.T, q *Queue, payloads ...string) {
	t.Helper()
	for _, p := range payloads {
		if err := q.Put([]byte(p)); err != nil {
			t.Fatal(err)
		}
	}
}

// take empties the queue.
func take(t *testing.T, q *Queue) string {
	t.Helper()
	var all []string
	for {
		payload, id, ok := q.Oldest()
		if !ok {
			return strings.Join(all, ",")
		}
		all = append(all, string(payload))
		if err := q.Remove(id); err != nil {
			t.Fatal(err)
		}
	}
}

func TestOrderAndRestart(t *testing.T) {
	dir := t.TempDir()
	q := open(t, dir, 1<<20)
	put(t, q, "a", "b")
	q = open(t, dir, 1<<20)
	put(t, q, "c", "")
	if got := take(t, q); got != "a,b,c," {
		t.Errorf("got %q", got)
	}
	if s := q.Stats(); s.Items != 0 || s.Bytes != 0 || s.Added != 2 || s.Removed != 4 {
		t.Errorf("%+v", s)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("files are left: %v", left)
	}
}

func TestOldestGoWhenFull(t *testing.T) {
	dir := t.TempDir()
	q := open(t, dir, 3*fileSize(10))
	for i := range 5 {
		put(t, q, fmt.Sprintf("payload %02d", i))
	}
	if s := q.Stats(); s.Overflowed != 2 || s.Items != 3 {
		t.Errorf("%+v", s)
	}
	q = open(t, dir, 2*fileSize(10)) // a smaller bound holds at once
	if got := take(t, q); got != "payload 03,payload 04" {
		t.Errorf("got %q", got)
	}
	if err := q.Put(make([]byte, 1000)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("got %v", err)
	}
}

func TestSizesAreThoseOfTheFiles(t *testing.T) {
	dir := t.TempDir()
	q := open(t, dir, 1<<30)
	for _, n := range []int{0, 1, 64 << 10, 64<<10 + 1, 200_000} {
		put(t, q, string(bytes.Repeat([]byte("x"), n)))
	}
	var files int64
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		info, _ := e.Info()
		files += info.Size()
	}
	if q.Stats().Bytes != files {
		t.Errorf("counted %d, on disk %d", q.Stats().Bytes, files)
	}
}

func TestWhatACrashLeaves(t *testing.T) {
	dir := t.TempDir()
	put(t, open(t, dir, 1<<20), "whole", "damaged", "last")
	half := filepath.Join(dir, "0000000000000000009.payload.partial")
	other := filepath.Join(dir, "notes.txt")
	os.WriteFile(half, []byte("ha"), 0o600)
	os.WriteFile(other, []byte("mine"), 0o600)
	q := open(t, dir, 1<<20)
	path := q.path(2)
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	content[14] ^= 1
	os.WriteFile(path, content, 0o600)
	if got := take(t, q); got != "whole,last" || q.Stats().Damaged != 1 {
		t.Errorf("got %q, %+v", got, q.Stats())
	}
	if _, err := os.Stat(half); err == nil {
		t.Error("a half file is left")
	}
	if _, err := os.Stat(other); err != nil {
		t.Error("a file of somebody else is gone")
	}
}

func TestFullDisk(t *testing.T) {
	q := open(t, t.TempDir(), 1<<20)
	put(t, q, "kept")
	// A directory in the way of the next file fails like a disk that is full.
	if err := os.Mkdir(q.path(2)+temporary, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := q.Put([]byte("lost")); err == nil || !strings.Contains(err.Error(), "is the disk full?") {
		t.Errorf("got %v", err)
	}
	os.Remove(q.path(2) + temporary)
	put(t, q, "later")
	if got := take(t, q); got != "kept,later" {
		t.Errorf("got %q", got)
	}
}

func TestAddedWakes(t *testing.T) {
	q := open(t, t.TempDir(), 1<<20)
	put(t, q, "a", "b")
	select {
	case <-q.Added():
	default:
		t.Error("nothing was told")
	}
}
