package evolve

import (
	"maps"
	"math"
	"slices"

	"github.com/beagle-go/beagle"
)

// A model is what the population says of each mutator: a linear regression of
// the members' scores on which mutators made them, with the rule authors'
// estimates as the prior. A stack is judged as a whole; the regression is what
// tells the step that paid from the one that came along.
//
// It is made anew from the members whenever they changed, and not part of the
// state.
type model struct {
	usual float64 // share of the mutators that leave candidates correct
	at    map[string]int
	mean  []float64
	sd    []float64
}

const (
	misfit = 0.08 // how far scores lie from the sum of the parts: interaction, noise
	belief = 0.16 // how far gains lie from the rule authors' estimates
)

// fit computes the posterior of the coefficients.
func fit(members []*Member, arms map[string]*arm) *model {
	names := slices.Sorted(maps.Keys(arms))
	m := &model{at: map[string]int{}, mean: make([]float64, len(names)), sd: make([]float64, len(names))}
	for i, n := range names {
		m.at[n] = i
	}
	m.usual = usual(names, arms)
	prec, rhs := square(len(names)), make([]float64, len(names))
	for i, n := range names {
		prec[i][i] = 1 / (belief * belief)
		rhs[i] = arms[n].priorGain() / (belief * belief)
	}
	for _, mem := range members {
		used := m.used(mem.loose())
		for _, i := range used {
			rhs[i] += (mem.Score - mem.Ground) / (misfit * misfit)
			for _, j := range used {
				prec[i][j] += 1 / (misfit * misfit)
			}
		}
	}
	inv := invert(prec)
	for i := range names {
		for j := range names {
			m.mean[i] += inv[i][j] * rhs[j]
		}
		m.sd[i] = math.Sqrt(max(0, inv[i][i]))
	}
	return m
}

// usual is how many of the mutators that were tested behave; five of six are
// expected before any was.
func usual(names []string, arms map[string]*arm) float64 {
	good, bad := 2.5, 0.5
	for _, n := range names {
		if a := arms[n]; a.OK > 0 {
			good++
		} else {
			bad += min(1, a.Bad)
		}
	}
	return good / (good + bad)
}

// used are the mutators of the steps, each once.
func (m *model) used(steps []beagle.Step) []int {
	var out []int
	for _, st := range steps {
		if i, ok := m.at[st.Mutator]; ok && !slices.Contains(out, i) {
			out = append(out, i)
		}
	}
	return out
}

func square(n int) [][]float64 {
	m := make([][]float64, n)
	for i := range m {
		m[i] = make([]float64, n)
	}
	return m
}

// invert inverts a symmetric positive definite matrix by Gauss-Jordan
// elimination, which needs no pivoting for those.
func invert(a [][]float64) [][]float64 {
	inv := square(len(a))
	for i := range inv {
		inv[i][i] = 1
	}
	for c := range a {
		d := a[c][c]
		for k := range a {
			a[c][k] /= d
			inv[c][k] /= d
		}
		for r := range a {
			f := a[r][c]
			if r == c || f == 0 {
				continue
			}
			for k := range a {
				a[r][k] -= f * a[c][k]
				inv[r][k] -= f * inv[c][k]
			}
		}
	}
	return inv
}

func (s *Search) model() *model {
	if s.fitted == nil {
		s.fitted = fit(s.Members, s.Arms)
	}
	return s.fitted
}

// gain is the expected gain of a step of a mutator.
func (s *Search) gain(mutator string) float64 {
	m := s.model()
	if i, ok := m.at[mutator]; ok {
		return m.mean[i]
	}
	return 0
}

// draw samples the gain (Thompson): what is little known is sometimes drawn
// high, and so gets its chance.
func (s *Search) draw(mutator string) float64 {
	m := s.model()
	i := m.at[mutator]
	return m.mean[i] + m.sd[i]*s.rng.NormFloat64()
}
