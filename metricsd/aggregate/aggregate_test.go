package aggregate

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/beagle-go/beagle/metricsd/contextkey"
	"github.com/beagle-go/beagle/metricsd/dogstatsd"
)

// sample reads a line the way the agent does.
func sample(t testing.TB, line string) *Sample {
	t.Helper()
	var m dogstatsd.Metric
	if err := dogstatsd.NewParser(1, 0).Metric([]byte(line), &m); err != nil {
		t.Fatal(err)
	}
	key, unique := contextkey.NewGenerator(1).Key(m.Name, m.Source.Host, m.Tags)
	return &Sample{
		Key:     key,
		Context: Context{Name: m.Name, Host: m.Source.Host, Tags: unique, Type: m.Type, Origin: m.Source.ContainerID},
		Values:  m.Values, SetValue: m.SetValue, Rate: m.Rate, Timestamp: m.Timestamp,
	}
}

func feed(t testing.TB, a *Aggregator, now int64, lines ...string) {
	t.Helper()
	for _, line := range lines {
		a.Add(sample(t, line), now)
	}
}

func one(t *testing.T, points []Point) Point {
	t.Helper()
	if len(points) != 1 {
		t.Fatalf("%d points, want 1: %+v", len(points), points)
	}
	return points[0]
}

func TestCountsAddUpOverRateTagsAndOrder(t *testing.T) {
	a := New(2, DefaultLimits())
	feed(t, a, 100, "m:1|c|#a,b", "m:2:3|c|#b,a,a", "m:1|c|@0.1|#a,b")
	if points := a.Flush(109); len(points) != 0 {
		t.Errorf("the open bucket was flushed: %+v", points)
	}
	p := one(t, a.Flush(110))
	if p.Value != 16 || p.Time != 100 || !slices.Equal(p.Tags, []string{"a", "b"}) {
		t.Errorf("got %+v", p)
	}
	if points := a.Flush(120); len(points) != 0 {
		t.Errorf("a silent context gave points: %+v", points)
	}
}

func TestBuckets(t *testing.T) {
	a := New(1, DefaultLimits())
	feed(t, a, 100, "m:1|c")
	feed(t, a, 109, "m:1|c")
	feed(t, a, 110, "m:5|c")
	got := a.Flush(120)
	if len(got) != 2 || got[0].Time != 100 || got[0].Value != 2 || got[1].Time != 110 || got[1].Value != 5 {
		t.Errorf("got %+v", got)
	}
}

func TestClockJumps(t *testing.T) {
	a := New(1, DefaultLimits())
	feed(t, a, 7200, "m:1|c")
	feed(t, a, 3600, "m:2|c")
	feed(t, a, 7200, "m:4|c")
	got := a.Drain()
	if len(got) != 3 || got[0].Value+got[1].Value+got[2].Value != 7 || got[1].Time != 3600 {
		t.Errorf("got %+v", got)
	}
	if a.Stats().Contexts != 1 {
		t.Error("a jump of the clock dropped contexts")
	}
}

// TestLateSamplesMakeNoSecondPoint reads two sockets at the turn of a bucket, one a moment after
// the other. Then it sets the clock back by two seconds over the turn of a bucket.
func TestLateSamplesMakeNoSecondPoint(t *testing.T) {
	a := New(1, DefaultLimits())
	feed(t, a, 109, "m:1|c")
	for range 3 {
		feed(t, a, 110, "m:10|c")
		feed(t, a, 109, "m:100|c")
	}
	if early := a.Flush(109); len(early) != 1 || early[0].Value != 1 {
		t.Errorf("a flush that is a moment early: %+v", early)
	}
	p := one(t, a.Flush(120))
	if p.Time != 110 || p.Value != 330 {
		t.Errorf("got %+v", p)
	}
	feed(t, a, 119, "m:7|c") // read before the flush, added after it
	if p := one(t, a.Flush(130)); p.Time != 120 || p.Value != 7 {
		t.Errorf("got %+v", p)
	}
}

func TestGaugesKeepTheLastAndSignsAreAbsolute(t *testing.T) {
	a := New(1, DefaultLimits())
	feed(t, a, 0, "g:5|g", "g:1:2|g", "g:-3|g")
	if p := one(t, a.Flush(10)); p.Value != -3 {
		t.Errorf("got %+v", p)
	}
}

func TestTypesOfOneNameStayApart(t *testing.T) {
	a := New(1, DefaultLimits())
	feed(t, a, 0, "m:1|c", "m:2|g", "m:x|s", "m:3|ms", "m:4|h", "m:5|d")
	if points := a.Flush(10); len(points) != 6 {
		t.Errorf("%d points, want 6", len(points))
	}
}

func TestSetsAreExactThenSayThatTheyAreNot(t *testing.T) {
	limits := DefaultLimits()
	limits.SetExact = 100
	for _, n := range []int{1, 100, 101, 5000, 200_000} {
		a := New(1, limits)
		s := sample(t, "u:x|s")
		for i := range n {
			s.SetValue = fmt.Sprint("user", i)
			a.Add(s, 0)
			a.Add(s, 0)
		}
		p := one(t, a.Flush(10))
		if p.Approximate != (n > 100) {
			t.Errorf("%d values: approximate is %v", n, p.Approximate)
		}
		if off := math.Abs(p.Value-float64(n)) / float64(n); !p.Approximate && off > 0 || off > 0.05 {
			t.Errorf("%d values: counted %v", n, p.Value)
		}
	}
}

func TestLongSetValuesAreEstimatedSooner(t *testing.T) {
	a := New(1, Limits{SetExact: 100})
	s := sample(t, "u:x|s")
	for i := range 50 {
		s.SetValue = fmt.Sprintf("%0200d", i)
		a.Add(s, 0)
	}
	if p := one(t, a.Flush(10)); !p.Approximate || math.Abs(p.Value-50) > 2 {
		t.Errorf("got %+v", p)
	}
}

func TestSketches(t *testing.T) {
	a := New(1, DefaultLimits())
	for i := 1; i <= 1000; i++ {
		feed(t, a, 0, fmt.Sprintf("d:%d|d|@0.5", i))
	}
	s := one(t, a.Flush(10)).Summary
	if s.Count != 2000 || s.Sum != 2*500500 || s.Min != 1 || s.Max != 1000 {
		t.Errorf("got %+v", s)
	}
	for q, want := range map[float64]float64{0.5: 500, 0.95: 950, 0.99: 990} {
		got, err := s.Sketch.GetValueAtQuantile(q)
		if err != nil || math.Abs(got-want) > 0.0101*want+1 {
			t.Errorf("quantile %v: got %v, want %v, %v", q, got, want, err)
		}
	}
}

func TestUntrackableValuesAreCounted(t *testing.T) {
	a := New(1, DefaultLimits())
	feed(t, a, 0, "d:1.7e308:1|d")
	p := one(t, a.Flush(10))
	if a.Stats().Untrackable != 1 || p.Summary.Count != 1 || p.Summary.Max != 1 {
		t.Errorf("untrackable %d, %+v", a.Stats().Untrackable, p.Summary)
	}
}

// TestNothingTakenMakesNoPoint checks that a context whose values were all dropped has no point: no
// values have no minimum.
func TestNothingTakenMakesNoPoint(t *testing.T) {
	a := New(1, DefaultLimits())
	none := sample(t, "d:1|d")
	none.Values = []float64{math.NaN()}
	a.Add(none, 0)
	feed(t, a, 0, "e:1.7e308:-1.7e308|d")
	if points := a.Flush(10); len(points) != 0 || a.Stats().Untrackable != 3 {
		t.Errorf("%+v, %+v", points, a.Stats())
	}
	feed(t, a, 10, "e:1.7e308:2|d")
	if p := one(t, a.Flush(20)); p.Summary.Count != 1 || p.Summary.Min != 2 {
		t.Errorf("got %+v", p.Summary)
	}
}

// TestValuesThatWaitAreNotLost checks that more values than may wait beside a sketch give the same
// result as values one by one.
func TestValuesThatWaitAreNotLost(t *testing.T) {
	for _, n := range []int{1, handful, handful + 1, 3*handful + 5} {
		a := New(1, DefaultLimits())
		for i := range n {
			feed(t, a, 0, fmt.Sprintf("d:%d|d", i+1))
		}
		s := one(t, a.Flush(10)).Summary
		if s.Count != float64(n) || s.Sum != float64(n*(n+1)/2) || s.Max != float64(n) ||
			s.Sketch.GetCount() != float64(n) {
			t.Errorf("%d values: %+v", n, s)
		}
		if points := a.Flush(20); len(points) != 0 {
			t.Errorf("%d values: again in the next bucket: %+v", n, points)
		}
	}
}

func TestTimestampsSkipAggregationAndRate(t *testing.T) {
	a := New(1, DefaultLimits())
	feed(t, a, 100, "m:10|c|@0.1|T42", "m:1|c|T43", "g:7|g|T44", "h:1|h|T45")
	got := a.Flush(105)
	if len(got) != 3 || got[0].Value != 10 || got[0].Time != 42 || got[1].Time != 43 || got[2].Value != 7 {
		t.Errorf("got %+v", got)
	}
	if p := one(t, a.Flush(110)); p.Time != 100 || p.Summary == nil {
		t.Errorf("a histogram has no timestamp of its own: %+v", p)
	}
}

// TestGaugesOfThePastLeaveTheBucketAlone checks that a value with a timestamp is a point of its own
// and not part of the open bucket, wherever it comes between others.
func TestGaugesOfThePastLeaveTheBucketAlone(t *testing.T) {
	a := New(1, DefaultLimits())
	for _, step := range []struct {
		line string
		seen float64
	}{{"g:5|g", 5}, {"g:7|g|T44", 5}, {"g:9|g|T105", 9}, {"g:8|g|T104", 9}} {
		feed(t, a, 100, step.line)
		if s := a.States()[0]; s.Value != step.seen {
			t.Errorf("after %s a scrape sees %v, want %v", step.line, s.Value, step.seen)
		}
	}
	got := map[int64]float64{}
	for _, p := range a.Flush(110) {
		got[p.Time] = p.Value
	}
	if want := map[int64]float64{44: 7, 105: 9, 104: 8, 100: 5}; !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	feed(t, a, 110, "g:1|g")
	if p := one(t, a.Drain()); p.Value != 1 || a.States()[0].Value != 1 {
		t.Errorf("got %+v", p)
	}
}

// TestAnyTypeSurvivesSamplesOfAnyOther checks that a sample may reach an entry of another type,
// since keys of two types can collide. The entry keeps its type.
func TestAnyTypeSurvivesSamplesOfAnyOther(t *testing.T) {
	lines := []string{"m:1|c", "m:1|g", "m:x|s", "m:1:2|ms", "m:1|h|@0.5", "m:-1|d", "m:1|c|T5", "m:1|g|T5",
		"m:x|s|T5", "m:1|d|T5"}
	for _, first := range lines {
		for _, second := range lines {
			a, s, other := New(1, DefaultLimits()), sample(t, first), sample(t, second)
			other.Key += entryKey(s) - entryKey(other)
			for now := int64(0); now < 30; now += 10 {
				a.Add(s, now)
				a.Add(other, now)
				a.Add(other, now)
				for _, p := range a.Flush(now + 10) {
					if p.Type != s.Type || (p.Summary != nil) != (p.Type >= dogstatsd.Timing) {
						t.Errorf("%s, then %s: got %+v", first, second, p)
					}
				}
				a.Add(other, now+10)
			}
			if states := a.States(); len(states) != 1 || states[0].Type != s.Type {
				t.Errorf("%s, then %s: got %+v", first, second, states)
			}
		}
	}
}

func TestLimits(t *testing.T) {
	for _, test := range []struct {
		name    string
		limits  Limits
		dropped func(Stats) uint64
	}{
		{"contexts", Limits{Contexts: 3}, func(s Stats) uint64 { return s.DroppedContexts }},
		{"origin", Limits{PerOrigin: 3}, func(s Stats) uint64 { return s.DroppedOrigin }},
		{"bytes", Limits{Bytes: 3 * contextBytes(&Context{Name: "m0", Origin: "one", Type: dogstatsd.Count})}, func(s Stats) uint64 { return s.DroppedBytes }},
	} {
		a := New(2, test.limits)
		for i := range 5 {
			feed(t, a, 0, fmt.Sprintf("m%d:1|c|c:one", i))
		}
		feed(t, a, 0, "m0:1|c|c:one") // known contexts keep their place
		stats := a.Stats()
		if stats.Contexts != 3 || test.dropped(stats) != 2 || stats.Samples != 4 {
			t.Errorf("%s: %+v", test.name, stats)
		}
	}
}

func TestAnotherOriginHasItsOwnRoom(t *testing.T) {
	a := New(1, Limits{PerOrigin: 2})
	feed(t, a, 0, "a:1|c|c:x", "b:1|c|c:x", "c:1|c|c:x", "d:1|c|c:y")
	want := []Origin{{"x", 2}, {"y", 1}}
	if got := a.TopOrigins(10); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestTimestampedPointsAreBounded(t *testing.T) {
	a := New(1, Limits{Timestamped: 2})
	feed(t, a, 0, "m:1|c|T1", "m:1|c|T2", "m:1|c|T3")
	if got := a.Flush(1); len(got) != 2 || a.Stats().DroppedTimestamped != 1 {
		t.Errorf("%d points, %+v", len(got), a.Stats())
	}
	feed(t, a, 0, "m:1|c|T4")
	if got := a.Flush(1); len(got) != 1 {
		t.Error("a flush must make room")
	}
}

func TestContextsExpireAndGiveTheirRoomBack(t *testing.T) {
	a := New(1, Limits{Expiry: 2, Contexts: 1})
	feed(t, a, 0, "old:1|c|c:x")
	for i := range int64(4) {
		a.Flush(10 + 10*i)
	}
	if s := a.Stats(); s.Contexts != 0 || s.Bytes != 0 || s.Expired != 1 || len(a.TopOrigins(9)) != 0 {
		t.Errorf("got %+v", s)
	}
	feed(t, a, 60, "new:1|c")
	if s := a.Stats(); s.Contexts != 1 || s.DroppedContexts != 0 {
		t.Errorf("got %+v", s)
	}
}

func TestStates(t *testing.T) {
	a := New(1, DefaultLimits())
	feed(t, a, 0, "c:1|c", "d:4|d")
	a.Flush(10)
	feed(t, a, 10, "c:2|c", "d:6|d")
	for _, s := range a.States() {
		switch {
		case s.Name == "c" && s.Value != 3:
			t.Errorf("a count's total is %v, want 3", s.Value)
		case s.Name == "d" && (s.Count != 2 || s.Sum != 10 || s.Last.Count != 1):
			t.Errorf("got %+v", s)
		}
	}
}

func TestSumsAreExactFromManyGoroutines(t *testing.T) {
	a := New(4, DefaultLimits())
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range 5000 {
				s := sample(t, fmt.Sprintf("m:1|c|#k:%d", i%50))
				a.Add(s, int64(i/1000)*10)
			}
		})
	}
	wg.Wait()
	total := 0.0
	for _, p := range a.Drain() {
		total += p.Value
	}
	if total != 20_000 {
		t.Errorf("the points add up to %v, want 20000", total)
	}
}
