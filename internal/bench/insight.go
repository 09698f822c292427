package bench

import (
	"context"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/harness"
)

// An Insight shows the costs of a version's lines and of a call. It is one look in one layout: it
// serves readers and the choice of the next try, and no decision.
type Insight struct {
	Lines   map[int]float64    `json:"lines"`   // share of the time by line of the version's source
	Texts   map[string]float64 `json:"texts"`   // the same by the text of the lines
	Samples int                `json:"samples"` // of the profile, on these lines
	Cost    beagle.Resources   `json:"cost"`    // of a call
}

// costTime is long enough to count allocations and to know nanoseconds to some percent.
const costTime = 60 * time.Millisecond

// Cost measures the cost of a call of one version of a program, in one look. It returns nil if the
// version does not survive that.
func Cost(
	ctx context.Context, e *Env, bin *harness.Binary, version int, c *beagle.Corpus,
) (*beagle.Resources, error) {
	q, files, err := e.inputs(c, timed(c))
	if err != nil {
		return nil, err
	}
	q.Variants, q.Sets[0].Budget = []int{version}, int64(costTime)
	reply, failure, err := e.run(ctx, bin, &q, files)
	if err != nil || failure != "" {
		return nil, err
	}
	t := &reply.Sets[0]
	return &beagle.Resources{Nanos: nanos(t, 0), Allocs: t.Allocs[0], Bytes: t.Bytes[0]}, nil
}

// Look takes a profile of one version of a program and counts what its calls cost. It
// is nil when the version does not survive that.
func Look(ctx context.Context, e *Env, bin *harness.Binary, version int, c *beagle.Corpus) (*Insight, error) {
	// The cost of a call comes first: a version that does not survive it needs no profile.
	q, files, err := e.inputs(c, timed(c))
	if err != nil {
		return nil, err
	}
	cost, err := Cost(ctx, e, bin, version, c)
	if err != nil || cost == nil {
		return nil, err
	}
	out := &Insight{Cost: *cost, Lines: map[int]float64{}}
	q.Variants, q.Profile = []int{version}, int64(profileTime)
	// A profile of a fast function has few samples at a time. Take several, until the lines can be
	// told apart.
	for look := 0; look < maxLooks && out.Samples < EnoughSamples; look++ {
		reply, failure, err := e.run(ctx, bin, &q, files)
		if err != nil || failure != "" {
			return nil, err
		}
		p, err := readProfile(reply.Profile, version)
		if err != nil {
			return nil, err
		}
		out.add(p.Lines, p.Samples)
	}
	return out, nil
}

// EnoughSamples is the number of samples that tells a line that does not run from one that was
// not met. A busy machine may give fewer.
const EnoughSamples = 100

// maxLooks bounds the attempts to get samples on a busy machine.
const maxLooks = 4

// add adds the shares of n more samples.
func (in *Insight) add(lines map[int]float64, n int) {
	if n == 0 {
		return
	}
	whole := float64(in.Samples + n)
	for l := range in.Lines {
		in.Lines[l] *= float64(in.Samples) / whole
	}
	for l, share := range lines {
		in.Lines[l] += share * float64(n) / whole
	}
	in.Samples += n
}
