package aggregate

// accumulator gathers the samples of one context.
type accumulator interface {
	// add takes a sample that arrived at now and returns how much of it was lost. The budget has to
	// grant memory that grows with the values. Keys can collide, so the sample may be of any type.
	add(s *Sample, now int64, limits *Limits, b *budget) droppedValues
	// close writes the bucket's result to the point, starts the next bucket, and returns unused
	// memory to the budget. It reports whether there is a point.
	close(*Point, *budget) bool
	// heldBytes returns the bytes that it holds of the budget.
	heldBytes() int
	// show writes what a scrape shows.
	show(*State)
}

// droppedValues counts the values of a sample that were dropped.
type droppedValues struct {
	untrackable int // values that no sketch can hold
	noRoom      int // values that the budget had no room for
}

// fixed is an accumulator that does not grow.
type fixed struct{}

func (fixed) heldBytes() int { return 0 }

type counter struct {
	fixed
	bucket, total float64
}

func (c *counter) add(s *Sample, _ int64, _ *Limits, _ *budget) droppedValues {
	for _, v := range s.Values {
		c.bucket += v / s.Rate
		c.total += v / s.Rate
	}
	return droppedValues{}
}

func (c *counter) close(p *Point, _ *budget) bool {
	p.Value, c.bucket = c.bucket, 0
	return true
}

func (c *counter) show(s *State) { s.Value = c.total }

type gauge struct {
	fixed
	bucket float64 // of the open bucket
	last   float64 // a scrape's value, and its time
	at     int64
}

func (g *gauge) add(s *Sample, now int64, _ *Limits, _ *budget) droppedValues {
	if n := len(s.Values); n > 0 {
		g.bucket = s.Values[n-1]
		g.last, g.at = g.bucket, now
	}
	return droppedValues{}
}

// addPast takes a value with a timestamp. It counts for no open bucket, and a scrape shows it only
// until a later one.
func (g *gauge) addPast(v float64, at int64) {
	if at >= g.at {
		g.last, g.at = v, at
	}
}

func (g *gauge) close(p *Point, _ *budget) bool {
	p.Value = g.bucket
	return true
}

func (g *gauge) show(s *State) { s.Value = g.last }

// set counts different strings: exactly while there are few.
type set struct {
	fixed
	exact map[string]struct{}
	bytes int // of the strings in exact
	large *hyperLogLog
	last  float64
	// lastLarge says that last is an estimate.
	lastLarge bool
}

func (t *set) add(s *Sample, _ int64, limits *Limits, _ *budget) droppedValues {
	if t.large != nil {
		t.large.add(s.SetValue)
		return droppedValues{}
	}
	if t.exact == nil {
		t.exact = make(map[string]struct{})
	}
	if _, known := t.exact[s.SetValue]; !known {
		t.exact[s.SetValue] = struct{}{}
		t.bytes += len(s.SetValue)
	}
	if n := limits.SetExact; n > 0 && (len(t.exact) > n || t.bytes > n*setValueBytes) {
		t.estimate()
	}
	return droppedValues{}
}

// setValueBytes bounds the average length of the values of a full exact set.
const setValueBytes = 64

// estimate switches from counting to estimating.
func (t *set) estimate() {
	t.large = new(hyperLogLog)
	for v := range t.exact {
		t.large.add(v)
	}
	t.exact, t.bytes = nil, 0
}

func (t *set) close(p *Point, _ *budget) bool {
	t.last, t.lastLarge = float64(len(t.exact)), t.large != nil
	if t.lastLarge {
		t.last = t.large.estimate()
	}
	p.Value, p.Approximate = t.last, t.lastLarge
	t.exact, t.bytes, t.large = nil, 0, nil
	return true
}

func (t *set) show(s *State) { s.Value, s.Approximate = t.last, t.lastLarge }
