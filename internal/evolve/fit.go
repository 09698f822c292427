package evolve

import (
	"math"
	"slices"

	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/special"
)

// A fit estimates the gain of each mutator. It is a linear regression of the members' scores on
// their mutators, with the rule authors' estimates as the prior. The search judges stacks as a
// whole, and the regression separates the steps that gain from those that come along. The state
// does not hold a fit: it is computed from the sums over the members whenever those change.
type fit struct {
	index map[string]int
	mean  []float64
	sd    []float64
}

const (
	misfit = 0.08 // how far scores lie from the sum of the parts: interaction, luck of the layout
	belief = 0.16 // how far gains lie from the rule authors' estimates
)

// weight returns what a member's score tells: the inverse of its variance. On a busy machine some
// screenings tell next to nothing, and the low end of their ratio is near 0.
func weight(m *Member) float64 {
	noise := 0.0
	if m.Point > 0 && m.High > m.Point {
		noise = math.Log(m.High/m.Point) / special.Normal95
	}
	return 1 / (misfit*misfit + noise*noise)
}

// sums holds the data of the regression, whatever the number of members: the weight of the members
// that have two mutators together, and the weighted sum of the scores with each.
type sums struct {
	index    map[string]int // mutators in order of arrival
	together [][]float64
	scores   []float64
}

func newSums() *sums { return &sums{index: map[string]int{}} }

func (t *sums) add(m *Member) {
	var used []int
	for _, st := range m.Steps {
		if i := t.place(st.Mutator); !slices.Contains(used, i) {
			used = append(used, i)
		}
	}
	w := weight(m)
	for _, i := range used {
		t.scores[i] += w * m.Score
		for _, j := range used {
			t.together[i][j] += w
		}
	}
}

// place returns the index of a mutator, and adds the mutator if it is new.
func (t *sums) place(mutator string) int {
	i, ok := t.index[mutator]
	if !ok {
		i = len(t.scores)
		t.index[mutator] = i
		t.scores = append(t.scores, 0)
		for r := range t.together {
			t.together[r] = append(t.together[r], 0)
		}
		t.together = append(t.together, make([]float64, i+1))
	}
	return i
}

// regress computes the posterior of the coefficients.
func regress(t *sums, arms map[string]*arm) *fit {
	names := inorder.Keys(arms)
	m := &fit{index: map[string]int{}, mean: make([]float64, len(names)), sd: make([]float64, len(names))}
	prec, rhs := square(len(names)), make([]float64, len(names))
	// Begin with the prior of each arm.
	for i, n := range names {
		m.index[n] = i
		prec[i][i] = 1 / (belief * belief)
		rhs[i] = arms[n].priorGain() / (belief * belief)
	}
	for i, n := range names {
		p, known := t.index[n]
		if !known {
			continue
		}
		rhs[i] += t.scores[p]
		for j, other := range names {
			if q, known := t.index[other]; known {
				prec[i][j] += t.together[p][q]
			}
		}
	}
	// Solve for the means and their errors.
	inv := invert(prec)
	for i := range names {
		for j := range names {
			m.mean[i] += inv[i][j] * rhs[j]
		}
		m.sd[i] = math.Sqrt(max(0, inv[i][i]))
	}
	return m
}

// behavingShare returns the share of the tested mutators that behave; it begins at five of six.
func behavingShare(arms map[string]*arm) float64 {
	good, bad := 2.5, 0.5
	for _, n := range inorder.Keys(arms) { // in one order, since sums of fractions depend on it
		if a := arms[n]; a.OK > 0 {
			good++
		} else {
			bad += min(1, a.Bad)
		}
	}
	return good / (good + bad)
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

func (ms *merits) fit() *fit {
	if ms.fitted == nil {
		ms.fitted = regress(ms.sums, ms.Arms)
	}
	return ms.fitted
}

// behavingShare returns the share of the mutators that leave candidates correct. Like the fit, it
// is computed anew after a change.
func (ms *merits) behavingShare() float64 {
	if ms.behaving == 0 {
		ms.behaving = behavingShare(ms.Arms)
	}
	return ms.behaving
}

// forgetFit drops the fit and the usual share, because Members or Arms changed.
func (ms *merits) forgetFit() { ms.fitted, ms.behaving = nil, 0 }

// gain returns the expected gain of a step of a mutator.
func (ms *merits) gain(mutator string) float64 {
	m := ms.fit()
	if i, ok := m.index[mutator]; ok {
		return m.mean[i]
	}
	return 0
}

// draw samples a mutator's gain from its posterior (Thompson). A little-known mutator is sometimes
// drawn high, and so gets its chance.
func (ms *merits) draw(mutator string) float64 {
	m := ms.fit()
	i := m.index[mutator]
	return m.mean[i] + m.sd[i]*ms.rng.NormFloat64()
}
