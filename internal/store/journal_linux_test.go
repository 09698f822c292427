package store

import (
	"fmt"
	"os/signal"
	"syscall"
	"testing"
)

// A line for which there is no room is not there in part.
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
