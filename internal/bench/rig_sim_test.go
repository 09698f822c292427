package bench

import (
	"cmp"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/rt"
)

// A planted candidate behaves as its fields say.
type planted struct {
	gain    float64 // on all inputs
	overfit float64 // further gain on the training inputs alone
	cheat   float64 // further gain while the original is in the same process: it slows the original down
	pgo     float64 // what is left of the gain with PGO, 1 is all
	bytes   float64
	dies    string
	from    int  // processes before the one from which on it dies
	inCold  bool // it dies with cold caches only
	same    bool
	perHalf [2]float64 // further gain by alignment
	table   int64      // bytes of its tables
	cold    float64    // gain with cold caches; 0 is the usual one
}

// A simRig simulates machine, linker and candidates.
type simRig struct {
	rng     *rand.Rand
	noise   noise
	code    code
	planted []planted
	copies  int
	train   string
	runs    int
	links   int
	rounds  int     // of a process; 0 is 120
	slow    bool    // a process comes to five rounds, and entries have four addresses
	millis  float64 // that a version takes in a process
	lost    int     // processes, the first ones, that say too little to be of use
	timed   []int   // versions of each process
	room    int     // copies that a process has room for; 0 is no limit
	cold    int     // and one with cold caches
}

type simImage struct {
	layout uint64
	aligns []int
	luck   []float64
	pgo    bool
}

func (im *simImage) align(v int) int { return im.aligns[v] }
func (im *simImage) seed() uint64    { return im.layout }

func (l *simRig) build(_ context.Context, pgo string, layout uint64) (image, map[int]string, error) {
	return l.link(pgo != "", layout), nil, nil
}

func (l *simRig) relink(_ context.Context, like image, layouts []uint64) ([]image, error) {
	var out []image
	for _, layout := range layouts {
		out = append(out, l.link(like.(*simImage).pgo, layout))
	}
	return out, nil
}

func (l *simRig) link(pgo bool, layout uint64) *simImage {
	l.links++
	im := &simImage{layout: layout, pgo: pgo}
	for range l.copies * (1 + len(l.planted)) {
		a := 32 * l.rng.IntN(2)
		if l.slow {
			a = 16 * l.rng.IntN(4)
		}
		im.aligns = append(im.aligns, a)
		im.luck = append(im.luck, l.code.classes*float64(a/32)+l.code.rest*l.rng.NormFloat64())
	}
	return im
}

func (l *simRig) time(_ context.Context, like image, q *rt.Time) (*rt.TimeReply, string, error) {
	im := like.(*simImage)
	l.runs++
	if l.room > 0 && len(q.Variants) > l.room || q.Cold && l.cold > 0 && len(q.Variants) > l.cold {
		return nil, "memory", nil
	}
	if len(q.Variants) == 0 {
		return nil, "", errors.New("no variants are named")
	}
	reply := &rt.TimeReply{GCByte: 1}
	weather := 0.02 * l.rng.NormFloat64() // a process as a whole is faster or slower
	for _, set := range q.Sets {
		var logs []float64
		original := false
		for _, v := range q.Variants {
			original = original || v < l.copies
			log := im.luck[v] + weather
			if v >= l.copies {
				p := l.planted[v/l.copies-1]
				if p.dies != "" && l.runs > p.from && (q.Cold || !p.inCold) {
					return nil, p.dies, nil
				}
				if gain := p.log(im, v, set.Records == l.train, original); q.Cold && p.cold > 0 {
					log -= math.Log(p.cold)
				} else {
					log -= gain
				}
			}
			logs = append(logs, log)
		}
		windows, rounds := 4, cmp.Or(l.rounds, 120)
		if l.slow {
			windows, rounds = 1, 5
		}
		if l.runs <= l.lost {
			windows, rounds = 1, 3
		}
		t := simulate(l.rng, l.noise, windows, rounds, logs...)
		for i, v := range q.Variants {
			if v >= l.copies {
				t.Allocs[i], t.Bytes[i] = 1, l.planted[v/l.copies-1].bytes
			}
		}
		t.Millis = l.millis * float64(len(q.Variants)/l.copies)
		reply.Sets = append(reply.Sets, *t)
	}
	l.timed = append(l.timed, len(q.Variants)/l.copies)
	return reply, "", nil
}

// timeApart times two requests on a machine that is the same for both, and whose
// first process begins earlier.
func (l *simRig) timeApart(
	ctx context.Context, im image, qs [2]*rt.Time,
) (replies [2]*rt.TimeReply, failure string, err error) {
	for i, q := range qs {
		if replies[i], failure, err = l.time(ctx, im, q); replies[i] == nil {
			return replies, failure, err
		}
		set := &replies[i].Sets[0]
		for r := range set.Window {
			if l.slow {
				set.Turn = append(set.Turn, int64(2*r+i))
				continue
			}
			set.Turn = append(set.Turn, int64(2*(r/8)+9*i))
		}
	}
	return replies, "", nil
}

// nothingShared times processes apart, each on inputs of its own, on the given number of layouts.
type nothingShared struct {
	*simRig
	layouts, asked int
}

func (l *nothingShared) timeApart(ctx context.Context, im image, qs [2]*rt.Time) ([2]*rt.TimeReply, string, error) {
	replies, failure, err := l.simRig.timeApart(ctx, im, qs)
	if l.asked++; l.asked > l.layouts {
		return replies, failure, err
	}
	for i, reply := range replies {
		for r := range reply.Sets[0].Window {
			reply.Sets[0].Window[r] = i
		}
	}
	return replies, failure, err
}

// TestProcessesApartWithoutCommonInputs checks that processes say nothing if a busy machine kept
// them from ever working together. The judge does not believe a gain of which most processes say
// nothing.
func TestProcessesApartWithoutCommonInputs(t *testing.T) {
	for _, layouts := range []int{3, 8, 1000} {
		sim := &simRig{rng: rand.New(rand.NewPCG(1, 1)), noise: quiet, planted: []planted{{gain: 1.3, pgo: 1}},
			copies: copiesOf(1), train: "train"}
		l := &nothingShared{simRig: sim, layouts: layouts}
		m := newConfirmer(l, 1, Options{Seed: 1, MinGain: 0.01}.defaults())
		m.sets, m.held = inputSets("train", "holdout", "fresh"), 100
		ms, err := m.run(t.Context(), 1)
		if err != nil || l.asked < 4 {
			t.Fatal(err, l.asked)
		}
		if most := 2*min(layouts, l.asked) > l.asked; ms[0].Faster == most || most != (ms[0].Apart == nil) ||
			strings.Contains(ms[0].Why, "processes apart") != most {
			t.Errorf("nothing shared on %d of %d layouts: faster %v: %s", layouts, l.asked, ms[0].Faster, ms[0].Why)
		}
	}
}

func (p planted) log(im *simImage, v int, train, original bool) float64 {
	log := math.Log(p.gain)
	if im.pgo {
		log *= p.pgo
	}
	add := func(x float64, when bool) {
		if when && x > 0 {
			log += math.Log(x)
		}
	}
	add(p.overfit, train)
	add(p.cheat, original)
	add(p.perHalf[im.aligns[v]/32], true)
	return log
}

func (l *simRig) profile(context.Context, image, *rt.Time) (string, error) { return "profile", nil }
func (l *simRig) sameCode(i int) bool                                      { return l.planted[i].same }
func (l *simRig) discard(image)                                            {}

func simConfirm(t *testing.T, seed uint64, n noise, c code, tried int, ps ...planted) []beagle.Measurement {
	t.Helper()
	l := &simRig{rng: rand.New(rand.NewPCG(seed, 1)), noise: n, code: c, planted: ps, copies: copiesOf(len(ps)),
		train: "train"}
	m := newConfirmer(l, len(ps), Options{Seed: seed, MinGain: 0.01}.defaults())
	m.sets, m.held = inputSets("train", "holdout", "fresh"), 100
	for i, p := range ps {
		m.finalists[i].table = p.table
	}
	ms, err := m.run(context.Background(), tried)
	if err != nil {
		t.Fatal(err)
	}
	return ms
}

// TestConfirmItself finds no difference between the original and itself, in every run, on every
// machine.
func TestConfirmItself(t *testing.T) {
	itself := planted{gain: 1, pgo: 1}
	for _, n := range []noise{quiet, loaded, awful, crowded} {
		for seed := range uint64(10) {
			for _, c := range []code{tight, ordinary, floating} {
				m := simConfirm(t, seed, n, c, 1, itself)[0]
				if m.Faster {
					t.Fatalf("seed %d, %+v: faster than itself: %+v", seed, n, m)
				}
				if m.Why == "" || m.Control == nil {
					t.Fatalf("no reason or no control: %+v", m)
				}
			}
		}
	}
}

// TestConfirmPlanted checks that planted wins are found, planted cheats are named.
func TestConfirmPlanted(t *testing.T) {
	for _, c := range []struct {
		name string
		p    planted
		why  string // "" for a win
	}{
		{"win", planted{gain: 1.3, pgo: 1}, ""},
		{"huge win", planted{gain: 1000, pgo: 1}, ""},
		{"loss", planted{gain: 0.8, pgo: 1}, "slower"},
		{"nothing", planted{gain: 1.004, pgo: 1}, "no difference"},
		{"only on the training inputs", planted{gain: 1, overfit: 2, pgo: 1}, "held-out inputs"},
		{"slows the original down", planted{gain: 1, cheat: 2, pgo: 1}, "processes of their own"},
		{"only at one alignment", planted{gain: 1, pgo: 1, perHalf: [2]float64{1.5, 1}}, "difference"},
		{"slower with PGO", planted{gain: 1.2, pgo: -1}, "profile-guided"},
		{"a large table that pays", planted{gain: 1.3, pgo: 1, table: 8192, cold: 1.2}, ""},
		{"a large table that does not", planted{gain: 4, pgo: 1, table: 1 << 20, cold: 0.8}, "cold caches"},
		{"a small table", planted{gain: 1.3, pgo: 1, table: 256, cold: 0.8}, ""},
		{"allocates", planted{gain: 1.2, pgo: 1, bytes: 1e6}, "allocates more"},
		{"same code", planted{gain: 1.2, pgo: 1, same: true}, "machine code"},
		{"dies", planted{gain: 1.2, pgo: 1, dies: "crash: exit status 2"}, "exit status 2"},
	} {
		m := simConfirm(t, 3, loaded, ordinary, 20, c.p)[0]
		if m.Faster != (c.why == "") || !strings.Contains(m.Why, c.why) {
			t.Errorf("%s: faster %v, why %q, train %.3f; want %q", c.name, m.Faster, m.Why, m.Train, c.why)
		}
	}
}

// TestSameCodeOnce checks that a version with the original's machine code gets one look, since
// further layouts can show no difference, and all of them where times alone decide.
func TestSameCodeOnce(t *testing.T) {
	for _, blind := range []bool{false, true} {
		l := &simRig{rng: rand.New(rand.NewPCG(5, 1)), noise: loaded, code: ordinary,
			planted: []planted{{gain: 1.016, pgo: 1, same: true}}, copies: copiesOf(1), train: "train"}
		m := newConfirmer(l, 1, Options{Seed: 5, MinGain: 1e-6, Blind: blind}.defaults())
		m.sets, m.held = inputSets("train", "holdout", "fresh"), 100
		if _, err := m.run(t.Context(), 20); err != nil {
			t.Fatal(err)
		}
		if once := m.timeBudget.layouts == firstLook(1, 20); once == blind {
			t.Errorf("blind %v: %d layouts", blind, m.timeBudget.layouts)
		}
	}
}

// TestConfirmSlow checks that a function so slow that few copies are timed, few times, can still
// win.
func TestConfirmSlow(t *testing.T) {
	for seed := range uint64(30) {
		l := &simRig{rng: rand.New(rand.NewPCG(seed, 1)), noise: loaded, code: ordinary,
			planted: []planted{{gain: 2, pgo: 1}}, copies: copiesOf(1), train: "train", slow: true}
		m := newConfirmer(l, 1, Options{Seed: seed, MinGain: 0.01, Budget: 1}.defaults()) // overdrawn at once
		m.sets, m.held = inputSets("train", "holdout", "fresh"), 100
		ms, err := m.run(t.Context(), 20)
		if err != nil {
			t.Fatal(err)
		}
		if !ms[0].Faster {
			t.Errorf("seed %d: %s", seed, ms[0].Why)
		}
	}
}

// TestOneDisturbedLayout checks that one layout that was disturbed, whichever way, does not hide a
// gain.
func TestOneDisturbedLayout(t *testing.T) {
	for _, by := range []float64{0.5, -0.01} {
		logs := make([]Estimate, 30)
		for i := range logs {
			logs[i] = Estimate{Log: 0.03 + 0.001*float64(i%7)}
		}
		logs[4].Log += by
		if f := judge(Combine(logs), 2, 1, 60, 0.01); f != knowledgeFaster {
			t.Errorf("a layout that is off by %v: knowledge %v", by, f)
		}
	}
}

// TestOutliersHideNothing checks that a repetition that shows nothing is not saved by one disturbed
// layout, nor a version that is much slower in some places by being faster in most.
func TestOutliersHideNothing(t *testing.T) {
	around := func(centre float64, n int, also ...float64) *Combined {
		var es []Estimate
		for i := range n - len(also) {
			es = append(es, Estimate{Log: centre + 0.002*float64(i%5-2)})
		}
		for _, x := range also {
			es = append(es, Estimate{Log: x})
		}
		c := Combine(es)
		return &c
	}
	e := &Case{Train: *around(0.1, 10)}
	for _, off := range []float64{0.3, -0.3, -1} {
		if e.Holdout = around(0, 10, off); notOnNewInputs(e, beagle.Ratio{}) == "" {
			t.Errorf("no gain on the holdout, with one layout at %v: not refused", off)
		}
	}
	for _, c := range []struct {
		train *Combined
		slow  bool
	}{
		{around(0.03, 30), false}, {around(0.03, 30, -0.5), false}, {around(0.03, 30, -1, -1), true},
	} {
		if why := notOnAverage(&Case{Train: *c.train}, beagle.Ratio{}); (why != "") != c.slow {
			t.Errorf("layouts %v: %q", c.train.logs, why)
		}
	}
}

// TestConfirmSlowFinalists checks that two finalists of a slow function may have no image in
// common, which is no error.
func TestConfirmSlowFinalists(t *testing.T) {
	for seed := range uint64(40) {
		l := &simRig{rng: rand.New(rand.NewPCG(seed, 1)), noise: loaded, code: ordinary,
			planted: []planted{{gain: 2, pgo: 1}, {gain: 1, pgo: 1}}, copies: copiesOf(2), train: "train", slow: true}
		m := newConfirmer(l, 2, Options{Seed: seed, MinGain: 0.01, Budget: 1}.defaults())
		m.sets, m.held = inputSets("train", "holdout", "fresh"), 100
		ms, err := m.run(t.Context(), 20)
		if err != nil {
			t.Fatal(err)
		}
		if ms[1].Faster {
			t.Errorf("seed %d: what gains nothing is called faster", seed)
		}
	}
}

// TestConfirmCrowded: candidates for which a process has no room together are timed all the same,
// and none of them is said to have ended it.
func TestConfirmCrowded(t *testing.T) {
	for _, room := range []int{10, 8, 6} {
		ps := []planted{{gain: 1.3, pgo: 1}, {gain: 1, pgo: 1}, {gain: 1.02, pgo: 1}}
		l := &simRig{rng: rand.New(rand.NewPCG(6, 1)), noise: loaded, code: ordinary, planted: ps,
			copies: copiesOf(len(ps)), train: "train", room: room}
		m := newConfirmer(l, len(ps), Options{Seed: 6, MinGain: 0.01}.defaults())
		m.sets = inputSets("train", "", "")
		ms, err := m.run(t.Context(), len(ps))
		if err != nil {
			t.Fatal(err)
		}
		if !ms[0].Faster || ms[1].Faster || strings.Contains(ms[1].Why+ms[2].Why, "died") {
			t.Errorf("room for %d: %q, %q, %q", room, ms[0].Why, ms[1].Why, ms[2].Why)
		}
	}
}

// TestConfirmColdCrowd: a measurement with cold caches goes on when there is no room for all
// candidates, and when one of them ends its process.
func TestConfirmColdCrowd(t *testing.T) {
	pays := planted{gain: 1.3, pgo: 1, table: 8192, cold: 1.2}
	for _, c := range []struct {
		bad  planted
		room int
		why  string
	}{
		{planted{gain: 1.3, pgo: 1, table: 8192, cold: 0.8}, 8, "cold caches"},
		{planted{gain: 1.3, pgo: 1, table: 8192, dies: "crash", inCold: true}, 0, "it died"},
	} {
		for _, ps := range [][]planted{{c.bad, pays}, {pays, c.bad}} {
			l := &simRig{rng: rand.New(rand.NewPCG(7, 1)), noise: quiet, code: tight, planted: ps,
				copies: copiesOf(len(ps)), train: "train", cold: c.room}
			m := newConfirmer(l, len(ps), Options{Seed: 7, MinGain: 0.01}.defaults())
			m.sets = inputSets("train", "", "")
			for i, p := range ps {
				m.finalists[i].table = p.table
			}
			ms, err := m.run(t.Context(), len(ps))
			if err != nil {
				t.Fatal(err)
			}
			for i, p := range ps {
				if faster := p == pays; ms[i].Faster != faster || !faster && !strings.Contains(ms[i].Why, c.why) {
					t.Errorf("%s: faster %v: %q", c.why, ms[i].Faster, ms[i].Why)
				}
			}
		}
	}
}

// TestConfirmInnocent: one candidate that kills the process must not take the others with it.
func TestConfirmInnocent(t *testing.T) {
	ms := simConfirm(t, 5, loaded, ordinary, 20,
		planted{gain: 1.3, pgo: 1}, planted{gain: 1.5, pgo: 1, dies: "memory"}, planted{gain: 1, pgo: 1})
	if !ms[0].Faster || ms[1].Faster || ms[2].Faster {
		t.Errorf("%v %q, %v %q, %v %q", ms[0].Faster, ms[0].Why, ms[1].Faster, ms[1].Why, ms[2].Faster, ms[2].Why)
	}
	if len(ms[0].Layouts) < layoutsALook {
		t.Errorf("%d layouts", len(ms[0].Layouts))
	}
}
