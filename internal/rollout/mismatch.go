package rollout

import "math"

// A Mismatch watches whether units reach the arms in the planned ratio. LogE is
// the logarithm of the Dirichlet-multinomial e-value (Lindon and Malek,
// Anytime-valid inference for multinomial count data, arXiv 2011.03567). The
// planned ratio may change between additions.
type Mismatch struct {
	Counts map[Arm]float64 `json:"counts,omitempty"`
	LogE   float64         `json:"log_e"`
}

// prior is the weight of each arm's planned share in the Dirichlet prior.
const prior = 100

// add takes counts that the plan expects in the ratio of weights.
func (m *Mismatch) add(counts, weights map[Arm]float64) {
	if m.Counts == nil {
		m.Counts = map[Arm]float64{}
	}
	total, before, weight := 0.0, 0.0, 0.0
	for _, arm := range allArms {
		weight += weights[arm]
		if weights[arm] > 0 {
			total += counts[arm]
			before += m.Counts[arm]
		}
	}
	if total == 0 || weight == 0 {
		return
	}
	// The predictive probability of these counts, over that by the plan.
	m.LogE += logRising(prior+before, total, -1)
	for _, arm := range allArms {
		if weights[arm] == 0 {
			continue
		}
		share := weights[arm] / weight
		m.LogE += logRising(prior*share+m.Counts[arm], counts[arm], 1) - counts[arm]*math.Log(share)
		m.Counts[arm] += counts[arm]
	}
}

// logRising is sign times the logarithm of a(a+1)...(a+n-1).
func logRising(a, n, sign float64) float64 {
	x, _ := math.Lgamma(a + n)
	y, _ := math.Lgamma(a)
	return sign * (x - y)
}

// P returns the always-valid p-value of the planned ratio.
func (m Mismatch) P() float64 { return math.Min(1, math.Exp(-m.LogE)) }
