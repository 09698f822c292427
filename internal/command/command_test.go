package command

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// script writes a program that stands for the command.
func script(t *testing.T, text string) string {
	path := filepath.Join(t.TempDir(), "beagle")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestCall(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		name, script string
		status       int
		said, wrong  string // on standard error, and what Decode says
	}{
		{"a result", `echo '{"n": 1}'`, 0, "", ""},
		{"a version that is refused", `echo '{"n": 1}'; exit 4`, 4, "", ""},
		{"bad input", `echo "no such function" >&2; exit 2`, 2, "no such function\n", "status 2\nno such function"},
		{"a refusal without a verdict", `exit 1`, 1, "", "status 1"},
		{"no JSON", `echo faster`, 0, "", "printed no JSON"},
		{"place and store", `echo "{\"n\": 1, \"at\": \"$PWD $BEAGLE_HOME $SHELF\"}"`, 0, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			call := Call{Program: script(t, c.script), Args: []string{"verify"}, Dir: dir, Home: "store",
				Env: []string{"SHELF=3"}}
			end, err := call.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if end.Status != c.status || end.Said != c.said || end.Late {
				t.Errorf("status %d, said %q, late %v", end.Status, end.Said, end.Late)
			}
			var got struct {
				N  int
				At string
			}
			switch err := end.Decode(&got); {
			case c.wrong == "" && (err != nil || got.N != 1):
				t.Errorf("decoded %+v, %v", got, err)
			case c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)):
				t.Errorf("%v, want %q", err, c.wrong)
			case got.At != "" && got.At != dir+" store 3":
				t.Errorf("ran at %q", got.At)
			}
		})
	}
}

// TestLimit stops a call that takes too long, and tells that from a call that its caller ended.
func TestLimit(t *testing.T) {
	slow := script(t, "exec sleep 600")
	for _, limit := range []time.Duration{1, 50 * time.Millisecond} { // the first is over at the start
		if end, err := (Call{Program: slow, Limit: limit}).Run(t.Context()); err != nil || !end.Late {
			t.Errorf("with a limit of %v: %+v, %v", limit, end, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if _, err := (Call{Program: slow}).Run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("ended by the caller: %v", err)
	}
	if _, err := (Call{Program: filepath.Join(t.TempDir(), "none")}).Run(t.Context()); err == nil {
		t.Error("a missing program ran")
	}
}

// TestBuild checks that an error names the directory that holds no command. A whole build costs a
// minute, and each program that measures makes one.
func TestBuild(t *testing.T) {
	root, err := Root(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(root, "cmd", "beagle")); err != nil {
		t.Errorf("the checkout at %s: %v", root, err)
	}
	empty := t.TempDir()
	if _, err := Build(t.Context(), empty, t.TempDir()); err == nil || !strings.Contains(err.Error(), empty) {
		t.Errorf("a directory without the command: %v", err)
	}
}
