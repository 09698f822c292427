package rollout

import "math"

// Moments are the count, the mean and the squared deviations of a series, kept
// by Welford's recurrence.
type Moments struct {
	N    int     `json:"n"`
	Mean float64 `json:"mean"`
	M2   float64 `json:"m2"`
}

func (m *Moments) add(x float64) {
	m.N++
	d := x - m.Mean
	m.Mean += d / float64(m.N)
	m.M2 += d * (x - m.Mean)
}

// variance returns the unbiased sample variance.
func (m Moments) variance() float64 {
	if m.N < 2 {
		return 0
	}
	return m.M2 / float64(m.N-1)
}

// A Lag collects the sums behind the lag-1 correlation of a series.
type Lag struct {
	Pairs    int     `json:"pairs"`
	Products float64 `json:"products"` // sum of x[t-1]*x[t]
	First    float64 `json:"first"`    // sum of x[t-1]
	Second   float64 `json:"second"`   // sum of x[t]
}

func (l *Lag) add(before, x float64) {
	l.Pairs++
	l.Products += before * x
	l.First += before
	l.Second += x
}

// sumAbout returns the sum of the products of neighbours about a mean.
func (l Lag) sumAbout(mean float64) float64 {
	return l.Products - mean*(l.First+l.Second) + float64(l.Pairs)*mean*mean
}

// A signs test asks whether one arm has more of something in more blocks than
// the other. By chance each sign is a fair coin, so the test needs no variance
// and holds for outbreaks of errors too. LogE is the logarithm of the
// beta-binomial e-value: by Ville's inequality it passes log(1/alpha) with a
// chance of at most alpha, over all looks.
type signs struct {
	Worse  int `json:"worse"`
	Better int `json:"better"`
}

func (s *signs) add(x float64) {
	switch {
	case x > 0:
		s.Worse++
	case x < 0:
		s.Better++
	}
}

func (s signs) logE() float64 {
	n := float64(s.Worse + s.Better)
	return logBeta(float64(s.Worse)+1, float64(s.Better)+1) + n*math.Ln2
}

func logBeta(a, b float64) float64 {
	x, _ := math.Lgamma(a)
	y, _ := math.Lgamma(b)
	z, _ := math.Lgamma(a + b)
	return x + y - z
}
