//go:build linux

package uprobe

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/beagle-go/beagle/probe/wire"
)

// TestTextIsRestored: while a uprobe is attached, one byte of the function differs; after it, none,
// also when the process that attached it was killed.
func TestTextIsRestored(t *testing.T) {
	privileged(t)
	p := start(t, build(t, "-buildmode=pie", "-trimpath"), "-pause", "20ms")
	v := serve(t, p.Process.Pid, "", pkg+"Many")
	before := codeOf(t, v)
	q := wire.Request{Verb: wire.VerbStart, Start: &wire.Start{Sites: []string{pkg + "Many"}, Results: true}}
	r, _ := do(t, v, q)
	during := codeOf(t, v)
	differ := 0
	for i := range before {
		if before[i] != during[i] {
			differ++
		}
	}
	if want := 1 + len(v.all[0].Returns); differ == 0 || differ > want {
		t.Errorf("%d bytes differ while %d probes are attached", differ, want)
	}
	do(t, v, wire.Request{Verb: wire.VerbStop, Lease: r.Lease})
	if after := codeOf(t, v); !bytes.Equal(before, after) {
		t.Error("the code is not as it was")
	}
}

// codeOf reads the function's code in the memory of the process.
func codeOf(t *testing.T, v *Server) []byte {
	t.Helper()
	f := v.all[0]
	off, err := v.b.offset(f.Low)
	if err != nil {
		t.Fatal(err)
	}
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", v.b.PID))
	if err != nil {
		t.Fatal(err)
	}
	exe, _ := os.Readlink(v.b.Path)
	for line := range strings.Lines(string(maps)) {
		var low, high, at uint64
		var may string
		n, _ := fmt.Sscanf(line, "%x-%x %s %x", &low, &high, &may, &at)
		if n < 4 || !strings.HasSuffix(line, exe+"\n") || off < at || off >= at+high-low {
			continue
		}
		mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", v.b.PID))
		if err != nil {
			t.Fatal(err)
		}
		defer mem.Close()
		b := make([]byte, f.High-f.Low)
		if _, err := mem.ReadAt(b, int64(low+off-at)); err != nil {
			t.Fatal(err)
		}
		return b
	}
	t.Fatalf("offset %#x of %s is not mapped", off, filepath.Base(exe))
	return nil
}

// TestProcessEnds: what was captured of a process that ends can be taken, and then the capture says
// that it ended.
func TestProcessEnds(t *testing.T) {
	privileged(t)
	p := start(t, build(t))
	v := serve(t, p.Process.Pid, "", pkg+"Many")
	go func() {
		for began := time.Now(); time.Since(began) < patience; time.Sleep(tick) {
			r, _, err := v.carryOut(&wire.Request{Verb: wire.VerbStatus})
			if err == nil && r.Status.Sites[0].Armed && r.Status.Sites[0].Counts.Recorded > 10 {
				p.Process.Kill()
				return
			}
		}
	}()
	events, st := collect(t, v, wire.Start{Sites: []string{pkg + "Many"}, Raw: true}, 1<<30)
	if len(events) == 0 {
		t.Error("nothing was captured")
	}
	for _, e := range events {
		checkMany(t, e)
	}
	if !strings.Contains(st.Disarmed, "ended") {
		t.Errorf("%+v", st)
	}
	again := &wire.Request{Verb: wire.VerbStart, Start: &wire.Start{Sites: []string{pkg + "Many"}}}
	if _, _, err := v.carryOut(again); err == nil {
		t.Error("a process that is gone is captured")
	}
}

// TestLimits: a function that is called too often is not armed, and one that becomes so is
// disarmed.
func TestLimits(t *testing.T) {
	privileged(t)
	program := build(t)
	hot := start(t, program, "-hot")
	v := serve(t, hot.Process.Pid, "", pkg+"Text")
	v.cost.Emulated = time.Second // one call is too many, in a process that has little of the machine too
	before := codeOf(t, v)
	err := refusal(t, v, pkg+"Text")
	if !strings.Contains(err.Error(), "more than 1 %") || !strings.Contains(err.Error(), "beagle build") {
		t.Errorf("a hot function is armed: %v", err)
	}
	if !bytes.Equal(before, codeOf(t, v)) {
		t.Error("a refusal leaves a probe")
	}
	steady := start(t, program)
	v = serve(t, steady.Process.Pid, "", pkg+"Text")
	r, _ := do(t, v, wire.Request{Verb: wire.VerbStart, Start: &wire.Start{Sites: []string{pkg + "Text"}}})
	v.mu.Lock()
	v.s.sites[0].hit = time.Second // as if each hit cost that: the next one is too many
	v.mu.Unlock()
	why := waitDisarmed(t, v)
	if !strings.Contains(why, "more than 2 %") {
		t.Errorf("disarmed since %q", why)
	}
	do(t, v, wire.Request{Verb: wire.VerbPull})
	if _, _, err := v.carryOut(&wire.Request{Verb: wire.VerbBeat, Lease: r.Lease}); err == nil {
		t.Error("a session that was ended has a lease")
	}
}

// refusal returns why a function cannot be armed. A process that does not run while its calls are
// counted is armed, so it tries again.
func refusal(t *testing.T, v *Server, site string) error {
	t.Helper()
	for began := time.Now(); time.Since(began) < patience; {
		r, _, err := v.carryOut(&wire.Request{Verb: wire.VerbStart, Start: &wire.Start{Sites: []string{site}}})
		if err != nil {
			return err
		}
		v.carryOut(&wire.Request{Verb: wire.VerbStop, Lease: r.Lease}) // fails if its calls have ended it since
	}
	t.Fatal("a hot function is armed")
	return nil
}

// TestTurns: a function that is called too often for a probe that stays is captured in turns, and
// its code is as it was between them.
func TestTurns(t *testing.T) {
	privileged(t)
	p := start(t, build(t))
	v := serve(t, p.Process.Pid, "", pkg+"Many")
	// Of its 900 calls a second each takes 17 us: more than 1 % of a core, where turns begin, and
	// less than 2 %, where even those end. The test may be stopped within a turn.
	v.cost.Emulated = 17 * time.Microsecond / cold
	before := codeOf(t, v)
	r := inTurns(t, v, wire.Start{Sites: []string{pkg + "Many"}, Raw: true, Rate: 100})
	var events []wire.Event
	away, counts := 0, &wire.Counts{}
	for began := time.Now(); time.Since(began) < patience && (len(events) < 60 || away < 3); time.Sleep(tick) {
		if bytes.Equal(before, codeOf(t, v)) {
			away++
		}
		do(t, v, wire.Request{Verb: wire.VerbBeat, Lease: r.Lease})
		got, payload := do(t, v, wire.Request{Verb: wire.VerbPull})
		list, err := wire.ReadEvents(payload)
		if err != nil {
			t.Fatal(err)
		}
		if got.Status.Disarmed != "" {
			t.Fatalf("disarmed since %s", got.Status.Disarmed)
		}
		events, counts = append(events, list...), got.Status.Sites[0].Counts
	}
	if len(events) < 60 || away < 3 {
		t.Errorf("%d events; the code was as before in %d looks", len(events), away)
	}
	for _, e := range events {
		checkMany(t, e)
	}
	if counts.Seen <= 0 || counts.Seen > 0.9 || counts.Rate <= 0 || counts.Calls < float64(len(events)) {
		t.Errorf("%+v", counts)
	}
	do(t, v, wire.Request{Verb: wire.VerbStop, Lease: r.Lease})
	if !bytes.Equal(before, codeOf(t, v)) {
		t.Error("the code is not as it was")
	}
}

// inTurns starts a capture that takes turns. A process that hardly runs while its calls are counted
// gets probes that stay, so it tries again with calls that cost more.
func inTurns(t *testing.T, v *Server, q wire.Start) wire.Reply {
	t.Helper()
	for began := time.Now(); time.Since(began) < patience; v.cost.Emulated += v.cost.Emulated / 10 {
		r, _ := do(t, v, wire.Request{Verb: wire.VerbStart, Start: &q})
		v.mu.Lock()
		turns := v.s.turns != nil
		v.mu.Unlock()
		if turns {
			return r
		}
		do(t, v, wire.Request{Verb: wire.VerbStop, Lease: r.Lease})
	}
	t.Fatal("the probes stay")
	return wire.Reply{}
}

// TestExceeds: a loss is held against the time in which it was made, also where that is longer than
// planned.
func TestExceeds(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		spent, took time.Duration
		want        bool
	}{{ms, 50 * ms, false}, {2 * ms, 50 * ms, true}, {2 * ms, 2000 * ms, false}, {21 * ms, 2000 * ms, true}} {
		if got := exceeds(c.spent, maxAtStart, look, c.took); got != c.want {
			t.Errorf("%v in %v exceeds 1 %%: %v", c.spent, c.took, got)
		}
	}
	for _, c := range []struct {
		spent, took time.Duration
		want        bool
	}{{15 * ms, 20 * ms, false}, {16 * ms, 20 * ms, true}, {36 * ms, 2000 * ms, false}, {45 * ms, 2000 * ms, true}} {
		if got := tooCostly(c.spent, turnMost, c.took); got != c.want {
			t.Errorf("a turn of %v in %v is too costly: %v", c.spent, c.took, got)
		}
	}
}

// TestDeadController: without heartbeats the probes are detached.
func TestDeadController(t *testing.T) {
	privileged(t)
	p := start(t, build(t))
	v := serve(t, p.Process.Pid, "", pkg+"Text")
	before := codeOf(t, v)
	do(t, v, wire.Request{Verb: wire.VerbStart, Start: &wire.Start{Sites: []string{pkg + "Text"}, Lease: 0.2}})
	if why := waitDisarmed(t, v); !strings.Contains(why, "silent") {
		t.Errorf("disarmed since %q", why)
	}
	if !bytes.Equal(before, codeOf(t, v)) {
		t.Error("the code is not as it was")
	}
	do(t, v, wire.Request{Verb: wire.VerbStart, Start: &wire.Start{Sites: []string{pkg + "Text"}, TTL: 0.2}})
	if why := waitDisarmed(t, v); !strings.Contains(why, "time to live") {
		t.Errorf("disarmed since %q", why)
	}
}

func waitDisarmed(t *testing.T, v *Server) string {
	t.Helper()
	for began := time.Now(); time.Since(began) < patience; time.Sleep(tick) {
		if r, _ := do(t, v, wire.Request{Verb: wire.VerbStatus}); r.Status.Disarmed != "" {
			return r.Status.Disarmed
		}
	}
	t.Fatal("it stays armed")
	return ""
}
