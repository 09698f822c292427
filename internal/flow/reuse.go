package flow

import (
	"fmt"
	"time"

	"github.com/beagle-go/beagle"
)

// known is a judgement that the store had. The time of this run is its own: what
// an earlier one took is no part of it.
func (x *session) known(k kept[Judged], start time.Time) *Judged {
	j, from := &k.Value, x.works.elsewhere(k.Origin)
	if from == nil {
		return j
	}
	if j.Measured == nil {
		j.Measured = from
	}
	if j.Verdict != nil && j.Verified == nil {
		j.Verified = from
	}
	j.Seconds = time.Since(start).Seconds()
	x.tellReused("measure", j.Measured)
	x.tellReused("verify", j.Verified)
	return j
}

// tellReused says that a stage is not done because an earlier run did it.
func (x *session) tellReused(stage string, from *beagle.Origin) {
	if from != nil {
		x.watch.Stage(stage, fmt.Sprintf("not again: run %s did it on %s UTC; --anew does it again", from.Run, from.At))
	}
}
