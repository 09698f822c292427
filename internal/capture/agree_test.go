package capture

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/beagle-go/beagle/internal/rt"
	"github.com/beagle-go/beagle/probe"
	"github.com/beagle-go/beagle/probe/wire"
)

// patience is for machines that do other things.
const patience = 5 * time.Minute

const testToken = "0123456789abcdef0123456789abcdef"

// open starts a door of this process's probe and returns a client of it.
func open(t *testing.T) *Client {
	t.Helper()
	dir := t.TempDir()
	path, token := filepath.Join(dir, "s"), filepath.Join(dir, "token")
	if err := os.WriteFile(token, []byte(testToken+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	probe.AllowRaw()
	d, err := probe.Listen(path, testToken)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	clients, err := New([]string{path}, token)
	if err != nil {
		t.Fatal(err)
	}
	return clients[0]
}

type Tags []string

type inner struct {
	a int8
	b *int
	c []uint16
	_ int
}

type everything struct {
	A0 string
	A1 []byte
	A2 []string
	A3 struct {
		X, Y float32
		in   inner
		mu   sync.Mutex
	}
	A4  *inner
	A5  map[string][]int
	A6  map[int8]bool
	A7  any
	A8  [3]inner
	A9  Tags
	A10 uint64
	A11 complex128
	A12 [][]byte
	A13 func()
	A14 error
	A15 []struct{}
}

var everySite probe.Site

func init() { probe.Register[everything, struct{}](&everySite, "m/p.Every") }

// TestEncodersAgree: a call without holes is, byte for byte, what internal/rt records.
func TestEncodersAgree(t *testing.T) {
	c := open(t)
	n := 5
	long := make([]string, 3, 7)
	copy(long, []string{"a", "", "\xff"})
	values := []everything{
		{},
		{A0: "text", A1: []byte("bytes"), A2: long, A9: Tags{"x"}, A10: math.MaxUint64, A12: [][]byte{{1}, nil, {}}},
		{A4: &inner{a: -3, b: &n, c: []uint16{1, 65535}}, A7: "any", A15: make([]struct{}, 3)},
		{A5: map[string][]int{"b": {1}, "a": nil, "": {}}, A6: map[int8]bool{3: true, -1: false}, A7: int32(-7)},
		{A7: Tags{"in", "terface"}, A11: complex(math.Inf(1), math.NaN()), A2: []string{}},
	}
	values[1].A3.X, values[1].A3.in.a = 1.5, 7
	h := &Hold{Start: wire.Start{Sites: []string{"m/p.Every"}, Raw: true, Follow: true, Maps: true,
		Rate: 1000, Depth: 16},
		Long: patience, Keep: true, every: 10 * time.Millisecond}
	for i := range values {
		want, err := rt.Encode(&values[i])
		if err != nil {
			t.Fatal(err)
		}
		got := captured(t, c, h, &values[i])
		if !bytes.Equal(got.Args, want) || got.Flags&(wire.HasHoles|wire.Shared) != 0 {
			t.Errorf("value %d: flags %b\nprobe  %q\nrt     %q", i, got.Flags, got.Args, want)
		}
		if v, err := rt.ParseValue(got.Args); err != nil || len(v.Elems) != 16 {
			t.Errorf("value %d: %v", i, err)
		}
	}
}

// captured calls the gate until a call was captured, and pulls it.
func captured(t *testing.T, c *Client, h *Hold, v *everything) (e wire.Event) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	got := false
	h.Watch = func(all []Pulled) {
		for _, p := range all {
			if len(p.Events) > 0 && !got {
				e, got = p.Events[0], true
				cancel()
			}
		}
	}
	done := make(chan error, 1)
	go func() {
		_, err := h.Run(ctx, []*Client{c})
		done <- err
	}()
	for {
		select {
		case err := <-done:
			if err != nil || !got {
				t.Fatalf("nothing was captured: %v", err)
			}
			return e
		default:
		}
		if everySite.Gate() {
			call := probe.Enter(&everySite, v)
			probe.Leave(&call, v, &struct{}{})
		}
		time.Sleep(10 * time.Microsecond)
	}
}

type askArgs struct {
	Tag   string
	List  []string
	N     int
	U     uint8
	F     float64
	P     *inner
	Raw   []byte
	Token string
	In    struct{ K string }
	Note  string // with text that a pattern calls secret
	Blob  []byte // the same
}

type askResults struct {
	Out string
	Err error
}

var askSite probe.Site

func init() {
	probe.Register[askArgs, askResults](&askSite, "m/p.Ask", "tag", "list", "n", "u", "f", "p", "raw", "token", "in",
		"note", "blob", "out", "err")
}

// TestAsk: conditions mean in the probe what they mean in Go.
func TestAsk(t *testing.T) {
	c := open(t)
	in := askArgs{Tag: "env:prod", List: []string{"a", "b", "b"}, N: -5, U: 200, F: 2.5, Raw: []byte("raw\xff")}
	in.In.K, in.Note = "key", "Bearer abcdefgh12345678"
	in.Blob = []byte(in.Note)
	out := askResults{Out: "env:prod"}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Add(1)
	go func() {
		defer wg.Done()
		for {
			select {
			case <-stop:
				return
			default:
			}
			if askSite.Gate() {
				call := probe.Enter(&askSite, &in)
				probe.Leave(&call, &in, &out)
			}
			time.Sleep(5 * time.Microsecond)
		}
	}()
	defer wg.Wait()
	defer close(stop)
	var answers = map[string]string{
		"len(tag) > 200": "no", "len(tag) == 8 && tag[0] == 'e'": "yes", "!utf8.ValidString(tag)": "no",
		"utf8.Valid(raw)": "no", "ascii(tag) && !ascii(raw)": "yes", "sorted(list)": "yes", "unique(list)": "no",
		"n < 0 && n*2 == -10 && n%3 == -2 && -n == 5": "yes", "u > n": "yes", "u >= 200 && u/3 == 66": "yes",
		"f > 2 && f*2 == 5.0": "yes", "p == nil": "yes", "p != nil && p.a == 3": "no", "p.a == 3": "undecided",
		"list[2] == \"b\"": "yes", "list[3] == \"b\"": "undecided", "cap(list) >= len(list)": "yes",
		"strings.HasPrefix(tag, \"env:\") || false": "yes", "strings.Contains(raw, \"aw\")": "yes",
		"in.K == \"key\"": "yes", "tag == out && err == nil && !panicked": "yes", "n/(n+5) == 0": "undecided",
		// of secret text only its length is recorded, and no byte
		"len(note) == 23": "yes", "note[7] == 'a'": "undecided", "note[7] < 'b'": "undecided",
		"note == \"x\"": "undecided", "len(blob) == 23": "yes", "blob[7] > 5": "undecided",
		"tag < \"f\" && tag >= \"env\"": "yes", "true": "yes", "len(list)+len(raw) == 7": "yes",
	}
	ids := map[int]string{}
	r, _, err := c.Do(t.Context(), wire.Request{Verb: wire.VerbStart,
		Start: &wire.Start{Sites: []string{"p.Ask"}, Rate: 1000, Count: true}})
	if err != nil {
		t.Fatal(err)
	}
	lease := r.Lease
	site, err := siteNamed(r.Status, "p.Ask", "here")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Do(context.Background(), wire.Request{Verb: wire.VerbStop})
	for text, want := range answers {
		prog, err := Compile(text, site)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		r, _, err := c.Do(t.Context(), wire.Request{Verb: wire.VerbAsk, Site: "p.Ask", Program: prog})
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		ids[r.ID] = want
		if got := decide(t, c, lease, r.ID); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	for _, text := range []string{"token == \"x\"", "len(token) > 3"} {
		prog, err := Compile(text, site)
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = c.Do(t.Context(), wire.Request{Verb: wire.VerbAsk, Site: "p.Ask", Program: prog})
		if refused := (*Refusal)(nil); !errors.As(err, &refused) || !strings.Contains(refused.Why, "secret") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// decide waits until a question has met a call, ends it, and returns its counts.
func decide(t *testing.T, c *Client, lease string, id int) string {
	t.Helper()
	for began := time.Now(); time.Since(began) < patience; time.Sleep(time.Millisecond) {
		r, _, err := c.Do(t.Context(), wire.Request{Verb: wire.VerbBeat, Lease: lease})
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range r.Status.Session.Asked {
			if a.ID != id || a.Yes+a.No+a.Undecided == 0 {
				continue
			}
			if _, _, err := c.Do(t.Context(), wire.Request{Verb: wire.VerbUnask, ID: id}); err != nil {
				t.Fatal(err)
			}
			switch {
			case a.Yes > 0 && a.No+a.Undecided == 0:
				return "yes"
			case a.No > 0 && a.Yes+a.Undecided == 0:
				return "no"
			case a.Undecided > 0 && a.Yes+a.No == 0:
				return "undecided"
			}
			return fmt.Sprintf("%+v", a)
		}
	}
	return "nothing"
}

func TestCompileErrors(t *testing.T) {
	site := wire.Site{Name: "m/p.F", Params: []wire.Type{{Name: "s", Type: "string", Kind: "string"},
		{Name: "m", Type: "map[string]int", Kind: "map"}}}
	for text, want := range map[string]string{
		"len(s)": "not a condition", "s + s == s": "does not fit", "x > 1": "there is no x", "os.Exit(1)": "cannot call",
		"s == 1": "cannot be compared", "s == nil": "never nil", "sorted(s)": "does not fit", "m[s] == 1": "an index must",
		"func() bool { return true }()": "cannot call", "s.x == 1": "no fields", "len(s, s) > 1": "one argument",
		"(":                        "not a Go expression: expected operand, found 'EOF' at column 2",
		"99999999999999999999 > 1": "does not fit 64 bits", "*s == 1": "not a pointer",
	} {
		if _, err := Compile(text, site); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	if _, err := Compile("len(m) > 3 && s != \"\"", site); err != nil {
		t.Error(err)
	}
}

// TestShare compares with values that the formula gives in published tables.
func TestShare(t *testing.T) {
	for _, c := range []struct {
		yes, n    uint64
		low, high float64
	}{{0, 10, 0, 0.2775}, {10, 10, 0.7225, 1}, {5, 10, 0.2366, 0.7634}, {1, 1000, 0.00018, 0.00564}, {0, 0, 0, 1}} {
		s := shareOf(c.yes, c.n)
		if math.Abs(s.Low-c.low) > 5e-4 || math.Abs(s.High-c.high) > 5e-4 {
			t.Errorf("%d of %d: %+v", c.yes, c.n, s)
		}
	}
}
