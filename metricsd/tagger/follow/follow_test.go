package follow

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestFollower fails, succeeds, ends and fails again: the log has each change once.
func TestFollower(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		f := Follower{Name: "x", Log: slog.New(slog.NewTextHandler(&log, nil)), FirstPause: time.Millisecond,
			LastPause: 2 * time.Millisecond}
		ctx, cancel := context.WithCancel(t.Context())
		calls := 0
		f.Run(ctx, func(_ context.Context, up func()) error {
			switch calls++; {
			case calls == 5:
				up()
				if up, _ := f.Up(); !up {
					t.Error("it is not up")
				}
				time.Sleep(20 * time.Millisecond) // longer than any pause
				return nil
			case calls == 6:
				up()
				return errors.New("broken off")
			case calls == 9:
				cancel()
			}
			return errors.New("away")
		})
		if up, failures := f.Up(); up || failures != 7 || calls != 9 {
			t.Errorf("up %v, %d failures, %d calls", up, failures, calls)
		}
		for text, want := range map[string]int{"trying again": 2, "answers": 1, "broken off": 1} {
			if n := strings.Count(log.String(), text); n != want {
				t.Errorf("the log has %d times %q, want %d:\n%s", n, text, want, log.String())
			}
		}
	})
}

// TestFollowerOfAListAlone follows a source that gives its list each time and then fails: its
// pauses grow, and the log has one line of each kind however often it fails.
func TestFollowerOfAListAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		f := Follower{Name: "x", Log: slog.New(slog.NewTextHandler(&log, nil)), FirstPause: time.Millisecond,
			LastPause: time.Hour}
		ctx, cancel := context.WithCancel(t.Context())
		calls, began, waited := 0, time.Now(), time.Duration(0)
		f.Run(ctx, func(_ context.Context, up func()) error {
			up()
			if calls++; calls == 8 {
				waited = time.Since(began)
				cancel()
			}
			return errors.New("watching is forbidden")
		})
		if least := (1<<7 - 1) * time.Millisecond / 2; waited < least { // seven pauses, at least half of each
			t.Errorf("it asked 8 times within %v, want pauses of %v", waited, least)
		}
		if n := strings.Count(log.String(), "\n"); n != 2 {
			t.Errorf("the log has %d lines, want 2:\n%s", n, log.String())
		}
	})
}

func TestLines(t *testing.T) {
	var got []string
	take := func(line []byte) error { got = append(got, string(line)); return nil }
	if err := Lines(strings.NewReader("{}\n\n [1] \r\nlast"), take); err != nil ||
		strings.Join(got, ",") != "{},[1],last" {
		t.Errorf("%q, %v", got, err)
	}
	stop := errors.New("stop")
	if err := Lines(strings.NewReader("a\nb\n"), func([]byte) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("%v", err)
	}
	endless := bytes.NewReader(make([]byte, MaxLine+1))
	if err := Lines(endless, take); !errors.Is(err, ErrTooLong) {
		t.Errorf("a line without end: %v", err)
	}
}

// zeros never end.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) { return len(b), nil }

func TestJSON(t *testing.T) {
	var v []int
	if err := JSON(strings.NewReader("[1,2]"), &v); err != nil || len(v) != 2 {
		t.Errorf("%v, %v", v, err)
	}
	if err := JSON(strings.NewReader("[1,2"), &v); err == nil {
		t.Error("half a list was read")
	}
	if err := JSON(zeros{}, &v); !errors.Is(err, ErrTooLong) {
		t.Errorf("an answer without end: %v", err)
	}
}
