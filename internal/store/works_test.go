package store

import (
	"testing"
	"time"
)

// TestLookingDoesNotDisturb checks that probing a lock does not keep a process from taking it.
func TestLookingDoesNotDisturb(t *testing.T) {
	s, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	stop, stopped := make(chan bool), make(chan bool)
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				s.Works(Run{})
			}
		}
	}()
	for range 300 {
		l, err := s.Lock("a test")
		if err != nil {
			t.Fatal(err)
		}
		l.Unlock()
	}
	close(stop)
	<-stopped
}

// TestWorks checks that a run whose process was killed does not work because another one does.
func TestWorks(t *testing.T) {
	s, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	killed := Run{Updated: time.Now().Add(-time.Minute)}
	l, err := s.Lock("another run")
	if err != nil {
		t.Fatal(err)
	}
	if s.Works(killed) || !s.Works(Run{Updated: time.Now()}) {
		t.Error("what was written before the lock was taken is another process's, what was written since is its own")
	}
	if err := l.Runs("resumed"); err != nil {
		t.Fatal(err)
	}
	if !s.Works(Run{ID: "resumed", Updated: killed.Updated}) || s.Works(Run{ID: "other", Updated: time.Now()}) {
		t.Error("a lock that names its run is for that one, however old the run's entry is")
	}
	l.Unlock()
	if s.Works(Run{Updated: time.Now()}) {
		t.Error("nobody holds the store")
	}
}
