package store

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestJournalOnAFullDisk checks that a line for which there is no room is not there in part.
func TestJournalOnAFullDisk(t *testing.T) {
	s := open(t, t.TempDir())
	j, err := s.Journal("r", "events")
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if err := j.Append("first"); err != nil {
		t.Fatal(err)
	}
	room := fileLimit(t, 12) // for the first line and some of the second
	if err := j.Append("second"); err == nil {
		t.Fatal("a line was written beyond the limit")
	}
	room()
	if err := j.Append("third"); err != nil {
		t.Fatal(err)
	}
	if got, err := ReadJournal[string](s, "r", "events"); err != nil || fmt.Sprint(got) != "[first third]" {
		t.Errorf("%v, %v", got, err)
	}
}

// TestLookingForLong checks that a prober that is held up while it looks is not taken for a holder.
func TestLookingForLong(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	if l, err := s.Lock("to make the file"); err != nil {
		t.Fatal(err)
	} else if err := l.Unlock(); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(filepath.Join(dir, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH); err != nil {
		t.Fatal(err)
	}
	looked := make(chan error, 1)
	go func() {
		time.Sleep(time.Second)
		looked <- syscall.Flock(int(f.Fd()), syscall.LOCK_UN)
	}()
	l, err := s.Lock("a run")
	if err := <-looked; err != nil {
		t.Fatal(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	l.Unlock()
}

// fileLimit makes files end at a size, as a full disk does, until the returned
// function is called.
func fileLimit(t *testing.T, size uint64) (end func()) {
	t.Helper()
	signal.Ignore(syscall.SIGXFSZ)
	t.Cleanup(func() { signal.Reset(syscall.SIGXFSZ) })
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: size, Max: was.Max}); err != nil {
		t.Fatal(err)
	}
	end = func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(end)
	return end
}
