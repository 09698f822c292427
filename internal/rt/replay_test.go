package rt

import (
	"errors"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"
)

// version makes a variant of a plain function.
func version[A, R any](f func(a *A, r *R)) Variant[A, R] {
	return Variant[A, R]{Eval: f}
}

type textArgs struct{ A0 string }
type textResults struct{ R0 string }
type bytesArgs struct{ A0 []byte }
type bytesResults struct{ R0 []byte }

// calls writes records of arguments.
func calls[A any](t *testing.T, list ...A) []string {
	t.Helper()
	var records []Record
	for i := range list {
		b, err := Encode(&list[i])
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, Record{Args: b, Weight: 1})
	}
	path := filepath.Join(t.TempDir(), "records")
	if err := WriteRecords(path, records); err != nil {
		t.Fatal(err)
	}
	return []string{path}
}

func replayed[A, R any](t *testing.T, q *Replay, records []string, fs ...func(*A, *R)) *ReplayReply {
	t.Helper()
	h := &Harness[A, R]{}
	for _, f := range fs {
		h.Variants = append(h.Variants, version(f))
	}
	q.Variant, q.Records = 1, records
	out, err := h.replay(q)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func kindOf(d *Diff) string {
	if d == nil {
		return ""
	}
	return d.Kind
}

func upper(a *textArgs, r *textResults) { r.R0 = strings.ToUpper(a.A0) }

func TestReplayResult(t *testing.T) {
	records := calls(t, textArgs{"plain"}, textArgs{"xyxyxy!xy"}, textArgs{""})
	if d := replayed(t, &Replay{}, records, upper, upper).Diff; d != nil {
		t.Fatalf("equal versions differ: %+v", d)
	}
	d := replayed(t, &Replay{}, records, upper, func(a *textArgs, r *textResults) {
		if upper(a, r); strings.Contains(a.A0, "!") {
			r.R0 = ""
		}
	}).Diff
	if d == nil || d.Kind != "result" || d.Call[0] != `"!"` || d.WantGo[0] != `"!"` || d.Case != 1 {
		t.Fatalf("got %+v", d)
	}
}

func TestReplayPanics(t *testing.T) {
	first := func(a *textArgs, r *textResults) { r.R0 = a.A0[:1] }
	own := func(a *textArgs, r *textResults) {
		if a.A0 == "" {
			panic("empty")
		}
		first(a, r)
	}
	swallowed := func(a *textArgs, r *textResults) {
		defer func() { recover() }()
		first(a, r)
	}
	records := calls(t, textArgs{"a"}, textArgs{""})
	for level, want := range map[string]string{PanicsAny: "", PanicsKind: "panic", PanicsExact: "panic"} {
		d := replayed(t, &Replay{Panics: level}, records, first, own).Diff
		if got := kindOf(d); got != want {
			t.Errorf("%s: another panic is %q, want %q", level, got, want)
		}
	}
	if d := replayed(t, &Replay{Panics: PanicsAny}, records, first, swallowed).Diff; kindOf(d) != "panic" {
		t.Errorf("a swallowed panic: %+v", d)
	}
}

func double(a *bytesArgs, r *bytesResults) {
	out := make([]byte, 0, 2*len(a.A0))
	r.R0 = append(append(out, a.A0...), a.A0...)
}

// TestReplayMemory plants every way of being wrong about memory and state.
func TestReplayMemory(t *testing.T) {
	var shared []byte
	seen := map[string][]byte{}
	count := 0
	cases := []struct {
		name, kind, check string
		f                 func(a *bytesArgs, r *bytesResults)
	}{
		{"shared buffer", "alias", CheckKept, func(a *bytesArgs, r *bytesResults) {
			shared = append(append(shared[:0], a.A0...), a.A0...)
			if r.R0 = shared; len(shared) == 0 {
				r.R0 = []byte{}
			}
		}},
		{"cache that hands out its memory", "alias", CheckResult, func(a *bytesArgs, r *bytesResults) {
			if _, ok := seen[string(a.A0)]; !ok {
				double(a, r)
				seen[string(a.A0)] = r.R0
			}
			r.R0 = seen[string(a.A0)]
		}},
		{"argument changed", "argument", "", func(a *bytesArgs, r *bytesResults) {
			if double(a, r); len(a.A0) > 2 {
				a.A0[2] = 0
			}
		}},
		{"tired after some calls", "state", "", func(a *bytesArgs, r *bytesResults) {
			if double(a, r); count%10 == 9 && len(a.A0) > 0 {
				r.R0 = []byte("tired")
			}
			count++
		}},
		{"nil for empty", "result", "", func(a *bytesArgs, r *bytesResults) {
			if double(a, r); len(r.R0) == 0 {
				r.R0 = nil
			}
		}},
	}
	records := calls(t, bytesArgs{[]byte("abc")}, bytesArgs{[]byte("xyz")}, bytesArgs{[]byte{}},
		bytesArgs{[]byte("hello")})
	for _, c := range cases {
		d := replayed(t, &Replay{}, records, double, c.f).Diff
		if kindOf(d) != c.kind {
			t.Errorf("%s: got %+v, want kind %s", c.name, d, c.kind)
		} else if c.check != "" && d.Check != c.check {
			t.Errorf("%s: found by %q, want %q", c.name, d.Check, c.check)
		}
	}
	if d := replayed(t, &Replay{}, records, double, double).Diff; d != nil {
		t.Errorf("equal versions: %+v", d)
	}
}

// TestReplayAlias: a result that shares memory with an argument is another result.
func TestReplayAlias(t *testing.T) {
	half := func(a *bytesArgs, r *bytesResults) { r.R0 = append([]byte(nil), a.A0[:len(a.A0)/2]...) }
	view := func(a *bytesArgs, r *bytesResults) { r.R0 = a.A0[:len(a.A0)/2] }
	records := calls(t, bytesArgs{[]byte("abcd")})
	if d := replayed(t, &Replay{}, records, half, view).Diff; kindOf(d) != "alias" {
		t.Errorf("got %+v", d)
	}
	if d := replayed(t, &Replay{}, records, view, view).Diff; d != nil {
		t.Errorf("equal versions: %+v", d)
	}
}

type errArgs struct{ A0 int }
type errResults struct {
	R0 int
	R1 error
}

func TestReplayErrors(t *testing.T) {
	f := func(text string) func(*errArgs, *errResults) {
		return func(a *errArgs, r *errResults) {
			if r.R0 = a.A0; a.A0 < 0 {
				r.R1 = errors.New(text)
			}
		}
	}
	records := calls(t, errArgs{1}, errArgs{-5})
	if d := replayed(t, &Replay{}, records, f("negative"), f("negative")).Diff; d != nil {
		t.Errorf("equal versions: %+v", d)
	}
	d := replayed(t, &Replay{}, records, f("negative"), f("neg")).Diff
	if kindOf(d) != "result" || d.Call[0] != "-1" {
		t.Errorf("got %+v", d)
	}
}

// TestUnstable: an original that differs from itself is no evidence against a candidate.
func TestUnstable(t *testing.T) {
	n := 0
	counter := func(_ *errArgs, r *errResults) { n++; r.R0 = n }
	out := replayed(t, &Replay{}, calls(t, errArgs{1}, errArgs{2}), counter, counter)
	if out.Diff != nil || out.Unstable != 2 {
		t.Errorf("got %+v", out)
	}
}

// TestTied: beside an original that draws the order of equal elements, a candidate may draw any of
// its orders, however seldom it comes, and may do nothing else.
func TestTied(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	draws := func(seldom int, tie string) func(*textArgs, *textResults) {
		return func(a *textArgs, r *textResults) {
			switch {
			case a.A0 != "tied":
				r.R0 = a.A0
			case rng.IntN(seldom) == 0:
				r.R0 = "ba"
			default:
				r.R0 = tie
			}
		}
	}
	var list []textArgs
	for range 2000 {
		list = append(list, textArgs{"tied"}, textArgs{"other"})
	}
	records := calls(t, list...)
	for range 3 {
		if out := replayed(t, &Replay{}, records, draws(8, "ab"), draws(8, "ab")); out.Diff != nil {
			t.Fatalf("the same draw: %+v", out.Diff)
		}
	}
	d := replayed(t, &Replay{}, records, draws(8, "ab"), draws(8, "aa")).Diff
	if d == nil || d.Check != CheckItself || d.Call[0] != `"tied"` {
		t.Errorf("what the original never does: %+v", d)
	}
	never := func(a *textArgs, r *textResults) { r.R0 = a.A0 + "?" }
	if d := replayed(t, &Replay{}, calls(t, textArgs{"other"}), draws(8, "ab"), never).Diff; d == nil || d.Check != "" {
		t.Errorf("a difference elsewhere: %+v", d)
	}
}

// TestManyTied: beside an original that draws one of very many orders, a candidate may draw an
// unseen order, and may not lose an element, though not all outcomes are known.
func TestManyTied(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	shuffled := func(a *bytesArgs, r *bytesResults) {
		r.R0 = slices.Clone(a.A0)
		rng.Shuffle(len(r.R0), func(i, j int) { r.R0[i], r.R0[j] = r.R0[j], r.R0[i] })
	}
	loses := func(a *bytesArgs, r *bytesResults) {
		if shuffled(a, r); len(r.R0) > 5 {
			r.R0[0] = r.R0[1]
		}
	}
	records := calls(t, bytesArgs{[]byte("a")}, bytesArgs{[]byte("abcdefghijkl")}, bytesArgs{[]byte("mnopqrstuvw")})
	if out := replayed(t, &Replay{}, records, shuffled, shuffled); out.Diff != nil || out.Unstable != 2 {
		t.Errorf("the same draw: %+v", out)
	}
	if d := replayed(t, &Replay{}, records, shuffled, loses).Diff; d == nil || d.Check != CheckItself {
		t.Errorf("a lost element: %+v", d)
	}
}

// TestTiedAfterMany: inputs on which the original does very many things do not keep a wrong answer
// from being seen on one where it does one of two.
func TestTiedAfterMany(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	draws := func(tie string) func(*bytesArgs, *bytesResults) {
		return func(a *bytesArgs, r *bytesResults) {
			r.R0 = slices.Clone(a.A0)
			if len(r.R0) == 2 {
				r.R0 = []byte(tie)
			}
			rng.Shuffle(len(r.R0), func(i, j int) { r.R0[i], r.R0[j] = r.R0[j], r.R0[i] })
		}
	}
	var list []bytesArgs
	for n := range 16 {
		list = append(list, bytesArgs{[]byte(strings.Repeat("beagle", 300+n))})
	}
	records := calls(t, append(list, bytesArgs{[]byte("ab")})...)
	if d := replayed(t, &Replay{}, records, draws("ab"), draws("ab")).Diff; d != nil {
		t.Errorf("the same draw: %+v", d)
	}
	if d := replayed(t, &Replay{}, records, draws("ab"), draws("aa")).Diff; d == nil || d.Check != CheckItself {
		t.Errorf("what the original never does: %+v", d)
	}
}

// TestTiedKeys: versions that leave equal keys in a map's order pass all looks at memory.
func TestTiedKeys(t *testing.T) {
	type args struct{ A0 map[string]int }
	type results struct{ R0 []string }
	byValue := func(a *args, r *results) {
		for key := range a.A0 {
			r.R0 = append(r.R0, key)
		}
		sort.Slice(r.R0, func(i, j int) bool { return a.A0[r.R0[i]] < a.A0[r.R0[j]] })
	}
	var list []args
	for range 20 {
		list = append(list, args{map[string]int{"": 0, "0": 0, "z": 0}}, args{map[string]int{"b": 0, "0": 1, "z": 2}})
	}
	records := calls(t, list...)
	for _, cold := range []string{"", ColdKept, ColdRefill} {
		for seed := range uint64(8) {
			if d := replayed(t, &Replay{Cold: cold, Seed: seed}, records, byValue, byValue).Diff; d != nil {
				t.Errorf("%q: %s, %s: %s, %s", cold, d.Kind, d.Check, d.Want, d.Got)
			}
		}
	}
}

func TestConcurrent(t *testing.T) {
	records := calls(t, textArgs{"a"}, textArgs{"b"}, textArgs{"c"})
	out := replayed(t, &Replay{Threads: 4}, records, upper, upper)
	if out.Diff != nil || out.Cases != 12 {
		t.Errorf("got %+v", out)
	}
}

// TestLeftBehind: a goroutine that goes on after the call is found once, and
// not where the original has some too; one that is about to end may.
func TestLeftBehind(t *testing.T) {
	stop := make(chan bool)
	defer close(stop)
	leaks := func(a *textArgs, r *textResults) {
		upper(a, r)
		go func() { <-stop }()
	}
	ends := func(a *textArgs, r *textResults) {
		upper(a, r)
		go func() {}()
	}
	records := calls(t, textArgs{"a"}, textArgs{"b"}, textArgs{"c"})
	if d := replayed(t, &Replay{}, records, ends, leaks).Diff; d == nil || d.Kind != "goroutine" ||
		d.Check != CheckEnded {
		t.Errorf("got %+v", d)
	}
	for _, pair := range [][2]func(*textArgs, *textResults){{upper, ends}, {leaks, leaks}} {
		if d := replayed(t, &Replay{}, records, pair[0], pair[1]).Diff; d != nil {
			t.Errorf("got %+v", d)
		}
	}
}

func exhausted[A, R any](t *testing.T, q *Exhaust, fs ...func(*A, *R)) *ExhaustReply {
	t.Helper()
	h := &Harness[A, R]{}
	for _, f := range fs {
		h.Variants = append(h.Variants, version(f))
	}
	q.Variant = 1
	if q.Budget == 0 {
		q.Budget = int64(400 * time.Millisecond)
	}
	out, err := h.exhaust(q)
	if err != nil {
		t.Fatal(err)
	}
	return out.(*ExhaustReply)
}

func TestExhaustFinds(t *testing.T) {
	plant := func(wrong func(string) bool) func(*textArgs, *textResults) {
		return func(a *textArgs, r *textResults) {
			if upper(a, r); wrong(a.A0) {
				r.R0 += "?"
			}
		}
	}
	cases := map[string]struct {
		wrong func(string) bool
		most  int // length of the minimised input
	}{
		"one rare byte":        {func(s string) bool { return strings.Contains(s, "\xd7") }, 1},
		"rare byte at the end": {func(s string) bool { return len(s) > 8 && s[len(s)-1] == 0xd7 }, 9},
		"rare byte in a tail":  {func(s string) bool { return len(s)%4 == 3 && s[len(s)-2] == 0x1b }, 3},
		"long only":            {func(s string) bool { return len(s) > 250 }, 251},
		"one length":           {func(s string) bool { return len(s) == 67 }, 67},
		"a pair":               {func(s string) bool { return strings.Contains(s, "__") }, 2},
		"a pair, far":          {func(s string) bool { return len(s) > 4 && s[3:5] == "__" }, 5},
		"a rune":               {func(s string) bool { return strings.Contains(s, "é_") }, 3},
	}
	for name, c := range cases {
		// it ends when it finds
		out := exhausted(t, &Exhaust{Ints: []int64{'_', 'a', 'z'}, Budget: int64(time.Minute)}, upper, plant(c.wrong))
		switch {
		case out.Diff == nil:
			t.Errorf("%s: not found in %d cases: %+v", name, out.Cases, out.Phases)
		case out.Diff.Kind != "result":
			t.Errorf("%s: %+v", name, out.Diff)
		default:
			var a textArgs
			if err := Decode(out.Diff.Args, &a, nil); err != nil || len(a.A0) > c.most {
				t.Errorf("%s: minimised to %q (%v), want at most %d bytes", name, a.A0, err, c.most)
			}
		}
	}
	// Once by the clock, so that all phases have their turns, and once by a count, since a slow
	// machine tries fewer in a given time.
	const enough = 20_000
	for _, q := range []*Exhaust{{}, {Max: enough, Budget: int64(time.Minute)}} {
		q.Ints = []int64{'_', 'a', 'z'}
		if out := exhausted(t, q, upper, upper); out.Diff != nil || out.Cases < q.Max {
			t.Errorf("equal versions: %+v", out)
		}
	}
}

// TestExhaustSlow: an original of exponential cost is not asked for large numbers.
func TestExhaustSlow(t *testing.T) {
	var fib func(n int) int
	fib = func(n int) int {
		if n < 2 {
			return n
		}
		return fib(n-1) + fib(n-2)
	}
	slow := func(a *errArgs, r *errResults) { r.R0 = fib(a.A0) }
	fast := func(a *errArgs, r *errResults) {
		x, y := 0, 1
		for i := 0; i < a.A0; i++ {
			x, y = y, x+y
		}
		if r.R0 = x; a.A0 < 0 {
			r.R0 = a.A0
		}
		if a.A0 == 24 {
			r.R0++
		}
	}
	out := exhausted(t, &Exhaust{Budget: int64(time.Second)}, slow, fast)
	if kindOf(out.Diff) != "result" || out.Diff.Call[0] != "24" {
		t.Errorf("got %+v", out)
	}
	out = exhausted(t, &Exhaust{Budget: int64(time.Second)}, slow, slow)
	if out.Diff != nil || out.Cap == 0 || out.Cap > 60 {
		t.Errorf("got %+v", out)
	}
}

type listsArgs struct{ A0, A1 []string }
type listResults struct{ R0 []string }

// TestExhaustLists: two lists that differ only when they share an element.
func TestExhaustLists(t *testing.T) {
	join := func(a *listsArgs, r *listResults) { r.R0 = append(append([]string{}, a.A0...), a.A1...) }
	wrong := func(a *listsArgs, r *listResults) {
		if join(a, r); len(a.A0) > 1 && len(a.A1) > 0 && a.A0[1] == a.A1[0] {
			r.R0 = r.R0[1:]
		}
	}
	out := exhausted(t, &Exhaust{Budget: int64(time.Minute)}, join, wrong) // it ends when it finds
	if kindOf(out.Diff) != "result" || len(out.Diff.Call) != 2 {
		t.Fatalf("got %+v", out)
	}
	if out = exhausted(t, &Exhaust{}, join, join); out.Diff != nil {
		t.Errorf("equal versions: %+v", out.Diff)
	}
}

// TestCaseAgain: a case is found again by its number.
func TestCaseAgain(t *testing.T) {
	id := 0
	h := &Harness[textArgs, textResults]{Variants: []Variant[textArgs, textResults]{version(upper), version(upper)}}
	q := Exhaust{Variant: 1, Ints: []int64{'_'}, Budget: int64(200 * time.Millisecond)}
	x, _, err := h.exhauster(&q)
	if err != nil {
		t.Fatal(err)
	}
	h.Variants[1].Eval = func(a *textArgs, r *textResults) {
		if upper(a, r); a.A0 == "__" {
			_, id = Place(progress.Load())
		}
	}
	x.run()
	q.Case = &id
	out, err := h.exhaust(&q)
	if err != nil {
		t.Fatal(err)
	}
	if shown := out.(*ExhaustReply).Shown; shown == nil || PhaseOf(id) == "" || shown.Call[0] != `"__"` ||
		shown.Want != `returns "__"` {
		t.Errorf("case %d (%s): %+v", id, PhaseOf(id), shown)
	}
}

type mixedArgs struct {
	A0 string
	A1 []int
	A2 int
	A3 []byte
}

// TestCaseNumbers: cases are found again by their numbers in every phase, also
// after those that were left out since the original is too slow for them.
func TestCaseNumbers(t *testing.T) {
	made := map[int]string{}
	work := func(a *mixedArgs, r *textResults) {
		n := len(a.A0)
		if n > 40 || len(a.A1) > 40 || a.A2 > 60 {
			for end := ProcessCPU() + 2*slowCase; ProcessCPU() < end; {
			}
		}
		r.R0 = a.A0
	}
	note := func(a *mixedArgs, r *textResults) {
		_, id := Place(progress.Load())
		if id%7 == 0 {
			call, _ := spellCall(a)
			made[id] = strings.Join(call, ", ")
		}
		r.R0 = a.A0
	}
	h := &Harness[mixedArgs, textResults]{Variants: []Variant[mixedArgs, textResults]{version(work), version(note)}}
	for _, budget := range []time.Duration{5 * time.Millisecond, 600 * time.Millisecond} {
		clear(made)
		q := Exhaust{Variant: 1, Ints: []int64{'_', 70}, Lens: []int{192}, Budget: int64(budget)}
		x, _, err := h.exhauster(&q)
		if err != nil {
			t.Fatal(err)
		}
		x.run()
		last := map[string]int{}
		for id := range made {
			last[PhaseOf(id)] = max(last[PhaseOf(id)], id)
		}
		for phase, id := range last {
			again := q
			again.Case = &id
			out, err := h.exhaust(&again)
			if err != nil {
				t.Fatal(err)
			}
			shown := out.(*ExhaustReply).Shown
			if shown == nil || strings.Join(shown.Call, ", ") != made[id] {
				t.Errorf("%s: case %d is not %.80s", phase, id&(1<<caseShift-1), made[id])
			}
		}
		t.Logf("%v: %d phases, %d cases", budget, len(last), len(made))
	}
}

// TestPhaseNames: the names are those of the phases.
func TestPhaseNames(t *testing.T) {
	var names []string
	for _, p := range phases {
		names = append(names, p.name)
	}
	if !slices.Equal(names, phaseNames) {
		t.Errorf("the phases are called\n%q, and phaseNames has\n%q", names, phaseNames)
	}
}
