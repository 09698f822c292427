package toto

import "math"

// leastScale is the least deviation for scaling. settledCount is the number of values that a mean
// and a deviation need. reach is how many deviations a forecast may lie beyond the seen values. The
// published results used the same values.
const (
	leastScale   = 1e-6
	settledCount = 8
	reach        = 1e4
)

// A row is a series as the model sees it: whole patches.
type row struct {
	values []float32
	seen   []bool
	patch  int
}

// A measure holds the mean and deviation of the values until the end of a patch.
type measure struct{ mean, deviation float32 }

// measures returns one for each patch. Patches that end before enough was seen share the measure of
// the first values.
func (r row) measures() (all []measure) {
	early, n := r.earlyMeasure(), 0
	mean, squares := 0.0, 0.0
	total := 0.0
	for i, v := range r.values {
		if r.seen[i] {
			n++
			x := float64(v)
			total += x
			next := total / float64(n)
			squares += (x - mean) * (x - next)
			mean = next
		}
		if (i+1)%r.patch != 0 {
			continue
		}
		m := early
		if n >= settledCount {
			deviation := math.Sqrt(squares / float64(max(1, n-1)))
			m = measure{float32(mean), float32(max(leastScale, deviation))}
		}
		all = append(all, m)
	}
	return all
}

// earlyMeasure measures the first values that were seen.
func (r row) earlyMeasure() measure {
	total, n := 0.0, 0
	var first []float64
	for i, v := range r.values {
		if r.seen[i] && n < settledCount {
			first = append(first, float64(v))
			total += float64(v)
			n++
		}
	}
	mean := total / float64(max(1, n))
	squares := 0.0
	for _, v := range first {
		squares += (v - mean) * (v - mean)
	}
	deviation := math.Sqrt(squares / float64(max(1, n-1)))
	return measure{float32(mean), float32(max(leastScale, deviation))}
}

// token returns the model's view of a patch: scaled values, bent so that large ones weigh less,
// and marks for missing ones.
func (r row) token(p int, m measure, into []float32) {
	for i := range r.patch {
		at := p*r.patch + i
		if r.seen[at] {
			into[i] = float32(math.Asinh(float64((r.values[at] - m.mean) / m.deviation)))
		} else {
			into[r.patch+i] = 1
		}
	}
}

// blank says that nothing of a patch was seen.
func (r row) blank(p int) bool {
	for _, seen := range r.seen[p*r.patch : (p+1)*r.patch] {
		if seen {
			return false
		}
	}
	return true
}

// bounds returns the limits of a forecast, from the values seen.
func (r row) bounds(last measure) (low, high float32) {
	low, high = float32(math.Inf(1)), float32(math.Inf(-1))
	for i, v := range r.values {
		if r.seen[i] {
			low, high = min(low, v), max(high, v)
		}
	}
	return low - reach*last.deviation, high + reach*last.deviation
}

// unscale turns the model's output for a patch at one level into values. A value that is too large
// for a number becomes the largest other one.
func unscale(values []float32, m measure, low, high float32) {
	least, most := float32(math.Inf(1)), float32(math.Inf(-1))
	for i, v := range values {
		x := float32(math.Sinh(float64(v)))*m.deviation + m.mean
		values[i] = x
		if !math.IsInf(float64(x), 0) {
			least, most = min(least, x), max(most, x)
		}
	}
	for i, x := range values {
		if math.IsInf(float64(x), 1) {
			x = most
		} else if math.IsInf(float64(x), -1) {
			x = least
		}
		values[i] = min(high, max(low, x))
	}
}
