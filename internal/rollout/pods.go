package rollout

import (
	"fmt"
	"math"

	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/special"
)

// countPods keeps each pod's sums. Time blocks say how sure the difference of
// these very pods is; only the spread between pods says whether other pods
// would show it.
func (e *Experiment) countPods(b *Block) {
	if e.State.ByPod == nil {
		e.State.ByPod = map[Arm]map[string]*Counts{}
	}
	for _, s := range b.Slices {
		pods := e.State.ByPod[s.Arm]
		if pods == nil {
			pods = map[string]*Counts{}
			e.State.ByPod[s.Arm] = pods
		}
		if pods[s.Pod] == nil {
			pods[s.Pod] = new(Counts)
		}
		pods[s.Pod].add(s.Counts)
	}
}

// betterAcrossPods returns why the pods of the candidate do not show a gain
// over those of the original beyond doubt, or "". It is Welch's t-test (The
// generalization of Student's problem, Biometrika 34, 1947) on the pods' own
// ratios, one-sided at alpha/2. Pods are a fixed sample: to look again adds no pod.
func (e *Experiment) betterAcrossPods(m Metric) string {
	a, b := e.podMoments(m, Original), e.podMoments(m, Candidate)
	if least := e.Plan.LeastPods; a.N < least || b.N < least {
		return fmt.Sprintf("not valid: %d pods of the original and %d of the candidate cannot show that other pods "+
			"would agree; at least %d of each are needed", a.N, b.N, least)
	}
	va, vb := a.variance()/float64(a.N), b.variance()/float64(b.N)
	if va+vb == 0 {
		return fmt.Sprintf("not valid: all pods report the same %s", m)
	}
	freedom := (va + vb) * (va + vb) / (va*va/float64(a.N-1) + vb*vb/float64(b.N-1))
	t := (b.Mean - a.Mean*(1-e.Plan.LeastGain)) / math.Sqrt(va+vb)
	if p := studentBelow(t, freedom); p > e.Plan.Alpha/2 {
		return fmt.Sprintf("%s differs too much between pods to decide (p = %.2g over %d and %d pods)", m, p, a.N, b.N)
	}
	return ""
}

func (e *Experiment) podMoments(m Metric, arm Arm) Moments {
	var out Moments
	pods := e.State.ByPod[arm]
	for _, pod := range inorder.Keys(pods) { // sums do not depend on the order of a map
		if v, ok := measures[m].value(*pods[pod]); ok {
			out.add(v)
		}
	}
	return out
}

// studentBelow returns the chance that Student's t is below t.
func studentBelow(t, freedom float64) float64 {
	tail := special.IncompleteBeta(freedom/2, 0.5, freedom/(freedom+t*t)) / 2
	if t > 0 {
		return 1 - tail
	}
	return tail
}
