package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/beagle-go/beagle/internal/capture"
	"github.com/beagle-go/beagle/internal/uprobe"
	"github.com/beagle-go/beagle/probe/wire"
)

// armed waits until a process has a capture: armed SOCKET.
func armed(ts *testscript.TestScript, _ bool, args []string) {
	clients, err := capture.New([]string{ts.MkAbs(args[0])}, ts.Getenv("BEAGLE_PROBE_TOKEN"))
	ts.Check(err)
	const most = 5 * time.Minute // it waits for another command, not for a clock
	for start := time.Now(); time.Since(start) < most; time.Sleep(20 * time.Millisecond) {
		r, _, err := clients[0].Do(context.Background(), wire.Request{Verb: wire.VerbStatus})
		ts.Check(err)
		if r.Status.Session != nil {
			return
		}
	}
	ts.Fatalf("%s is not armed", args[0])
}

// attached waits until the uprobes of a process have captured something: attached PID. Negated, it
// waits until their server is gone.
func attached(ts *testscript.TestScript, neg bool, args []string) {
	dir := filepath.Join(ts.Getenv("TMPDIR"), fmt.Sprintf("beagle-uprobe-%d", os.Getuid()))
	const most = 2 * time.Minute // it waits for another command, not for a clock
	for start := time.Now(); time.Since(start) < most; time.Sleep(20 * time.Millisecond) {
		clients, err := capture.New([]string{filepath.Join(dir, args[0]+".sock")}, filepath.Join(dir, args[0]+".token"))
		if err != nil {
			if neg {
				return
			}
			continue
		}
		r, _, err := clients[0].Do(context.Background(), wire.Request{Verb: wire.VerbStatus})
		if neg == (err != nil) && (neg || r.Status.Session != nil && r.Status.Session.Waiting > 0) {
			return
		}
	}
	ts.Fatalf("process %s does not come to that", args[0])
}

// number waits for a file and sets a variable to what it holds: number NAME FILE.
func number(ts *testscript.TestScript, _ bool, args []string) {
	const most = 5 * time.Minute
	for start := time.Now(); time.Since(start) < most; time.Sleep(20 * time.Millisecond) {
		if b, err := os.ReadFile(ts.MkAbs(args[1])); err == nil {
			ts.Setenv(args[0], string(b))
			return
		}
	}
	ts.Fatalf("nobody wrote %s", args[1])
}

// condition knows whether this user may attach uprobes. If not it says so, also without -v: a
// script that was not run must not look like one that passed.
func condition(name string) (bool, error) {
	if name != "uprobes" {
		return false, fmt.Errorf("no condition %q", name)
	}
	err := uprobe.Available()
	if err != nil {
		fmt.Fprintf(os.Stderr, "cmd/beagle: scripts with uprobes are skipped: %v\n", err)
	}
	return err == nil, nil
}

// TestBuildFlags: --probe is taken out of go build's arguments, and the flags that choose files are
// picked out of them.
func TestBuildFlags(t *testing.T) {
	specs, rest, err := probeFlags([]string{"-o", "x", "--probe", "a.F,b.G", "-tags=x,y", "-race", "-probe=c.H", "-mod",
		"vendor", "./..."})
	if err != nil || !slices.Equal(specs, []string{"a.F", "b.G", "c.H"}) ||
		!slices.Equal(rest, []string{"-o", "x", "-tags=x,y", "-race", "-mod", "vendor", "./..."}) {
		t.Errorf("%q %q %v", specs, rest, err)
	}
	if got := loadFlags(rest); !slices.Equal(got, []string{"-tags=x,y", "-race", "-mod=vendor"}) {
		t.Errorf("%q", got)
	}
	for _, bad := range [][]string{{"--probe"}, {"-overlay", "x"}, {"-overlay=x"}, {"-C", "dir"}} {
		if _, _, err := probeFlags(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}
