package store

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/beagle-go/beagle"
)

func TestInbox(t *testing.T) {
	s, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	if err := s.SaveRun(Run{ID: "abc", Spec: "x.F", State: Running, Created: now}); err != nil {
		t.Fatal(err)
	}
	for i, source := range []string{"second", "first", "second"} {
		v := Submission{
			ID:     beagle.HashOf("submission", source),
			Source: source,
			At:     now.Add(-time.Duration(i) * time.Minute),
		}
		n, err := s.Submit("ab", v) // the beginning of the run's ID is enough
		if want := min(i+1, 2); err != nil || n != want {
			t.Errorf("%d wait, %v, want %d", n, err, want)
		}
	}
	waiting, err := s.Inbox("abc")
	if err != nil || len(waiting) != 2 {
		t.Fatalf("%v %v", waiting, err)
	}
	if err := errors.Join(s.RemoveSubmission("abc", waiting[0].ID), s.RemoveSubmission("abc", waiting[0].ID),
		s.RemoveSubmission("abc", "../run")); err != nil {
		t.Error(err)
	}
	if left, err := s.Inbox("abc"); err != nil || len(left) != 1 || left[0].Source != waiting[1].Source {
		t.Errorf("%v %v", left, err)
	}
	if _, err := s.Run("abc"); err != nil {
		t.Errorf("the run itself is gone: %v", err)
	}
	for i := range maxInbox + 1 {
		_, err = s.Submit("abc", Submission{ID: fmt.Sprintf("%032d", i), At: now})
	}
	var bad *beagle.UsageError
	if !errors.As(err, &bad) || !strings.Contains(bad.What, "wait for run abc already") {
		t.Errorf("an inbox that is full: %v", err)
	}
	if err := s.CloseInbox("abc"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Submit("abc", Submission{ID: "y"}); !errors.As(err, &bad) ||
		!strings.Contains(bad.What, "ended its search") {
		t.Errorf("an inbox that is closed: %v", err)
	}
	if err := s.SaveRun(Run{ID: "abc", Spec: "x.F", State: Done, Created: now}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Submit("abc", Submission{ID: "x"}); !errors.As(err, &bad) || !strings.Contains(bad.What, "is done") {
		t.Errorf("a run that is done: %v", err)
	}
}
