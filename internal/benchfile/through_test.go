package benchfile

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/hotspots"
)

// service is a second file of the planted package: what calls its functions in production.
const service = `package p

// A Desk serves calls. No record can hold it.
type Desk struct {
	log  func(string)
	done chan bool
	seen int
}

func newDesk(size int) *Desk { return &Desk{log: func(string) {}, done: make(chan bool, size)} }

// Serve forgets what Recall keeps before it asks: each call has to work.
func (d *Desk) Serve(s string, now int64) int {
	for i := range kept {
		kept[i].text = ""
	}
	d.seen++
	if len(s) < 3 { // Recall never sees it
		return int(now)
	}
	return Recall(s)
}

// Tell keeps a list of its own, so that Add finds room in one call of two.
func (d *Desk) Tell(t *Tally, list []int) int {
	if d.seen++; d.seen%2 == 0 {
		t.seen = nil
	}
	return t.Add(list)
}

// Flush empties the table of Count after 16 words, as a service does after some time.
func Flush(word string) int {
	if len(counts) == 16 {
		clear(counts)
	}
	return Count(word + "-of-a-host")
}

var counts = map[string]int{}

// Count works for words that it does not know.
//
//go:noinline
func Count(word string) int {
	n, ok := counts[word]
	if !ok {
		n = worked(word)
		counts[word] = n
		return n
	}
	return again(n)
}

// Mark reads a name, and a list of numbers.
func Mark(name string, list []int) int { return readText(name) + readList(list) }

// Find reads what it keeps from call to call.
func Find(n int) int { return readShelf(n) + again(n) }

var shelf [2048]int

func init() {
	for i := range shelf {
		shelf[i] = (i + 1117) % len(shelf)
	}
}

//go:noinline
func readShelf(n int) int {
	n &= len(shelf) - 1
	for range 8 {
		n = shelf[n] // each place leads to the next
	}
	return n
}

// Three takes two lists and a name.
func Three(a []int, name string, b []int) int { return len(a) + len(name) + len(b) }

// Shared has parameters that a call may change, and others.
func Shared(n int, seen map[string]int, list []int, at *int) int { return n + len(seen) + len(list) + *at }

// Both reads two lists.
func Both(a, b []int) int { return readList(a) + readOther(b) }

//go:noinline
func readText(s string) (n int) {
	for i := 0; i < len(s); i += 8 {
		n += int(s[i])
	}
	return n
}

//go:noinline
func readList(list []int) (n int) {
	for i, v := range list {
		n += v * i
	}
	return n
}

//go:noinline
func readOther(list []int) (n int) {
	for i, v := range list {
		n += v ^ i
	}
	return n
}
`

// TestThrough: production calls a function in a way that no benchmark of the function alone does,
// since the caller decides it. Through the caller the benchmark is alike.
func TestThrough(t *testing.T) {
	type route struct {
		name, caller string
		given        []string
		own, calls   []string
	}
	cases := []route{
		{"Recall", "Desk.Serve", []string{"d=newDesk(2)", "now=7"},
			each(6, `{"args": {"s": "text-%02d"}}`),
			append(each(6, `{"args": {"s": "text-%02d", "now": %[1]d}}`), `{"args": {"s": "ab"}, "weight": 2}`)},
		{"Count", "Flush", nil, each(24, `{"args": {"word": "w%02d-of-a-host"}}`), each(24, `{"args": {"word": "w%02d"}}`)},
		{"Tally.Add", "Desk.Tell", []string{"d=newDesk(0)", "t=new(Tally)"},
			append(each(6, `{"args": [{"seen": {"$cap": 64, "value": []}}, [1, 2, 3, 4, 5, 6, 7, 8, 9, %d]]}`),
				each(6, `{"args": [{"seen": null}, [1, 2, 3, 4, 5, 6, 7, 8, 9, %d]]}`)...),
			each(6, `{"args": {"list": [1, 2, 3, 4, 5, 6, 7, 8, 9, %d]}}`)},
	}
	profiled := clocked(t, cases)
	for _, c := range cases {
		dir := plant(t)
		u, own := loadFrom(t, dir, c.name, c.own...)
		caller, calls := loadFrom(t, dir, c.caller, c.calls...)
		given, err := ParseGiven(&caller.Target, c.given)
		if err != nil {
			t.Fatal(err)
		}
		if c.name == "Tally.Add" {
			own.Facets.Mutates = []string{"t"}
		}
		through := bounds
		through.For, through.Given = u, given
		whole, err := Select(caller, calls, through)
		if err != nil {
			t.Fatal(err)
		}
		alone, err := Select(u, own, bounds)
		if err != nil {
			t.Fatal(err)
		}
		profile := func(seconds float64) error {
			f := &Fitter{Production: &hotspots.Subtree{}, Needed: 0.98, Seconds: seconds, State: "warm",
				Say: func(s string) { t.Log(s) }}
			production, err := f.attempt(t.Context(), *whole, "production")
			if err != nil {
				return err
			}
			f.Production = production.run.Subtree
			own, all := *alone, *whole
			fit, err := f.Fit(t.Context(), &own)
			if err != nil {
				return err
			}
			if high := min(fit.Callees.High, fit.Lines.High); high >= 0.98 {
				return fmt.Errorf("%s alone may be alike: %.3f at most", c.name, high)
			}
			if fit, err = f.Fit(t.Context(), &all); err != nil {
				return err
			}
			if len(fit.Tried) > 1 || min(fit.Callees.High, fit.Lines.High) < 0.98 || len(fit.Callers) == 0 {
				return fmt.Errorf("%s through %s: %.3f and %.3f alike", c.name, c.caller, fit.Callees.High,
					fit.Lines.High)
			}
			return nil
		}
		if slices.ContainsFunc(profiled, func(r route) bool { return r.name == c.name }) {
			longer(t, 0.5, profile)
		}
		// The file is a person's, too.
		text, err := whole.File(Form{})
		if err != nil {
			t.Fatal(err)
		}
		out := run(t, u, text)
		if !strings.Contains(out, "Benchmark"+whole.name()+"Replay") || strings.Contains(text, "now int64") {
			t.Errorf("%s\n%s", out, text)
		}
	}
}

// each makes calls of a form with a number.
func each(n int, form string) (list []string) {
	for i := range n {
		list = append(list, fmt.Sprintf(form, i))
	}
	return list
}

// TestParseGiven refuses what makes no value.
func TestParseGiven(t *testing.T) {
	u, _ := load(t, "Desk.Serve", `{"args": {"s": "a"}}`)
	for text, want := range map[string]string{
		"d":                   "has no value",
		"x=1":                 "has no parameter x",
		"d=newDesk(":          "is no Go expression",
		"d=newDesk(1),d=nil":  "given twice",
		"d=newDesk(1),now=12": "",
	} {
		_, err := ParseGiven(&u.Target, strings.Split(text, ","))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// TestFar: in production one part of the inputs is near and another far away. The fit finds which.
func TestFar(t *testing.T) {
	text, list := strings.Repeat("some-text", 10), strings.Repeat("7, ", 60)
	type far struct {
		name string
		call string
		far  int
	}
	for _, c := range clocked(t, []far{
		{"Mark", `{"args": ["%03d` + text + `", [` + list + `%[1]d]]}`, 0},
		{"Both", `{"args": [[` + list + `%d], [` + list + `%[1]d]]}`, 1},
	}) {
		u, calls := load(t, c.name, each(16, c.call)...)
		p, err := Select(u, calls, bounds)
		if err != nil {
			t.Fatal(err)
		}
		longer(t, 0.5, func(seconds float64) error {
			truth := *p
			truth.Handed, truth.Far, truth.Distance = true, []int{c.far}, coldBytes
			found, err := fitted(t, seconds, truth, *p, (*Fitter).parts)
			if err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			if len(found.plan.Far) != 1 || found.plan.Far[0] != c.far || unlike(found) {
				return fmt.Errorf("%s: parameters %v are far away, not %d", c.name, found.plan.Far, c.far)
			}
			return nil
		})
	}
}

// fitted takes one form as production, and returns what a step of the fit makes of another form,
// which must not be alike.
func fitted(
	t *testing.T, seconds float64, truth, plain Plan,
	step func(f *Fitter, from *try, attempt func(Plan, string) (*try, error)) (*try, error),
) (*try, error) {
	f := &Fitter{Production: &hotspots.Subtree{}, Needed: 0.98, Seconds: seconds, State: "auto",
		Say: func(s string) { t.Log(s) }}
	attempt := func(p Plan, what string) (*try, error) { return f.attempt(t.Context(), p, what) }
	production, err := attempt(truth, "production")
	if err != nil {
		return nil, err
	}
	f.Production = production.run.Subtree
	first, err := attempt(plain, "")
	if err != nil {
		return nil, err
	}
	if !unlike(first) {
		return nil, fmt.Errorf("the forms are alike: %+v", first.fit)
	}
	return step(f, first, attempt)
}

// TestParts moves one parameter after the other far away, the one that gains most first, and each
// farther as long as that gains. It stops where no other parameter gains.
func TestParts(t *testing.T) {
	u, calls := load(t, "Three", each(8, `{"args": [[%d], "text-%[1]d", [%[1]d]]}`)...)
	p, err := Select(u, calls, bounds)
	if err != nil {
		t.Fatal(err)
	}
	const kb, mb = 1 << 10, 1 << 20
	for _, c := range []struct {
		far      []int // what is most alike
		distance int
		tried    string
	}{
		{nil, 0, "0@256K 0@4096K 1@256K 1@4096K 2@256K 2@4096K"},
		{[]int{1}, 4 * mb, "0@256K 0@4096K 0@65536K 1@256K 1@4096K 1@65536K 2@256K 2@4096K " +
			"2@65536K 01@4096K 12@4096K"},
		{[]int{2}, 256 * kb, "0@256K 0@4096K 1@256K 1@4096K 2@256K 2@4096K 02@256K 12@256K"},
		{[]int{0, 2}, 64 * mb, "0@256K 0@4096K 0@65536K 1@256K 1@4096K 1@65536K 2@256K 2@4096K " +
			"2@65536K 01@65536K 02@65536K 012@65536K"},
	} {
		var tried []string
		form := func(p Plan) *try {
			alike := 0.9
			for i := range u.Target.Params { // each parameter that is not where it should be costs
				if slices.Contains(p.Far, i) != slices.Contains(c.far, i) {
					alike -= 0.1
				}
			}
			if c.distance > 0 && p.Distance > 0 {
				alike -= 0.01 * math.Abs(math.Log2(float64(p.Distance)/float64(c.distance)))
			}
			s := beagle.Similarity{Estimate: alike, Low: alike, High: alike}
			return &try{plan: p, fit: &beagle.BenchmarkFit{Callees: s, Lines: s, Needed: 0.98}}
		}
		best, err := (&Fitter{}).parts(form(*p), func(p Plan, _ string) (*try, error) {
			if !p.Handed {
				t.Errorf("near parameters are not read: %+v", p.Far)
			}
			tried = append(tried, strings.Trim(strings.ReplaceAll(fmt.Sprint(p.Far), " ", ""), "[]")+
				fmt.Sprintf("@%dK", p.Distance/kb))
			return form(p), nil
		})
		if err != nil || !slices.Equal(best.plan.Far, c.far) || best.plan.Distance != c.distance {
			t.Errorf("most alike with %v at %d: %v at %d %v", c.far, c.distance, best.plan.Far, best.plan.Distance, err)
		}
		if got := strings.Join(tried, " "); got != c.tried {
			t.Errorf("most alike with %v at %d: tried\n%s, want\n%s", c.far, c.distance, got, c.tried)
		}
	}
}

// TestFarText: the far parameter has a copy for each call, as many as its distance asks for, and
// the near ones are read before the call.
func TestFarText(t *testing.T) {
	u, calls := load(t, "Three", each(8, `{"args": [[%d], "text-%[1]d", [%[1]d]]}`)...)
	p, err := Select(u, calls, bounds)
	if err != nil {
		t.Fatal(err)
	}
	p.Handed, p.Far, p.Distance, p.Pause = true, []int{1}, 4<<20, 16
	text, err := p.File(Form{})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"{times: 1, arg0: c.arg0, arg1: strings.Clone(c.arg1), arg2: c.arg2}",
		"room < 4194304;", "k <= len(c.arg0)", "k <= len(c.arg2)", "threeReplayPause()", "Since < 16"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	if strings.Contains(text, "k < len(c.arg1)") {
		t.Errorf("the far parameter is read before its call\n%s", text)
	}
	run(t, u, text)
}

// TestPause: in production others take the caches now and then, and with them what the function
// keeps.
func TestPause(t *testing.T) {
	if len(clocked(t, []string{"Find"})) == 0 {
		t.Skip("not drawn")
	}
	u, calls := load(t, "Find", each(200, `{"args": {"n": %d}}`)...)
	p, err := Select(u, calls, bounds)
	if err != nil {
		t.Fatal(err)
	}
	longer(t, 0.5, func(seconds float64) error {
		truth := *p
		truth.Pause = 16
		found, err := fitted(t, seconds, truth, *p, (*Fitter).pause)
		if err != nil {
			return err
		}
		if found.plan.Pause == 0 || unlike(found) {
			return fmt.Errorf("a pause after %d calls", found.plan.Pause)
		}
		return nil
	})
}

// pausing is a function whose calls cost more after a pause: the first ones find less in caches.
type pausing struct{ refill float64 } // calls until the caches are full again

// run returns the profile of a form of the function with these samples.
func (c pausing) run(every int, samples float64) *Run {
	const warm, own, wait = 100.0, 30.0, 2000.0 // ns: of a call, of that its own code, all that a pause costs
	again := 0.0
	if every > 0 {
		again = wait * (1 - math.Exp(-float64(every)/c.refill)) / float64(every)
	}
	parts := map[string]float64{"m.own": own, "m.kept": warm - own + again}
	for name := range parts {
		parts[name] = math.Round(samples * parts[name] / (warm + again))
	}
	return &Run{Busy: warm + again, Subtree: &hotspots.Subtree{Target: "m.F", Share: 1, Effective: samples,
		Callees: parts, Lines: parts}}
}

// TestPauses finds after how many calls production pauses by a few forms, also where caches are
// still not full when the next pause comes. It does not try pauses that do not gain.
func TestPauses(t *testing.T) {
	for _, c := range []struct {
		every  int // in production
		refill float64
		most   int // forms
	}{{0, 5, 1}, {200, 5, 2}, {64, 5, 2}, {40, 15, 3}, {16, 5, 1}, {10, 5, 3}, {4, 5, 2}, {1, 2, 3}} {
		var tried []int
		const samples = 1_000_000
		f := &Fitter{Needed: 0.98, Say: func(string) {}}
		world := pausing{c.refill}
		f.Production = world.run(c.every, samples).Subtree
		form := func(p Plan) *try {
			run := world.run(p.Pause, samples)
			return &try{plan: p, run: run, fit: f.Compare(run.Subtree)}
		}
		best, err := f.pause(form(Plan{}), func(p Plan, _ string) (*try, error) {
			tried = append(tried, p.Pause)
			return form(p), nil
		})
		if err != nil {
			t.Fatal(err)
		}
		found := best.plan.Pause
		if unlike(best) || len(tried) > c.most || (c.every == 0) != (found == 0) {
			t.Errorf("a pause after %d calls, filled after %g: %d, tried %v: %.3f", c.every, c.refill, found, tried,
				best.fit.Callees.Estimate)
		}
	}
}

// TestFitEnds: a fit that ends early keeps the most alike form so far, and says so. One without
// samples that were held out says that, too.
func TestFitEnds(t *testing.T) {
	u, c := load(t, "Find", each(20, `{"args": {"n": %d}}`)...)
	plan, err := Select(u, c, bounds)
	if err != nil {
		t.Fatal(err)
	}
	world := pausing{5}
	for _, c := range []struct {
		name  string
		limit time.Duration
		stop  int // the interrupt comes in this profile
		held  bool
		pause int // of the form that is kept
		want  string
	}{
		{"to its end", 0, 0, true, 4, ""},
		{"without halves", 0, 0, false, 4, notHeld},
		{"at the limit", time.Nanosecond, 0, true, 0, "ended after 1ns (--time), and not all"},
		{"interrupted in the search", 0, 3, true, 16, "when it was interrupted, and not all forms were tried; " + notHeld},
		{"interrupted in the last profile", 0, 4, true, 4, notHeld},
	} {
		ctx, interrupt := context.WithCancel(t.Context())
		profiles := 0
		f := &Fitter{Production: world.run(4, 20_000).Subtree, Needed: 0.98, Limit: c.limit, State: "auto",
			Say: func(string) {}}
		f.planted = func(ctx context.Context, p *Plan) (*Run, error) {
			if profiles++; profiles == c.stop {
				interrupt()
			}
			return world.run(p.Pause, 10_000), ctx.Err()
		}
		if c.held {
			f.Split = [2]*hotspots.Subtree{world.run(4, 10_000).Subtree, world.run(4, 10_000).Subtree}
		}
		p := *plan
		fit, err := f.Fit(ctx, &p)
		if interrupt(); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		warnings := strings.Join(fit.Warnings, "; ")
		confirmed := c.name == "to its end"
		if p.Pause != c.pause || fit.Held != confirmed || !strings.Contains(warnings, c.want) ||
			confirmed && strings.Contains(warnings, "the form was chosen") {
			t.Errorf("%s: a pause after %d calls, held out %v: %s", c.name, p.Pause, fit.Held, warnings)
		}
	}
}

// TestMore: a form is profiled for its seconds, or longer where calls are a small part of its time,
// and no longer than its samples or the limit ask for.
func TestMore(t *testing.T) {
	for _, c := range []struct {
		had, share, samples float64 // of the run so far
		partial             bool
		production, longest float64
		want                float64
	}{
		{2, 0.5, 100, false, 0, 0, 6},    // three times as long as before
		{8, 0.5, 100, false, 0, 0, 2},    // up to its 10 seconds
		{9.5, 0.5, 100, false, 0, 0, 0},  // nearly
		{10, 0.25, 100, true, 0, 0, 30},  // until its calls have had them
		{40, 0.01, 100, true, 0, 0, 40},  // eight times at most
		{20, 0.25, 100, true, 0, 30, 10}, // and within the limit
		{2, 0.25, 400, true, 400, 0, 6},  // four times production's samples, at 200 a second
		{6, 0.25, 1200, true, 400, 0, 2}, //
		{8, 0.25, 1600, true, 400, 0, 0}, //
		{2, 0, 0, false, 100, 0, 6},      // no sample yet
	} {
		f := &Fitter{Seconds: 10, Production: &hotspots.Subtree{Effective: c.production}, longest: c.longest}
		run := &Run{Seconds: c.had}
		if c.samples > 0 {
			run.Subtree = &hotspots.Subtree{Share: c.share, Effective: c.samples}
		}
		if got := f.more(run, c.partial); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%+v: %g more seconds", c, got)
		}
	}
}

// TestPrograms: forms that differ in numbers alone are one program, which takes them from its
// environment. The file for people has them as they are.
func TestPrograms(t *testing.T) {
	u, calls := load(t, "Three", each(8, `{"args": [[%d], "text-%[1]d", [%[1]d]]}`)...)
	p, err := Select(u, calls, bounds)
	if err != nil {
		t.Fatal(err)
	}
	one, other := *p, *p
	one.Handed, one.Far, one.Distance, one.Pause, one.Work = true, []int{1}, 4<<20, 16, 2
	other.Handed, other.Far, other.Distance, other.Pause, other.Work = true, []int{1}, 256<<10, 3, 64
	fast := Form{Fast: true}
	if one.body(fast) != other.body(fast) || one.body(fast) == p.body(fast) || one.body(Form{}) == other.body(Form{}) {
		t.Errorf("%s", one.body(fast))
	}
	want := []string{"BEAGLE_BENCH_Every=16", "BEAGLE_BENCH_Pieces=2", "BEAGLE_BENCH_Room=4194304"}
	if !slices.Equal(one.numbers(), want) || len(p.numbers()) > 0 {
		t.Errorf("%q and %q", one.numbers(), p.numbers())
	}
	// It runs with its numbers, and not without them.
	f := &Fitter{}
	defer f.close()
	b, err := f.program(t.Context(), &one, fast)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := f.program(t.Context(), &other, fast); again != b || err != nil {
		t.Errorf("another program: %v", err)
	}
	if _, _, err := b.runOnce(t.Context(), "Replay", 0.01, nil, &Run{}); err == nil {
		t.Error("it runs without its numbers")
	}
	if _, _, err := b.runOnce(t.Context(), "Replay", 0.01, one.numbers(), &Run{}); err != nil {
		t.Error(err)
	}
}

// TestGivenScope: expressions of --give mean names of the package, whatever the benchmark's own
// variables are called.
func TestGivenScope(t *testing.T) {
	dir := plant(t)
	names := "package p\n\nvar b, calls, i, all, given0 = 1, 2, 3, 4, 5\n\n" +
		"func c(n ...int) *Desk { return newDesk(len(n)) }\n\n" +
		"func Logged(logf func(string, ...any), n int, more ...int) int { logf(\"\"); return n + len(more) }\n"
	if err := os.WriteFile(filepath.Join(dir, "names.go"), []byte(names), 0o666); err != nil {
		t.Fatal(err)
	}
	u, calls := loadFrom(t, dir, "Desk.Serve", `{"args": {"s": "text", "now": 1}}`, `{"args": {"s": "ab", "now": 1}}`)
	o := bounds
	var err error
	if o.Given, err = ParseGiven(&u.Target, []string{"d=c(b, calls, i, all)", "now=int64(given0)"}); err != nil {
		t.Fatal(err)
	}
	p, err := Select(u, calls, o)
	if err != nil {
		t.Fatal(err)
	}
	text, err := p.File(Form{Apart: true})
	if err != nil {
		t.Fatal(err)
	}
	run(t, u, text)
	// A variadic function keeps its type, and a variadic parameter is a slice.
	u, calls = loadFrom(t, dir, "Logged", `{"args": {"n": 1}}`, `{"args": {"n": 2}}`)
	if o.Given, err = ParseGiven(&u.Target, []string{"logf=func(string, ...any) {}", "more=[]int{b}"}); err != nil {
		t.Fatal(err)
	}
	if p, err = Select(u, calls, o); err != nil {
		t.Fatal(err)
	}
	if text, err = p.File(Form{}); err != nil {
		t.Fatal(err)
	}
	run(t, u, text)
}

// TestUnseen: where parameters are given, the file says which others the call may change unseen.
func TestUnseen(t *testing.T) {
	u, calls := load(t, "Shared", `{"args": {"n": 1, "seen": {"a": 1}, "list": [1], "at": 2}}`)
	for given, want := range map[string]string{"n=1": "changes seen and at, or", "": ""} {
		o := bounds
		if given != "" {
			var err error
			if o.Given, err = ParseGiven(&u.Target, []string{given}); err != nil {
				t.Fatal(err)
			}
		}
		p, err := Select(u, calls, o)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Join(p.Notes, "; ")
		if want == "" && strings.Contains(text, "changes") || !strings.Contains(text, want) {
			t.Errorf("given %q: %q, want %q", given, text, want)
		}
	}
}

// TestManyInputs: thousands of inputs are made by several functions.
func TestManyInputs(t *testing.T) {
	u, calls := load(t, "Find", each(600, `{"args": {"n": %d}}`)...)
	p, err := Select(u, calls, Options{Inputs: 1000, Bytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	p.Pause = 64
	text, err := p.File(Form{})
	if err != nil {
		t.Fatal(err)
	}
	if p.Inputs() != 600 || !strings.Contains(text, "findReplayInputs2()") ||
		!strings.Contains(run(t, u, text), "BenchmarkFindReplay") {
		t.Errorf("%d inputs\n%s", p.Inputs(), text)
	}
}
