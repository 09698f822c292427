package campaign

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/special"
)

const draws = 4000

// A Won is an improvement of a function.
type Won struct {
	Target     string
	Cum        float64 // share of the service below it
	Samples    float64 // that tell the share
	Ratio      beagle.Ratio
	Similarity *beagle.Similarity    // nil: no benchmark was compared
	Part       *beagle.BenchmarkPart // nil: the ratio is of the function alone
}

// Sum returns the saving of all improvements together, and of each beyond its callees. together
// returns the share of the service in which one of two functions is below the other.
func Sum(won []Won, together func(a, b string) float64) (
	all beagle.CampaignSaving, each map[string]beagle.CampaignSaving,
) {
	order := slices.Clone(won)
	// Callees first: the code below a function costs no more than the function.
	inorder.By(order, func(a, b Won) int {
		return cmp.Or(cmp.Compare(a.Cum, b.Cum), cmp.Compare(a.Target, b.Target))
	})
	r := rand.New(rand.NewPCG(17, 6))
	sums := make([]float64, draws)
	parts := make([][]float64, len(order))
	for k := range parts {
		parts[k] = make([]float64, draws)
	}
	for n := range draws {
		for k, w := range order {
			saved := share(r, w.Cum, w.Samples) * gain(r, w)
			for i, inner := range order[:k] {
				if inner.Cum > 0 {
					saved -= parts[i][n] * min(1, together(w.Target, inner.Target)/inner.Cum)
				}
			}
			parts[k][n] = max(0, saved)
			sums[n] += parts[k][n]
		}
	}
	each = map[string]beagle.CampaignSaving{}
	for k, w := range order {
		each[w.Target] = interval(parts[k])
	}
	return interval(sums), each
}

// expected predicts the ratio of an improvement in the service.
//
// The corrected ratio is a claim: it must hold although the winner is the best of many, so it is
// too low more often than too high. A second measurement is of the winner alone, and chose nothing.
// If there is one, expected combines the two ratios as they were measured. Each measurement holds
// for its own conditions: the other code in the program, and the load on the other half of a core.
// These move a ratio by more than either interval holds. So expected adds the variance between the
// two, as of a sample of conditions (random effects of DerSimonian and Laird). The service has
// conditions of its own: the interval is that of a prediction, in which the variance counts twice.
func expected(t *beagle.CampaignTarget) beagle.Ratio {
	first := t.Measured
	if first == nil { // a campaign of an older Beagle
		first = t.Ratio
	}
	again := t.Again
	if again == nil || again.Low <= 0 || first.Low <= 0 {
		return *t.Ratio
	}
	var logs, vars [2]float64
	for i, m := range []beagle.Ratio{*first, *again} {
		logs[i], vars[i] = math.Log(m.Point), squared(math.Log(m.High/m.Low)/(2*special.Normal95))
	}
	between := max(0, (squared(logs[0]-logs[1])-vars[0]-vars[1])/2)
	var sum, weights float64
	for i := range logs {
		w := 1 / max(vars[i]+between, 1e-12)
		sum, weights = sum+w*logs[i], weights+w
	}
	mean, half := sum/weights, special.Normal95*math.Sqrt(1/weights+between)
	return beagle.Ratio{Point: math.Exp(mean), Low: math.Exp(mean - half), High: math.Exp(mean + half)}
}

func squared(x float64) float64 { return x * x }

// share draws a share of the service that this many samples show.
func share(r *rand.Rand, p, samples float64) float64 {
	if samples < 1 {
		return p
	}
	p = min(max(p, 0), 1)
	return min(1, max(0, p+math.Sqrt(p*(1-p)/samples)*r.NormFloat64()))
}

// gain draws the part of a function's time that its improvement saves.
func gain(r *rand.Rand, w Won) float64 {
	ratio := w.Ratio.Point
	if w.Ratio.Low > 0 && w.Ratio.High > w.Ratio.Low {
		sd := (math.Log(w.Ratio.High) - math.Log(w.Ratio.Low)) / (2 * special.Normal95)
		ratio = math.Exp(math.Log(ratio) + sd*r.NormFloat64())
	}
	if ratio <= 0 {
		return 0
	}
	g := 1 - 1/ratio
	if p := w.Part; p != nil && p.Share > 0 {
		if part := share(r, p.Share, p.Samples); part > g {
			g /= part
		} else {
			g = 1
		}
	}
	if s := w.Similarity; s != nil {
		sd := max(0, s.High-s.Low) / (2 * special.Normal95)
		unlike := min(1, max(0, 1-s.Estimate+sd*r.NormFloat64()))
		// To either side alike, and never more than the whole share.
		g += unlike * min(math.Abs(g), max(0, 1-g)) * (2*r.Float64() - 1)
	}
	return g
}

// interval returns the mean of draws with the 95 % between.
func interval(list []float64) beagle.CampaignSaving {
	if len(list) == 0 {
		return beagle.CampaignSaving{}
	}
	sorted := slices.Clone(list)
	inorder.Sort(sorted)
	sum := 0.0
	for _, v := range sorted {
		sum += v
	}
	n := len(sorted)
	return beagle.CampaignSaving{Share: tidy(sum / float64(n)), Low: tidy(sorted[n/40]), High: tidy(sorted[n-1-n/40])}
}

func tidy(v float64) float64 { return math.Round(v*1e6) / 1e6 }
