//go:build linux

package uprobe

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/beagle-go/beagle/internal/capture"
	"github.com/beagle-go/beagle/internal/rt"
	"github.com/beagle-go/beagle/probe/wire"
)

const pkg = "example.com/service/calls."

// TestArguments: the captured arguments are the passed ones, however the service is built and
// called.
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
	// At a tenth of the other's rate its room lasts until its calls are taken out, so it sees calls
	// all the time in which the other does.
	q := wire.Start{Sites: names, Rate: 100, Raw: true, Follow: true, Events: 4096, Bytes: 16 << 20, Event: 8192}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	armed, probed := make(chan struct{}), make(chan []capture.Pulled, 1)
	go func() {
		h := &capture.Hold{Start: q, Long: 2 * patience, Keep: true,
			Begun: func(context.Context, int) error { close(armed); return nil }}
		all, err := h.Run(ctx, inside)
		if err != nil {
			t.Error(err)
		}
		probed <- all
	}()
	select {
	case <-armed:
	case <-probed:
		t.Fatal("the probe in the process is not armed")
	}
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
			t.Fatalf("%s, call %s:\nuprobe %d %q\nprobe  %d %q", names[e.Site], key(e), o.Flags, o.Args, e.Flags,
				e.Args)
		}
	}
	for i, n := range names {
		if both[i] < 3 {
			t.Errorf("%s: both have seen %d calls only", n, both[i])
		}
	}
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

// TestPanics: a call that ended in a panic has no results, although later calls of the goroutine
// return from the same depth.
func TestPanics(t *testing.T) {
	privileged(t)
	p := start(t, build(t), "-risky", "-pause", "100ms")
	v := serve(t, p.Process.Pid, "", pkg+"Risky")
	q := wire.Start{Sites: []string{pkg + "Risky"}, Raw: true, Results: true, Rate: 20} // few of many calls
	events, _ := collect(t, v, q, 60)
	panicked := 0
	for _, e := range events {
		n := fields(t, e.Args)[0].Bits
		if n%2 == 0 {
			panicked++
		}
		if e.Flags&wire.HasResults == 0 {
			continue
		}
		if got := fields(t, e.Results)[0].Bits; got != n || n%2 == 0 {
			t.Fatalf("call %d has the results of call %d", n, got)
		}
	}
	if panicked < 10 {
		t.Errorf("%d of %d calls panicked", panicked, len(events))
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
