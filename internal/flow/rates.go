package flow

import (
	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/bench"
	"github.com/beagle-go/beagle/internal/store"
)

// ratesRun names where in the store a machine's own error rates are.
const ratesRun, ratesName = "rates", "rates"

// KeepRates makes reports of later runs carry these rates.
func KeepRates(s *store.Store, r *beagle.ErrorRates) error { return s.Save(ratesRun, ratesName, r) }

// rates returns how often the judge errs: as measured on this machine if the store has that,
// otherwise as measured when Beagle was built.
func (rp *reporter) rates() *beagle.ErrorRates {
	if rp.ready.InPlace != nil || !rp.spec.Score.IsZero() {
		return nil // the rates hold for corpora and times only
	}
	var own beagle.ErrorRates
	if ok, err := rp.works.store.Load(ratesRun, ratesName, &own); err == nil && ok && own.Rule == bench.Rule &&
		own.Machine == rp.works.machine {
		return &own
	}
	r := bench.Rates()
	if r != nil {
		r.Elsewhere = r.Machine != rp.works.machine
	}
	return r
}
