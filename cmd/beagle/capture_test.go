package main

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/beagle-go/beagle/internal/capture"
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
