package corpus

import (
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/source"
)

// Observations holds a capture's findings on calls beyond their arguments.
type Observations struct {
	Calls       float64 // that the records stand for, with those that were dropped
	Dropped     int
	Why         []string       // why calls were dropped
	Together    bool           // several goroutines called at once
	Sources     []string       // for the report
	Ended       float64        // calls whose end was seen
	Panics      float64        // of these, those that did not return
	Repetitions []beagle.Again // how often a call is an earlier one again
	InFlight    *beagle.InFlight
}

// Observed makes a corpus of captured calls, without running the target: the facets that need a run
// stay zero, except for the panics that the capture saw. The facets describe all calls. Those of
// the training records alone would differ from them by more than a capture's sampling error.
func Observed(u *source.Unit, records []beagle.Record, seen Observations) (*beagle.Corpus, error) {
	args, types := ArgsShape(u)
	c := &beagle.Corpus{Target: u.Target.ID(), Calls: seen.Calls, Dropped: seen.Dropped, Concurrent: seen.Together,
		DroppedWhy: strings.Join(seen.Why, "; "), Sources: seen.Sources}
	records = Merge(records)
	params, err := paramFacets(records, args, types)
	if err != nil {
		return nil, err
	}
	c.Train, c.Holdout = Split(sample(records, maxRecords, args, types))
	c.Facets = beagle.Facets{Records: len(records), Params: params, Again: seen.Repetitions, InFlight: seen.InFlight}
	if seen.Ended > 0 {
		c.Facets.Panics = seen.Panics / seen.Ended
	}
	return c, nil
}
