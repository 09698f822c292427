package rollout

import "math"

// An Interval is an estimate with the ends of its confidence sequence.
type Interval struct {
	Estimate float64 `json:"estimate"`
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
	N        int     `json:"n"` // units it rests on
}

// tuning returns the parameter rho of a confidence sequence that is about as
// narrow as can be after horizon units (arXiv 2103.06476, eq. 161).
func tuning(alpha, horizon float64) float64 {
	return math.Sqrt((-2*math.Log(alpha) + math.Log(1-2*math.Log(alpha))) / horizon)
}

// halfWidth returns the half-width of the asymptotic confidence sequence of a
// mean after n units with the variance (arXiv 2103.06476, eq. 9).
func halfWidth(n, variance, rho, alpha float64) float64 {
	spread := n*rho*rho + 1
	return math.Sqrt(variance * 2 * spread / (n * n * rho * rho) * math.Log(math.Sqrt(spread)/alpha))
}

// pValue returns the always-valid p-value for the hypothesis that the mean is
// zero: the inverse of the e-value whose sequence halfWidth inverts
// (arXiv 2103.06476, eq. 155).
func pValue(n, mean, variance, rho float64) float64 {
	if variance <= 0 {
		return 1
	}
	spread := n*rho*rho + 1
	t := n * mean * mean / variance // of one unit's variance: squared z
	logE := rho*rho*n*t/(2*spread) - math.Log(spread)/2
	return math.Min(1, math.Exp(-logE))
}
