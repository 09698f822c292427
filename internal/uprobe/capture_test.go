//go:build linux

package uprobe

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/beagle-go/beagle/internal/capture"
	"github.com/beagle-go/beagle/internal/rt"
	"github.com/beagle-go/beagle/probe/wire"
)

const pkg = "example.com/service/calls."

// TestArguments: however the service is built and called, what is captured is what was passed.
func TestArguments(t *testing.T) {
	privileged(t)
	for _, c := range []struct {
		name    string
		build   []string
		run     []string
		symbols []string // build of the file with types
	}{
		{"plain", nil, nil, nil},
		{"concurrent", nil, []string{"-workers", "8"}, nil},
		{"not inlined", []string{"-gcflags=all=-l"}, nil, nil},
		{"not optimised", []string{"-gcflags=all=-N -l"}, nil, nil},
		{"position independent", []string{"-buildmode=pie"}, nil, nil},
		{"growing stacks", nil, []string{"-fresh"}, nil},
		{"stripped", []string{"-ldflags=-s -w"}, nil, []string{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			symbols := ""
			if c.symbols != nil {
				symbols = build(t, append(c.symbols, "-trimpath")...)
			}
			p := start(t, build(t, append(c.build, "-trimpath")...), c.run...)
			v := serve(t, p.Process.Pid, symbols, pkg+"Many")
			events, st := collect(t, v, wire.Start{Sites: []string{pkg + "Many"}, Raw: true}, 100)
			if len(events) < 100 {
				t.Fatalf("%d events: %+v", len(events), st.Session.Dropped)
			}
			seen := map[uint64]bool{}
			for _, e := range events {
				i := checkMany(t, e)
				if seen[i] {
					t.Errorf("call %d is captured twice", i)
				}
				seen[i] = true
			}
			s := st.Sites[0]
			if s.Counts.Calls < float64(len(events)) || s.Counts.Hit == 0 || st.Process.Way != Way {
				t.Errorf("%+v", s.Counts)
			}
		})
	}
}

// checkMany compares the arguments of calls.Many with what the service computes from the first.
func checkMany(t *testing.T, e wire.Event) uint64 {
	t.Helper()
	if e.Flags&wire.HasHoles != 0 {
		t.Fatalf("holes in %x", e.Args)
	}
	f := fields(t, e.Args)
	i := int(f[0].Bits)
	word := func(i int) string { return fmt.Sprintf("word %d of many", i) }
	got := fmt.Sprint(texts(f[1].Elems), f[2].Bits, f[3].Str, rune(f[4].Bits), uint8(f[5].Bits), int16(f[6].Bits))
	ok := 0
	if i%2 == 0 {
		ok = 1
	}
	want := fmt.Sprint([]string{word(i), "", "ü"}, ok, word(i+1), 'x', uint8(i), -int16(i%1000))
	if got != want {
		t.Fatalf("call %d: got %s, want %s", i, got, want)
	}
	return f[0].Bits
}

func texts(list []rt.Value) (all []string) {
	for _, v := range list {
		all = append(all, v.Str)
	}
	return all
}

// TestAgreesWithProbe: of the same call, a uprobe and a probe in the process make the same bytes.
func TestAgreesWithProbe(t *testing.T) {
	privileged(t)
	program := build(t)
	p := start(t, program)
	names := []string{pkg + "Text", pkg + "Many", pkg + "Set.Merge", pkg + "Stack", pkg + "Long"}
	v := serve(t, p.Process.Pid, "", names...)
	inside, err := capture.New([]string{fmt.Sprintf("%s.%d", program, p.Process.Pid)}, program+".token")
	if err != nil {
		t.Fatal(err)
	}
	q := wire.Start{Sites: names, Rate: 1000, Raw: true, Follow: true, Events: 4096, Bytes: 16 << 20, Event: 8192}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	probed := make(chan []capture.Pulled)
	go func() {
		h := &capture.Hold{Start: q, Long: patience, Keep: true}
		all, err := h.Run(ctx, inside)
		if err != nil {
			t.Error(err)
		}
		probed <- all
	}()
	outside, _ := collect(t, v, wire.Start{Sites: names, Raw: true, Follow: true, Event: 8192}, 2500)
	cancel()
	agree(t, names, outside, <-probed)
}

// agree compares calls that both have seen. The first number among the arguments identifies a call.
func agree(t *testing.T, names []string, outside []wire.Event, inside []capture.Pulled) {
	t.Helper()
	if len(inside) != 1 || len(inside[0].Events) == 0 {
		t.Fatal("the probe in the process has seen nothing")
	}
	key := func(e wire.Event) string {
		v, err := wire.Fill(nil, e.Args, func(h wire.Hole, part []byte) ([]byte, error) {
			if len(part) > 0 {
				return part, nil
			}
			return []byte{wire.TagNil}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		f := fields(t, v)
		if names[e.Site] == pkg+"Set.Merge" {
			return fmt.Sprint(e.Site, f[1].Bits)
		}
		return fmt.Sprint(e.Site, f[0].Bits, f[0].Str)
	}
	seen := map[string]wire.Event{}
	for _, e := range outside {
		seen[key(e)] = e
	}
	both := map[int]int{}
	for _, e := range inside[0].Events {
		o, ok := seen[key(e)]
		if !ok {
			continue
		}
		both[e.Site]++
		if !bytes.Equal(o.Args, e.Args) || o.Flags != e.Flags&^wire.NoReturn {
			t.Fatalf("%s, call %s:\nuprobe %d %q\nprobe  %d %q", names[e.Site], key(e), o.Flags, o.Args, e.Flags, e.Args)
		}
	}
	for i, n := range names {
		if both[i] < 3 {
			t.Errorf("%s: both have seen %d calls only", n, both[i])
		}
	}
}

// TestTextIsRestored: while a uprobe is attached, one byte of the function differs; after it, none,
// also when the process that attached it was killed.
func TestTextIsRestored(t *testing.T) {
	privileged(t)
	p := start(t, build(t, "-buildmode=pie", "-trimpath"), "-pause", "20ms")
	v := serve(t, p.Process.Pid, "", pkg+"Many")
	before := codeOf(t, v)
	r, _ := do(t, v, wire.Request{Verb: wire.VerbStart, Start: &wire.Start{Sites: []string{pkg + "Many"}, Results: true}})
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
		if n, _ := fmt.Sscanf(line, "%x-%x %s %x", &low, &high, &may, &at); n < 4 || !strings.HasSuffix(line, exe+"\n") ||
			off < at || off >= at+high-low {
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
				p.Wait()
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
	if _, _, err := v.carryOut(&wire.Request{Verb: wire.VerbStart, Start: &wire.Start{Sites: []string{pkg + "Many"}}}); err == nil {
		t.Error("a process that is gone is captured")
	}
}

// TestLimits: a function that is called too often is not armed, and one that becomes so is disarmed.
func TestLimits(t *testing.T) {
	privileged(t)
	program := build(t)
	hot := start(t, program, "-hot")
	v := serve(t, hot.Process.Pid, "", pkg+"Text")
	before := codeOf(t, v)
	_, _, err := v.carryOut(&wire.Request{Verb: wire.VerbStart, Start: &wire.Start{Sites: []string{pkg + "Text"}}})
	if err == nil || !strings.Contains(err.Error(), "more than 1 %") || !strings.Contains(err.Error(), "beagle build") {
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

// TestResults: results are those of the call whose arguments they stand beside.
func TestResults(t *testing.T) {
	privileged(t)
	p := start(t, build(t), "-workers", "4", "-pause", "50ms")
	v := serve(t, p.Process.Pid, "", pkg+"Many", pkg+"Deep")
	events, _ := collect(t, v, wire.Start{Sites: []string{pkg + "Many"}, Raw: true, Results: true}, 100)
	with := 0
	for _, e := range events {
		i := int(checkMany(t, e))
		if e.Flags&wire.HasResults == 0 {
			continue
		}
		with++
		f := fields(t, e.Results)
		want := fmt.Sprint(fmt.Sprintf("word %d of many", i+1), i)
		if i%2 == 1 {
			want = fmt.Sprint(fmt.Sprintf("word %d of many,,ü", i), -i)
		}
		if got := fmt.Sprint(f[0].Str, int(f[1].Bits)); got != want {
			t.Fatalf("call %d: %s, want %s", i, got, want)
		}
	}
	if with < 90 {
		t.Errorf("%d of %d calls have results", with, len(events))
	}
}

// TestSecrets: what is secret by name or by pattern is nowhere in what is kept.
func TestSecrets(t *testing.T) {
	privileged(t)
	p := start(t, build(t))
	v := serve(t, p.Process.Pid, "", pkg+"Login", pkg+"Text")
	events, _ := collect(t, v, wire.Start{Sites: []string{pkg + "Login"}, Raw: true}, 20)
	for _, e := range events {
		if !bytes.Contains(e.Args, []byte("alice")) || bytes.Contains(e.Args, []byte("hunter2")) ||
			bytes.Contains(e.Args, []byte("abcdefgh")) {
			t.Fatalf("%q", e.Args)
		}
		holes, err := wire.Holes(e.Args)
		if err != nil || len(holes) != 2 || holes[0].Reason != wire.Redacted || holes[0].Len != 14 ||
			holes[1].Reason != wire.Redacted {
			t.Fatalf("%+v %v", holes, err)
		}
	}
	events, _ = collect(t, v, wire.Start{Sites: []string{pkg + "Text"}}, 20)
	for _, e := range events {
		holes, err := wire.Holes(e.Args)
		if err != nil || len(holes) != 1 || holes[0].Reason != wire.Shape || bytes.Contains(e.Args, []byte("word")) ||
			holes[0].Class != wire.Lower|wire.Digit|wire.Space || holes[0].Hash == 0 {
			t.Fatalf("%+v %v", holes, err)
		}
	}
}

// TestUnseen: what can't be seen is said, with what can be done instead.
func TestUnseen(t *testing.T) {
	program := build(t)
	stripped := build(t, "-ldflags=-s -w")
	p, s := start(t, program), start(t, stripped)
	open := func(pid int, symbols string) *Binary {
		b, err := Open(pid, symbols)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	b := open(p.Process.Pid, "")
	for name, want := range map[string]string{
		"calls.Small":       "inlined into all its callers, as example.com/service.round",
		"calls.First":       "generic",
		"calls.Nothing":     "no function",
		"runtime.memmove":   "assembly",
		"runtime.main":      "no parameters",
		"nobody.Here.First": "no function",
	} {
		if _, err := b.Find(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", name, err, want)
		}
	}
	if _, err := open(s.Process.Pid, "").Find("calls.Text"); err == nil || !strings.Contains(err.Error(), "no DWARF") ||
		!strings.Contains(fmt.Sprintf("%+v", err), "--symbols") {
		t.Errorf("%+v", err)
	}
	if _, err := Open(s.Process.Pid, build(t, "-gcflags=all=-N -l")); err == nil || !strings.Contains(err.Error(), "differs") {
		t.Errorf("another program's types are used: %v", err)
	}
	if _, err := Open(s.Process.Pid, stripped); err == nil || !strings.Contains(err.Error(), "no DWARF either") {
		t.Errorf("%v", err)
	}
	if _, err := Open(1<<30, ""); err == nil || !strings.Contains(err.Error(), "no process") {
		t.Errorf("%v", err)
	}
	found, err := b.Find("calls.Mixed")
	if err != nil || !strings.Contains(strings.Join(found[0].unseen(), ";"), "f: floats in registers") ||
		!strings.Contains(fmt.Sprint(found[0].Whole()), "floating-point registers") {
		t.Errorf("%v", err)
	}
	for _, name := range []string{"calls.Text", "calls.Many", "calls.Set.Merge", "calls.Stack"} {
		found, err := b.Find(name)
		if err != nil || !found[0].Point.Emulated || found[0].Point.Text != "PUSHQ BP" {
			t.Errorf("%s: %+v %v", name, found, err)
		}
	}
	if found, err := b.Find("calls.Sum"); err != nil || found[0].Point.Address < found[0].Low {
		t.Errorf("%+v %v", found, err)
	}
	if all, err := b.Find("example.com/service/calls.*"); err != nil || len(all) < 8 ||
		slices.ContainsFunc(all, func(f *Function) bool { return f.Name == "calls.First" }) {
		t.Errorf("%d functions: %v", len(all), err)
	}
}
