package bench

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/beagle-go/beagle"
)

// TestNeeds checks that a look has layouts enough for its risk, and none too many.
func TestNeeds(t *testing.T) {
	for finalists := 1; finalists <= 8; finalists++ {
		for look, risk := range looks {
			n, share := needs(look, finalists), risk/float64(finalists)
			if chance := math.Pow(2, -float64(n)); chance > share || n > minLayouts && 2*chance <= share {
				t.Errorf("look %d at %d finalists: %d layouts, which agree by chance with %.2g; the risk is %.2g", look,
					finalists, n, chance, share)
			}
		}
	}
	if got := []int{firstLook(1, 1), firstLook(3, 3), firstLook(4, 4), firstLook(5, 5)}; !slices.Equal(got,
		[]int{10, 10, 11, 11}) {
		t.Errorf("layouts of the first look at 1, 3, 4 and 5 finalists: %v", got)
	}
	// The rank test bears an interval that holds for all that was tried, and would not with fewer.
	for _, tried := range []int{20, 60, 144, 1000} {
		n, confidence := firstLook(1, tried), simultaneous(1, tried)
		_, _, _, bears := signedRank(make([]float64, n), confidence)
		_, _, _, fewer := signedRank(make([]float64, n-1), confidence)
		if !bears || n > layoutsALook && fewer {
			t.Errorf("%d tried: %d layouts at the first look; the rank test bears the interval: %v, of one less: %v",
				tried, n, bears, fewer)
		}
	}
}

// simField confirms copies of a planted candidate in a rig that a test has changed.
func simField(t *testing.T, seed uint64, p []planted, c code, budget time.Duration, change func(*simRig)) (
	*simRig, []beagle.Measurement,
) {
	t.Helper()
	l := &simRig{rng: rand.New(rand.NewPCG(seed, 1)), noise: loaded, code: c, planted: p, copies: copiesOf(len(p)),
		train: "train"}
	change(l)
	m := newConfirmer(l, len(p), Options{Seed: seed, MinGain: 0.01, Budget: budget}.defaults())
	m.sets, m.held = inputSets("train", "holdout", "fresh"), 100
	ms, err := m.run(t.Context(), 60)
	if err != nil {
		t.Fatal(err)
	}
	return l, ms
}

// TestClearGainInLittleTime checks that candidates that are clearly faster are confirmed, however
// many they are, though the time is over after the first look and some of its layouts say nothing.
func TestClearGainInLittleTime(t *testing.T) {
	for finalists := 1; finalists <= 6; finalists++ {
		for _, gain := range []float64{1.3, 6.4} {
			for lost := range 4 {
				ps := slices.Repeat([]planted{{gain: gain, pgo: 1}}, finalists)
				lose := func(l *simRig) { l.lost = lost }
				_, ms := simField(t, uint64(finalists), ps, ordinary, time.Nanosecond, lose)
				for i, m := range ms {
					if !m.Faster {
						t.Errorf("candidate %d of %d, %vx, %d layouts lost: %s", i, finalists, gain, lost, m.Why)
					}
				}
			}
		}
	}
}

// TestHurriedSaysSo checks that a measurement whose time was over says so, and what to do.
func TestHurriedSaysSo(t *testing.T) {
	short := func(l *simRig) { l.millis = 200 }
	hurried := 0
	for seed := range uint64(20) {
		_, ms := simField(t, seed, []planted{{gain: 1.02, pgo: 1}}, floating, 2*time.Second, short)
		m := ms[0]
		if m.Faster || !strings.Contains(m.Why, "no difference") && !strings.Contains(m.Why, "not sure yet") {
			continue
		}
		hurried++
		for _, want := range []string{fmt.Sprintf("after %d of up to 30 layouts", len(m.Layouts)), "--measure "} {
			if !strings.Contains(m.Why, want) {
				t.Errorf("seed %d, %d layouts: %q does not say %q", seed, len(m.Layouts), m.Why, want)
			}
		}
	}
	if hurried < 5 {
		t.Errorf("the time was over in %d of 20 runs, too few to see anything", hurried)
	}
}

// TestBestGoesOn checks that when the time is short the candidates that look best are measured on.
func TestBestGoesOn(t *testing.T) {
	most, few := 0, 0
	for seed := range uint64(10) {
		ps := []planted{{gain: 1.01, pgo: 1}, {gain: 1.08, pgo: 1}, {gain: 1.012, pgo: 1}}
		l, ms := simField(t, seed, ps, floating, 10*time.Second, func(l *simRig) { l.millis = 50 })
		if len(ms[1].Layouts) > 11 {
			most++
		}
		for _, n := range l.timed {
			if n == 2 {
				few++
				break
			}
		}
		for i := range ms {
			if len(ms[i].Layouts) > len(ms[1].Layouts) && !ms[1].Faster {
				t.Errorf("seed %d: candidate %d has %d layouts, the best %d", seed, i, len(ms[i].Layouts),
					len(ms[1].Layouts))
			}
		}
	}
	if most == 0 || few == 0 {
		t.Errorf("the best was measured on in %d of 10 runs, alone in %d", most, few)
	}
}

// TestGainBecomesKnown checks that a version which is surely faster is measured on, while there is
// time, until it is known by how much: not when the gain is clear, and not past the time.
func TestGainBecomesKnown(t *testing.T) {
	const runs = 40
	for _, c := range []struct {
		gain   float64
		code   code
		budget time.Duration
		share  float64 // of the gain that a low end should keep
		least  int     // runs whose low end keeps it, of those that are faster
		most   int     // layouts of a run, in the mean
	}{
		{1.06, ordinary, time.Minute, 0.8, 32, 22}, {1.08, floating, time.Minute, 0.6, 12, 30},
		{1.08, floating, time.Nanosecond, 0.6, 0, 12}, {2, floating, time.Minute, 0.6, runs, 12},
	} {
		faster, known, layouts := 0, 0, 0
		for seed := range uint64(runs) {
			slow := func(l *simRig) { l.millis = 50 }
			_, ms := simField(t, seed, []planted{{gain: c.gain, pgo: 1}}, c.code, c.budget, slow)
			if m := ms[0]; m.Faster {
				faster, layouts = faster+1, layouts+len(m.Layouts)
				if math.Log(m.Corrected.Low) > c.share*math.Log(c.gain) {
					known++
				}
			}
		}
		said := fmt.Sprintf("%vx in %v: of %d runs %d are faster, and of %d it is known by how much, with %d layouts "+
			"in all", c.gain, c.budget, runs, faster, known, layouts)
		if t.Log(said); known < c.least || layouts > c.most*faster {
			t.Error(said)
		}
	}
}

// TestLowEndsOnABusyMachine checks that low ends stay near the truth where slices err by far more
// than layouts do: several copies in several layouts average that out.
func TestLowEndsOnABusyMachine(t *testing.T) {
	const runs = 12
	ps := slices.Repeat([]planted{{gain: 1.08, pgo: 1}}, 5)
	near := 0
	for seed := range uint64(runs) {
		busy := func(l *simRig) { l.noise, l.rounds, l.millis = crowded, 50, 8 }
		_, ms := simField(t, seed, ps, ordinary, 6*time.Second, busy)
		if m := ms[0]; m.Faster && m.Corrected.Low >= 1.05 {
			near++
		}
	}
	if t.Logf("%d of %d low ends are 5 %% or more", near, runs); near < runs/2 {
		t.Errorf("%d of %d low ends are 5 %% or more, of a gain of 8 %%", near, runs)
	}
}

// TestAnswersComeFirst checks that in little time a version that is surely faster leaves the
// further looks to those of which it is not known whether they are.
func TestAnswersComeFirst(t *testing.T) {
	const runs, finalists = 40, 3
	faster := 0
	for seed := range uint64(runs) {
		ps := slices.Repeat([]planted{{gain: 1.02, pgo: 1}}, finalists)
		_, ms := simField(t, seed, ps, tight, 10*time.Second, func(l *simRig) { l.millis = 50 })
		for _, m := range ms {
			if m.Faster {
				faster++
			}
		}
	}
	if faster < runs*finalists*6/10 {
		t.Errorf("%d of %d versions are found to be faster", faster, runs*finalists)
	}
}

// TestFieldsKeepTheRisk checks the risk of a whole measurement where nothing but the looks decides.
// Of fields without a gain, one in 200 has a candidate that is found faster, however many there are
// and whether or not there is time for more than the first look.
func TestFieldsKeepTheRisk(t *testing.T) {
	const runs = 3000
	for _, finalists := range []int{1, 3, 4, 5} {
		for _, most := range []int{1, len(looks)} {
			now := falseFields(runs, finalists, most, firstLook(finalists, finalists))
			before := falseFields(runs, finalists, most, layoutsALook)
			t.Logf("%d finalists, %d looks: %.2f %% of the fields; with 10 layouts at the first look %.2f %%",
				finalists, most, 100*now, 100*before)
			if planned := 0.005; now > 1.5*planned {
				t.Errorf("%d finalists, %d looks: %.2f %% of the fields have a false win", finalists, most, 100*now)
			}
		}
	}
}

// falseFields returns the share of fields without a gain in which a candidate counts as faster,
// given the number of layouts at the first look.
func falseFields(runs, finalists, most, first int) float64 {
	rng := rand.New(rand.NewPCG(15, 15))
	fields := 0
	for range runs {
		logs, found := make([][]float64, finalists), false
		for look := range most {
			for i := range logs {
				for len(logs[i]) < max((look+1)*layoutsALook, first) {
					logs[i] = append(logs[i], rng.NormFloat64())
				}
				found = found || detects(logs[i], looks[look]/float64(finalists))
			}
		}
		if found {
			fields++
		}
	}
	return float64(fields) / float64(runs)
}

// TestFieldsWithoutGain checks that of five candidates without a gain none is called faster when
// the time is over after the first look, in code that the layouts matter most to.
func TestFieldsWithoutGain(t *testing.T) {
	const runs = 200
	rng := rand.New(rand.NewPCG(16, 16))
	wins := 0
	for range runs {
		for range 5 {
			if _, faster, _ := floating.gains(1).decideFrom(rng, 1, 5, 60); faster {
				wins++
			}
		}
	}
	if wins > runs/50 {
		t.Errorf("%d of %d candidates without a gain are called faster", wins, 5*runs)
	}
}

// TestApartEndsWhenShown checks that processes apart stop once they have shown a gain. A gain that
// they do not show is measured in all layouts and refused.
func TestApartEndsWhenShown(t *testing.T) {
	for _, c := range []struct {
		p      planted
		faster bool
		asked  int
	}{{planted{gain: 2, pgo: 1}, true, leastApartLayouts}, {planted{gain: 1, cheat: 2, pgo: 1}, false, layoutsALook}} {
		sim := &simRig{rng: rand.New(rand.NewPCG(2, 1)), noise: quiet, planted: []planted{c.p}, copies: copiesOf(1),
			train: "train"}
		l := &nothingShared{simRig: sim}
		m := newConfirmer(l, 1, Options{Seed: 2, MinGain: 0.01}.defaults())
		m.sets, m.held = inputSets("train", "holdout", "fresh"), 100
		ms, err := m.run(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		if ms[0].Faster != c.faster || l.asked != c.asked {
			t.Errorf("%+v: faster %v after %d layouts apart, want %v after %d: %s", c.p, ms[0].Faster, l.asked,
				c.faster, c.asked, ms[0].Why)
		}
	}
}
